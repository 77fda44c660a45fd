// @ts-check
/**
 * The View's end of the link, as bare as it can be: it sends what it is told to, also what is wrong, and writes down
 * everything that comes. The scripts of this page share their names, as they are put into it one after the other.
 */

/** @typedef {Record<string, any>} Json */
/** @typedef {{ at: number, message: any, ready: boolean }} Received `ready`: whether initialized had been said. */

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Link extends EventTarget {
  /** @type {Received[]} */
  received = [];
  ready = false;
  /** @type {Map<string, (params: Json) => Promise<Json>>} What the host may ask. */
  served = new Map();
  /** @type {Set<unknown>} Ids of requests, as they were sent. */
  sent = new Set();
  #next = 1;

  constructor() {
    super();
    window.addEventListener("message", ({ source, data }) => {
      if (source === window.parent) this.#take(data);
    });
  }

  /** @param {any} message */
  #take(message) {
    this.received.push({ at: performance.now(), message, ready: this.ready });
    this.dispatchEvent(new Event("received"));
    const isRequest = message?.jsonrpc === "2.0" && typeof message.method === "string" && message.id !== undefined;
    if (isRequest) this.#serve(message);
  }

  /** @param {Json} request */
  async #serve({ id, method, params }) {
    const handler = this.served.get(method);
    const error = { code: -32601, message: `Method not found: ${method}` };
    this.post({ jsonrpc: "2.0", id, ...(handler ? { result: await handler(params ?? {}) } : { error }) });
  }

  /** @param {unknown} message */
  post(message) {
    window.parent.postMessage(message, "*");
  }

  /**
   * @param {string} method
   * @param {Json} [params]
   */
  notify(method, params) {
    this.post({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  /**
   * Ask the host, and return its answer as it came, or undefined if none did in time.
   * @param {string} method
   * @param {Json} [params]
   * @param {{ id?: unknown, patience?: number }} [options]
   * @returns {Promise<Json | undefined>}
   */
  async ask(method, params, { id = this.#next++, patience = 8_000 } = {}) {
    this.sent.add(id);
    const from = this.received.length;
    this.post({ jsonrpc: "2.0", id, method, ...(params && { params }) });
    return this.until(
      () => this.received.slice(from).find(({ message }) => isAnswer(message) && message.id === id)?.message,
      patience,
    );
  }

  /**
   * Wait until something holds of what was received, and return it; undefined after too long.
   * @template T
   * @param {() => T | undefined | false} look
   * @param {number} patience
   * @returns {Promise<T | undefined>}
   */
  async until(look, patience) {
    const deadline = performance.now() + patience;
    for (;;) {
      const found = look();
      if (found) return found;
      const left = deadline - performance.now();
      if (left <= 0) return undefined;
      await new Promise((resolve) => {
        const late = setTimeout(resolve, Math.min(left, 100));
        this.addEventListener("received", () => (clearTimeout(late), resolve(undefined)), { once: true });
      });
    }
  }

  /**
   * The notifications of a method, in order.
   * @param {string} method
   */
  told(method) {
    return this.received.filter(({ message }) => message?.method === method && message.id === undefined);
  }
}

/** @param {any} message */
const isAnswer = (message) =>
  typeof message === "object" &&
  message !== null &&
  !("method" in message) &&
  ("result" in message || "error" in message);

/**
 * Whether two JSON values are the same, whatever the order of their keys.
 * @param {any} one
 * @param {any} other
 * @returns {boolean}
 */
const same = (one, other) => {
  if ([one, other].some((value) => typeof value !== "object" || value === null)) return Object.is(one, other);
  const keys = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => key in other && same(one[key], other[key]))
  );
};
