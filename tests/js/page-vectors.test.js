// Replays tests/vectors/page/*.json against mcp-app.js. The README there explains the steps.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { FakePage } from "./fake-page.js";

/** @typedef {Record<string, any>} Json */

const FOLDER = new URL("../vectors/page/", import.meta.url);
const VECTORS = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name) => ({ name, vector: JSON.parse(readFileSync(new URL(name, FOLDER), "utf-8")) }));

const { setImmediate: afterwards } = globalThis;
const settled = () => new Promise((resolve) => afterwards(resolve));
const { parse } = JSON;

/** @type {Map<string, Set<string>>} The fields of the host's frames that mcp-app.js has read, by type. */
const fieldsRead = new Map();

/**
 * A frame that records which of its fields are read.
 * @param {Json} frame
 */
const recorded = (frame) => {
  const read = fieldsRead.get(frame.type) ?? new Set();
  fieldsRead.set(frame.type, read);
  return new Proxy(frame, {
    get: (target, name) => {
      read.add(String(name));
      return target[/** @type {string} */ (name)];
    },
  });
};

/**
 * @param {any} actual
 * @param {any} expected
 */
const matches = (actual, expected) => {
  const filled = Object.entries(expected).map(([key, value]) => [key, value === "$any" ? actual?.[key] : value]);
  assert.deepEqual(actual, Object.fromEntries(filled));
};

/** @param {Json} vector */
const replay = async ({ element: attributes, steps }) => {
  const page = new FakePage();
  page.install();
  const { McpApp } = await import("../../src/fanlight/browser/mcp-app.js");
  // Loaded before, so that a step does not wait for it.
  for (const part of ["consent", "download", "inline", "modes", "shared"]) {
    await import(`../../src/fanlight/browser/mcp-app-${part}.js`);
  }
  const element = (page.element = /** @type {any} */ (new McpApp()));
  element.setAttribute("src", "/apps");
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.connectedCallback();
  page.socket.opened();

  /** @type {Record<string, (step: Json) => void>} */
  const actions = {
    from: ({ from, frame }) => {
      if (from === "page") matches(page.socket.sent.shift(), frame);
      else page.socket.receive(JSON.stringify(frame));
    },
    view: ({ message }) => page.post(message),
    to: ({ message }) => assert.deepEqual(page.frame.posted.shift(), message),
    proxy: () => page.post({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }),
    socket: ({ socket }) => {
      if (socket === "lost") page.socket.closed(1006);
      else {
        page.runTimers();
        page.socket.opened();
      }
    },
    host: ({ host }) => host === "ends" && page.socket.closed(1006),
    page: ({ page: what, attributes: changed, directive, blocked }) => {
      if (what === "closes") element.close();
      else if (what === "removes") element.disconnectedCallback();
      else if (what === "inserts") element.connectedCallback();
      else if (what === "sets") {
        for (const [name, value] of Object.entries(changed)) {
          const before = element.getAttribute(name);
          element.setAttribute(name, value);
          if (McpApp.observedAttributes.includes(name)) element.attributeChangedCallback(name, before, value);
        }
      } else {
        const violation = { effectiveDirective: directive, blockedURI: blocked, disposition: "enforce" };
        page.document.dispatchEvent(Object.assign(new Event("securitypolicyviolation"), violation));
      }
    },
    user: ({ user, answer }) => {
      if (user === "answers") page.question.close(answer);
      else if (user === "takes-back") page.part("reopen").dispatchEvent(new Event("click"));
      else element.shadowRoot.children[0].dispatchEvent(new Event("cancel"));
    },
  };

  JSON.parse = (text) => recorded(parse(text));
  try {
    for (const step of steps) {
      if (step.from !== "page" && page.sockets.length) assert.deepEqual(page.socket.sent, [], JSON.stringify(step));
      const [kind = ""] = Object.keys(step);
      actions[kind]?.(step);
      await settled();
    }
    assert.deepEqual(page.socket.sent, []);
    assert.deepEqual(page.frame?.posted ?? [], []);
  } finally {
    JSON.parse = parse;
  }
};

describe("mcp-app.js replays", () => {
  for (const { name, vector } of VECTORS) it(`${name}: ${vector.title}`, () => replay(vector));

  it("and reads every field that the host sends", () => {
    const frames = VECTORS.flatMap(({ vector }) => vector.steps).filter(({ from }) => from === "host");
    for (const { frame } of frames) {
      const unread = Object.keys(frame).filter((field) => !fieldsRead.get(frame.type)?.has(field));
      assert.deepEqual(unread, [], frame.type);
    }
  });

  it("only what is written", async () => {
    const { vector } = /** @type {any} */ (VECTORS.find(({ name }) => name === "show.json"));
    const mistakes = /** @type {[string, (steps: any) => void][]} */ ([
      ["a frame that is missing", (steps) => steps.pop()],
      ["another number", (steps) => (steps.at(-1).frame.n = 9)],
      ["another acknowledgement", (steps) => (steps.at(-1).frame.ack = 0)],
      ["another message", (steps) => (steps.at(-1).frame.message = {})],
      ["a duplicate", (steps) => steps.splice(-2, 0, ...steps.slice(-2))],
    ]);
    for (const [what, change] of mistakes) {
      const broken = structuredClone(vector);
      change(broken.steps);
      await assert.rejects(replay(broken), assert.AssertionError, what);
    }
  });
});
