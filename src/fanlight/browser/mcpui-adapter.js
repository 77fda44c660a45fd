// @ts-check
/**
 * Lets a widget written for mcp-ui run as a View: its messages to the window around it become calls of `App`, and
 * what the host says becomes the messages that such a widget waits for. The widget is this document itself, or a
 * page in a frame of it. Inlined after view.js; it keeps to the conventions that view.js states at its top.
 *
 *   widget                        App
 *   tool                          callServerTool
 *   prompt, intent                sendMessage
 *   link                          openLink
 *   notify                        sendLog
 *   ui-size-change                sendSizeChanged; of a frame, the frame's height
 *   ui-lifecycle-iframe-ready     is sent the render data, as ui-request-render-data is
 *
 * A message with a `messageId` is acknowledged with ui-message-received and answered with ui-message-response.
 */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} AdapterOptions
 * @property {string} [frame] The id of the frame that holds the widget, if it is not this document.
 * @property {Json} [renderData] What the widget is given from the start.
 * @property {"prompt" | "ignore"} [intents] Whether an intent becomes a message, which it does unless told.
 * @property {number} [timeout] How long the host has for an answer, in milliseconds.
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
  // Before its page is there, a frame is of another origin, which hears nothing of this.
  let isThere = !frame;

  /** @param {Json} message */
  const post = (message) => {
    if (!isThere) return;
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
      // A host that denies a request may say so in its result.
      if (response.isError && type !== "tool") throw new Error(response.content?.[0]?.text ?? "The host denied it");
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
   * @returns {boolean} Whether it was for us.
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
      isThere = true;
      receive(event.data);
    });
    frame.addEventListener("load", () => {
      isThere = true;
      ready.then(() => sendRenderData());
    });
  } else {
    // What the widget posts to its parent comes here first; what is not mcp-ui's goes on.
    /** @type {any} */
    const around = {
      /**
       * @param {any} message
       * @param {any[]} rest
       */
      postMessage: (message, ...rest) => receive(message) || Reflect.apply(host.postMessage, host, [message, ...rest]),
    };
    Object.defineProperty(window, "parent", { value: around, configurable: true });
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
