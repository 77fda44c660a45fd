// The shims in a minimal window. tests/host/test_dialects_in_browser.py has real ones.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { describe, it } from "node:test";
import { TextDecoder } from "node:util";
import { start as mcpui } from "../../src/fanlight/browser/shim-mcpui.js";
import { start as openai } from "../../src/fanlight/browser/shim-openai.js";
import { settled } from "./support.js";

/** @typedef {Record<string, any>} Json */

class FakeMessageEvent extends Event {
  /** @param {string} type @param {Json} init */
  constructor(type, { data, source, origin }) {
    super(type);
    this.data = data;
    this.origin = origin;
    Object.defineProperty(this, "source", { value: source, configurable: true });
  }
}

/** A window in a host's frame, which records the messages to the host. */
class FakeWindow extends EventTarget {
  MessageEvent = FakeMessageEvent;
  CustomEvent = class extends Event {
    /** @param {string} type @param {Json} init */
    constructor(type, { detail }) {
      super(type);
      this.detail = detail;
    }
  };
  TextDecoder = TextDecoder;
  ResizeObserver = class {
    observe() {}
  };
  innerHeight = 150;
  location = { hash: "", pathname: "/document", origin: "https://view.example" };
  history = { state: null, replaceState: (/** @type {any[]} */ ...args) => this.replaced.push(args) };
  document = { documentElement: {}, querySelector: () => ({ contentWindow: this.framed }) };
  framed = {
    got: /** @type {any[]} */ ([]),
    postMessage: (/** @type {any[]} */ ...args) => this.framed.got.push(args),
  };
  /** @type {any[]} */
  replaced = [];
  /** @type {any[]} */
  sent = [];
  /** @type {any[]} */
  received = [];
  /** @type {any} */
  openai;
  host = {
    secret: "of another origin",
    postMessage: (/** @type {any} */ message) => this.sent.push(structuredClone(message)),
  };
  /** @type {any} */
  parent = this.host;

  /** @param {(window: any, given?: any) => void} start @param {Json} [given] */
  begin(start, given) {
    start(this, given);
    this.addEventListener("message", (event) => this.received.push(/** @type {any} */ (event)));
    return this;
  }

  /**
   * Say something as the host, or as somebody else.
   * @param {any} data
   * @param {any} [source]
   * @param {string} [origin]
   */
  tell(data, source = this.host, origin = "https://sandbox.example") {
    this.dispatchEvent(new FakeMessageEvent("message", { data, source, origin }));
  }

  /** Answer the last request of a method.  @param {string} method @param {Json} answer */
  async answer(method, answer) {
    const { id } = this.sent.findLast((message) => message.method === method);
    this.tell({ jsonrpc: "2.0", id, ...answer });
    await settled();
  }

  async greeted(context = {}) {
    this.dispatchEvent(new Event("load"));
    await settled();
    await this.answer("ui/initialize", { result: { hostContext: context } });
    return this;
  }

  get methods() {
    return this.sent.map(({ method, type }) => method ?? type);
  }

  /** The messages of mcp-ui that the document received.  @param {string} type */
  receivedType(type) {
    return this.received.map(({ data }) => data).filter((data) => data?.type === type);
  }
}

const encoded = (/** @type {any} */ known) => `#${Buffer.from(JSON.stringify(known)).toString("base64")}`;
const note = (/** @type {string} */ method, params = {}) => ({ jsonrpc: "2.0", method, params });

describe("the shim for mcp-ui", () => {
  it("does the handshake on load, with an id that no SDK uses", async () => {
    const window = new FakeWindow().begin(mcpui);
    assert.equal(window.sent.length, 0);
    await window.greeted();
    const [hello, initialized] = window.sent;
    assert.equal(typeof hello.id, "string");
    assert.equal(hello.params.protocolVersion, "2026-01-26");
    assert.equal(initialized.method, "ui/notifications/initialized");
  });

  for (const [type, payload, method, params] of /** @type {[string, Json, string, Json][]} */ ([
    ["tool", { toolName: "a", params: { b: 1 } }, "tools/call", { name: "a", arguments: { b: 1 } }],
    ["tool", { toolName: "a" }, "tools/call", { name: "a", arguments: {} }],
    ["prompt", { prompt: "Hi" }, "ui/message", { role: "user", content: [{ type: "text", text: "Hi" }] }],
    [
      "intent",
      { intent: "buy", params: { id: 1 } },
      "ui/message",
      { role: "user", content: [{ type: "text", text: 'buy: {"id":1}' }] },
    ],
    ["link", { url: "https://a.example" }, "ui/open-link", { url: "https://a.example" }],
  ])) {
    it(`translates ${type} to ${method}, and sends the response`, async () => {
      const window = await new FakeWindow().begin(mcpui).greeted();
      window.parent.postMessage({ type, messageId: 5, payload }, "*");
      await settled();
      const { id, ...asked } = window.sent.at(-1);
      assert.deepEqual(asked, { jsonrpc: "2.0", method, params });
      assert.equal(window.receivedType("ui-message-received")[0].messageId, 5);
      await window.answer(method, { result: { content: [] } });
      const [{ messageId, payload: answer }] = window.receivedType("ui-message-response");
      assert.deepEqual([messageId, answer.response], [5, { content: [] }]);
    });
  }

  it("reports an error, and sends no response without a messageId", async () => {
    const window = await new FakeWindow().begin(mcpui).greeted();
    window.parent.postMessage({ type: "link", messageId: 0, payload: { url: "x" } }, "*");
    await settled();
    await window.answer("ui/open-link", { error: { code: -32000, message: "No." } });
    assert.deepEqual(window.receivedType("ui-message-response")[0].payload.error, { message: "No." });
    window.parent.postMessage({ type: "notify", payload: { message: "x" } }, "*");
    await settled();
    assert.deepEqual(window.sent.at(-1), note("notifications/message", { level: "info", data: "x" }));
    assert.equal(window.receivedType("ui-message-received").length, 1);
  });

  it("sends render data when the document is ready or requests it, and when it changes", async () => {
    const window = await new FakeWindow()
      .begin(mcpui, { renderData: { a: 1, theme: "server's" } })
      .greeted({ theme: "dark" });
    window.parent.postMessage({ type: "ui-lifecycle-iframe-ready" }, "*");
    window.parent.postMessage({ type: "ui-request-render-data", messageId: "r" }, "*");
    window.tell(note("ui/notifications/tool-input", { arguments: { q: 1 } }));
    window.tell(note("ui/notifications/tool-result", { content: [] }));
    window.tell(note("ui/notifications/host-context-changed", { containerDimensions: { maxHeight: 9 } }));
    const rendered = window.receivedType("ui-lifecycle-iframe-render-data");
    assert.deepEqual(rendered.at(-1).payload.renderData, {
      a: 1,
      theme: "dark",
      toolInput: { q: 1 },
      toolOutput: { content: [] },
      maxHeight: 9,
    });
    assert.equal(rendered.filter(({ messageId }) => messageId === "r").length, 1);
  });

  it("answers ui-request-data with the data or an error", async () => {
    const window = await new FakeWindow().begin(mcpui, { renderData: { a: 1 } }).greeted();
    for (const requestType of ["a", "b", "constructor"]) {
      window.parent.postMessage({ type: "ui-request-data", messageId: requestType, payload: { requestType } }, "*");
      await settled();
    }
    const answers = window
      .receivedType("ui-message-response")
      .map(({ messageId, payload }) => [messageId, "error" in payload]);
    assert.deepEqual(answers, [
      ["a", false],
      ["b", true],
      ["constructor", true],
    ]);
  });

  it("reports cancellation and teardown, and answers the latter", async () => {
    const window = await new FakeWindow().begin(mcpui).greeted();
    window.tell(note("ui/notifications/tool-cancelled", { reason: "r" }));
    window.tell({ ...note("ui/resource-teardown"), id: 0 });
    assert.equal(window.receivedType("ui-lifecycle-tool-cancelled")[0].payload.reason, "r");
    assert.equal(window.receivedType("ui-lifecycle-teardown").length, 1);
    assert.deepEqual(window.sent.at(-1), { jsonrpc: "2.0", id: 0, result: {} });
  });

  it("sends nothing for a document that implements the standard", async () => {
    const window = new FakeWindow().begin(mcpui);
    const hello = { jsonrpc: "2.0", id: 0, method: "ui/initialize", params: {} };
    window.parent.postMessage(hello, "*");
    window.dispatchEvent(new Event("load"));
    await settled();
    assert.deepEqual(window.sent, [hello]);
    window.tell({ jsonrpc: "2.0", id: 0, result: { hostContext: {} } });
    window.tell({ ...note("ui/resource-teardown"), id: 1 });
    await settled();
    assert.deepEqual(window.sent, [hello]);
    const [answer] = window.received.filter(({ data }) => data.id === 0);
    assert.equal(answer.source, window.parent, "an SDK compares the two");
  });

  it("repeats earlier messages for a document that connects late", async () => {
    const window = await new FakeWindow().begin(mcpui).greeted();
    window.tell(note("ui/notifications/tool-input", { arguments: {} }));
    window.tell(note("ui/notifications/tool-result", { content: [] }));
    window.received.length = 0;
    window.parent.postMessage({ jsonrpc: "2.0", id: 1, method: "ui/initialize", params: {} }, "*");
    window.tell({ jsonrpc: "2.0", id: 1, result: { hostContext: {} } });
    await new Promise((done) => setTimeout(done, 5));
    const methods = window.received.map(({ data }) => data.method).filter(Boolean);
    assert.deepEqual(methods, ["ui/notifications/tool-input", "ui/notifications/tool-result"]);
  });

  it("ignores messages that are not from the host or its document", async () => {
    const window = await new FakeWindow().begin(mcpui).greeted({ theme: "light" });
    const before = window.sent.length;
    const child = { postMessage() {} };
    window.tell({ type: "prompt", messageId: 1, payload: { prompt: "forged" } }, child);
    window.tell({ type: "prompt", messageId: 1, payload: { prompt: "from the host's window" } });
    window.tell(note("ui/notifications/host-context-changed", { theme: "forged" }), child);
    window.tell({ ...note("ping"), id: 1 }, child);
    await settled();
    assert.equal(window.sent.length, before);
    assert.equal(window.receivedType("ui-message-received").length, 0);
    window.parent.postMessage({ type: "ui-request-render-data" }, "*");
    assert.equal(window.receivedType("ui-lifecycle-iframe-render-data").at(-1).payload.renderData.theme, "light");
  });

  it("ignores messages that are not from the framed page", async () => {
    const origin = "https://pages.example";
    const window = await new FakeWindow().begin(mcpui, { origin, height: 300 }).greeted();
    const action = { type: "prompt", messageId: 1, payload: { prompt: "x" } };
    window.parent.postMessage(action, "*");
    window.tell(action, window.framed, "https://evil.example");
    window.tell(action, {}, origin);
    await settled();
    assert.ok(!window.methods.includes("ui/message"));
    window.tell(action, window.framed, origin);
    await settled();
    assert.ok(window.methods.includes("ui/message"));
    assert.ok(window.framed.got.every(([, to]) => to === origin));
    assert.deepEqual(window.receivedType("ui-message-received"), [], "what is for the page is not for the document");
  });

  it("forwards the standard for a framed page that connects, and only to that page", async () => {
    const origin = "https://pages.example";
    const window = await new FakeWindow().begin(mcpui, { origin, height: 300 }).greeted();
    const result = { jsonrpc: "2.0", method: "ui/notifications/tool-result", params: { content: [] } };
    window.tell(result);
    const passed = () => window.framed.got.filter(([{ jsonrpc }]) => jsonrpc);
    assert.deepEqual(passed(), [], "who speaks mcp-ui alone hears nothing else");
    const hello = { jsonrpc: "2.0", id: 0, method: "ui/initialize", params: {} };
    window.tell(hello, window.framed, "https://evil.example");
    window.tell(hello, {}, origin);
    assert.ok(!window.sent.some(({ id }) => id === 0));
    window.tell(hello, window.framed, origin);
    assert.deepEqual(window.sent.at(-1), hello);
    const answer = { jsonrpc: "2.0", id: 0, result: { hostContext: {} } };
    window.tell(answer);
    await new Promise((done) => setTimeout(done));
    assert.deepEqual(
      passed(),
      [
        [answer, origin],
        [result, origin],
      ],
      "earlier messages are repeated",
    );
    const teardown = { jsonrpc: "2.0", id: 7, method: "ui/resource-teardown", params: {} };
    const before = window.sent.length;
    window.tell(teardown);
    assert.equal(window.sent.length, before, "the page answers by itself");
    assert.deepEqual(passed().at(-1), [teardown, origin]);
  });

  it("leaves other properties of the parent unchanged", () => {
    const window = new FakeWindow().begin(mcpui);
    assert.equal(window.parent.secret, "of another origin");
    window.parent.secret = "set";
    assert.equal(window.host.secret, "set");
    const own = () => {};
    window.parent.postMessage = own;
    assert.equal(window.parent.postMessage, own);
    window.parent.postMessage = undefined;
    assert.equal(typeof window.host.postMessage, "function");
  });
});

describe("the shim for ChatGPT's widgets", () => {
  const KNOWN = {
    context: {
      ...{ theme: "dark", locale: "de", displayMode: "pip", platform: "mobile", userAgent: "x" },
      containerDimensions: { width: 1, maxHeight: 500 },
      safeAreaInsets: { top: 1, right: 2, bottom: 3, left: 4 },
      deviceCapabilities: { touch: true },
    },
    capabilities: ["serverTools", "message", "openLinks"],
    input: { a: 1 },
    result: { structuredContent: { b: 2 }, _meta: { c: 3 }, content: [] },
    state: { d: 4 },
  };
  const shown = (/** @type {any} */ known = KNOWN) => {
    const window = new FakeWindow();
    if (known) window.location.hash = encoded(known);
    return window.begin(openai);
  };

  it("has the initial state at once, and removes it from the URL", () => {
    const window = shown();
    const { setWidgetState, callTool, ...rest } = window.openai;
    const globals = Object.fromEntries(Object.entries(rest).filter(([, value]) => typeof value !== "function"));
    assert.deepEqual(globals, {
      ...{ theme: "dark", locale: "de", displayMode: "pip", maxHeight: 500 },
      safeArea: { insets: { top: 1, right: 2, bottom: 3, left: 4 } },
      userAgent: { device: { type: "mobile" }, capabilities: { hover: false, touch: true } },
      ...{ toolInput: { a: 1 }, toolOutput: { b: 2 }, toolResponseMetadata: { c: 3 }, widgetState: { d: 4 } },
    });
    assert.deepEqual(window.replaced, [[null, "", "/document"]]);
  });

  it("leaves members undefined that the host does not offer", () => {
    const { callTool, sendFollowUpMessage, openExternal } = shown(null).openai;
    assert.deepEqual([callTool, sendFollowUpMessage, openExternal], [undefined, undefined, undefined]);
  });

  it("dispatches set_globals for each change only", async () => {
    const window = await shown().greeted(KNOWN.context);
    /** @type {any[]} */
    const fired = [];
    window.addEventListener("openai:set_globals", (event) => fired.push(/** @type {any} */ (event).detail.globals));
    window.tell(note("ui/notifications/tool-input", { arguments: { a: 1 } }));
    window.tell(note("ui/notifications/tool-result", KNOWN.result));
    assert.deepEqual(fired, []);
    window.tell(note("ui/notifications/host-context-changed", { theme: "light" }));
    window.tell(note("ui/notifications/tool-result", { structuredContent: { b: 3 }, _meta: { c: 3 } }));
    window.openai.setWidgetState({ d: 5 });
    assert.deepEqual(fired, [{ theme: "light" }, { toolOutput: { b: 3 } }, { widgetState: { d: 5 } }]);
    assert.deepEqual(window.openai.safeArea.insets.top, 1, "the rest of the context stays");
  });

  const MEMBERS = /** @type {[string, any[], string, Json, Json, any][]} */ ([
    ["callTool", ["t", { a: 1 }], "tools/call", { name: "t", arguments: { a: 1 } }, { content: [] }, { content: [] }],
    ["callTool", ["t"], "tools/call", { name: "t", arguments: {} }, {}, {}],
    [
      "requestDisplayMode",
      [{ mode: "pip" }],
      "ui/request-display-mode",
      { mode: "pip" },
      { mode: "inline" },
      { mode: "inline" },
    ],
    ["openExternal", [{ href: "https://a.example" }], "ui/open-link", { url: "https://a.example" }, {}, undefined],
    ["setWidgetState", [{ x: 1 }], "fanlight/save-state", { state: { x: 1 } }, {}, undefined],
    [
      "sendFollowUpMessage",
      [{ prompt: "p" }],
      "ui/message",
      { role: "user", content: [{ type: "text", text: "p" }] },
      {},
      undefined,
    ],
    [
      "sendFollowupTurn",
      [{ prompt: "p" }],
      "ui/message",
      { role: "user", content: [{ type: "text", text: "p" }] },
      {},
      undefined,
    ],
  ]);
  for (const [member, args, method, params, result, value] of MEMBERS) {
    it(`translates ${member} to ${method}`, async () => {
      const window = await shown().greeted();
      const promise = window.openai[member](...args);
      await settled();
      assert.deepEqual(window.sent.at(-1).params, params);
      await window.answer(method, { result });
      assert.deepEqual(await promise, value);
    });
  }

  it("translates heights and closing to notifications", async () => {
    const window = await shown().greeted();
    window.openai.notifyIntrinsicHeight(77);
    window.openai.requestClose();
    await settled();
    assert.deepEqual(window.sent.slice(-2), [
      note("ui/notifications/size-changed", { height: 77 }),
      note("ui/notifications/request-teardown"),
    ]);
  });

  it("rejects if the host answers with an error", async () => {
    const window = await shown().greeted();
    const promise = window.openai.callTool("t", {});
    await settled();
    const rejected = assert.rejects(promise, /Not allowed/);
    await window.answer("tools/call", { error: { code: -32000, message: "Not allowed" } });
    await rejected;
  });

  it("does the handshake early if it is needed before load", async () => {
    const window = shown();
    window.openai.callTool("t", {});
    await settled();
    assert.deepEqual(window.methods, ["ui/initialize"]);
    await window.answer("ui/initialize", { result: { hostContext: {} } });
    assert.deepEqual(window.methods, ["ui/initialize", "ui/notifications/initialized", "tools/call"]);
  });

  it("ignores messages that are not from the host", async () => {
    const window = await shown().greeted();
    const child = { postMessage() {} };
    window.tell(note("ui/notifications/tool-result", { structuredContent: { forged: true } }), child);
    const promise = window.openai.callTool("t", {});
    await settled();
    const { id } = window.sent.at(-1);
    window.tell({ jsonrpc: "2.0", id, result: { forged: true } }, child);
    window.tell({ jsonrpc: "2.0", id, result: { true: true } });
    assert.deepEqual(await promise, { true: true });
    assert.deepEqual(window.openai.toolOutput, { b: 2 });
  });
});
