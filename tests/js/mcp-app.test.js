// The functions of mcp-app.js and its parts that need no page. page-vectors.test.js and tests/browser test the element.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

const globals = /** @type {any} */ (globalThis);
/** @type {Map<string, unknown>} */
const defined = new Map();
globals.HTMLElement = class {};
globals.customElements = {
  get: (/** @type {string} */ name) => defined.get(name),
  define: (/** @type {string} */ name, /** @type {unknown} */ element) => defined.set(name, element),
};
const { McpApp, backoff, changes, clampHeight, leastLength, webLink } =
  await import("../../src/fanlight/browser/mcp-app.js");
const { safeName } = await import("../../src/fanlight/browser/mcp-app-download.js");

it("the file defines the element once, however often it is loaded", async () => {
  assert.equal(defined.get("mcp-app"), McpApp);
  await import(`../../src/fanlight/browser/mcp-app.js?${"again"}`);
  assert.equal(defined.get("mcp-app"), McpApp);
});

it("the attributes of the element are properties, too", () => {
  /** @type {Map<string, string>} */
  const attributes = new Map();
  const app = Object.create(McpApp.prototype, {
    getAttribute: { value: (/** @type {string} */ name) => attributes.get(name) ?? null },
    setAttribute: { value: (/** @type {string} */ name, /** @type {string} */ value) => attributes.set(name, value) },
  });
  assert.equal(app.view, "");
  Object.assign(app, { src: "/apps", token: "t", view: "v" });
  assert.deepEqual(Object.fromEntries(attributes), { src: "/apps", token: "t", view: "v" });
});

describe("a height", () => {
  for (const [requested, max, expected] of /** @type {[any, number | undefined, number | undefined][]} */ ([
    [100, undefined, 100],
    [99.2, undefined, 100],
    [0, undefined, 0],
    [500, 300, 300],
    [500, 0, 0],
    [1e300, undefined, 20_000],
    [30_000, 25_000, 20_000],
    [-1, undefined, undefined],
    [NaN, undefined, undefined],
    [Infinity, undefined, undefined],
    ["100", undefined, undefined],
    ["100px; position: fixed", undefined, undefined],
    [null, undefined, undefined],
    [undefined, undefined, undefined],
    [[100], undefined, undefined],
    [true, undefined, undefined],
  ])) {
    it(`of ${String(requested)} with a maximum of ${max} is ${expected}`, () =>
      assert.equal(clampHeight(requested, max), expected));
  }
});

describe("a file", () => {
  for (const [name, saved] of /** @type {[any, string][]} */ ([
    ["report.pdf", "report.pdf"],
    ["Über uns – 2026.txt", "Über uns – 2026.txt"],
    ["archive.tar.gz", "archive.tar.gz"],
    ["../../etc/passwd", "passwd"],
    ["..\\..\\windows\\win.ini", "win.ini"],
    ["/", "download"],
    ["..", "download"],
    [".", "download"],
    [".bashrc", "bashrc"],
    ["...hidden", "hidden"],
    ["~x", "x"],
    ["a\0b\nc\u001b.txt", "abc.txt"],
    ["photo\u202Egnp.exe", "photognp.exe"],
    ["in\u200Bvisible\uFEFF.txt", "invisible.txt"],
    ["half\uD800.txt", "half.txt"],
    ["C:evil.txt", "C_evil.txt"],
    ['a<b>c"d|e?f*g', "a_b_c_d_e_f_g"],
    ["file.txt:stream", "file.txt_stream"],
    ["trailing. . ", "trailing"],
    ["CON", "_CON"],
    ["con.txt", "_con.txt"],
    ["nul .txt", "_nul.txt"],
    ["Lpt9.tar.gz", "_Lpt9.tar.gz"],
    ["COM¹", "_COM¹"],
    ["..con", "_con"],
    ["console.txt", "console.txt"],
    ["", "download"],
    [null, "download"],
    [undefined, "download"],
    [7, "7"],
    [{}, "[object Object]"],
  ])) {
    it(`named ${JSON.stringify(name)} is saved as ${saved}`, () => assert.equal(safeName(name), saved));
  }

  it("with a long name is saved under a short one, with its ending, and no character cut in two", () => {
    assert.equal(safeName(`${"a".repeat(500)}.html`), `${"a".repeat(80)}.html`);
    assert.equal(safeName("🎉".repeat(500)), "🎉".repeat(80));
    assert.ok(safeName(`x.${"y".repeat(500)}`).length <= 100);
    assert.ok(safeName(".".repeat(5_000)).length <= 100);
  });
});

describe("a link", () => {
  for (const [url, opened] of /** @type {[any, string | undefined][]} */ ([
    ["https://example.com", "https://example.com/"],
    ["http://example.com/a?b#c", "http://example.com/a?b#c"],
    ["HTTPS://EXAMPLE.com/", "https://example.com/"],
    ["javascript:alert(1)", undefined],
    [" java\nscript:alert(1)", undefined],
    ["data:text/html,x", undefined],
    ["blob:https://example.com/x", undefined],
    ["file:///etc/passwd", undefined],
    ["ms-settings:", undefined],
    ["mailto:a@b.example", undefined],
    ["//example.com", undefined],
    ["/path", undefined],
    ["", undefined],
    [null, undefined],
    [{ href: "https://example.com" }, undefined],
  ])) {
    it(`to ${JSON.stringify(url)} ${opened ? `opens ${opened}` : "is refused"}`, () =>
      assert.equal(webLink(url), opened));
  }
});

it("the delay before reconnecting grows up to a limit, and differs between Views", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((tries) => backoff(tries, 1)),
    [250, 500, 1_000, 2_000],
  );
  assert.equal(backoff(50, 1), 15_000);
  assert.equal(backoff(5_000, 1), 15_000);
  assert.equal(backoff(0, 0), 125);
});

it("changes() returns the changed entries with their whole values", () => {
  const before = { theme: "light", containerDimensions: { width: 1, maxHeight: 2 }, locale: "en" };
  assert.deepEqual(changes(before, structuredClone(before)), {});
  assert.deepEqual(changes(before, { ...before, containerDimensions: { width: 3, maxHeight: 2 } }), {
    containerDimensions: { width: 3, maxHeight: 2 },
  });
  assert.deepEqual(changes({}, before), before);
});

describe("the length of a message as JSON", () => {
  it("is never more than the real length", () => {
    for (const value of [null, 7, "", "ä", [], {}, [1, "two", { three: [null] }], { a: { b: {} } }, [[], [[]]]]) {
      assert.ok(leastLength(value) <= JSON.stringify(value).length, JSON.stringify(value));
    }
    assert.ok(leastLength({ text: "x".repeat(1000) }) > 1000);
  });

  /** @type {unknown[]} */
  let laughs = ["ha"];
  for (let level = 0; level < 60; level += 1) laughs = [laughs, laughs];
  const holes = /** @type {unknown[]} */ ([]);
  holes.length = 4_294_967_295;
  /** @type {unknown[]} */
  let deep = [];
  for (let level = 0; level < 200; level += 1) deep = [deep];
  /** @type {Record<string, unknown>} */
  const circle = {};
  circle.again = { circle };
  for (const [what, value] of /** @type {[string, unknown][]} */ ([
    ["one object in very many places", laughs],
    ["a sparse array", { deep: [holes] }],
    ["an object that contains itself", circle],
    ["deeply nested arrays", deep],
    ["a buffer", new Uint8Array(100_000_000)],
  ])) {
    it(`is at once too large for ${what}`, () => assert.ok(leastLength(value) > 50_000_000));
  }
});
