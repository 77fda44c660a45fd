// @ts-check
/**
 * The shim for mcp-ui: translates messages of the document to requests of the standard, and messages of the host to
 * those of mcp-ui. docs/reference/dialects.md has the table. A framed page may also implement the standard: then its
 * messages are forwarded unchanged.
 */

import { connect } from "./shim.js";

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Options
 * @property {Json} [renderData] The initial render data of the server.
 * @property {number} [height] The preferred height.
 * @property {string} [origin] The origin of the framed page, if the document frames one.
 */

/** @param {string} text @returns {[string, Json]} */
const message = (text) => ["ui/message", { role: "user", content: [{ type: "text", text }] }];

/** @type {Map<unknown, (payload: Json) => [string, Json]>} */
const ACTIONS = new Map([
  ["tool", ({ toolName, params }) => ["tools/call", { name: toolName, arguments: params ?? {} }]],
  ["prompt", ({ prompt }) => message(String(prompt))],
  ["intent", ({ intent, params }) => message(`${intent}${params ? `: ${JSON.stringify(params)}` : ""}`)],
  ["link", ({ url }) => ["ui/open-link", { url }]],
]);

/** The keys of the host context that are render data. */
const CONTEXT_KEYS = ["theme", "locale", "displayMode"];

/**
 * @param {any} window
 * @param {Options} [options]
 */
const start = (window, { renderData = {}, height, origin } = {}) => {
  /** @type {Map<string, unknown>} */
  const data = new Map(Object.entries(renderData));
  let ready = false;

  const frame = () => window.document.querySelector("iframe")?.contentWindow;

  /** @param {Json} message */
  const post = (message) => (origin ? frame()?.postMessage(message, origin) : link.dispatch(message));

  /** @param {unknown} [messageId] */
  const render = (messageId) => {
    const payload = { renderData: Object.fromEntries(data) };
    post({ type: "ui-lifecycle-iframe-render-data", ...(messageId != null && { messageId }), payload });
  };

  /**
   * @param {unknown} messageId
   * @param {() => Promise<any>} work
   */
  const act = async (messageId, work) => {
    const respond = (/** @type {string} */ type, /** @type {Json} */ payload) =>
      messageId != null && post({ type, messageId, payload: { messageId, ...payload } });
    respond("ui-message-received", {});
    try {
      respond("ui-message-response", { response: (await work()) ?? {} });
    } catch (error) {
      respond("ui-message-response", { error: { message: error.message } });
    }
  };

  /**
   * @param {any} message
   * @returns {boolean} Whether it is a message of mcp-ui.
   */
  const receive = (message) => {
    const { type, messageId, payload } = Object(message);
    const fields = Object(payload);
    const action = ACTIONS.get(type);
    if (action) act(messageId, () => link.request(...action(fields)));
    else if (type === "notify") {
      act(messageId, () => link.notify("notifications/message", { level: "info", data: fields.message }));
    } else if (type === "ui-size-change") {
      link.stopReporting();
      link.notify("ui/notifications/size-changed", { width: fields.width, height: fields.height });
    } else if (type === "ui-lifecycle-iframe-ready") {
      ready = true;
      render();
    } else if (type === "ui-request-render-data") render(messageId);
    else if (type === "ui-request-data") {
      act(messageId, async () => {
        if (!data.has(fields.requestType)) throw new Error(`This host has no data of type ${fields.requestType}.`);
        return data.get(fields.requestType);
      });
    } else return false;
    return true;
  };

  /** @param {Json} changes */
  const update = (changes) => {
    for (const [key, value] of Object.entries(changes)) if (value !== undefined) data.set(key, value);
    render();
  };

  const link = connect(window, "mcp-ui", {
    onDocumentMessage: (message) => !origin && receive(message),
    onContext: (context) => {
      const maxHeight = context.containerDimensions?.maxHeight;
      update({ ...Object.fromEntries(CONTEXT_KEYS.map((key) => [key, context[key]])), maxHeight });
    },
    onHostMessage: (method, params) => {
      if (method.startsWith("ui/notifications/tool-input")) update({ toolInput: params.arguments });
      else if (method === "ui/notifications/tool-result") update({ toolOutput: params });
      else if (method === "ui/notifications/tool-cancelled") {
        post({ type: "ui-lifecycle-tool-cancelled", payload: { reason: params.reason } });
      } else if (method === "ui/resource-teardown") {
        post({ type: "ui-lifecycle-teardown", payload: { reason: params.reason } });
      }
    },
    ...(origin && { toFrame: post }),
  });
  if (origin) {
    window.addEventListener("message", (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame() || event.origin !== origin || receive(event.data)) return;
      if (event.data?.jsonrpc === "2.0") link.forward(event.data);
    });
  }
  link.start(!origin && !height);
  window.addEventListener("load", () => {
    if (!ready) render();
    if (height) link.notify("ui/notifications/size-changed", { height });
  });
};

export { start };
