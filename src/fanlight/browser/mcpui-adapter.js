// @ts-check
/**
 * Runs a widget written for mcp-ui as a View: translates its messages to calls of `App`, and messages of the host to
 * those of mcp-ui. The widget is this document itself or a page in a frame of it. Inlined after view.js; it follows the
 * conventions at the top of view.js.
 *
 *   widget                        App
 *   tool                          callServerTool
 *   prompt, intent                sendMessage
 *   link                          openLink
 *   notify                        sendLog
 *   ui-size-change                sendSizeChanged; from a frame, sets its height
 *   ui-lifecycle-iframe-ready     answered with the render data, like ui-request-render-data
 *
 * A message with a `messageId` is acknowledged with ui-message-received and answered with ui-message-response.
 */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} AdapterOptions
 * @property {string} [frame] The id of the frame that holds the widget, if it is not this document.
 * @property {Json} [renderData] The initial render data.
 * @property {"prompt" | "ignore"} [intents] Whether intents become messages. Default: "prompt".
 * @property {number} [timeout] The timeout of requests in milliseconds.
 * @property {boolean} [structured] Whether `toolOutput` is the structured content alone, as in ChatGPT.
 */

const WANT_DATA = ["ui-lifecycle-iframe-ready", "ui-request-render-data"];

/**
 * @param {{ App: any, PostMessageTransport: any }} sdk
 * @param {AdapterOptions} options
 */
const adapt = (
  { App, PostMessageTransport },
  { frame: frameId, renderData = {}, intents, timeout = 30000, structured },
) => {
  const host = window.parent;
  const app = new App({ name: document.title || "mcp-ui widget", version: "1" }, {}, { autoResize: false });
  /** @type {any} */
  const frame = frameId ? document.getElementById(frameId) : null;
  const origin = frame ? new URL(frame.src).origin : "*";
  /** @type {Json} */
  const data = { ...renderData };
  let stopResizing = () => {};
  // Until its page is loaded, a frame has another origin and gets no messages.
  let isLoaded = !frame;

  /** @param {Json} message */
  const post = (message) => {
    if (!isLoaded) return;
    if (frame) frame.contentWindow?.postMessage(message, origin);
    else window.dispatchEvent(new MessageEvent("message", { data: message, source: host }));
  };

  /** @param {unknown} [messageId] */
  const sendRenderData = (messageId) => {
    const { theme, locale, displayMode, containerDimensions } = app.getHostContext() ?? {};
    const context = { theme, locale, displayMode, maxHeight: containerDimensions?.maxHeight };
    const known = Object.entries({ ...context, ...data }).filter(([, value]) => value != null);
    post({ type: "ui-lifecycle-iframe-render-data", messageId, payload: { renderData: Object.fromEntries(known) } });
  };

  /** @type {Record<string, (payload: any) => any>} */
  const actions = {
    tool: ({ toolName, params }) => app.callServerTool({ name: toolName, arguments: params ?? {} }, { timeout }),
    prompt: ({ prompt }) => app.sendMessage({ role: "user", content: [{ type: "text", text: prompt }] }, { timeout }),
    link: ({ url }) => app.openLink({ url }, { timeout }),
    intent: ({ intent, params }) => {
      if (intents === "ignore") return { ignored: true };
      return actions.prompt?.({ prompt: `${intent}: ${JSON.stringify(params ?? {})}` });
    },
    notify: ({ message }) => app.sendLog({ level: "info", data: message }),
    "ui-request-data": () => {
      throw new Error("ui-request-data has no equivalent in MCP Apps");
    },
  };

  /** @param {any} message */
  const act = async ({ type, payload, messageId }) => {
    /** @param {Json} outcome */
    const respond = (outcome) => {
      if (messageId != null) post({ type: "ui-message-response", messageId, payload: { messageId, ...outcome } });
    };
    if (messageId != null) post({ type: "ui-message-received", messageId, payload: { messageId } });
    try {
      const response = (await actions[type]?.(payload ?? {})) ?? {};
      // A host may report a denied request in the result.
      if (response.isError && type !== "tool") {
        throw new Error(response.content?.[0]?.text ?? "The host denied the request");
      }
      respond({ response });
    } catch (error) {
      respond({ error: { message: String(error?.message ?? error), code: error?.code } });
    }
  };

  /** @param {any} payload */
  const resize = async ({ width, height } = {}) => {
    if (frame) frame.style.height = Number.isFinite(height) ? `${height}px` : frame.style.height;
    else {
      stopResizing();
      stopResizing = () => {};
      await app.sendSizeChanged({ width, height });
    }
  };

  /**
   * @param {any} message
   * @returns {boolean} Whether it is a message of mcp-ui.
   */
  const receive = (message) => {
    const type = typeof message?.type === "string" ? message.type : "";
    if (Object.hasOwn(actions, type)) act(message);
    else if (type === "ui-size-change") resize(message.payload).catch(console.error);
    else if (WANT_DATA.includes(type)) ready.then(() => sendRenderData(message.messageId));
    else return false;
    return true;
  };

  if (frame) {
    window.addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== origin) return;
      isLoaded = true;
      receive(event.data);
    });
    frame.addEventListener("load", () => {
      isLoaded = true;
      ready.then(() => sendRenderData());
    });
  } else {
    // Messages to the parent come here first. Those that are not mcp-ui's are forwarded.
    /** @type {any} */
    const parent = {
      /**
       * @param {any} message
       * @param {any[]} rest
       */
      postMessage: (message, ...rest) => receive(message) || Reflect.apply(host.postMessage, host, [message, ...rest]),
    };
    Object.defineProperty(window, "parent", { value: parent, configurable: true });
  }

  /** @param {any} params */
  app.ontoolinput = ({ arguments: args }) => {
    data.toolInput = args;
    sendRenderData();
  };
  /** @param {any} result */
  app.ontoolresult = (result) => {
    data.toolOutput = structured ? result.structuredContent : result;
    sendRenderData();
  };
  /** @param {any} payload */
  app.ontoolcancelled = (payload) => post({ type: "ui-lifecycle-tool-cancelled", payload });
  app.onhostcontextchanged = () => sendRenderData();
  /** @param {any} payload */
  app.onteardown = (payload) => post({ type: "ui-lifecycle-teardown", payload });

  const ready = app.connect(host === window ? undefined : new PostMessageTransport(host)).then(() => {
    stopResizing = app.setupSizeChangedNotifications();
    sendRenderData();
  }, console.error);
};

export { adapt };
