// @ts-check
/**
 * `<mcp-app view="ID" src="/apps" token="...">`: one View in a host page.
 *
 * The bridge runs in Python. This element opens a socket to it at `{src}/socket`, frames the sandbox proxy, passes
 * messages between the two, and does what only a page can do: sizes, display modes, links, downloads, and
 * telling the host about the browser. docs/reference/mcp-app.md says what a page can set and hear.
 */

/** @typedef {Record<string, any>} Json */

/** @typedef {"inline" | "fullscreen" | "pip"} Mode */

const RESERVED = "ui/notifications/sandbox-";

// What the proxy's frame needs, and the most that it can hand on to the View (SBX-03).
const SANDBOX = "allow-scripts allow-same-origin allow-forms allow-pointer-lock";

// A View higher than this is a mistake or an attack on the page's layout.
const MOST_HEIGHT = 20_000;

// How much may wait for the host to acknowledge it, in characters, before more is refused.
const MOST_KEPT = 4_000_000;

// How deep what a View says may be nested; the host takes a little more, for what is around it.
const MOST_DEPTH = 150;

// After so many frames with nothing to say back, an acknowledgement goes alone.
const ACK_EVERY = 32;

const PATIENCE = 10_000;

// So long a question cannot be answered with yes: nobody says yes to what was not there when the click began.
const PAUSE = 600;

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
header {
  display: none; align-items: center; gap: 8px; padding: 6px 12px; font: 600 14px/1.4 system-ui;
  border-bottom: var(--line);
}
header span { flex: 1; min-width: 0; overflow-wrap: anywhere; unicode-bidi: plaintext; }
button {
  font: inherit; font-size: 16px; width: 32px; height: 32px; cursor: pointer; color: inherit; background: none;
  border: var(--line); border-radius: 8px;
}
button:hover:enabled { background: color-mix(in srgb, currentcolor 12%, transparent); }
p, details { margin: 0; font: 14px/1.5 system-ui; overflow-wrap: anywhere; }
p:not(:empty), details { padding: 8px 12px; }
[role="alert"]:not(:empty) { border-inline-start: 4px solid #d33; background: #dd33331a; }
/* Over a View that is there, so that it stays in its place. */
:has(iframe) > [role="status"]:not(:empty) {
  position: absolute; inset: 8px 8px auto auto; padding: 2px 12px; border-radius: 16px; border: var(--line);
  color: CanvasText; background: Canvas; pointer-events: none;
}
:is(.fullscreen, .pip) > [role="status"]:not(:empty) { top: 52px; }
.small { font-size: 12px; opacity: 0.75; }
.small:not(:empty) { padding: 4px 12px; }
pre { margin: 4px 0; max-height: 12em; overflow: auto; white-space: pre-wrap; font: 12px/1.5 ui-monospace, monospace; }
[hidden] { display: none; }
.ask {
  position: fixed; inset: 0; margin: auto; box-sizing: border-box; width: min(480px, 100vw - 32px); padding: 20px;
  max-height: calc(100vh - 32px); overflow: auto; color: CanvasText; background: Canvas; border-radius: 12px;
  border: var(--line); font: 15px/1.5 system-ui; text-align: start;
}
.ask::backdrop { background: rgb(0 0 0 / 50%); }
.ask h2 { margin: 0 0 8px; font-size: 18px; }
.ask p { padding: 0; font: inherit; }
.ask .small { margin-top: 16px; padding: 0; font-size: 13px; }
.ask dt { margin-top: 12px; font-size: 12px; opacity: 0.75; }
.ask dd { margin: 0; unicode-bidi: plaintext; overflow-wrap: anywhere; }
.ask footer { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 16px; }
.ask button { flex: auto; width: auto; height: auto; padding: 8px 12px; font-size: 15px; border-color: currentcolor; }
.ask button:disabled { opacity: 0.5; }
iframe {
  display: block; width: 100%; height: 150px; border: 0; color-scheme: light dark;
  background: var(--mcp-app-background, Canvas);
}
.fullscreen, .pip { position: fixed; background: var(--mcp-app-background, Canvas); color: CanvasText; }
.fullscreen { inset: 0; width: 100%; height: 100%; border-radius: 0; padding-top: env(safe-area-inset-top); }
.pip {
  inset: auto 16px 16px auto; z-index: 2147483000; width: var(--mcp-app-pip-width, 360px);
  height: var(--mcp-app-pip-height, 270px); max-width: calc(100vw - 32px); max-height: calc(100vh - 32px);
  border: 0; outline: var(--line); box-shadow: 0 4px 24px rgb(0 0 0 / 35%);
}
:is(.fullscreen, .pip) header { display: flex; }
:is(.fullscreen, .pip) div { flex: 1; min-height: 0; }
:is(.fullscreen, .pip) iframe { height: 100% !important; }
i {
  position: absolute; visibility: hidden; padding: 0 env(safe-area-inset-right) env(safe-area-inset-bottom)
  env(safe-area-inset-left);
}
`;

/**
 * A height that can be given to a frame, or undefined for nonsense.
 * @param {unknown} height
 * @param {number} [most]
 */
const clampHeight = (height, most = MOST_HEIGHT) =>
  typeof height === "number" && height >= 0 && height < Infinity
    ? Math.min(Math.ceil(height), most, MOST_HEIGHT)
    : undefined;

/**
 * A name under which a file can be saved anywhere: no folder, nothing invisible, nothing that a system takes for
 * a device or hides, and not too long.
 * @param {unknown} name
 */
const safeName = (name) => {
  const visible = String(name ?? "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "");
  const last = visible.split(/[/\\]/).pop() ?? "";
  const plain = last.replace(/[<>:"|?*]/g, "_").replace(/^[\s.~]+|[\s.]+$/gu, "");
  const free = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\.|$)/i.test(plain)
    ? `_${plain}`
    : plain;
  const [, stem = "", ending = ""] = /^(.*?)(\.[^.]{1,12})?$/su.exec(free) ?? [];
  return [...stem].slice(0, 80).join("").trim() + ending || "download";
};

/**
 * The address of a link that may be opened, or undefined.
 * @param {unknown} url
 */
const webLink = (url) => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { protocol, href } = new URL(url);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
};

/**
 * How long to wait before trying to connect again, in milliseconds.
 * @param {number} tries How many have failed.
 * @param {number} chance From 0 to 1: not all Views of a page come back in the same moment.
 */
const backoff = (tries, chance) => Math.min(250 * 2 ** tries, 15_000) * (0.5 + chance / 2);

/**
 * What of `now` differs from `before`. Values are whole.
 * @param {Json} before
 * @param {Json} now
 */
const changes = (before, now) =>
  Object.fromEntries(
    Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])),
  );

/**
 * How many characters a value takes as JSON, at least. What a View posts may hold one object in many places, or empty
 * places without number: little to send, and without end to write. This takes no longer than it took to send it.
 * @param {any} value
 * @param {Map<object, number>} [known]
 * @param {number} [depth]
 * @returns {number}
 */
const leastLength = (value, known = new Map(), depth = 0) => {
  if (typeof value === "string") return value.length + 2;
  if (!value || typeof value !== "object") return 1;
  if (depth > MOST_DEPTH) return Infinity;
  let length = known.get(value);
  if (length === undefined) {
    known.set(value, Infinity); // what holds itself
    length = 1 + (Array.isArray(value) ? value.length : ArrayBuffer.isView(value) ? value.byteLength : 0);
    const inside = ArrayBuffer.isView(value) ? [] : Object.values(value);
    for (const inner of inside) length += leastLength(inner, known, depth + 1);
    known.set(value, length);
  }
  return length;
};

/** @param {Json} file */
const save = ({ name, text, blob }) => {
  const part = blob == null ? String(text ?? "") : Uint8Array.from(atob(blob), (char) => char.charCodeAt(0));
  // Of no type that a browser would show instead of saving it.
  const url = URL.createObjectURL(new Blob([part], { type: "application/octet-stream" }));
  Object.assign(document.createElement("a"), { href: url, download: safeName(name) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};

/**
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

class McpApp extends HTMLElement {
  static observedAttributes = ["view", "src", "theme", "max-height"];

  // The parts. The dialog is only a dialog in full screen: that keeps the rest of the page from being reached
  // then, and never moves the frame, which would reload the View.
  #name = make("span", { part: "title" });
  #button = make("button", { part: "close", type: "button" }, "✕");
  #status = make("p", { part: "status", role: "status" });
  #alert = make("p", { part: "error", role: "alert" });
  #stage = make("div", { part: "stage" });
  #network = make("p", { part: "network", class: "small" });
  #words = make("pre");
  #shared = make(
    "details",
    { part: "context", class: "small", hidden: "" },
    make("summary", {}, "Shared with the model"),
    this.#words,
  );
  #insets = make("i", { "aria-hidden": "true" });
  /** @type {Map<number, HTMLDialogElement>} */
  #questions = new Map();
  #box = make(
    "dialog",
    { part: "box", open: "", role: "group", class: "box inline" },
    make("header", { part: "bar" }, this.#name, this.#button),
    this.#status,
    this.#alert,
    this.#stage,
    this.#network,
    this.#shared,
    this.#insets,
  );

  /** @type {HTMLIFrameElement | undefined} */
  #frame;
  #proxy = { href: "", origin: "" };
  /** @type {Json | undefined} What to show, as the host said it. */
  #show;
  #proxyReady = false;
  #sent = false;
  #heard = false;
  /** @type {Mode} */
  #mode = "inline";
  #heights = { last: -1, before: -1, at: 0, turns: 0 };

  /** @type {WebSocket | undefined} */
  #socket;
  #resume = false;
  #tries = 0;
  // The frames of each direction are numbered, and ours are kept until the host has them: host/views/channel.py.
  /** @type {{ n: number, text: string }[]} */
  #kept = [];
  #keptSize = 0;
  #last = 0;
  #seen = 0;
  #told = 0;
  // Whether the host has taken up this socket.
  #live = false;
  #limit = 1_000_000;
  /** @type {Json} */
  #context = {};
  /** @type {AbortController | undefined} Ends every listener outside the element. */
  #life;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #retry;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #deadline;
  /** @type {() => void} */
  #onGone = () => {};

  constructor() {
    super();
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    root.append(this.#box);
    this.#button.addEventListener("click", () => this.#userMode("inline"));
    // Escape. A browser may close the dialog without asking.
    this.#box.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#userMode("inline");
    });
    this.#box.addEventListener("close", () => {
      if (this.#mode === "fullscreen" && !this.#box.open) this.#userMode("inline");
    });
  }

  /** How the View is shown: "inline", "fullscreen" or "pip". */
  get displayMode() {
    return this.#mode;
  }

  /** Ask the View to finish, wait for it (within bounds), and remove the element. */
  async close() {
    await this.#goodbye();
    this.remove();
  }

  connectedCallback() {
    this.#life = new AbortController();
    const { signal } = this.#life;
    const tell = () => this.#tellContext();
    window.addEventListener("message", (event) => this.#fromFrame(event), { signal });
    window.addEventListener("languagechange", tell, { signal });
    window.addEventListener("online", () => this.#retry && this.#connect(), { signal });
    document.addEventListener("securitypolicyviolation", (event) => this.#violated(event), { signal });
    for (const query of ["(prefers-color-scheme: dark)", "(any-pointer: coarse)", "(any-hover: hover)"]) {
      window.matchMedia(query).addEventListener("change", tell, { signal });
    }
    const observer = new ResizeObserver(tell);
    observer.observe(this);
    observer.observe(this.#stage);
    signal.addEventListener("abort", () => observer.disconnect());
    this.#start();
  }

  disconnectedCallback() {
    this.#life?.abort();
    this.#unload();
    this.#setMode("inline");
    // An element that is only moved comes back at once, and its View is loaded anew, as after a reload.
    queueMicrotask(() => this.isConnected || this.#goodbye());
  }

  /** A move that keeps the frame alive (`moveBefore`) changes nothing here. */
  connectedMoveCallback() {}

  /**
   * @param {string} name
   * @param {string | null} before
   * @param {string | null} now
   */
  attributeChangedCallback(name, before, now) {
    if (!this.isConnected || !this.#life || before === now) return;
    if (name === "view" && !before && this.#socket) {
      // The proxy and the socket are warm. The token may be set in the next line of the page's script.
      this.#status.textContent = "Loading…";
      queueMicrotask(() => this.#hello());
    } else if (name === "view" || name === "src") {
      if (this.#live) this.#send({ type: "close" });
      this.#start();
    } else this.#tellContext();
  }

  // The socket.

  #start() {
    this.#withdrawQuestions();
    this.#drop();
    this.#unload();
    this.#resume = false;
    this.#tries = 0;
    this.#forget();
    this.#alert.textContent = "";
    this.#status.textContent = "";
    if (!this.hasAttribute("src")) return;
    if (this.getAttribute("view")) this.#status.textContent = "Loading…";
    this.#connect();
  }

  /** Begin to count frames anew. */
  #forget() {
    this.#kept = [];
    this.#keptSize = this.#last = this.#seen = this.#told = 0;
  }

  #connect() {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#live = false;
    const url = new URL(`${this.getAttribute("src")}`.replace(/\/*$/, "/socket"), document.baseURI);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = new WebSocket(url);
    this.#socket = socket;
    let opened = Infinity;
    socket.addEventListener("open", () => {
      if (socket !== this.#socket) return;
      opened = Date.now();
      this.#hello();
    });
    socket.addEventListener("message", ({ data }) => {
      if (socket === this.#socket) this.#fromHost(JSON.parse(data));
    });
    socket.addEventListener("close", ({ code, reason }) => {
      if (socket !== this.#socket) return;
      this.#live = false;
      // The host refuses, and would again.
      if (code === 1008 || code >= 4000) {
        if (!this.#alert.textContent) this.#fail(reason || "The host does not show this View.");
        return;
      }
      // One that was only kept warm is opened again when it is needed.
      if (!this.getAttribute("view")) return this.#drop();
      if (Date.now() - opened > 5_000) this.#tries = 0;
      this.#retry = setTimeout(() => this.#connect(), backoff(this.#tries, Math.random()));
      this.#tries += 1;
      this.#status.textContent = this.#tries > 3 ? "No connection. Trying again…" : "Connecting again…";
    });
  }

  /** Tell the host what this socket is for: a View, or nothing yet. */
  #hello() {
    const socket = this.#socket;
    if (socket?.readyState !== 1) return;
    const view = this.getAttribute("view");
    if (!view) return socket.send(JSON.stringify({ type: "warm" }));
    this.#context = this.#readContext();
    const context = { ...this.#context, platform: "web", userAgent: navigator.userAgent };
    const resume = this.#resume ? { resume: true, seen: this.#seen } : {};
    this.#resume = true;
    socket.send(JSON.stringify({ type: "open", view, token: this.getAttribute("token"), context, ...resume }));
  }

  /** Leave the socket to itself. */
  #drop() {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#live = false;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    socket?.close();
  }

  /**
   * Send a frame, or keep it for the next socket. Returns whether one of the two could be done.
   * @param {Json} frame
   */
  #send(frame) {
    const n = this.#last + 1;
    let text;
    try {
      text = leastLength(frame) <= this.#limit && JSON.stringify({ ...frame, n, ack: this.#seen });
    } catch {
      // What JSON has no words for.
    }
    if (!text) return false;
    // A character is at most three bytes.
    const fits = text.length * 3 <= this.#limit || new Blob([text]).size <= this.#limit;
    if (!this.#socket || !fits || this.#keptSize > MOST_KEPT) return false;
    this.#last = n;
    this.#told = this.#seen;
    this.#kept.push({ n, text });
    // An empty message costs memory, too.
    this.#keptSize += text.length + 100;
    if (this.#live) this.#socket.send(text);
    return true;
  }

  /** @param {number} number The last of our frames that the host has. */
  #acknowledged(number) {
    const index = this.#kept.findIndex(({ n }) => n > number);
    const gone = this.#kept.splice(0, index < 0 ? this.#kept.length : index);
    for (const { text } of gone) this.#keptSize -= text.length + 100;
  }

  /**
   * Read the numbers of a frame. Returns whether it is news.
   * @param {Json} frame
   */
  #isNews({ n, ack, prompt }) {
    if (ack) this.#acknowledged(ack);
    if (!n) return true;
    if (n <= this.#seen) return false;
    this.#seen = n;
    if (prompt || n - this.#told >= ACK_EVERY) {
      this.#told = n;
      this.#socket?.send(JSON.stringify({ type: "ack", ack: n }));
    }
    return true;
  }

  #goodbye() {
    const socket = this.#socket;
    if (socket?.readyState !== 1) return this.#drop();
    this.#send({ type: "close" });
    return /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        const done = () => {
          if (this.#socket === socket) this.#drop();
          resolve();
        };
        this.#onGone = done;
        socket.addEventListener("close", done);
        setTimeout(done, PATIENCE / 2);
      })
    );
  }

  /** @param {Json} frame */
  #fromHost(frame) {
    const { type, id } = frame;
    if (!this.#isNews(frame)) return;
    if (type === "show") {
      this.#forget();
      this.#live = true;
      this.#limit = frame.limit ?? this.#limit;
      this.#showView(frame);
    } else if (type === "resumed") {
      this.#acknowledged(frame.seen);
      this.#live = true;
      for (const { text } of this.#kept) this.#socket?.send(text);
      if (this.#sent) this.#status.textContent = "";
    } else if (type === "warm") this.#open(frame.proxy, "");
    else if (type === "message") this.#toView(frame.message);
    else if (type === "size") this.#resize(frame.height);
    else if (type === "status") this.#heard || (this.#status.textContent = String(frame.words));
    else if (type === "error") this.#fail(String(frame.reason));
    else if (type === "gone") this.#gone();
    else if (type === "reload") this.#start();
    else if (type === "told") this.#tell(frame.update);
    else if (type === "ask") this.#ask(frame);
    else if (type === "never-mind") this.#questions.get(id)?.close("withdrawn");
    else if (type === "mode") {
      this.#setMode(frame.mode);
      this.#send({ type: "done", id, result: { mode: this.#mode } });
    } else if (type === "link" || type === "download") {
      try {
        if (type === "link") this.#openLink(frame.url);
        else frame.files.forEach(save);
        this.#send({ type: "done", id, result: {} });
      } catch (error) {
        this.#send({ type: "done", id, error: String(error.message) });
      }
    }
  }

  // The frame.

  /** @param {Json} show */
  #showView(show) {
    const warm = this.#proxy.href === show.proxy && !this.#sent && !show.allow;
    this.#alert.textContent = "";
    if (!warm) this.#open(show.proxy, show.allow || "");
    if (!this.#frame) return;
    this.#show = show;
    const title = String(show.title || "App");
    this.#name.textContent = title;
    this.#frame.title = title;
    this.#box.setAttribute("aria-label", title);
    this.#button.setAttribute("aria-label", `Close ${title}`);
    this.#box.classList.toggle("border", show.border === true);
    const reached = (show.network ?? []).join(", ");
    this.#network.textContent = reached && `This app can reach ${reached}`;
    this.#setMode(show.mode);
    const late = () => this.#failed(`The sandbox proxy at ${this.#proxy.origin} did not answer.`);
    this.#deadline = setTimeout(late, Number(this.getAttribute("timeout")) || PATIENCE);
    this.#load();
  }

  /**
   * Frame the proxy.
   * @param {string} proxy
   * @param {string} allow
   */
  #open(proxy, allow) {
    this.#unload();
    const href = webLink(proxy);
    const origin = href && new URL(href).origin;
    if (!origin || origin === location.origin) {
      return this.#failed(`The sandbox proxy needs an origin of its own; ${proxy} has none (SBX-02).`);
    }
    this.#proxy = { href: proxy, origin };
    this.#frame = make("iframe", { part: "frame", sandbox: SANDBOX, allow, title: "App", src: proxy });
    this.#stage.replaceChildren(this.#frame);
  }

  #unload() {
    clearTimeout(this.#deadline);
    this.#network.textContent = "";
    this.#shared.hidden = true;
    this.#frame = this.#show = undefined;
    this.#stage.replaceChildren();
    this.#proxy = { href: "", origin: "" };
    this.#proxyReady = this.#sent = this.#heard = false;
  }

  /** Give the proxy its document, once both are there. */
  #load() {
    if (!this.#show || !this.#proxyReady || this.#sent) return;
    clearTimeout(this.#deadline);
    const { document: url, sandbox, allow, title } = this.#show;
    this.#sent = true;
    this.#fire("mcp-load");
    this.#post({ jsonrpc: "2.0", method: `${RESERVED}resource-ready`, params: { url, sandbox, allow, title } });
    this.#status.textContent = "";
  }

  /** @param {unknown} message */
  #post(message) {
    this.#frame?.contentWindow?.postMessage(message, this.#proxy.origin);
  }

  /** @param {Json} message */
  #toView(message) {
    if (!this.#sent) return;
    this.#post(message);
    this.#fire("mcp-message", { from: "host", message });
  }

  /** @param {MessageEvent} event */
  #fromFrame({ source, origin, data }) {
    if (!this.#frame || source !== this.#frame.contentWindow || origin !== this.#proxy.origin) return;
    if (typeof data !== "object" || !data) return;
    if (String(data.method).startsWith(RESERVED)) {
      if (data.method !== `${RESERVED}proxy-ready`) return;
      this.#proxyReady = true;
      return this.#load();
    }
    if (!this.#sent) return;
    if (!this.#heard) {
      this.#heard = true;
      this.#status.textContent = "";
      this.#send({ type: "loaded" });
      this.#fire("mcp-ready");
    }
    const kept = this.#send({ type: "message", message: data });
    if (!kept && data.method && data.id != null) {
      const error = { code: -32000, message: "This cannot be sent to the host now." };
      this.#post({ jsonrpc: "2.0", id: data.id, error });
    }
    this.#fire("mcp-message", { from: "view", message: data });
  }

  /** @param {SecurityPolicyViolationEvent} event */
  #violated({ effectiveDirective: directive, blockedURI: blocked, originalPolicy: policy, disposition }) {
    const { origin } = this.#proxy;
    if (disposition !== "enforce" || directive !== "frame-src" || !origin || !blocked.startsWith(origin)) return;
    this.#send({ type: "violation", directive, blocked, policy });
    this.#failed(`This page's Content-Security-Policy must allow ${origin} in frame-src.`);
  }

  /** @param {string} reason */
  #failed(reason) {
    this.#send({ type: "failed", reason });
    this.#fail(reason);
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#setMode("inline");
    this.#unload();
    this.#status.textContent = "";
    this.#alert.textContent = reason;
    this.#fire("mcp-error", { reason });
  }

  /** What was asked for a View goes with it. */
  #withdrawQuestions() {
    for (const dialog of this.#questions.values()) dialog.close("withdrawn");
  }

  #gone() {
    this.#withdrawQuestions();
    this.#setMode("inline");
    this.#unload();
    this.#status.textContent = "";
    this.#drop();
    this.#onGone();
    this.#fire("mcp-closed");
  }

  // What only a page can do.

  /** @param {unknown} asked */
  #resize(asked) {
    const height = clampHeight(asked, this.#mostHeight());
    if (height === undefined || !this.#frame) return;
    // A scroll bar of the page can come and go with the View's height, and change its width each time. After a few
    // such turns, the greater height stays.
    const { last, before, at, turns } = this.#heights;
    const again = height === before && Date.now() - at < 1_000;
    this.#heights = { last: height, before: last, at: Date.now(), turns: again ? turns + 1 : 0 };
    if (again && turns > 3 && height < last) return;
    this.#frame.style.height = `${height}px`;
    this.#fire("mcp-size", { height });
  }

  #mostHeight() {
    const own = Number.parseFloat(this.getAttribute("max-height") ?? "");
    const { maxHeight } = window.getComputedStyle(this);
    const css = maxHeight.endsWith("px") ? Number.parseFloat(maxHeight) : NaN;
    return [own, css].find((height) => height >= 0);
  }

  /** @param {Mode} mode */
  #userMode(mode) {
    this.#setMode(mode);
    this.#send({ type: "mode", mode });
  }

  /** @param {Mode} mode */
  #setMode(mode) {
    const box = this.#box;
    const was = this.#mode;
    if (mode === was || !["inline", "fullscreen", "pip"].includes(mode)) return;
    this.#mode = mode;
    box.classList.replace(was, mode);
    if (mode === "fullscreen" && this.isConnected) {
      box.open = false;
      box.setAttribute("role", "dialog");
      box.showModal();
      this.#frame?.focus();
    } else if (was === "fullscreen") {
      // Gives the focus back to where it was.
      box.close();
      box.setAttribute("role", "group");
      box.open = true;
    }
    this.#tellContext();
    this.#fire("mcp-display-mode", { mode });
  }

  /** @param {unknown} asked */
  #openLink(asked) {
    const url = webLink(asked);
    if (!url) throw new Error("Only http and https links are opened.");
    if (this.#fire("mcp-link", { url }, true)) window.open(url, "_blank", "noopener,noreferrer");
  }

  /**
   * Show what the View told the model.
   * @param {Json} update
   */
  #tell({ content = [], structuredContent }) {
    const words = content.map((/** @type {Json} */ block) => block.text ?? `(${block.type})`);
    if (structuredContent) words.push(JSON.stringify(structuredContent, null, 1));
    const text = words.filter(Boolean).join("\n\n");
    this.#words.textContent = text.slice(0, 4_000);
    this.#shared.hidden = !text;
    this.#fire("mcp-context", { content, structuredContent });
  }

  /**
   * Ask the user something for the host. The dialog is above everything in the page, and the View can neither cover
   * nor reach it.
   * @param {Json} question
   */
  #ask({ id, text, app, details, always }) {
    let answered = false;
    const answer = (/** @type {unknown} */ word) => {
      if (answered) return;
      answered = true;
      const done = { type: "done", id, result: { answer: String(word) } };
      if (this.#live) this.#send(done);
      else this.#socket?.send(JSON.stringify(done));
    };
    if (!this.#fire("mcp-question", { text, app, details, always, answer }, true)) return;
    const facts = details.map((/** @type {[string, string]} */ [label, value]) => {
      const isLong = value.includes("\n") || value.length > 80;
      return [make("dt", {}, label), make("dd", {}, isLong ? make("pre", { tabindex: "0" }, value) : value)];
    });
    const no = make("button", { value: "deny" }, "Don’t allow");
    const yes = [
      make("button", { value: "once", disabled: "" }, "Allow once"),
      make("button", { value: "always", disabled: "", "aria-describedby": "a" }, "Always allow"),
    ];
    const dialog = make(
      "dialog",
      { part: "question", class: "ask", "aria-labelledby": "q", "aria-describedby": "t" },
      make("h2", { id: "q" }, `Allow ${app}?`),
      // The heading names the app.
      make("p", { id: "t" }, text.startsWith(`${app} `) ? `It${text.slice(app.length)}` : text),
      make("dl", {}, ...facts.flat()),
      make("p", { id: "a", class: "small" }, always || ""),
      make("form", { method: "dialog" }, make("footer", {}, no, ...yes)),
    );
    // A View can take the focus by script. It gets no keys while a question is open.
    const back = () => setTimeout(() => no.focus());
    window.addEventListener("blur", back);
    dialog.addEventListener("close", () => {
      window.removeEventListener("blur", back);
      if (dialog.returnValue !== "withdrawn") answer(dialog.returnValue || "deny");
      // It comes after a task, and the next question may have this one's number by then.
      if (this.#questions.get(id) === dialog) this.#questions.delete(id);
      dialog.remove();
    });
    this.#questions.set(id, dialog);
    this.shadowRoot?.append(dialog);
    dialog.showModal();
    no.focus();
    setTimeout(() => yes.forEach((button) => button.removeAttribute("disabled")), PAUSE);
  }

  // What the host should know about the browser.

  /** @returns {Json} */
  #readContext() {
    const is = (/** @type {string} */ query) => window.matchMedia(query).matches;
    const own = this.getAttribute("theme");
    const theme = own === "dark" || own === "light" ? own : is("(prefers-color-scheme: dark)") ? "dark" : "light";
    const { clientWidth: width, clientHeight: height } = this.#stage;
    const inline = this.#mode === "inline";
    const maxHeight = this.#mostHeight();
    const padding = window.getComputedStyle(this.#insets);
    const inset = (/** @type {string} */ side) =>
      this.#mode === "fullscreen" ? Number.parseFloat(padding.getPropertyValue(`padding-${side}`)) || 0 : 0;
    // Inline, no edge of the screen is the View's. In full screen, the bar is at the upper one.
    const safeAreaInsets = { top: 0, right: inset("right"), bottom: inset("bottom"), left: inset("left") };
    return {
      theme,
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      // A width of nothing means that the page hides the element.
      ...(width && { containerDimensions: { width, ...(inline ? maxHeight && { maxHeight } : { height }) } }),
      deviceCapabilities: { touch: is("(any-pointer: coarse)"), hover: is("(any-hover: hover)") },
      // Many Views take insets for all the padding that they need, so none are told where there are none.
      ...((this.#context.safeAreaInsets || Object.values(safeAreaInsets).some(Boolean)) && { safeAreaInsets }),
    };
  }

  #tellContext() {
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

if (!customElements.get("mcp-app")) customElements.define("mcp-app", McpApp);

export { McpApp, backoff, changes, clampHeight, leastLength, safeName, webLink };
