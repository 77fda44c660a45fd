// @ts-check
/**
 * `<mcp-app view="ID" src="/apps" token="...">`: shows one View in a host page.
 *
 * The bridge runs in Python. This element opens a WebSocket to it at `{src}/socket`, frames the sandbox proxy, and
 * relays messages between the two. It also does what only a page can do: sizes, display modes, links, downloads,
 * questions for the user, and reporting the state of the browser. What most pages never need is in modules of its own
 * (`mcp-app-*.js`), which are loaded from the same place when they are needed.
 * docs/reference/mcp-app.md describes its attributes and events, docs/reference/page-protocol.md the frames on the
 * socket.
 */

/** @typedef {Record<string, any>} Json */

/** @typedef {"inline" | "fullscreen" | "pip"} Mode */

const RESERVED = "ui/notifications/sandbox-";

// What the proxy's frame needs. The View's frame inside it cannot have more (SBX-03).
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-pointer-lock";

// A greater height is a mistake, or an attack on the page's layout.
const MAX_HEIGHT = 20_000;

// How many characters may wait for the host's acknowledgement.
const MAX_KEPT = 4_000_000;

// How deeply a message may be nested. The host accepts 200 levels for a whole frame.
const MAX_DEPTH = 150;

// After this many received frames without one to send, send an `ack` frame: the same as in host/views/page/channel.py.
const ACK_EVERY = 32;

const TIMEOUT = 10_000;

// How often a View's document is requested if it cannot be loaded.
const MAX_LOADS = 4;

const STYLE = `
:host { display: block; position: relative; }
:host([hidden]) { display: none; }
.box {
  position: static; display: flex; flex-direction: column; box-sizing: border-box; width: auto; height: auto;
  max-width: none; max-height: none; margin: 0; padding: 0; border: 0; overflow: hidden; color: inherit;
  background: none; border-radius: var(--mcp-app-radius, 8px);
}
:host { --line: 1px solid color-mix(in srgb, currentcolor 30%, transparent); }
.border { border: var(--mcp-app-border, var(--line)); }
button {
  font: inherit; font-size: 16px; width: 32px; height: 32px; cursor: pointer; color: inherit; background: none;
  border: var(--line); border-radius: 8px;
}
button:hover:enabled { background: color-mix(in srgb, currentcolor 12%, transparent); }
p button { width: auto; padding: 0 12px; font-size: 14px; }
p { margin: 0; font: 14px/1.5 system-ui; overflow-wrap: anywhere; }
p:not(:empty) { padding: 8px 12px; }
[role="alert"]:not(:empty) { border-inline-start: 4px solid #d33; background: #dd33331a; }
/* Over the View, so that the View does not move. */
:has(iframe) > [role="status"]:not(:empty) {
  position: absolute; inset: 8px 8px auto auto; padding: 2px 12px; border-radius: 16px; border: var(--line);
  color: CanvasText; background: Canvas; pointer-events: none;
}
[role="status"]:has(button) { border: var(--line); border-radius: inherit; }
.small { font-size: 12px; opacity: 0.75; }
.small:not(:empty) { padding: 4px 12px; }
pre { margin: 4px 0; max-height: 12em; overflow: auto; white-space: pre-wrap; font: 12px/1.5 ui-monospace, monospace; }
[hidden] { display: none; }
iframe {
  display: block; width: 100%; height: 150px; border: 0; color-scheme: light dark;
  background: var(--mcp-app-background, Canvas);
}
`;

/**
 * Return a valid height for a frame, or undefined if the value is not a height.
 * @param {unknown} height
 * @param {number} [max]
 */
const clampHeight = (height, max = MAX_HEIGHT) =>
  typeof height === "number" && height >= 0 && height < Infinity
    ? Math.min(Math.ceil(height), max, MAX_HEIGHT)
    : undefined;

/**
 * Return the address of a link if it is http or https, else undefined.
 * @param {unknown} url
 */
const webLink = (url) => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
};

/**
 * Return how many milliseconds to wait before the next attempt to connect.
 * @param {number} tries How many attempts have failed.
 * @param {number} random From 0 to 1, so that the Views of a page do not all reconnect at once.
 */
const backoff = (tries, random) => Math.min(250 * 2 ** tries, 15_000) * (0.5 + random / 2);

/**
 * Close a View that has no connection of its own, as soon as the host can be reached.
 * @param {URL} url
 * @param {string} frame
 * @param {number} tries
 * @returns {Promise<void>}
 */
const closeUnshown = async (url, frame, tries = 0) => {
  const socket = new WebSocket(url);
  socket.addEventListener("open", () => socket.send(frame));
  const { type } = await new Promise((resolve) => {
    for (const event of ["message", "close"]) socket.addEventListener(event, resolve);
  });
  if (type === "message") return socket.close();
  await new Promise((resolve) => setTimeout(resolve, backoff(tries, Math.random())));
  return closeUnshown(url, frame, tries + 1);
};

/**
 * Return the entries of `now` that differ from those of `before`.
 * @param {Json} before
 * @param {Json} now
 */
const changes = (before, now) =>
  Object.fromEntries(
    Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])),
  );

/**
 * Return the least number of characters that a value has as JSON. A View can post one object in many places, or a
 * sparse array: cheap to post, endless to write as JSON. This takes no longer than posting it did. The result
 * is Infinity for a value that contains itself or is nested too deeply.
 * @param {any} value
 * @param {Map<object, number>} [known]
 * @param {number} [depth]
 * @returns {number}
 */
const leastLength = (value, known = new Map(), depth = 0) => {
  if (typeof value === "string") return value.length + 2;
  if (!value || typeof value !== "object") return 1;
  if (depth > MAX_DEPTH) return Infinity;
  let length = known.get(value);
  if (length === undefined) {
    known.set(value, Infinity); // for a value that contains itself
    length = 1 + (Array.isArray(value) ? value.length : ArrayBuffer.isView(value) ? value.byteLength : 0);
    const items = ArrayBuffer.isView(value) ? [] : Object.values(value);
    for (const inner of items) length += leastLength(inner, known, depth + 1);
    known.set(value, length);
  }
  return length;
};

/**
 * Return a new element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Json} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** @type {Map<string, CSSStyleSheet>} */
const sheets = new Map();

/**
 * Add a style sheet to a shadow root, unless it has it.
 * @param {ShadowRoot} root
 * @param {string} style
 */
const addStyle = (root, style) => {
  const sheet = sheets.get(style) ?? new CSSStyleSheet();
  if (!sheets.has(style)) sheet.replaceSync(style);
  sheets.set(style, sheet);
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
};

/**
 * Give an element a shadow root with a style sheet and children.
 * @param {HTMLElement} element
 * @param {string} style
 * @param {...Node} children
 */
const fillShadow = (element, style, ...children) => {
  const root = element.attachShadow({ mode: "open" });
  addStyle(root, style);
  root.append(...children);
  return root;
};

class McpApp extends HTMLElement {
  static observedAttributes = ["view", "src", "theme", "max-height"];

  // The parts. The box is a modal dialog only in full screen, which makes the rest of the page inert. The frame is
  // never moved in the document: that would reload the View.
  #status = make("p", { part: "status", role: "status" });
  #alert = make("p", { part: "error", role: "alert" });
  #stage = make("div", { part: "stage" });
  #network = make("p", { part: "network", class: "small" });
  #shared = make("section");
  /** @type {Map<number, { withdraw(): void }>} The questions without an answer, by id. */
  #questions = new Map();
  #box = make(
    "dialog",
    { part: "box", open: "", role: "group", class: "box inline" },
    this.#status,
    this.#alert,
    this.#stage,
    this.#network,
    this.#shared,
  );

  /** @type {HTMLIFrameElement | undefined} */
  #frame;
  #proxy = { href: "", origin: "" };
  /** @type {Json | undefined} The `show` frame. */
  #show;
  #proxyReady = false;
  // Whether the proxy has been given its document.
  #loaded = false;
  // How often the document could not be loaded.
  #failures = 0;
  // Whether the View has sent a message.
  #ready = false;
  /** @type {Mode} */
  #mode = "inline";
  /** @type {Mode} The last mode that was requested. */
  #wantedMode = "inline";
  /** @type {import("./mcp-app-modes.js").DisplayModes | undefined} */
  #modes;
  #heights = { last: -1, before: -1, at: 0, rounds: 0 };

  /** @type {WebSocket | undefined} */
  #socket;
  // The epoch of the `show` frame, which resumes the View on another socket.
  #epoch = "";
  #tries = 0;
  // Frames are numbered in each direction, and kept until the other end acknowledges them: host/views/page/channel.py.
  /** @type {{ n: number, text: string }[]} */
  #kept = [];
  #keptSize = 0;
  #lastNumber = 0;
  /** The number of the last frame that a socket was given. */
  #sent = 0;
  /** @type {Map<unknown, { n: number, id: unknown, method: unknown }>} The View's requests without a response. */
  #requests = new Map();
  #received = 0;
  #lastAck = 0;
  // Whether the host has answered `open` on this socket.
  #live = false;
  #maxBytes = 1_000_000;
  /** @type {Json} */
  #context = {};
  /** @type {AbortController | undefined} Removes every listener outside the element. */
  #listeners;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #deadline;
  /** @type {() => void} */
  #onClosed = () => {};

  #root = fillShadow(this, STYLE, this.#box);

  /** The display mode: "inline", "fullscreen" or "pip". */
  get displayMode() {
    return this.#mode;
  }

  /**
   * Close the View for good, wait up to five seconds for it to finish, and remove the element. Without a connection,
   * the View is closed as soon as there is one, while the page is open.
   */
  async close() {
    await this.#closeView();
    this.remove();
  }

  /** Show the View here again: after an error, or if it is open in another window. */
  reopen() {
    this.#start();
  }

  connectedCallback() {
    this.#listeners = new AbortController();
    const { signal } = this.#listeners;
    const update = () => this.#updateContext();
    window.addEventListener("message", (event) => this.#onMessage(event), { signal });
    window.addEventListener("languagechange", update, { signal });
    window.addEventListener("online", () => this.#retry && this.#connect(), { signal });
    document.addEventListener("securitypolicyviolation", (event) => this.#onBlocked(event), { signal });
    for (const query of ["(prefers-color-scheme: dark)", "(any-pointer: coarse)", "(any-hover: hover)"]) {
      window.matchMedia(query).addEventListener("change", update, { signal });
    }
    const observer = new ResizeObserver(update);
    observer.observe(this);
    observer.observe(this.#stage);
    signal.addEventListener("abort", () => observer.disconnect());
    this.#start();
  }

  /** Let the View go. It stays open at the host, and is loaded again if an element shows it. */
  disconnectedCallback() {
    this.#listeners?.abort();
    this.#leave();
  }

  /** Called instead of the two above by `moveBefore`, which keeps the frame alive. */
  connectedMoveCallback() {}

  /**
   * @param {string} name
   * @param {string | null} before
   * @param {string | null} now
   */
  attributeChangedCallback(name, before, now) {
    if (!this.isConnected || !this.#listeners || before === now) return;
    if (name === "view" && !before && this.#socket) {
      // The proxy and the socket are prewarmed. The page's script may set the token in its next line.
      this.#status.textContent = "Loading…";
      queueMicrotask(() => this.#open());
    } else if (name === "view" || name === "src") this.#start();
    else this.#updateContext();
  }

  // The socket.

  #start() {
    this.#leave();
    this.#tries = 0;
    this.#reset();
    this.#alert.textContent = "";
    if (!this.hasAttribute("src")) return;
    if (this.getAttribute("view")) this.#status.textContent = "Loading…";
    this.#connect();
  }

  /** Start to count frames from 1. */
  #reset() {
    this.#kept = [];
    this.#keptSize = this.#lastNumber = this.#sent = this.#received = this.#lastAck = 0;
    this.#requests.clear();
  }

  #socketUrl() {
    const url = new URL(`${this.getAttribute("src")}`.replace(/\/*$/, "/socket"), document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    return url;
  }

  #connect() {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#live = false;
    const socket = new WebSocket(this.#socketUrl());
    this.#socket = socket;
    let opened = Infinity;
    socket.addEventListener("open", () => {
      if (socket !== this.#socket) return;
      opened = Date.now();
      this.#open();
    });
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#onFrame(JSON.parse(data));
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (socket !== this.#socket) return;
      const wasLive = this.#live;
      this.#live = false;
      // The host refused this View, and would do so again.
      if (code === 1008 || code >= 4000) {
        if (!this.#alert.textContent) this.#fail(reason || "The host refused to show this View.");
        return;
      }
      // A prewarmed socket is opened again when it is needed.
      if (!this.getAttribute("view")) return this.#disconnect();
      if (wasLive && Date.now() - opened > 5_000) this.#tries = 0;
      this.#retry = setTimeout(() => this.#connect(), backoff(this.#tries, Math.random()));
      this.#tries += 1;
      const cause = this.#tries > 3 ? "The host cannot be reached. Trying again…" : "Reconnecting…";
      this.#status.textContent = this.#alert.textContent ? "Trying again…" : cause;
    });
  }

  /** Send the first frame of a socket. */
  #open() {
    const socket = this.#socket;
    if (socket?.readyState !== 1) return;
    const view = this.getAttribute("view");
    if (!view) return socket.send(JSON.stringify({ type: "prewarm" }));
    this.#context = this.#readContext();
    const context = { ...this.#context, platform: "web", userAgent: navigator.userAgent };
    const resume = this.#epoch && { seen: this.#received, epoch: this.#epoch, ...this.#progress() };
    socket.send(JSON.stringify({ type: "open", view, token: this.getAttribute("token"), context, ...resume }));
  }

  /** What another process of the host needs to continue, if the one that this page was connected to has ended. */
  #progress() {
    const sent = this.#sent;
    const requests = [...this.#requests.values()]
      .filter(({ n }) => n <= sent)
      .map(({ id, method }) => ({ id, method }));
    return { sent, mode: this.#mode, requests };
  }

  #disconnect() {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#live = false;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    socket?.close();
  }

  /**
   * Send a frame, now or on the next socket. Returns "", or the reason why that is impossible.
   * @param {Json} frame
   */
  #send(frame) {
    const n = this.#lastNumber + 1;
    const max = this.#maxBytes;
    let size = leastLength(frame);
    let text = "";
    if (size <= max) {
      try {
        text = JSON.stringify({ ...frame, n, ack: this.#received });
      } catch {
        size = Infinity;
      }
      // A character has at most three bytes.
      if (text.length * 3 > max) size = new Blob([text]).size;
    }
    if (size === Infinity) return "The message is not JSON, or is nested too deeply.";
    if (size > max) return `The message has at least ${size} bytes, and the host accepts ${max}.`;
    if (!this.#socket || this.#keptSize > MAX_KEPT) return "The host cannot be reached now.";
    this.#lastNumber = n;
    this.#lastAck = this.#received;
    this.#kept.push({ n, text });
    // An empty message costs memory, too.
    this.#keptSize += text.length + 100;
    if (this.#live) {
      this.#socket.send(text);
      this.#sent = n;
    }
    return "";
  }

  /** @param {number} number The last of our frames that the host has received. */
  #discard(number) {
    const index = this.#kept.findIndex(({ n }) => n > number);
    const acknowledged = this.#kept.splice(0, index < 0 ? this.#kept.length : index);
    for (const { text } of acknowledged) this.#keptSize -= text.length + 100;
  }

  /**
   * Process the numbers of a frame. Returns false if it is a duplicate.
   * @param {Json} frame
   */
  #isNew({ n, ack, ackNow }) {
    if (ack) this.#discard(ack);
    if (!n) return true;
    if (n <= this.#received) return false;
    this.#received = n;
    if (ackNow || n - this.#lastAck >= ACK_EVERY) {
      this.#lastAck = n;
      this.#socket?.send(JSON.stringify({ type: "ack", ack: n }));
    }
    return true;
  }

  /** Close the View and the socket. */
  async #closeView() {
    const view = this.getAttribute("view");
    const closed = new Promise((resolve) => (this.#onClosed = () => resolve(true)));
    const late = new Promise((resolve) => setTimeout(resolve, TIMEOUT / 2));
    // A lost socket may come back in time, and the View can then finish.
    const hasSocket = this.#retry || (this.#socket && this.#socket.readyState < 2);
    const isClosed = view && hasSocket && !this.#send({ type: "close" }) && (await Promise.race([closed, late]));
    if (!isClosed && view && this.hasAttribute("src")) {
      const frame = JSON.stringify({ type: "open", view, token: this.getAttribute("token"), close: true });
      await Promise.race([closeUnshown(this.#socketUrl(), frame), late]);
    }
    this.#disconnect();
  }

  /** @param {Json} frame */
  #onFrame(frame) {
    if (!this.#isNew(frame)) return;
    const { type, id, message } = frame;
    if (type === "message") this.#toView(message);
    else if (type === "proxy") this.#loadProxy(frame.url, "");
    else if (type === "show") {
      this.#reset();
      this.#live = true;
      this.#maxBytes = frame.maxBytes;
      this.#epoch = frame.epoch;
      this.#failures = 0;
      this.#stage.style.visibility = "";
      this.#showView(frame);
    } else if (type === "resumed") {
      this.#discard(frame.seen);
      this.#live = true;
      for (const { text } of this.#kept) this.#socket?.send(text);
      this.#sent = this.#lastNumber;
      if (frame.restarted) for (const question of this.#questions.values()) question.withdraw();
      if (this.#loaded) this.#status.textContent = "";
    } else if (type === "resize") this.#resize(frame.height);
    else if (type === "status") this.#ready || (this.#status.textContent = message);
    else if (type === "error") {
      this.#epoch = "";
      this.#fail(message);
      if (frame.retry) this.#offer(this.#alert, "Try again");
    } else if (type === "closed") {
      this.#leave();
      this.#status.textContent = "This View was closed.";
      this.#onClosed();
      this.#fire("mcp-closed");
    } else if (type === "elsewhere") this.#onElsewhere();
    else if (type === "reload") this.#start();
    else if (type === "model-context") void this.#showShared(frame.update);
    else if (type === "question") this.#ask(frame);
    else if (type === "cancel-command") this.#questions.get(id)?.withdraw();
    else if (type === "set-display-mode") {
      this.#run(id, async () => {
        await this.#setMode(frame.mode);
        return { mode: this.#mode };
      });
    } else if (type === "open-link") this.#run(id, async () => this.#openLink(frame.url));
    else if (type === "download") {
      this.#run(id, async () => (await import("./mcp-app-download.js")).saveFiles(frame.files));
    }
  }

  /**
   * Run a command, and answer it with what it returns.
   * @param {number} id
   * @param {() => Promise<Json | void>} command
   */
  async #run(id, command) {
    try {
      const result = (await command()) ?? {};
      this.#send({ type: "command-result", id, result });
    } catch (error) {
      this.#send({ type: "command-result", id, error: error.message });
    }
  }

  // The frame.

  /** @param {Json} show */
  #showView(show) {
    const prewarmed = this.#proxy.href === show.proxy && !this.#loaded && !show.allow;
    this.#alert.textContent = "";
    if (!prewarmed) this.#loadProxy(show.proxy, show.allow);
    if (!this.#frame) return;
    this.#show = show;
    const title = show.title;
    // CSP-05
    console.debug(`${title}: Content-Security-Policy: ${show.csp}`);
    this.#frame.title = title;
    this.#box.setAttribute("aria-label", title);
    this.#box.classList.toggle("border", show.border === true);
    const network = show.network.join(", ");
    this.#network.textContent = network && `This app can connect to ${network}`;
    this.#setMode(show.mode).catch(() => this.#leaveMode());
    const timeout = Number(this.getAttribute("timeout")) || TIMEOUT;
    const late = () =>
      this.#loadFailed(
        `The sandbox at ${this.#proxy.origin} did not respond in ${timeout / 1000} seconds. ` +
          "Its name must reach the host: check DNS, the certificate and the reverse proxy.",
      );
    this.#deadline = setTimeout(late, timeout);
    this.#loadDocument();
  }

  /**
   * @param {string} proxy
   * @param {string} allow
   */
  #loadProxy(proxy, allow) {
    this.#unload();
    const href = webLink(proxy);
    const origin = href && new URL(href).origin;
    if (!origin || origin === location.origin) {
      return this.#loadFailed(`The sandbox proxy needs an origin of its own; ${proxy} has none (SBX-02).`);
    }
    this.#proxy = { href: proxy, origin };
    this.#frame = make("iframe", { part: "frame", sandbox: SANDBOX, allow, title: "App", src: proxy });
    this.#stage.replaceChildren(this.#frame);
  }

  #unload() {
    clearTimeout(this.#deadline);
    this.#network.textContent = "";
    this.#shared.replaceChildren();
    this.#frame = this.#show = undefined;
    this.#stage.replaceChildren();
    this.#proxy = { href: "", origin: "" };
    this.#proxyReady = this.#loaded = this.#ready = false;
  }

  /** Send the document's address to the proxy, once both are known. */
  #loadDocument() {
    if (!this.#show || !this.#proxyReady || this.#loaded) return;
    clearTimeout(this.#deadline);
    const { document: url, sandbox, allow, title } = this.#show;
    this.#loaded = true;
    this.#fire("mcp-load");
    this.#post({ jsonrpc: "2.0", method: `${RESERVED}resource-ready`, params: { url, sandbox, allow, title } });
    if (!this.#failures) this.#status.textContent = "";
  }

  /** @param {unknown} message */
  #post(message) {
    this.#frame?.contentWindow?.postMessage(message, this.#proxy.origin);
  }

  /** @param {Json} message */
  #toView(message) {
    if (!this.#loaded) return;
    if (!message.method) this.#requests.delete(message.id);
    this.#post(message);
    this.#fire("mcp-message", { from: "host", message });
  }

  /** @param {MessageEvent} event */
  #onMessage({ source, origin, data }) {
    if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#proxy.origin) return;
    if (typeof data !== "object" || !data) return;
    if (String(data.method).startsWith(RESERVED)) {
      if (data.method === `${RESERVED}document-failed`) this.#onDocumentFailed(data.params?.status);
      if (data.method !== `${RESERVED}proxy-ready`) return;
      this.#proxyReady = true;
      return this.#loadDocument();
    }
    if (!this.#loaded) return;
    if (!this.#ready) {
      this.#ready = true;
      this.#stage.style.visibility = "";
      this.#status.textContent = "";
      this.#fire("mcp-ready");
    }
    const problem = this.#send({ type: "message", message: data });
    const { id, method, params } = data;
    if (method && id != null) {
      if (problem) this.#post({ jsonrpc: "2.0", id, error: { code: -32000, message: problem } });
      else this.#requests.set(id, { n: this.#lastNumber, id, method });
    } else if (method === "notifications/cancelled") this.#requests.delete(params?.requestId);
    this.#fire("mcp-message", { from: "view", message: data });
  }

  /**
   * Report a page whose policy blocks the sandbox proxy or the socket.
   * @param {SecurityPolicyViolationEvent} event
   */
  #onBlocked({ effectiveDirective: directive, blockedURI: blocked, disposition }) {
    const origin = directive === "connect-src" ? this.#socket && new URL(this.#socket.url).origin : this.#proxy.origin;
    if (disposition !== "enforce" || !/^(frame|connect)-src$/.test(directive) || !origin) return;
    if (!blocked.startsWith(origin)) return;
    this.#send({ type: "csp-violation", directive, blocked });
    this.#loadFailed(`This page's Content-Security-Policy must allow ${origin} in ${directive}.`);
    // Without a connection, there is nothing to retry.
    if (directive === "connect-src") this.#disconnect();
  }

  /**
   * Load the View's document again, a few times: another process of the host may have it.
   * @param {unknown} status The HTTP status, or 0 without a response.
   */
  #onDocumentFailed(status) {
    const show = this.#show;
    if (!show || !this.#loaded || this.#ready) return;
    this.#failures += 1;
    const { origin } = new URL(show.document);
    const cause = Number(status) ? `answered with the status ${Number(status)}` : "did not answer";
    const message = `The View’s document cannot be loaded: ${origin} ${cause}.`;
    // What the frame shows instead is not the View.
    this.#stage.style.visibility = "hidden";
    if (this.#failures >= MAX_LOADS) return this.#loadFailed(message);
    this.#status.textContent = `${message} Trying again…`;
    const again = () => this.#show === show && this.#showView(show);
    this.#deadline = setTimeout(again, backoff(this.#failures, Math.random()));
  }

  /** @param {string} message */
  #loadFailed(message) {
    this.#send({ type: "load-failed", message });
    this.#fail(message);
    this.#offer(this.#alert, "Try again");
  }

  /** @param {string} reason */
  #fail(reason) {
    // The host may say the same after each attempt.
    const isNew = !this.#alert.textContent?.startsWith(reason);
    this.#setMode("inline");
    this.#unload();
    this.#status.textContent = "";
    this.#alert.textContent = reason;
    if (isNew) this.#fire("mcp-error", { reason });
  }

  /** Show nothing, without a connection. */
  #leave() {
    for (const question of this.#questions.values()) question.withdraw();
    this.#disconnect();
    this.#setMode("inline");
    this.#unload();
    this.#epoch = this.#status.textContent = "";
  }

  /** Say that another page shows the View, and let the user take it back. */
  #onElsewhere() {
    this.#leave();
    this.#status.textContent = "This View is open in another window.";
    this.#offer(this.#status, "Show it here");
    this.#fire("mcp-elsewhere");
  }

  /**
   * Add a button that opens the View again to a text.
   * @param {HTMLElement} text
   * @param {string} label
   */
  #offer(text, label) {
    const button = make("button", { part: "reopen", type: "button" }, label);
    button.addEventListener("click", () => this.reopen());
    text.append(" ", button);
  }

  // What only a page can do.

  /** @param {unknown} requested */
  #resize(requested) {
    const height = clampHeight(requested, this.#maxHeight());
    if (height === undefined || !this.#frame) return;
    // The page's scroll bar can come and go with the View's height, and change the View's width each time. After a few
    // rounds, keep the greater height.
    const { last, before, at, rounds } = this.#heights;
    const again = height === before && Date.now() - at < 1_000;
    this.#heights = { last: height, before: last, at: Date.now(), rounds: again ? rounds + 1 : 0 };
    if (again && rounds > 3 && height < last) return;
    this.#frame.style.height = `${height}px`;
    this.#fire("mcp-size", { height });
  }

  #maxHeight() {
    const own = parseFloat(this.getAttribute("max-height") ?? "");
    const { maxHeight } = window.getComputedStyle(this);
    const css = maxHeight.endsWith("px") ? parseFloat(maxHeight) : NaN;
    return [own, css].find((height) => height >= 0);
  }

  /** Return to the inline mode because the user wants to. */
  #leaveMode() {
    this.#setMode("inline");
    this.#send({ type: "display-mode", mode: "inline" });
  }

  /** @param {Mode} mode */
  async #setMode(mode) {
    this.#wantedMode = mode;
    if (!this.#modes && mode !== "inline") {
      const { DisplayModes } = await import("./mcp-app-modes.js");
      if (mode !== this.#wantedMode) return;
      this.#modes ??= new DisplayModes(this.#root, this.#box, () => this.#leaveMode());
    }
    if (mode === this.#mode || !["inline", "fullscreen", "pip"].includes(mode)) return;
    this.#mode = mode;
    this.#modes?.change(mode);
    this.#updateContext();
    this.#fire("mcp-display-mode", { mode });
  }

  /** @param {unknown} link */
  #openLink(link) {
    const url = webLink(link);
    if (!url) throw new Error("Only http and https links can be opened.");
    if (this.#fire("mcp-link", { url }, true)) window.open(url, "_blank", "noopener,noreferrer");
  }

  /**
   * Show what the View has shared with the model.
   * @param {Json} update
   */
  async #showShared({ content = [], structuredContent }) {
    this.#fire("mcp-context", { content, structuredContent });
    const frame = this.#frame;
    const { showShared } = await import("./mcp-app-shared.js");
    if (frame === this.#frame) showShared(this.#root, this.#shared, content, structuredContent);
  }

  /**
   * Ask the user for consent, unless the page does it itself.
   * @param {Json} question
   */
  async #ask({ id, app, server, requests }) {
    const withdraw = () => void this.#questions.delete(id);
    const respond = (/** @type {Json} */ outcome) => {
      if (this.#questions.get(id) !== entry) return;
      withdraw();
      const frame = { type: "command-result", id, ...outcome };
      // A question that comes before `show` is answered without a number.
      if (this.#live) this.#send(frame);
      else this.#socket?.send(JSON.stringify(frame));
    };
    const answer = (/** @type {unknown} */ choice) => respond({ result: { answer: String(choice) } });
    const question = { app, server, requests, answer };
    const entry = { withdraw };
    this.#questions.set(id, entry);
    if (!this.#fire("mcp-question", question, true)) return;
    try {
      const isInline = this.getAttribute("consent") === "inline";
      const { showQuestion } = await (isInline ? import("./mcp-app-inline.js") : import("./mcp-app-consent.js"));
      if (this.#questions.get(id) !== entry) return;
      const close = showQuestion(this.#root, question);
      entry.withdraw = () => {
        withdraw();
        close();
      };
    } catch (error) {
      respond({ error: error.message });
    }
  }

  // The host context: what Views may know about the browser.

  /** @returns {Json} */
  #readContext() {
    const is = (/** @type {string} */ query) => window.matchMedia(query).matches;
    const own = this.getAttribute("theme");
    const theme = own === "dark" || own === "light" ? own : is("(prefers-color-scheme: dark)") ? "dark" : "light";
    const { clientWidth: width, clientHeight: height } = this.#stage;
    const inline = this.#mode === "inline";
    const maxHeight = this.#maxHeight();
    const safeAreaInsets = this.#modes?.insets();
    return {
      theme,
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      // The width is 0 while the page hides the element.
      ...(width && { containerDimensions: { width, ...(inline ? maxHeight && { maxHeight } : { height }) } }),
      deviceCapabilities: { touch: is("(any-pointer: coarse)"), hover: is("(any-hover: hover)") },
      // Many Views use the insets as their only padding, so insets that are all 0 are left out.
      ...(safeAreaInsets &&
        (this.#context.safeAreaInsets || Object.values(safeAreaInsets).some(Boolean)) && { safeAreaInsets }),
    };
  }

  #updateContext() {
    if (!this.#live) return;
    const now = this.#readContext();
    const context = changes(this.#context, now);
    this.#context = { ...this.#context, ...now };
    if (Object.keys(context).length) this.#send({ type: "context", context });
  }

  /**
   * @param {string} type
   * @param {Json} [detail]
   * @param {boolean} [cancelable]
   */
  #fire(type, detail = {}, cancelable = false) {
    return this.dispatchEvent(new CustomEvent(type, { detail, cancelable, bubbles: true, composed: true }));
  }
}

// The attributes are properties, too, as those of other elements are.
for (const name of ["view", "src", "token"]) {
  Object.defineProperty(McpApp.prototype, name, {
    get() {
      return this.getAttribute(name) ?? "";
    },
    set(value) {
      this.setAttribute(name, value);
    },
  });
}

if (!customElements.get("mcp-app")) customElements.define("mcp-app", McpApp);

export { McpApp, addStyle, backoff, changes, clampHeight, fillShadow, leastLength, make, webLink };
