// @ts-check
/**
 * For documents that speak mcp-ui: what they post to their parent becomes requests of the standard, and what the host
 * says becomes mcp-ui's messages. docs/reference/dialects.md has the table. A framed page may speak the standard, too:
 * then its messages are handed on as they are.
 */

import { connect } from "./shim.js";

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Given
 * @property {Json} [renderData] What the server gives the document to begin with.
 * @property {number} [height] The height that it prefers.
 * @property {string} [origin] Of the page in this document's one frame, if that page is who speaks.
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

/** What of the host's context is render data. */
const SHOWN = ["theme", "locale", "displayMode"];

/**
 * @param {any} window
 * @param {Given} [given]
 */
const start = (window, { renderData = {}, height, origin } = {}) => {
  /** @type {Map<string, unknown>} */
  const data = new Map(Object.entries(renderData));
  let ready = false;

  const frame = () => window.document.querySelector("iframe")?.contentWindow;

  /** @param {Json} words */
  const speak = (words) => (origin ? frame()?.postMessage(words, origin) : link.speak(words));

  /** @param {unknown} [messageId] */
  const render = (messageId) => {
    const payload = { renderData: Object.fromEntries(data) };
    speak({ type: "ui-lifecycle-iframe-render-data", ...(messageId != null && { messageId }), payload });
  };

  /**
   * @param {unknown} messageId
   * @param {() => Promise<any>} work
   */
  const act = async (messageId, work) => {
    const answer = (/** @type {string} */ type, /** @type {Json} */ payload) =>
      messageId != null && speak({ type, messageId, payload: { messageId, ...payload } });
    answer("ui-message-received", {});
    try {
      answer("ui-message-response", { response: (await work()) ?? {} });
    } catch (error) {
      answer("ui-message-response", { error: { message: error.message } });
    }
  };

  /** @param {any} words */
  const said = (words) => {
    const { type, messageId, payload } = Object(words);
    const about = Object(payload);
    const action = ACTIONS.get(type);
    if (action) act(messageId, () => link.ask(...action(about)));
    else if (type === "notify") {
      act(messageId, () => link.tell("notifications/message", { level: "info", data: about.message }));
    } else if (type === "ui-size-change") {
      link.stopFollowing();
      link.tell("ui/notifications/size-changed", { width: about.width, height: about.height });
    } else if (type === "ui-lifecycle-iframe-ready") {
      ready = true;
      render();
    } else if (type === "ui-request-render-data") render(messageId);
    else if (type === "ui-request-data") {
      act(messageId, async () => {
        if (!data.has(about.requestType)) throw new Error(`This host has no data of the type ${about.requestType}.`);
        return data.get(about.requestType);
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
    said: (words) => !origin && said(words),
    context: (context) => {
      const maxHeight = context.containerDimensions?.maxHeight;
      update({ ...Object.fromEntries(SHOWN.map((key) => [key, context[key]])), maxHeight });
    },
    told: (method, params) => {
      if (method.startsWith("ui/notifications/tool-input")) update({ toolInput: params.arguments });
      else if (method === "ui/notifications/tool-result") update({ toolOutput: params });
      else if (method === "ui/notifications/tool-cancelled") {
        speak({ type: "ui-lifecycle-tool-cancelled", payload: { reason: params.reason } });
      } else if (method === "ui/resource-teardown") {
        speak({ type: "ui-lifecycle-teardown", payload: { reason: params.reason } });
      }
    },
    ...(origin && { pass: speak }),
  });
  if (origin) {
    window.addEventListener("message", (/** @type {MessageEvent} */ event) => {
      if (event.source !== frame() || event.origin !== origin || said(event.data)) return;
      if (event.data?.jsonrpc === "2.0") link.forward(event.data);
    });
  }
  link.begin(!origin && !height);
  window.addEventListener("load", () => {
    if (!ready) render();
    if (height) link.tell("ui/notifications/size-changed", { height });
  });
};

export { start };
