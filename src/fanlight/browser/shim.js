// @ts-check
/**
 * What the shims share: a link to the host for a document that does not implement the standard. The host inserts a shim
 * at the start of the document, so a shim can do no more than the document itself.
 *
 * It is inlined without comments and indentation (`shim()` in __init__.py), so comments are on lines of their own.
 */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Handlers The callbacks of a shim.
 * @property {(message: any) => boolean} onDocumentMessage Handles a message to the parent. Returns false to forward it.
 * @property {(context: Json) => void} onContext Gets the host context, complete or partial.
 * @property {(method: string, params: Json) => void} onHostMessage Gets other messages of the host.
 * @property {(message: Json) => void} [toFrame] Gets messages for a framed page that may implement the standard.
 */

/** Messages that the host sends once. They are kept, and repeated for code that connects late. */
const ONCE = new Map([
  ["ui/notifications/tool-input-partial", "input"],
  ["ui/notifications/tool-input", "input"],
  ["ui/notifications/tool-result", "outcome"],
  ["ui/notifications/tool-cancelled", "outcome"],
]);

/**
 * Put a shim between a document and its host. Messages of other windows are ignored.
 * @param {any} window
 * @param {string} name
 * @param {Handlers} handlers
 */
const connect = (window, name, handlers) => {
  const host = window.parent;
  /** @type {Map<string, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {Map<string | undefined, Json>} */
  const once = new Map();
  /** @type {Promise<void> | undefined} */
  let connected;
  let ids = 0;
  // Whether the document did the handshake itself, and whether the shim did.
  let byDocument = false;
  let byShim = false;
  let handshakes = 0;
  /** @type {Event | undefined} */
  let replayed;

  /** @param {Json} message */
  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");

  /**
   * Send a request. Ids are strings, which no SDK uses.
   * @param {string} method
   * @param {Json} params
   * @returns {Promise<any>}
   */
  const send = (method, params) => {
    const id = `${name} ${++ids}`;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      post({ id, method, params });
    });
  };

  const handshake = () =>
    (connected ??= (async () => {
      if (byDocument) return;
      byShim = true;
      const appInfo = { name, version: "1" };
      const { hostContext } = await send("ui/initialize", {
        protocolVersion: "2026-01-26",
        appInfo,
        appCapabilities: {},
      });
      handlers.onContext(hostContext);
      post({ method: "ui/notifications/initialized", params: {} });
    })());

  /**
   * @param {string} method
   * @param {Json} params
   * @returns {Promise<any>}
   */
  const request = async (method, params) => {
    await handshake();
    return send(method, params);
  };

  /**
   * @param {string} method
   * @param {Json} params
   */
  const notify = async (method, params) => {
    await handshake();
    post({ method, params });
  };

  /** Repeat a message of the host for the document.  @param {any} data */
  const dispatch = (data) => {
    replayed = new window.MessageEvent("message", { data, source: host, origin: window.location.origin });
    window.dispatchEvent(replayed);
  };

  /** @param {MessageEvent} event */
  const receive = (event) => {
    if (event.source !== host) return;
    // Code in the document compares `event.source` with `window.parent`.
    Object.defineProperty(event, "source", { value: parent });
    const { data } = event;
    if (event === replayed || data?.jsonrpc !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (method) {
      if (ONCE.has(method)) once.set(ONCE.get(method), data);
      if (method === "ui/notifications/host-context-changed") handlers.onContext(Object(params));
      else handlers.onHostMessage(method, Object(params));
      if (byDocument) handlers.toFrame?.(data);
      if (id != null && !byDocument && (method === "ping" || method === "ui/resource-teardown")) {
        post({ id, result: {} });
      }
      return;
    }
    const pending = waiting.get(id);
    if (pending) {
      waiting.delete(id);
      event.stopImmediatePropagation();
      if (error) pending.reject(Object.assign(new Error(String(error.message)), { code: error.code }));
      else pending.resolve(Object(result));
      return;
    }
    handlers.toFrame?.(data);
    if (result?.hostContext) {
      handlers.onContext(result.hostContext);
      // The document or another framed page connects later, and needs the messages that were sent before.
      const late = byShim || (handlers.toFrame && handshakes++);
      if (late) setTimeout(() => [...once.values()].forEach(handlers.toFrame ?? dispatch));
    }
  };

  /** @param {any} message @param {any[]} rest */
  const forward = (message, ...rest) => {
    byDocument ||= /^(?:(?:mcp-)?ui\/)?initialize$/.test(message?.method);
    host.postMessage(message, ...(rest.length ? rest : ["*"]));
  };

  /** @type {(message: any, ...rest: any[]) => void} */
  let postMessage = (message, ...rest) => {
    if (!handlers.onDocumentMessage(message)) forward(message, ...rest);
  };
  const parent = new Proxy(Object.create(null), {
    get: (_, key) => (key === "postMessage" ? postMessage : host[key]),
    set: (_, key, value) => {
      if (key === "postMessage") postMessage = value;
      else host[key] = value;
      return true;
    },
  });
  Object.defineProperty(window, "parent", { value: parent, configurable: true, writable: true });
  window.addEventListener("message", receive, true);

  let reportsHeight = true;

  /** Report the height of the document whenever it changes. */
  const reportHeight = () => {
    const root = window.document.documentElement;
    let last = 0;
    let grown = 0;
    new window.ResizeObserver(() => {
      const before = root.style.height;
      root.style.height = "max-content";
      const height = Math.ceil(root.getBoundingClientRect().height);
      root.style.height = before;
      if (!height || height === last || !reportsHeight || byDocument) return;
      // Content in units of the frame's height grows with the frame, without end.
      grown = height > last && height > window.innerHeight ? grown + 1 : 0;
      last = height;
      if (grown < 20) notify("ui/notifications/size-changed", { height });
    }).observe(root);
  };

  return {
    request,
    notify,
    forward,
    /** Dispatch a message to the document as if its parent sent it.  @param {any} data */
    dispatch,
    /** Stop reporting the height: the document does it. */
    stopReporting: () => (reportsHeight = false),
    /** Do the handshake when the document is loaded, unless it does so itself.  @param {boolean} sized */
    start: (sized) =>
      window.addEventListener("load", () => {
        if (byDocument) return;
        handshake();
        if (sized) reportHeight();
      }),
  };
};

export { connect };
