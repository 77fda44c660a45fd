// Shared by the tests: the SDK under test, a pair of transports, a scripted host.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

/**
 * The source file or, if FANLIGHT_VIEW_SDK names a file, its inlined form.
 * @returns {Promise<typeof import("../../src/fanlight/browser/view.js")>}
 */
async function load() {
  const inlined = process.env.FANLIGHT_VIEW_SDK;
  if (!inlined) return import("../../src/fanlight/browser/view.js");
  runInThisContext(readFileSync(inlined, "utf-8"));
  return /** @type {any} */ (globalThis)[Symbol.for("fanlight")];
}

export const sdk = await load();

/** @typedef {InstanceType<typeof sdk.App>} App */
/** @typedef {Record<string, any>} Json */

/**
 * Wait until all pending callbacks have run, without waiting for timers.
 * @returns {Promise<void>}
 */
export const settled = () => new Promise((resolve) => setImmediate(resolve));

/**
 * One end of a link in memory. Messages are serialized as JSON.
 */
export class Transport {
  /** @type {any} */
  onmessage;
  /** @type {any} */
  onclose;
  /** @type {any} */
  onerror;
  /** @type {Transport | undefined} */
  other;
  closed = false;

  async start() {}

  /** @param {any} message */
  async send(message) {
    const text = JSON.stringify(message);
    queueMicrotask(() => this.other?.onmessage?.(JSON.parse(text)));
  }

  async close() {
    this.closed = true;
    this.onclose?.();
  }
}

/** @returns {[Transport, Transport]} */
export function pair() {
  const [one, two] = [new Transport(), new Transport()];
  [one.other, two.other] = [two, one];
  return [one, two];
}

export const EVERYTHING = {
  openLinks: {},
  downloadFile: {},
  serverTools: {},
  serverResources: {},
  logging: {},
  sampling: { tools: {} },
  message: {},
  updateModelContext: {},
};

/** A scripted host: records the messages of the View and answers with given results. */
export class Host {
  /** @type {any[]} */
  received = [];
  /** @type {Record<string, (params: any, message: any) => any>} Answers, by method; undefined is silence. */
  answers = {};

  /** @param {any} [initializeResult] */
  constructor(initializeResult = hello()) {
    const [view, transport] = pair();
    this.view = view;
    this.transport = transport;
    this.answers["ui/initialize"] = () => initializeResult;
    this.transport.onmessage = (/** @type {any} */ message) => {
      this.received.push(message);
      if (message.id === undefined || message.method === undefined) return;
      const answer = this.answers[message.method];
      if (!answer) return this.send({ id: message.id, error: { code: -32601, message: "Method not found" } });
      try {
        const result = answer(message.params, message);
        if (result !== undefined) this.send({ id: message.id, result });
      } catch (/** @type {any} */ error) {
        this.send({ id: message.id, error: { code: error.code ?? -32000, message: error.message, data: error.data } });
      }
    };
  }

  /** @param {Json} message */
  send(message) {
    void this.transport.send({ jsonrpc: "2.0", ...message });
  }

  /**
   * @param {string} method
   * @param {any} [params]
   */
  notify(method, params = {}) {
    this.send({ method, params });
  }

  /**
   * Send a request and return what the View answers, or undefined if it does not.
   * @param {string} method
   * @param {any} [params]
   * @param {string | number} [id]
   */
  async ask(method, params = {}, id = 0) {
    this.send({ id, method, params });
    await settled();
    return this.received.filter((message) => message.id === id && message.method === undefined).pop();
  }

  /**
   * Return the messages of a method.
   * @param {string} method
   */
  receivedMethod(method) {
    return this.received.filter((message) => message.method === method);
  }
}

/**
 * Return a host's response to `ui/initialize`.
 * @param {Json} [hostContext]
 * @param {Json} [hostCapabilities]
 */
export function hello(hostContext = {}, hostCapabilities = EVERYTHING) {
  return { protocolVersion: "2026-01-26", hostInfo: { name: "Test", version: "1" }, hostCapabilities, hostContext };
}

export const INFO = { name: "View", version: "1" };

/**
 * Return a View that is connected to a host.
 * @param {{ host?: Host, capabilities?: Json, options?: Json, prepare?: (app: App) => void }} [setup]
 */
export async function connected({ host = new Host(), capabilities, options, prepare } = {}) {
  const app = new sdk.App(INFO, capabilities, options);
  prepare?.(app);
  await app.connect(host.view);
  await settled();
  return { app, host };
}
