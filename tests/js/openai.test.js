// view-openai.js: a View where there is `window.openai`, with and without a host that answers.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { withOpenAI } from "../../src/fanlight/browser/view-openai.js";
import { INFO, hello, sdk, settled } from "./support.js";

const globals = /** @type {any} */ (globalThis);
const { App, PostMessageTransport } = withOpenAI(sdk);

/** @typedef {Record<string, any>} Json */

/**
 * Return `window.openai` as ChatGPT documents it. `recorded` has the calls of the widget.
 * @param {Json} [members]
 */
function chatgpt(members) {
  /** @type {any[]} */
  const recorded = [];
  /** @type {Json} */
  const openai = {
    theme: "dark",
    locale: "de-DE",
    displayMode: "inline",
    maxHeight: 600,
    safeArea: { insets: { top: 1, bottom: 2, left: 3, right: 4 } },
    userAgent: { device: { type: "mobile" }, capabilities: { hover: false, touch: true } },
    toolInput: null,
    toolOutput: null,
    toolResponseMetadata: null,
    widgetState: null,
    callTool: async (/** @type {any[]} */ ...args) => (recorded.push(["callTool", ...args]), { result: '{"sum":3}' }),
    sendFollowUpMessage: async (/** @type {any} */ params) => void recorded.push(["sendFollowUpMessage", params]),
    openExternal: (/** @type {any} */ params) => void recorded.push(["openExternal", params]),
    requestDisplayMode: async (/** @type {any} */ { mode }) => ({ mode: mode === "pip" ? "fullscreen" : mode }),
    setWidgetState: async (/** @type {any} */ state) => {
      recorded.push(["setWidgetState", state]);
      openai.widgetState = state;
    },
    ...members,
  };
  return { openai, recorded };
}

/**
 * Create a window with `window.openai`, changed by `members`, and a host that does not answer.
 * @param {Json} [members]
 */
function page(members) {
  const { openai, recorded } = chatgpt(members);
  /** @type {any[]} */
  const posted = [];
  const parent = { postMessage: (/** @type {any} */ message) => posted.push(message) };
  globals.window = Object.assign(new EventTarget(), { openai, parent });
  /** @param {Json} changes */
  const set = async (changes) => {
    Object.assign(openai, changes);
    globals.window.dispatchEvent(Object.assign(new Event("openai:set_globals"), { detail: { globals: changes } }));
    await settled();
  };
  return { openai, recorded, posted, parent, set };
}

/**
 * Connect a View, and wait until the timeout of the host has passed.
 * @param {(app: any) => void} [prepare]
 * @param {any} [transport]
 */
async function connect(prepare, transport) {
  const app = new App(INFO, {}, { autoResize: false });
  prepare?.(app);
  const connecting = app.connect(transport);
  await settled();
  mock.timers.tick(500);
  await connecting;
  await settled();
  return app;
}

beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
afterEach(() => {
  mock.timers.reset();
  delete globals.window;
});

describe("a page with window.openai and no host", () => {
  it("acts as a host, with capabilities and context", async () => {
    page();
    const app = await connect();
    assert.deepEqual(app.getHostVersion(), { name: "window.openai", version: "1" });
    assert.deepEqual(Object.keys(app.getHostCapabilities() ?? {}).sort(), [
      "message",
      "openLinks",
      "serverTools",
      "updateModelContext",
    ]);
    assert.deepEqual(app.getHostContext(), {
      theme: "dark",
      locale: "de-DE",
      displayMode: "inline",
      availableDisplayModes: ["inline", "fullscreen", "pip"],
      containerDimensions: { maxHeight: 600 },
      safeAreaInsets: { top: 1, bottom: 2, left: 3, right: 4 },
      platform: "mobile",
      deviceCapabilities: { hover: false, touch: true },
    });
  });

  it("connects at once if it is not framed", async () => {
    page();
    globals.window.parent = globals.window;
    const app = new App(INFO, {}, { autoResize: false });
    await app.connect();
    assert.equal(app.getHostContext()?.theme, "dark");
  });

  it("serves a View that created its own transport", async () => {
    const { parent } = page();
    const transport = new PostMessageTransport(/** @type {any} */ (parent), /** @type {any} */ (parent));
    const app = await connect(undefined, transport);
    assert.equal(app.getHostVersion()?.name, "window.openai");
  });

  it("delivers the current input and result, then later ones, each once", async () => {
    const { set } = page({ toolInput: { a: 1 }, toolOutput: { sum: 1 }, toolResponseMetadata: { id: 7 } });
    /** @type {any[]} */
    const received = [];
    await connect((app) => {
      app.ontoolinput = (/** @type {any} */ params) => received.push(["input", params]);
      app.ontoolresult = (/** @type {any} */ params) => received.push(["result", params]);
    });
    assert.deepEqual(received, [
      ["input", { arguments: { a: 1 } }],
      ["result", { content: [], structuredContent: { sum: 1 }, _meta: { id: 7 } }],
    ]);
    await set({ theme: "light" });
    await set({ toolOutput: { sum: 2 } });
    await set({ toolOutput: { sum: 2 } });
    assert.equal(received.length, 3);
    assert.deepEqual(/** @type {any} */ (received.at(-1))[1].structuredContent, { sum: 2 });
  });

  it("delivers the input of a tool that waited for approval later", async () => {
    const { set } = page();
    /** @type {any[]} */
    const received = [];
    await connect((app) => (app.ontoolinput = (/** @type {any} */ params) => received.push(params)));
    assert.deepEqual(received, []);
    await set({ toolInput: { a: 1 } });
    assert.deepEqual(received, [{ arguments: { a: 1 } }]);
  });

  it("finds the complete result in toolResponseMetadata, and a result that is only text", async () => {
    const whole = { content: [{ type: "text", text: "3" }], structuredContent: { sum: 3 }, _meta: { id: 1 } };
    for (const [members, expected] of /** @type {[Json, any][]} */ ([
      [{ toolOutput: { sum: 3 }, toolResponseMetadata: { status: "ok", mcp_tool_result: whole } }, whole],
      [
        { toolOutput: "hi" },
        { content: [{ type: "text", text: "hi" }], structuredContent: { text: "hi" }, _meta: undefined },
      ],
      [
        { toolOutput: { text: "hi" } },
        { content: [{ type: "text", text: "hi" }], structuredContent: { text: "hi" }, _meta: undefined },
      ],
    ])) {
      page(members);
      /** @type {any[]} */
      const received = [];
      await connect((app) => (app.ontoolresult = (/** @type {any} */ params) => received.push(params)));
      assert.deepEqual(received, [expected]);
    }
  });

  it("sends only changes of the context", async () => {
    const { set } = page();
    /** @type {any[]} */
    const received = [];
    const app = await connect(
      (made) => (made.onhostcontextchanged = (/** @type {any} */ params) => received.push(params)),
    );
    assert.deepEqual(received, []);
    await set({ theme: "light", maxHeight: 400 });
    await set({ displayMode: "fullscreen" });
    await set({ widgetState: { a: 1 } });
    assert.deepEqual(received, [
      { theme: "light", containerDimensions: { maxHeight: 400 } },
      { displayMode: "fullscreen" },
    ]);
    assert.equal(app.getHostContext()?.locale, "de-DE");
    assert.equal(app.getHostContext()?.theme, "light");
  });

  it("calls tools, and reads every form of their results", async () => {
    for (const [response, expected] of /** @type {[any, any][]} */ ([
      [{ result: '{"sum":3}' }, { content: [{ type: "text", text: '{"sum":3}' }], structuredContent: { sum: 3 } }],
      [{ result: "three" }, { content: [{ type: "text", text: "three" }] }],
      ["three", { content: [{ type: "text", text: "three" }] }],
      [
        { result: "3", structuredContent: { sum: 3 }, isError: false, meta: { id: 1 } },
        { content: [{ type: "text", text: "3" }], structuredContent: { sum: 3 }, isError: false, _meta: { id: 1 } },
      ],
      [
        { content: [{ type: "text", text: "no" }], isError: true },
        { content: [{ type: "text", text: "no" }], isError: true },
      ],
      [undefined, { content: [] }],
    ])) {
      /** @type {any[]} */
      const calls = [];
      page({ callTool: async (/** @type {any[]} */ ...args) => (calls.push(args), response) });
      const app = await connect();
      assert.deepEqual(await app.callServerTool({ name: "add", arguments: { a: 1 } }), expected);
      assert.deepEqual(calls, [["add", { a: 1 }]]);
    }
  });

  it("rejects a call that fails, with the reason", async () => {
    page({ callTool: async () => Promise.reject(new Error("not allowed")) });
    const app = await connect();
    await assert.rejects(app.callServerTool({ name: "add" }), { message: "not allowed" });
  });

  it("sends messages, opens links, changes the mode and reports the height", async () => {
    const heights = /** @type {number[]} */ ([]);
    let closed = 0;
    const { recorded } = page({
      notifyIntrinsicHeight: (/** @type {number} */ height) => heights.push(height),
      requestClose: () => closed++,
    });
    const app = await connect();
    await app.sendMessage({
      role: "user",
      content: [
        { type: "text", text: "Hello" },
        { type: "text", text: "you" },
      ],
    });
    await app.openLink({ url: "https://example.com/" });
    assert.deepEqual(recorded, [
      ["sendFollowUpMessage", { prompt: "Hello\nyou" }],
      ["openExternal", { href: "https://example.com/" }],
    ]);
    assert.deepEqual(await app.requestDisplayMode({ mode: "pip" }), { mode: "fullscreen" });
    await app.sendSizeChanged({ width: 1, height: 321 });
    await app.requestTeardown();
    await app.sendLog({ level: "info", data: "nobody reads this" });
    assert.deepEqual(heights, [321]);
    assert.equal(closed, 1);
  });

  it("puts the model context into the widget state, and keeps the rest", async () => {
    const { openai, recorded } = page({ widgetState: { page: 2 } });
    const app = await connect();
    await app.updateModelContext({ content: [{ type: "text", text: "two left" }] });
    await app.updateModelContext({ structuredContent: { left: 1 } });
    await app.updateModelContext({ content: [{ type: "text", text: "none" }], structuredContent: { left: 0 } });
    assert.deepEqual(
      recorded.map(([, state]) => state),
      [
        { page: 2, modelContent: "two left" },
        { page: 2, modelContent: { left: 1 } },
        { page: 2, modelContent: { text: "none", left: 0 } },
      ],
    );
    assert.equal(openai.widgetState.page, 2);
  });

  it("rejects requests without an equivalent", async () => {
    page();
    const app = await connect();
    const image = [{ type: "image", data: "", mimeType: "image/png" }];
    for (const [attempt, words] of /** @type {[() => Promise<any>, RegExp][]} */ ([
      [() => app.readServerResource({ uri: "ui://a/b" }), /resources\/read needs "serverResources"/],
      [() => app.listServerResources(), /resources\/list needs "serverResources"/],
      [() => app.downloadFile({ contents: [] }), /ui\/download-file needs "downloadFile"/],
      [() => app.createSamplingMessage({ messages: [], maxTokens: 1 }), /sampling\/createMessage needs "sampling"/],
      [
        () => app.request({ method: "resources/read", params: {} }),
        /resources\/read has no equivalent in window.openai/,
      ],
      [() => app.sendMessage({ role: "user", content: image }), /accepts only text/],
      [() => app.updateModelContext({ content: image }), /accepts only text/],
    ])) {
      await assert.rejects(attempt(), words);
    }
  });

  it("rejects requests for missing members", async () => {
    page({
      callTool: undefined,
      openExternal: undefined,
      sendFollowUpMessage: undefined,
      requestDisplayMode: undefined,
      setWidgetState: undefined,
    });
    const app = await connect();
    assert.deepEqual(app.getHostCapabilities(), {});
    for (const [attempt, words] of /** @type {[() => Promise<any>, RegExp][]} */ ([
      [() => app.callServerTool({ name: "add" }), /tools\/call needs window.openai.callTool/],
      [() => app.openLink({ url: "https://example.com/" }), /ui\/open-link needs "openLinks"/],
      [() => app.sendMessage({ role: "user", content: [] }), /ui\/message needs window.openai.sendFollowUpMessage/],
      [
        () => app.requestDisplayMode({ mode: "pip" }),
        /ui\/request-display-mode needs window.openai.requestDisplayMode/,
      ],
      [() => app.updateModelContext({ content: [] }), /needs window.openai.setWidgetState/],
    ])) {
      await assert.rejects(attempt(), words);
    }
    await app.sendSizeChanged({ width: 1, height: 2 });
  });

  it("is ignored after close, and can be connected again", async () => {
    const { set } = page();
    /** @type {any[]} */
    const received = [];
    let closed = 0;
    const app = await connect((made) => {
      made.onhostcontextchanged = (/** @type {any} */ params) => received.push(params);
      made.onclose = () => closed++;
    });
    await app.close();
    await set({ theme: "light" });
    assert.deepEqual(received, []);
    assert.equal(closed, 1);
    const connecting = app.connect();
    await settled();
    mock.timers.tick(500);
    await connecting;
    assert.equal(app.getHostContext()?.theme, "light");
  });
});

describe("a page with window.openai and a host that answers", () => {
  /** @param {any} data */
  const say = (data) =>
    globals.window.dispatchEvent(
      Object.assign(new Event("message"), { source: globals.window.parent, data: { jsonrpc: "2.0", ...data } }),
    );

  it("uses only the host", async () => {
    const { recorded, posted } = page({ toolInput: { from: "openai" } });
    const app = new App(INFO, {}, { autoResize: false });
    /** @type {any[]} */
    const received = [];
    app.ontoolinput = (/** @type {any} */ params) => received.push(params);
    const connecting = app.connect();
    await settled();
    mock.timers.tick(499);
    say({ id: posted[0].id, result: hello({ theme: "light" }) });
    await connecting;
    mock.timers.tick(60000);
    assert.equal(app.getHostVersion()?.name, "Test");
    assert.equal(app.getHostContext()?.theme, "light");
    say({ method: "ui/notifications/tool-input", params: { arguments: { from: "host" } } });
    const calling = app.callServerTool({ name: "add", arguments: {} });
    await settled();
    say({ id: posted.at(-1).id, result: { content: [] } });
    await calling;
    assert.deepEqual(received, [{ arguments: { from: "host" } }]);
    assert.deepEqual(recorded, []);
    assert.deepEqual(
      posted.map(({ method }) => method),
      ["ui/initialize", "ui/notifications/initialized", "tools/call"],
    );
  });

  it("ignores it after falling back to window.openai", async () => {
    const { posted } = page();
    const app = await connect();
    say({ id: posted[0].id, result: hello({ theme: "light" }) });
    say({ method: "ui/notifications/host-context-changed", params: { theme: "light" } });
    await settled();
    assert.equal(app.getHostVersion()?.name, "window.openai");
    assert.equal(app.getHostContext()?.theme, "dark");
  });
});

describe("a page without window.openai", () => {
  it("works as without view-openai.js", async () => {
    page();
    delete globals.window.openai;
    const app = new App(INFO, {}, { autoResize: false });
    const connecting = app.connect(undefined, { timeout: 1000 });
    await settled();
    mock.timers.tick(1000);
    await assert.rejects(connecting, /timed out/);
  });
});
