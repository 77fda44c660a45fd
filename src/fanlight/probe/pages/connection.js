// @ts-check
/**
 * The View's connection to the host, without an SDK: it can send malformed messages, too, and records every message
 * that arrives. The scripts of this page share one scope, because they are inlined one after the other.
 */

/** @typedef {Record<string, any>} Json */
/** @typedef {{ at: number, message: any, ready: boolean }} Received `ready`: whether `initialized` had been sent. */

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

class Connection extends EventTarget {
  /** @type {Received[]} */
  received = [];
  ready = false;
  /** @type {Map<string, (params: Json) => Promise<Json>>} The handlers of the host's requests, by method. */
  handlers = new Map();
  /** @type {Set<unknown>} The ids of requests, as they were sent. */
  sent = new Set();
  #nextId = 1;

  constructor() {
    super();
    window.addEventListener("message", ({ source, data }) => {
      if (source === window.parent) this.#receive(data);
    });
  }

  /** @param {any} message */
  #receive(message) {
    this.received.push({ at: performance.now(), message, ready: this.ready });
    this.dispatchEvent(new Event("received"));
    const isRequest = message?.jsonrpc === "2.0" && typeof message.method === "string" && message.id !== undefined;
    if (isRequest) this.#handle(message);
  }

  /** @param {Json} request */
  async #handle({ id, method, params }) {
    const handler = this.handlers.get(method);
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
   * Send a request, and return the response as it is; undefined after the timeout.
   * @param {string} method
   * @param {Json} [params]
   * @param {{ id?: unknown, timeout?: number }} [options]
   * @returns {Promise<Json | undefined>}
   */
  async request(method, params, { id = this.#nextId++, timeout = 8_000 } = {}) {
    this.sent.add(id);
    const from = this.received.length;
    this.post({ jsonrpc: "2.0", id, method, ...(params && { params }) });
    return this.waitFor(
      () => this.received.slice(from).find(({ message }) => isResponse(message) && message.id === id)?.message,
      timeout,
    );
  }

  /**
   * Wait until a function of the received messages returns something, and return that; undefined after the timeout.
   * @template T
   * @param {() => T | undefined | false} find
   * @param {number} timeout
   * @returns {Promise<T | undefined>}
   */
  async waitFor(find, timeout) {
    const deadline = performance.now() + timeout;
    for (;;) {
      const found = find();
      if (found) return found;
      const left = deadline - performance.now();
      if (left <= 0) return undefined;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Math.min(left, 100));
        this.addEventListener("received", () => (clearTimeout(timer), resolve(undefined)), { once: true });
      });
    }
  }

  /**
   * The received notifications of a method, in order.
   * @param {string} method
   */
  notifications(method) {
    return this.received.filter(({ message }) => message?.method === method && message.id === undefined);
  }
}

/** @param {any} message */
const isResponse = (message) =>
  typeof message === "object" &&
  message !== null &&
  !("method" in message) &&
  ("result" in message || "error" in message);

/**
 * Whether two JSON values are equal. The order of keys does not matter.
 * @param {any} one
 * @param {any} other
 * @returns {boolean}
 */
const isEqual = (one, other) => {
  if ([one, other].some((value) => typeof value !== "object" || value === null)) return Object.is(one, other);
  const keys = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => key in other && isEqual(one[key], other[key]))
  );
};
