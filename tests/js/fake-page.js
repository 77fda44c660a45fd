// The parts of a browser that mcp-app.js needs: elements without layout, one window, sockets and timers.

const globals = /** @type {any} */ (globalThis);
const { parse } = JSON;

/** @typedef {Record<string, any>} Json */

export class FakeElement extends EventTarget {
  /** @type {Map<string, string>} */
  attributes = new Map();
  /** @type {any[]} */
  children = [];
  style = {};
  textContent = "";
  title = "";
  returnValue = "";
  open = false;
  hidden = false;
  isConnected = true;
  clientWidth = 0;
  clientHeight = 0;
  classList = { add() {}, replace() {}, toggle() {} };
  /** @type {any} */
  shadowRoot = null;
  /** @type {any[]} */
  adoptedStyleSheets = [];
  /** @type {any} */
  parent;

  /** @param {string} name */
  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }
  /** @param {string} name */
  hasAttribute(name) {
    return this.attributes.has(name);
  }
  /**
   * @param {string} name
   * @param {any} value
   */
  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }
  /** @param {string} name */
  removeAttribute(name) {
    this.attributes.delete(name);
  }
  attachShadow() {
    this.shadowRoot = new FakeElement();
    return this.shadowRoot;
  }
  /** @param {any[]} children */
  append(...children) {
    this.children.push(...children);
    for (const child of children) if (child instanceof FakeElement) child.parent = this;
  }
  /** @param {any[]} children */
  prepend(...children) {
    this.append(...children);
  }
  querySelector() {
    return null;
  }
  /** @param {any[]} children */
  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }
  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((/** @type {any} */ one) => one !== this);
    this.isConnected = false;
  }
  /** @param {string} [value] */
  close(value) {
    if (value !== undefined) this.returnValue = value;
    this.open = false;
    queueMicrotask(() => this.dispatchEvent(new Event("close")));
  }
  showModal() {
    this.open = true;
  }
  focus() {}
  click() {}
}

class FakeFrame extends FakeElement {
  /** @type {any[]} */
  posted = [];
  contentWindow = { postMessage: (/** @type {any} */ message) => this.posted.push(message) };
}

/** A page with one `<mcp-app>`. Records what it sends and posts; tests play the host, the proxy and the View. */
export class FakePage {
  /** @type {FakeSocket[]} */
  sockets = [];
  /** @type {Map<number, () => void>} */
  timers = new Map();
  window = new EventTarget();
  document = new EventTarget();
  /** @type {any} */
  element;

  install() {
    const page = this;
    let timer = 0;
    globals.HTMLElement = FakeElement;
    globals.customElements = { get: () => undefined, define() {} };
    globals.CSSStyleSheet = class {
      replaceSync() {}
    };
    globals.IntersectionObserver = class {
      observe() {}
      disconnect() {}
    };
    globals.ResizeObserver = class {
      observe() {}
      disconnect() {}
    };
    globals.location = { origin: "http://localhost:8000" };
    globals.window = Object.assign(this.window, {
      matchMedia: () => Object.assign(new EventTarget(), { matches: false }),
      getComputedStyle: () => ({ maxHeight: "none", getPropertyValue: () => "0px" }),
      open() {},
    });
    globals.document = Object.assign(this.document, {
      baseURI: "http://localhost:8000/",
      createElement: (/** @type {string} */ tag) => (tag === "iframe" ? new FakeFrame() : new FakeElement()),
    });
    globals.WebSocket = class extends FakeSocket {
      constructor() {
        super();
        page.sockets.push(this);
      }
    };
    globals.setTimeout = (/** @type {() => void} */ callback) => {
      timer += 1;
      page.timers.set(timer, callback);
      return timer;
    };
    globals.console.debug = () => {};
    globals.clearTimeout = (/** @type {number} */ id) => page.timers.delete(id);
  }

  get socket() {
    return /** @type {FakeSocket} */ (this.sockets.at(-1));
  }

  /** @returns {FakeFrame} */
  get frame() {
    const [box] = this.element.shadowRoot.children;
    return box.children.flatMap((/** @type {any} */ part) => part.children).find(isFrame);
  }

  get question() {
    return this.part("question");
  }

  /**
   * Return the part of the element with a name.
   * @param {string} name
   */
  part(name) {
    const inside = (/** @type {any} */ one) => [one, ...(one.children ?? []).flatMap(inside)];
    return inside(this.element.shadowRoot).find((one) => one.attributes?.get("part") === name);
  }

  runTimers() {
    const due = [...this.timers.values()];
    this.timers.clear();
    for (const callback of due) callback();
  }

  /**
   * Post a message from the frame.
   * @param {any} data
   */
  post(data) {
    const { contentWindow: source } = this.frame;
    const message = { source, origin: "http://sandbox.localhost:8000", data };
    this.window.dispatchEvent(Object.assign(new Event("message"), message));
  }
}

/** @param {any} element */
const isFrame = (element) => element instanceof FakeFrame;

export class FakeSocket extends EventTarget {
  readyState = 0;
  /** @type {Json[]} */
  sent = [];

  /** @param {string} text */
  send(text) {
    this.sent.push(parse(text));
  }
  opened() {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }
  /** @param {string} data */
  receive(data) {
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }
  /** @param {number} code */
  closed(code) {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason: "" }));
  }
  close() {
    this.readyState = 3;
  }
}
