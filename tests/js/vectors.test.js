// Replays tests/vectors/*.json against view.js. The README there explains the steps.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { pair, sdk, settled } from "./support.js";

/** @typedef {Record<string, any>} Json */

const FOLDER = new URL("../vectors/", import.meta.url);
const EVENTS = /** @type {const} */ ([
  "toolinput",
  "toolinputpartial",
  "toolresult",
  "toolcancelled",
  "hostcontextchanged",
]);

/** The ids for the placeholders of a file. A host may choose any; these are edge cases. */
const HOST_IDS = [0, "", "0", -1, "text", 1, 2, 3];

class Ids {
  /** @type {Map<string, any>} */
  known = new Map();

  /**
   * Put the ids into a message that the host sends.
   * @param {any} value
   * @returns {any}
   */
  fill(value) {
    if (typeof value === "string" && value.startsWith("$")) {
      if (!this.known.has(value)) this.known.set(value, HOST_IDS[this.known.size % HOST_IDS.length]);
      return this.known.get(value);
    }
    if (Array.isArray(value)) return value.map((item) => this.fill(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, this.fill(item)]));
  }

  /**
   * Check a message that the View sent, and learn the ids that it chose.
   * @param {any} actual
   * @param {any} expected
   * @param {string} where
   */
  match(actual, expected, where) {
    if (expected === "$any") return assert.notEqual(actual, undefined, where);
    if (typeof expected === "string" && expected.startsWith("$")) {
      assert.ok(typeof actual === "number" || typeof actual === "string", where);
      if (!this.known.has(expected)) this.known.set(expected, actual);
      return assert.equal(actual, this.known.get(expected), where);
    }
    if (expected === null || typeof expected !== "object") return assert.equal(actual, expected, where);
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), `keys of ${where}`);
    for (const key of Object.keys(expected)) this.match(actual[key], expected[key], `${where}.${key}`);
  }
}

/**
 * @param {Json} vector
 */
async function replay({ view, steps }) {
  const [transport, host] = pair();
  const sent = /** @type {any[]} */ ([]);
  host.onmessage = (/** @type {any} */ message) => sent.push(message);
  const app = new sdk.App(view.info, view.capabilities);
  const seen = /** @type {any[]} */ ([]);
  for (const name of EVENTS) app.addEventListener(name, (params) => seen.push({ expect: "event", name, params }));
  if (view.teardown) {
    app.onteardown = (params) => {
      seen.push({ expect: "teardown", params });
      if (view.teardown.throws) throw new Error(view.teardown.throws);
    };
  }
  for (const [name, { result, throws, hangs, ...config }] of Object.entries(/** @type {Json} */ (view.tools ?? {}))) {
    app.registerTool(name, config, (...args) => {
      const { signal } = args.at(-1);
      if (throws) throw new Error(throws);
      if (!hangs) return result;
      return new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          seen.push({ expect: "cancelled", tool: name });
          resolve({});
        });
      });
    });
  }

  try {
    const ids = new Ids();
    /** @type {Json} */
    const calls = {};
    for (const [index, step] of steps.entries()) {
      const where = `step ${index}`;
      await settled();
      if (step.from === "host") {
        assert.deepEqual(sent, [], `${where}: the View sent something first`);
        await host.send({ jsonrpc: "2.0", ...ids.fill(step.message) });
      } else if (step.from === "view") {
        assert.notEqual(sent.length, 0, `${where}: the View sent nothing`);
        ids.match(sent.shift(), { jsonrpc: "2.0", ...step.message }, where);
      } else if (step.do === "abort") {
        calls[step.call].controller.abort(new Error(step.reason));
      } else if (step.do) {
        const controller = new AbortController();
        const args = step.do === "connect" ? [transport] : step.with;
        const options = step.abortable ? [{ signal: controller.signal }] : [];
        const promise = /** @type {any} */ (app)[step.do](...args, ...options);
        const call = (calls[step.as] = /** @type {Json} */ ({ controller, state: "pending" }));
        promise.then(
          (/** @type {any} */ value = null) => Object.assign(call, { state: "resolves", value }),
          (/** @type {any} */ error) => Object.assign(call, { state: "rejects", error }),
        );
      } else if (step.expect === "resolves" || step.expect === "rejects") {
        const { state, value, error } = calls[step.call];
        assert.equal(state, step.expect, where);
        if (state === "resolves") assert.deepEqual(value, step.to, where);
        else {
          if (step.with.code !== undefined) assert.equal(error.code, step.with.code, where);
          assert.ok(error.message.includes(step.with.message), `${where}: ${error.message}`);
        }
      } else if (step.expect === "context") {
        assert.deepEqual(app.getHostContext(), step.is, where);
      } else if (step.expect === "silence") {
        assert.deepEqual(sent, [], where);
      } else {
        assert.deepEqual(seen.shift(), step, where);
      }
    }
    await settled();
    assert.deepEqual(sent, [], "the View sent more messages than the conversation has");
    assert.deepEqual(seen, [], "the View saw more than the conversation has");
  } finally {
    await app.close();
  }
}

describe("wire conversations", () => {
  for (const name of readdirSync(FOLDER).sort()) {
    if (!name.endsWith(".json")) continue;
    const vector = JSON.parse(readFileSync(new URL(name, FOLDER), "utf-8"));
    it(`${name}: ${vector.title}`, () => replay(vector));
  }

  it("a conversation that differs in one value, key, order or length fails", async () => {
    const text = readFileSync(new URL("server-tools.json", FOLDER), "utf-8");
    /** @type {[string, (vector: Json) => void][]} */
    const mistakes = [
      ["value", ({ steps }) => (steps[6].message.params.name = "other")],
      ["missing key", ({ steps }) => delete steps[6].message.params._meta],
      ["extra key", ({ steps }) => (steps[6].message.params.more = 1)],
      ["id", ({ steps }) => (steps[6].message.params._meta.progressToken = "$init")],
      ["order", ({ steps }) => steps.splice(5, 2, steps[6], steps[5])],
      ["length", ({ steps }) => steps.splice(6, 1)],
      ["answer", ({ steps }) => (steps[8].to = {})],
    ];
    for (const [what, change] of mistakes) {
      const vector = JSON.parse(text);
      change(vector);
      await assert.rejects(replay(vector), assert.AssertionError, what);
    }
  });
});
