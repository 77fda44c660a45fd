// @ts-check
/**
 * What the shims share: a link to the host, for a document that does not speak the standard by itself. A shim is put in
 * front of the document by the host that serves it, and can do no more than the document could.
 *
 * It is inlined without comments and indentation (`shim()` in __init__.py): a comment has its lines to itself.
 */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Ears What a shim wants to hear.
 * @property {(message: any) => boolean} said What the document says to its parent. True if that was for the shim.
 * @property {(context: Json) => void} context What the host says of itself, whole or in part.
 * @property {(method: string, params: Json) => void} told What the host tells the View.
 * @property {(message: Json) => void} [pass] Where a page in a frame may speak the standard: takes what is for it.
 */

/** What the host says once, so that whoever comes late in the document can be told, too. */
const ONCE = new Map([
  ["ui/notifications/tool-input-partial", "input"],
  ["ui/notifications/tool-input", "input"],
  ["ui/notifications/tool-result", "outcome"],
  ["ui/notifications/tool-cancelled", "outcome"],
]);

/**
 * Stand between a document and the host around it. Only the host itself is believed: what other frames send is not
 * heard here.
 * @param {any} window
 * @param {string} name
 * @param {Ears} ears
 */
const connect = (window, name, ears) => {
  const host = window.parent;
  /** @type {Map<string, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {Map<string | undefined, Json>} */
  const once = new Map();
  /** @type {Promise<void> | undefined} */
  let greeted;
  let ids = 0;
  // Whether the document greets the host by itself, and whether we did.
  let others = false;
  let ours = false;
  let greetings = 0;
  /** @type {Event | undefined} */
  let replayed;

  /** @param {Json} message */
  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");

  /**
   * The ids are texts, which no SDK chooses.
   * @param {string} method
   * @param {Json} params
   * @returns {Promise<any>}
   */
  const request = (method, params) => {
    const id = `${name} ${++ids}`;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      post({ id, method, params });
    });
  };

  const greet = () =>
    (greeted ??= (async () => {
      if (others) return;
      ours = true;
      const appInfo = { name, version: "1" };
      const { hostContext } = await request("ui/initialize", {
        protocolVersion: "2026-01-26",
        appInfo,
        appCapabilities: {},
      });
      ears.context(hostContext);
      post({ method: "ui/notifications/initialized", params: {} });
    })());

  /**
   * @param {string} method
   * @param {Json} params
   * @returns {Promise<any>}
   */
  const ask = async (method, params) => {
    await greet();
    return request(method, params);
  };

  /**
   * @param {string} method
   * @param {Json} params
   */
  const tell = async (method, params) => {
    await greet();
    post({ method, params });
  };

  /** Say to the document what the host has said.  @param {any} data */
  const dispatch = (data) => {
    replayed = new window.MessageEvent("message", { data, source: host, origin: window.location.origin });
    window.dispatchEvent(replayed);
  };

  /** @param {MessageEvent} event */
  const hear = (event) => {
    if (event.source !== host) return;
    // So that whoever compares the two finds them equal.
    Object.defineProperty(event, "source", { value: parent });
    const { data } = event;
    if (event === replayed || data?.jsonrpc !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (method) {
      if (ONCE.has(method)) once.set(ONCE.get(method), data);
      if (method === "ui/notifications/host-context-changed") ears.context(Object(params));
      else ears.told(method, Object(params));
      if (others) ears.pass?.(data);
      if (id != null && !others && (method === "ping" || method === "ui/resource-teardown")) post({ id, result: {} });
      return;
    }
    const asked = waiting.get(id);
    if (asked) {
      waiting.delete(id);
      event.stopImmediatePropagation();
      if (error) asked.reject(Object.assign(new Error(String(error.message)), { code: error.code }));
      else asked.resolve(Object(result));
      return;
    }
    ears.pass?.(data);
    if (result?.hostContext) {
      ears.context(result.hostContext);
      // Somebody greets after us, or another page after the first, and would wait in vain for what was said already.
      const late = ours || (ears.pass && greetings++);
      if (late) setTimeout(() => [...once.values()].forEach(ears.pass ?? dispatch));
    }
  };

  /** @param {any} message @param {any[]} rest */
  const forward = (message, ...rest) => {
    others ||= /^(?:(?:mcp-)?ui\/)?initialize$/.test(message?.method);
    host.postMessage(message, ...(rest.length ? rest : ["*"]));
  };

  /** @type {(message: any, ...rest: any[]) => void} */
  let postMessage = (message, ...rest) => {
    if (!ears.said(message)) forward(message, ...rest);
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
  window.addEventListener("message", hear, true);

  let follows = true;

  /** Report the height of the document, as a View of the standard does. */
  const follow = () => {
    const root = window.document.documentElement;
    let last = 0;
    let grown = 0;
    new window.ResizeObserver(() => {
      const before = root.style.height;
      root.style.height = "max-content";
      const height = Math.ceil(root.getBoundingClientRect().height);
      root.style.height = before;
      if (!height || height === last || !follows || others) return;
      // What is measured in heights of the frame grows with the frame, and would never end.
      grown = height > last && height > window.innerHeight ? grown + 1 : 0;
      last = height;
      if (grown < 20) tell("ui/notifications/size-changed", { height });
    }).observe(root);
  };

  return {
    ask,
    tell,
    forward,
    /** Say something to the document as if its parent did.  @param {any} data */
    speak: dispatch,
    /** The document knows its own height. */
    stopFollowing: () => (follows = false),
    /** Greet the host when the document is there, unless it does so itself.  @param {boolean} sized */
    begin: (sized) =>
      window.addEventListener("load", () => {
        if (others) return;
        greet();
        if (sized) follow();
      }),
  };
};

export { connect };
