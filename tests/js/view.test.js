// What view.js guarantees beyond the reference SDK, and how it handles malformed input. Hosts are scripted.
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { ref } from "vue";
import { z } from "zod/v4";
import { Host, INFO, Transport, connected, hello, sdk, settled } from "./support.js";

const { App } = sdk;

/**
 * @param {any} params
 * @returns {[string, any]}
 */
const input = (params) => ["ui/notifications/tool-input", params];

describe("ids", () => {
  it("a response with the id as a string resolves the request", async () => {
    const host = new Host();
    const { send } = host;
    host.send = (message) => send.call(host, "id" in message ? { ...message, id: String(message.id) } : message);
    const { app } = await connected({ host });
    host.answers["tools/call"] = () => ({ content: [], structuredContent: { n: 1 } });
    assert.deepEqual(await app.callServerTool({ name: "add" }), { content: [], structuredContent: { n: 1 } });
  });
});

describe("events", () => {
  it("the first listener gets the input, result and cancellation that arrived before it", async () => {
    const { app, host } = await connected();
    host.notify("ui/notifications/tool-input", { arguments: { a: 1 } });
    host.notify("ui/notifications/tool-result", { content: [], structuredContent: { b: 2 } });
    host.notify("ui/notifications/tool-cancelled", { reason: "r" });
    await settled();
    const seen = /** @type {any[]} */ ([]);
    app.addEventListener("toolcancelled", (params) => seen.push(params));
    app.ontoolresult = (params) => seen.push(params);
    app.ontoolinput = (params) => seen.push(params);
    await settled();
    // In order of arrival, not of registration.
    const expected = /** @type {any[]} */ ([
      { arguments: { a: 1 } },
      { content: [], structuredContent: { b: 2 } },
      { reason: "r" },
    ]);
    assert.deepEqual(seen, expected);
    app.addEventListener("toolinput", () => seen.push("again"));
    await settled();
    assert.equal(seen.length, 3);
  });

  it("handlers set in the same turn as connect() miss nothing, even if the host is early", async () => {
    const host = new Host();
    const app = new App(INFO);
    host.notify(...input({ arguments: {} }));
    const connecting = app.connect(host.view);
    const seen = mock.fn();
    app.ontoolinput = seen;
    await connecting;
    await settled();
    assert.equal(seen.mock.callCount(), 1);
  });

  it("only the last partial input is kept for a late listener", async () => {
    const { app, host } = await connected();
    for (const n of [1, 2, 3]) host.notify("ui/notifications/tool-input-partial", { arguments: { n } });
    await settled();
    const seen = mock.fn();
    app.ontoolinputpartial = seen;
    await settled();
    assert.deepEqual(
      seen.mock.calls.map((call) => call.arguments),
      [[{ arguments: { n: 3 } }]],
    );
  });

  it("a late listener for partial input gets nothing after the complete input", async () => {
    const { app, host } = await connected();
    host.notify("ui/notifications/tool-input-partial", { arguments: { n: 1 } });
    host.notify(...input({ arguments: { n: 12 } }));
    host.notify("ui/notifications/tool-input-partial", { arguments: { n: 1 } });
    await settled();
    const seen = mock.fn();
    app.ontoolinputpartial = seen;
    await settled();
    assert.equal(seen.mock.callCount(), 0);
  });

  it("all results are kept in order for a late listener", async () => {
    const { app, host } = await connected();
    host.notify("ui/notifications/tool-result", { structuredContent: 1 });
    host.notify("ui/notifications/tool-result", { structuredContent: 2 });
    await settled();
    const seen = mock.fn();
    app.ontoolresult = seen;
    await settled();
    assert.deepEqual(
      seen.mock.calls.map((call) => call.arguments),
      [[{ content: [], structuredContent: 1 }], [{ content: [], structuredContent: 2 }]],
    );
  });

  it("partial input after the complete one is ignored", async () => {
    const { app, host } = await connected();
    const seen = mock.fn();
    app.ontoolinputpartial = seen;
    host.notify(...input({ arguments: { n: 12 } }));
    host.notify("ui/notifications/tool-input-partial", { arguments: { n: 1 } });
    await settled();
    assert.equal(seen.mock.callCount(), 0);
  });

  it("the on* handler and all added listeners are called, the handler first", async () => {
    const { app, host } = await connected();
    const seen = /** @type {string[]} */ ([]);
    const twice = () => seen.push("second");
    app.addEventListener("toolinput", () => seen.push("first"));
    app.addEventListener("toolinput", twice);
    app.addEventListener("toolinput", twice);
    app.ontoolinput = () => seen.push("replaced");
    const handler = () => seen.push("handler");
    app.ontoolinput = handler;
    assert.equal(app.ontoolinput, handler);
    host.notify(...input({}));
    await settled();
    assert.deepEqual(seen, ["handler", "first", "second"]);
    app.removeEventListener("toolinput", twice);
    app.ontoolinput = undefined;
    host.notify(...input({}));
    await settled();
    assert.deepEqual(seen.slice(3), ["first"]);
  });

  it("the on* handler is not removed by removeEventListener, nor an unknown listener", async () => {
    const { app, host } = await connected();
    const handler = mock.fn();
    app.ontoolinput = handler;
    app.addEventListener("toolinput", handler);
    app.removeEventListener("toolinput", handler);
    app.removeEventListener("toolinput", handler);
    app.removeEventListener("toolinput", () => {});
    host.notify(...input({}));
    await settled();
    assert.equal(handler.mock.callCount(), 1);
  });

  it("a listener that throws or rejects is reported, and the others are called", async () => {
    const { app, host } = await connected();
    const errors = /** @type {any[]} */ ([]);
    app.onerror = (error) => errors.push(error.message);
    const last = mock.fn();
    app.ontoolresult = () => {
      throw new Error("one");
    };
    app.addEventListener("toolresult", async () => {
      throw new Error("two");
    });
    app.addEventListener("toolresult", last);
    host.notify("ui/notifications/tool-result", {});
    await settled();
    assert.deepEqual(errors, ["one", "two"]);
    assert.equal(last.mock.callCount(), 1);
  });

  it("without onerror such an error is logged to the console", async (test) => {
    const log = test.mock.method(console, "error", () => {});
    const { app, host } = await connected();
    app.ontoolinput = () => {
      throw new Error("boo");
    };
    host.notify(...input({}));
    await settled();
    assert.equal(log.mock.calls[0]?.arguments[0].message, "boo");
  });

  it("nothing is written to the console by ordinary traffic", async (test) => {
    const names = /** @type {const} */ (["debug", "log", "info", "warn", "error"]);
    const logs = names.map((name) => test.mock.method(console, name, () => {}));
    const { app, host } = await connected();
    app.ontoolinput = () => {};
    host.notify(...input({}));
    await host.ask("ping");
    host.notify("x/unknown");
    await settled();
    assert.deepEqual(
      logs.map((log) => log.mock.callCount()),
      [0, 0, 0, 0, 0],
    );
  });
});

describe("the handshake", () => {
  it("sends ui/initialize, then initialized", async () => {
    const { host } = await connected({ capabilities: { availableDisplayModes: ["inline"] } });
    assert.deepEqual(host.received, [
      {
        jsonrpc: "2.0",
        id: 1,
        method: "ui/initialize",
        params: {
          protocolVersion: "2026-01-26",
          appInfo: INFO,
          appCapabilities: { availableDisplayModes: ["inline"] },
        },
      },
      { jsonrpc: "2.0", method: "ui/notifications/initialized" },
    ]);
  });

  for (const [what, result] of /** @type {[string, any][]} */ ([
    ["an empty result", {}],
    ["null for every part", { protocolVersion: null, hostInfo: null, hostCapabilities: null, hostContext: null }],
    ["null as the result", null],
    ["a version from the future", { ...hello(), protocolVersion: "2099-01-01" }],
    [
      "values that nobody knows",
      hello({
        theme: "sepia",
        locale: null,
        platform: "fridge",
        availableDisplayModes: ["hologram"],
        styles: { variables: { "--x": null } },
      }),
    ],
    ["a context that is a string", { ...hello(), hostContext: "light" }],
  ])) {
    it(`connects to a host that sends ${what}`, async () => {
      const { app, host } = await connected({ host: new Host(result) });
      assert.equal(host.receivedMethod("ui/notifications/initialized").length, 1);
      assert.equal(typeof app.getHostContext(), "object");
    });
  }

  it("accepts the names that assistant-ui uses", async () => {
    const { app } = await connected({
      host: new Host({ host: { name: "aui", version: "0" }, capabilities: { openLinks: {} } }),
    });
    assert.equal(app.getHostVersion()?.name, "aui");
    assert.deepEqual(app.getHostCapabilities(), { openLinks: {} });
  });

  it("knows nothing about the host before it", () => {
    const app = new App(INFO);
    assert.equal(app.getHostContext(), undefined);
    assert.equal(app.getHostCapabilities(), undefined);
    assert.equal(app.getHostVersion(), undefined);
  });

  it("requests wait until it is done", async () => {
    const host = new Host();
    host.answers["tools/call"] = () => ({ content: [] });
    const app = new App(INFO);
    const connecting = app.connect(host.view);
    const call = app.callServerTool({ name: "t" });
    const log = app.sendLog({ level: "info", data: 1 });
    await Promise.all([connecting, call, log]);
    await settled();
    const order = ["ui/initialize", "ui/notifications/initialized", "tools/call", "notifications/message"];
    assert.deepEqual(
      host.received.map(({ method }) => method),
      order,
    );
  });

  it("without connect() every call rejects with `Not connected`", async () => {
    const app = new App(INFO);
    await assert.rejects(app.callServerTool({ name: "t" }), /Not connected/);
    await assert.rejects(app.sendLog({ level: "info", data: 1 }), /Not connected/);
    await assert.rejects(app.requestDisplayMode({ mode: "pip" }), /Not connected/);
  });

  it("fails with the host's error, closes the link, and can be repeated", async () => {
    const host = new Host();
    const { "ui/initialize": answer } = host.answers;
    host.answers["ui/initialize"] = () => {
      throw new Error("go away");
    };
    const app = new App(INFO);
    const connecting = app.connect(host.view);
    const call = app.callServerTool({ name: "t" });
    await assert.rejects(connecting, /go away/);
    await assert.rejects(call, /go away/);
    assert.equal(host.view.closed, true);
    assert.ok(answer);
    host.answers["ui/initialize"] = answer;
    await app.connect(host.view);
    assert.equal(app.getHostVersion()?.name, "Test");
  });

  it("throws while connected, and works again after close()", async () => {
    const { app, host } = await connected();
    await assert.rejects(app.connect(host.view), /Already connected/);
    await app.close();
    await app.connect(new Host().view);
  });

  it("a close() during the handshake does not affect the next one", async () => {
    const [one, two] = [new Host(), new Host()];
    delete one.answers["ui/initialize"];
    one.transport.onmessage = () => {};
    const app = new App(INFO);
    const first = app.connect(one.view);
    await settled();
    const closing = app.close();
    const second = app.connect(two.view);
    await assert.rejects(first, /Connection closed/);
    await closing;
    await second;
    assert.equal(app.getHostVersion()?.name, "Test");
  });

  it("fails when the transport does not start", async () => {
    const transport = new Transport();
    transport.start = () => Promise.reject(new Error("no wire"));
    const app = new App(INFO);
    await assert.rejects(app.connect(transport), /no wire/);
    await app.connect(new Host().view);
  });

  it("outside a frame fails at once", async () => {
    const globals = /** @type {any} */ (globalThis);
    globals.window = {};
    globals.window.parent = globals.window;
    try {
      await assert.rejects(new App(INFO).connect(), /Not in a host/);
    } finally {
      delete globals.window;
    }
  });
});

describe("capabilities", () => {
  /** @type {[string, any, string, any][]} */
  const GATED = [
    ["openLink", { url: "https://example.com/" }, "openLinks", { serverTools: {} }],
    ["downloadFile", { contents: [] }, "downloadFile", { openLinks: {} }],
    ["createSamplingMessage", { messages: [], maxTokens: 1 }, "sampling", { openLinks: {} }],
    ["createSamplingMessage", { messages: [], maxTokens: 1, tools: [{}] }, "sampling", { sampling: {} }],
    ["callServerTool", { name: "t" }, "serverTools", { serverResources: {} }],
    ["readServerResource", { uri: "x://" }, "serverResources", { serverTools: {} }],
    ["listServerResources", undefined, "serverResources", { serverTools: {} }],
  ];

  for (const [method, params, capability, offered] of GATED) {
    const call = `${method}(${JSON.stringify(params)})`;
    it(`${call} to a host with ${JSON.stringify(offered)} fails at once and names it`, async () => {
      const { app, host } = await connected({ host: new Host(hello({}, offered)) });
      const before = host.received.length;
      const error = { code: -32601, message: new RegExp(`"${capability}".*getHostCapabilities`) };
      await assert.rejects(/** @type {any} */ (app)[method](params), error);
      await settled();
      assert.equal(host.received.length, before);
    });
  }

  it("a host without capabilities gets every request", async () => {
    const host = new Host({ hostInfo: { name: "Silent", version: "1" } });
    const { app } = await connected({ host });
    for (const [method, params] of GATED) {
      await assert.rejects(/** @type {any} */ (app)[method](params), { code: -32601, message: "Method not found" });
    }
    await app.sendLog({ level: "info", data: 1 });
    await settled();
    assert.equal(host.received.length, 2 + GATED.length + 1);
  });

  it("the error of a timeout names a capability that the host did not advertise", async () => {
    const host = new Host(hello({}, { openLinks: {} }));
    host.answers["tools/call"] = () => undefined;
    const { app } = await connected({ host });
    const error = { code: -32001, message: /"serverTools".*getHostCapabilities.*timed out/ };
    await assert.rejects(app.callServerTool({ name: "t" }, { timeout: 5 }), error);
  });

  it("a host without capabilities about its server gets tool calls and resource reads", async () => {
    // Goose up to 1.x advertises { openLinks } and does both (aaif-goose/goose#9116).
    const host = new Host(hello({}, { openLinks: {} }));
    host.answers["tools/call"] = () => ({ content: [{ type: "text", text: "done" }] });
    host.answers["resources/read"] = () => ({ contents: [] });
    const { app } = await connected({ host });
    assert.equal((await app.callServerTool({ name: "t" })).content[0].text, "done");
    assert.deepEqual(await app.readServerResource({ uri: "x://" }), { contents: [] });
  });

  it("messages and model context need no capability, because stable hosts do not advertise them", async () => {
    const host = new Host(hello({}, { openLinks: {} }));
    host.answers["ui/message"] = host.answers["ui/update-model-context"] = () => ({});
    const { app } = await connected({ host });
    await app.sendMessage({ role: "user", content: [{ type: "text", text: "hi" }] });
    await app.updateModelContext({ structuredContent: {} });
  });

  it("sampling with tools works if the host offers both", async () => {
    const host = new Host(hello({}, { sampling: { tools: {} } }));
    host.answers["sampling/createMessage"] = () => ({ model: "m", role: "assistant", content: [] });
    const { app } = await connected({ host });
    assert.equal((await app.createSamplingMessage({ messages: [], maxTokens: 1, tools: [{}] })).model, "m");
  });

  it("logs are discarded without an error if the host does not accept them", async () => {
    const { app, host } = await connected({ host: new Host(hello({}, { openLinks: {} })) });
    await app.sendLog({ level: "error", data: "x" });
    await settled();
    assert.deepEqual(host.receivedMethod("notifications/message"), []);
  });
});

describe("requests", () => {
  it("callServerTool with a string rejects with what to write", async () => {
    const { app, host } = await connected();
    await assert.rejects(app.callServerTool(/** @type {any} */ ("get_time")), /takes \{ name, arguments \}/);
    assert.deepEqual(host.receivedMethod("tools/call"), []);
  });

  it("a tool result without content gets an empty one and keeps its other fields", async () => {
    const host = new Host();
    host.answers["tools/call"] = () => ({ structuredContent: { a: 1 }, _meta: { b: 2 }, extra: 3 });
    const { app } = await connected({ host });
    assert.deepEqual(await app.callServerTool({ name: "t" }), {
      content: [],
      structuredContent: { a: 1 },
      _meta: { b: 2 },
      extra: 3,
    });
  });

  it("a tool call has a progress token and keeps the author's _meta, and other requests have none", async () => {
    const host = new Host();
    host.answers["tools/call"] = host.answers["ui/open-link"] = () => ({});
    const { app } = await connected({ host });
    await app.callServerTool({ name: "t", _meta: { mine: 1 } });
    await app.openLink({ url: "https://example.com/" });
    const [call] = host.receivedMethod("tools/call");
    assert.deepEqual(call.params, { name: "t", _meta: { mine: 1, progressToken: call.id } });
    assert.deepEqual(host.receivedMethod("ui/open-link")[0].params, { url: "https://example.com/" });
  });

  it("an error of the host keeps code, message and data", async () => {
    const host = new Host();
    host.answers["ui/open-link"] = () => {
      throw Object.assign(new Error("denied"), { code: -32000, data: { why: "policy" } });
    };
    const { app } = await connected({ host });
    await assert.rejects(app.openLink({ url: "x" }), { code: -32000, message: "denied", data: { why: "policy" } });
  });

  it("a result of null is an empty result", async () => {
    const host = new Host();
    host.answers["ui/message"] = () => null;
    const { app } = await connected({ host });
    assert.deepEqual(await app.sendMessage({ role: "user", content: [] }), {});
  });

  it("request() and notification() send their message, and a schema is not treated as options", async () => {
    const host = new Host();
    host.answers["x/clipboard"] = ({ text }) => ({ copied: text });
    const { app } = await connected({ host });
    assert.deepEqual(await app.request({ method: "x/clipboard", params: { text: "a" } }, z.object({})), {
      copied: "a",
    });
    await app.notification({ method: "x/hint", params: { a: 1 } });
    await settled();
    assert.deepEqual(host.receivedMethod("x/hint")[0].params, { a: 1 });
  });

  it("parameters that cannot be sent reject the request", async () => {
    const { app } = await connected();
    const circular = /** @type {any} */ ({ name: "t" });
    circular.arguments = circular;
    await assert.rejects(app.callServerTool(circular), TypeError);
  });

  it("close() rejects pending requests, aborts running handlers, and calls onclose once", async () => {
    const host = new Host();
    host.answers["tools/call"] = () => undefined;
    /** @type {any} */
    let signal;
    const { app } = await connected({
      host,
      prepare: (app) =>
        app.registerTool("t", {}, (extra) => {
          ({ signal } = extra);
          return new Promise(() => {});
        }),
    });
    const closed = mock.fn();
    app.onclose = closed;
    const call = app.callServerTool({ name: "t" });
    await host.ask("tools/call", { name: "t" });
    await app.close();
    await assert.rejects(call, { code: -32000, message: "Connection closed" });
    assert.equal(signal.aborted, true);
    await app.close();
    assert.equal(closed.mock.callCount(), 1);
  });

  it("a transport that closes by itself closes the View's end", async () => {
    const { app, host } = await connected();
    const closed = mock.fn();
    app.onclose = closed;
    await host.view.close();
    assert.equal(closed.mock.callCount(), 1);
    await assert.rejects(app.callServerTool({ name: "t" }), /Not connected/);
  });

  it("an error of the transport is reported", async () => {
    const { app, host } = await connected();
    const errors = mock.fn();
    app.onerror = errors;
    host.view.onerror(new Error("static"));
    assert.equal(/** @type {any} */ (errors.mock.calls[0]).arguments[0].message, "static");
  });
});

describe("in Vue", () => {
  it("works through a ref, which makes proxies of most objects", async () => {
    const { app, host } = await connected();
    host.answers["tools/call"] = () => ({ content: [] });
    const held = ref(app);
    assert.deepEqual(await held.value.callServerTool({ name: "t" }), { content: [] });
  });
});

describe("time", () => {
  /** @param {any} test */
  const silentHost = async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const host = new Host();
    host.answers["tools/call"] = () => undefined;
    const { app } = await connected({ host });
    return { app, host, timers: test.mock.timers };
  };

  /**
   * Whether a promise is "pending", "resolved" or "rejected".
   * @param {Promise<any>} promise
   */
  const watch = (promise) => {
    const watched = /** @type {any} */ ({ state: "pending", error: undefined });
    promise.then(
      () => (watched.state = "resolved"),
      (error) => Object.assign(watched, { state: "rejected", error }),
    );
    return watched;
  };

  it("a request times out after 60 seconds, and is cancelled at the host", async (test) => {
    const { app, host, timers } = await silentHost(test);
    const call = watch(app.callServerTool({ name: "t" }));
    await settled();
    timers.tick(59_999);
    await settled();
    assert.equal(call.state, "pending");
    timers.tick(1);
    await settled();
    assert.equal(call.state, "rejected");
    assert.equal(call.error.code, -32001);
    assert.match(call.error.message, /tools\/call: timed out/);
    assert.equal(
      host.receivedMethod("notifications/cancelled")[0].params.requestId,
      host.receivedMethod("tools/call")[0].id,
    );
  });

  it("the timeout can be set, and Infinity means none", async (test) => {
    const { app, timers } = await silentHost(test);
    const short = watch(app.callServerTool({ name: "t" }, { timeout: 10 }));
    const endless = watch(app.callServerTool({ name: "t" }, { timeout: Infinity }));
    await settled();
    timers.tick(10);
    await settled();
    assert.equal(short.state, "rejected");
    timers.tick(2 ** 31);
    await settled();
    assert.equal(endless.state, "pending");
  });

  it("progress resets the timeout by default, and not beyond maxTotalTimeout", async (test) => {
    const { app, host, timers } = await silentHost(test);
    const onprogress = mock.fn();
    const plain = watch(app.callServerTool({ name: "a" }, { timeout: 100 }));
    const strict = watch(app.callServerTool({ name: "b" }, { timeout: 100, resetTimeoutOnProgress: false }));
    const bounded = watch(app.callServerTool({ name: "c" }, { timeout: 100, maxTotalTimeout: 150, onprogress }));
    await settled();
    timers.tick(90);
    for (const { id } of host.receivedMethod("tools/call")) {
      host.notify("notifications/progress", { progressToken: id, progress: 1 });
    }
    await settled();
    assert.equal(onprogress.mock.callCount(), 1);
    timers.tick(10);
    await settled();
    assert.deepEqual([plain.state, strict.state, bounded.state], ["pending", "rejected", "pending"]);
    timers.tick(50);
    await settled();
    assert.deepEqual([plain.state, bounded.state], ["pending", "rejected"]);
    timers.tick(40);
    await settled();
    assert.equal(plain.state, "rejected");
  });

  it("an answered request leaves no timer and is not cancelled, even if aborted later", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const host = new Host();
    host.answers["tools/call"] = () => ({ content: [] });
    const { app } = await connected({ host });
    const controller = new AbortController();
    await app.callServerTool({ name: "t" }, { signal: controller.signal });
    controller.abort();
    test.mock.timers.tick(120_000);
    await settled();
    assert.deepEqual(host.receivedMethod("notifications/cancelled"), []);
  });

  it("a late response to a cancelled request is ignored", async (test) => {
    const { app, host, timers } = await silentHost(test);
    const call = watch(app.callServerTool({ name: "t" }, { timeout: 5 }));
    await settled();
    timers.tick(5);
    host.send({ id: host.receivedMethod("tools/call")[0].id, result: { content: [] } });
    await settled();
    assert.equal(call.state, "rejected");
  });

  it("connect() times out if the page never answers", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const host = new Host();
    host.answers["ui/initialize"] = () => undefined;
    const connecting = watch(new App(INFO).connect(host.view, { timeout: 7 }));
    await settled();
    test.mock.timers.tick(7);
    await settled();
    assert.match(connecting.error.message, /ui\/initialize: timed out/);
  });

  it("an aborted signal rejects the request with its reason, and cancels it at the host", async () => {
    const host = new Host();
    host.answers["tools/call"] = () => undefined;
    const { app } = await connected({ host });
    const controller = new AbortController();
    const call = app.callServerTool({ name: "t" }, { signal: controller.signal });
    await settled();
    controller.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    await settled();
    const { id } = host.receivedMethod("tools/call")[0];
    assert.deepEqual(host.receivedMethod("notifications/cancelled")[0].params, { requestId: id, reason: "enough" });
  });

  it("with a signal that is already aborted nothing is sent", async () => {
    const { app, host } = await connected();
    await assert.rejects(app.callServerTool({ name: "t" }, { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.deepEqual(host.receivedMethod("tools/call"), []);
  });
});

describe("display modes", () => {
  it("a mode that the host does not offer is not requested, and the current one is returned", async () => {
    const { app, host } = await connected({
      host: new Host(hello({ displayMode: "pip", availableDisplayModes: ["pip"] })),
    });
    assert.deepEqual(await app.requestDisplayMode({ mode: "fullscreen" }), { mode: "pip" });
    assert.deepEqual(host.receivedMethod("ui/request-display-mode"), []);
  });

  it("a mode that the View did not declare is not requested", async () => {
    const { app, host } = await connected({
      host: new Host(hello({ availableDisplayModes: ["inline", "fullscreen"] })),
      capabilities: { availableDisplayModes: ["inline"] },
    });
    assert.deepEqual(await app.requestDisplayMode({ mode: "fullscreen" }), { mode: "inline" });
    assert.deepEqual(host.receivedMethod("ui/request-display-mode"), []);
  });

  it("if neither side lists modes, the mode of the host's response is returned", async () => {
    const host = new Host();
    host.answers["ui/request-display-mode"] = () => ({ mode: "inline" });
    const { app } = await connected({ host });
    assert.deepEqual(await app.requestDisplayMode({ mode: "fullscreen" }), { mode: "inline" });
    assert.equal(host.receivedMethod("ui/request-display-mode").length, 1);
  });

  it("modes of a context change replace earlier ones", async () => {
    const host = new Host(hello({ availableDisplayModes: ["inline"] }));
    host.answers["ui/request-display-mode"] = ({ mode }) => ({ mode });
    const { app } = await connected({ host });
    host.notify("ui/notifications/host-context-changed", { availableDisplayModes: ["inline", "pip"] });
    await settled();
    assert.deepEqual(await app.requestDisplayMode({ mode: "pip" }), { mode: "pip" });
  });
});

describe("the host context", () => {
  it("a partial styles update keeps earlier styles", async () => {
    const variables = { "--font-sans": "Inter", "--font-mono": "Mono" };
    const { app, host } = await connected({ host: new Host(hello({ theme: "light", styles: { variables } })) });
    host.notify("ui/notifications/host-context-changed", { styles: { css: { fonts: "@font-face {}" } } });
    host.notify("ui/notifications/host-context-changed", { styles: { variables: { "--font-sans": "Arial" } } });
    await settled();
    assert.deepEqual(app.getHostContext(), {
      theme: "light",
      styles: { variables: { "--font-sans": "Arial", "--font-mono": "Mono" }, css: { fonts: "@font-face {}" } },
    });
  });

  it("other values are replaced", async () => {
    const { app, host } = await connected({
      host: new Host(hello({ containerDimensions: { width: 3, maxHeight: 4 } })),
    });
    host.notify("ui/notifications/host-context-changed", { containerDimensions: { height: 5 } });
    await settled();
    assert.deepEqual(app.getHostContext()?.containerDimensions, { height: 5 });
  });

  it("a viewport of early drafts is read as containerDimensions, unless both are there", async () => {
    const { app, host } = await connected({ host: new Host(hello({ viewport: { width: 300 } })) });
    assert.deepEqual(app.getHostContext()?.containerDimensions, { width: 300 });
    const seen = mock.fn();
    app.onhostcontextchanged = seen;
    host.notify("ui/notifications/host-context-changed", { viewport: { width: 1 }, containerDimensions: { width: 2 } });
    host.notify("ui/notifications/host-context-changed", { viewport: { width: 9 } });
    await settled();
    const dimensions = seen.mock.calls.map((call) => /** @type {any} */ (call).arguments[0].containerDimensions);
    assert.deepEqual(dimensions, [{ width: 2 }, { width: 9 }]);
  });

  it("a change without a listener is not delivered later, but is in getHostContext()", async () => {
    const { app, host } = await connected();
    host.notify("ui/notifications/host-context-changed", { theme: "dark" });
    await settled();
    const seen = mock.fn();
    app.onhostcontextchanged = seen;
    await settled();
    assert.equal(seen.mock.callCount(), 0);
    assert.equal(app.getHostContext()?.theme, "dark");
  });
});

describe("older names", () => {
  for (const [method, event] of /** @type {[string, any][]} */ ([
    ["ui/host-context-change", "hostcontextchanged"],
    ["ui/notifications/host-context-change", "hostcontextchanged"],
    ["ui/tool-cancelled", "toolcancelled"],
    ["ui/toolInput", "toolinput"],
    ["ui/toolResult", "toolresult"],
  ])) {
    it(`${method} raises ${event}`, async () => {
      const { app, host } = await connected();
      const seen = mock.fn();
      app.addEventListener(event, seen);
      host.notify(method, { content: [], theme: "dark" });
      await settled();
      assert.deepEqual(/** @type {any} */ (seen.mock.calls[0]).arguments, [{ content: [], theme: "dark" }]);
    });
  }

  it("ui/teardown is answered like ui/resource-teardown", async () => {
    const { app, host } = await connected();
    const teardown = mock.fn();
    app.onteardown = teardown;
    assert.deepEqual((await host.ask("ui/teardown", { reason: "r" })).result, {});
    assert.deepEqual(/** @type {any} */ (teardown.mock.calls[0]).arguments[0], { reason: "r" });
  });

  it("a size message of the host is ignored", async () => {
    const { host } = await connected();
    const before = host.received.length;
    host.notify("ui/notifications/size-changed", { width: 1, height: 1 });
    host.notify("ui/notifications/size-change", { width: 1, height: 1 });
    await settled();
    assert.equal(host.received.length, before);
  });
});

describe("teardown", () => {
  it("without a handler it is answered with an empty result", async () => {
    const { host } = await connected();
    assert.deepEqual(await host.ask("ui/resource-teardown"), { jsonrpc: "2.0", id: 0, result: {} });
  });

  it("the handler gets the reason, and the response waits for it", async () => {
    const { app, host } = await connected();
    /** @type {(value?: any) => void} */
    let saved = () => {};
    const handler = mock.fn(() => new Promise((resolve) => (saved = resolve)));
    app.onteardown = handler;
    assert.equal(await host.ask("ui/resource-teardown", { reason: "closed by the user" }, "x"), undefined);
    assert.deepEqual(/** @type {any} */ (handler.mock.calls[0]).arguments[0], { reason: "closed by the user" });
    saved("not an object");
    await settled();
    assert.deepEqual(host.received.at(-1), { jsonrpc: "2.0", id: "x", result: {} });
  });

  it("a handler that throws is answered with an error", async () => {
    const { app, host } = await connected();
    app.onteardown = async () => {
      throw new Error("unsaved");
    };
    assert.deepEqual((await host.ask("ui/resource-teardown")).error, { code: -32603, message: "unsaved" });
  });
});

describe("app tools", () => {
  const SCHEMA = {
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" }, tags: { type: ["array", "null"] }, any: {} },
    required: ["name"],
  };

  it("of a JSON Schema the required properties and the types at the top level are validated", async () => {
    const greet = mock.fn(() => ({ content: [] }));
    const { host } = await connected({ prepare: (app) => app.registerTool("greet", { inputSchema: SCHEMA }, greet) });
    /** @param {any} args */
    const call = async (args) => (await host.ask("tools/call", { name: "greet", arguments: args })).error?.message;
    assert.equal(await call({ name: "a", age: 3, tags: null, any: 1, more: 2 }), undefined);
    assert.equal(await call({ name: "a", tags: [] }), undefined);
    assert.equal(greet.mock.callCount(), 2);
    assert.match(await call({}), /^Tool "greet": name: missing$/);
    assert.match(await call(undefined), /name: missing/);
    assert.match(await call({ name: 1, age: 1.5, tags: {} }), /name: not string,age: not integer,tags: not array,null/);
    assert.match(await call([]), /not an object/);
    assert.match(await call("x"), /not an object/);
    assert.equal(greet.mock.callCount(), 2);
  });

  it("a number may be an integer, and a fraction is not one", async () => {
    const inputSchema = { type: "object", properties: { n: { type: "number" }, i: { type: "integer" } } };
    const { host } = await connected({ prepare: (app) => app.registerTool("t", { inputSchema }, () => ({})) });
    assert.ok((await host.ask("tools/call", { name: "t", arguments: { n: 1 } })).result);
    assert.ok((await host.ask("tools/call", { name: "t", arguments: { n: 1.5, i: 2 } })).result);
    assert.ok((await host.ask("tools/call", { name: "t", arguments: { i: 1.5 } })).error);
  });

  it("a Standard Schema parses the arguments and reports issues", async () => {
    const seen = mock.fn(() => ({}));
    const inputSchema = z.object({
      at: z.string().transform((text) => text.length),
      deep: z.object({ n: z.number() }).optional(),
    });
    const { host } = await connected({ prepare: (app) => app.registerTool("t", { inputSchema }, seen) });
    assert.deepEqual((await host.ask("tools/call", { name: "t", arguments: { at: "four" } })).result, { content: [] });
    assert.deepEqual(/** @type {any} */ (seen.mock.calls[0]).arguments[0], { at: 4 });
    const { error } = await host.ask("tools/call", { name: "t", arguments: { at: "", deep: {} } });
    assert.equal(error.code, -32602);
    assert.match(error.message, /^Tool "t": deep,n: /);
  });

  it("a Standard Schema without a JSON Schema is listed as any object", async () => {
    const inputSchema = {
      "~standard": { version: 1, vendor: "x", validate: (/** @type {any} */ value) => ({ value }) },
    };
    const { host } = await connected({
      prepare: (app) => app.registerTool("t", { inputSchema, title: "T" }, () => ({})),
    });
    const { tools } = (await host.ask("tools/list")).result;
    assert.deepEqual(tools, [{ name: "t", title: "T", inputSchema: { type: "object" } }]);
  });

  it("a list has the registered fields and no functions", async () => {
    const config = {
      title: "G",
      description: "Greets",
      inputSchema: SCHEMA,
      outputSchema: SCHEMA,
      annotations: { a: 1 },
      _meta: { b: 2 },
    };
    const { host } = await connected({ prepare: (app) => app.registerTool("greet", config, () => ({})) });
    assert.deepEqual((await host.ask("tools/list")).result, { tools: [{ name: "greet", ...config }] });
  });

  it("output that does not match its schema is an error, unless it has isError", async () => {
    let result = /** @type {any} */ ({ structuredContent: { name: "a" } });
    const { host } = await connected({
      prepare: (app) => app.registerTool("t", { outputSchema: SCHEMA }, () => result),
    });
    assert.ok((await host.ask("tools/call", { name: "t" })).result);
    result = { structuredContent: { name: 1 } };
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).error, {
      code: -32603,
      message: 'Tool "t" output: name: not string',
    });
    result = { content: [] };
    assert.match((await host.ask("tools/call", { name: "t" })).error.message, /not an object/);
    result = { isError: true };
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).result, { isError: true, content: [] });
  });

  it("a tool that throws or rejects with any value returns isError with the message", async () => {
    const { host } = await connected({
      prepare: (app) => {
        app.registerTool("throws", {}, () => {
          throw new Error("a");
        });
        app.registerTool("rejects", {}, () => Promise.reject("b"));
      },
    });
    for (const [name, text] of [
      ["throws", "a"],
      ["rejects", "b"],
    ]) {
      const { result } = await host.ask("tools/call", { name });
      assert.deepEqual(result, { content: [{ type: "text", text }], isError: true });
    }
  });

  it("a tool that returns nothing has an empty result", async () => {
    const { host } = await connected({ prepare: (app) => app.registerTool("t", {}, () => {}) });
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).result, { content: [] });
  });

  it("registering declares the capability, and sends nothing before connect()", async () => {
    const { host } = await connected({ prepare: (app) => app.registerTool("t", {}, () => ({})) });
    assert.deepEqual(host.received[0].params.appCapabilities, { tools: { listChanged: true } });
    assert.deepEqual(host.receivedMethod("notifications/tools/list_changed"), []);
  });

  it("the capabilities object of the author is not modified", () => {
    const capabilities = {};
    new App(INFO, capabilities).registerTool("t", {}, () => ({}));
    assert.deepEqual(capabilities, {});
  });

  it("after connect() a tool can be registered only if tools were declared", async () => {
    const { app: without } = await connected();
    assert.throws(() => without.registerTool("t", {}, () => ({})), /Declare tools in new App\(\)/);
    const { app, host } = await connected({ capabilities: { tools: {} } });
    app.registerTool("t", {}, () => ({}));
    assert.equal((await host.ask("tools/list")).result.tools.length, 1);
    assert.deepEqual(host.receivedMethod("notifications/tools/list_changed"), [], "listChanged was not declared");
  });

  it("a name can be registered once, and again after remove()", async () => {
    const app = new App(INFO);
    const tool = app.registerTool("t", {}, () => ({}));
    assert.throws(() => app.registerTool("t", {}, () => ({})), /"t" exists/);
    tool.remove();
    app.registerTool("t", {}, () => ({}));
  });

  it("update() changes what is listed and what is called", async () => {
    /** @type {any} */
    let tool;
    const { host } = await connected({ prepare: (app) => (tool = app.registerTool("t", {}, () => ({ v: 1 }))) });
    tool.update({ title: "New", handler: () => ({ v: 2 }) });
    assert.equal((await host.ask("tools/list")).result.tools[0].title, "New");
    assert.equal((await host.ask("tools/call", { name: "t" })).result.v, 2);
  });

  it("a View that declared tools answers lists and calls, even before it has any", async () => {
    const { host } = await connected({ capabilities: { tools: {} } });
    assert.deepEqual((await host.ask("tools/list")).result, { tools: [] });
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).error, {
      code: -32602,
      message: 'Tool "t" is unknown',
    });
  });

  it("a View without tools answers these methods with an error", async () => {
    const { host } = await connected();
    for (const method of ["tools/list", "tools/call"]) {
      assert.equal((await host.ask(method, { name: "t" })).error.code, -32601);
    }
  });

  it("oncalltool and onlisttools serve tools that were not registered", async () => {
    const { host } = await connected({
      prepare: (app) => {
        app.registerTool("mine", {}, () => ({ by: "registered" }));
        app.oncalltool = async ({ name }, { signal }) => ({ by: name, content: [], alive: !signal.aborted });
        const others = [{ name: "other" }];
        app.onlisttools = async () => ({ tools: others });
      },
    });
    await host.ask("tools/list");
    const { tools } = (await host.ask("tools/list")).result;
    assert.deepEqual(tools.map((/** @type {any} */ { name }) => name).sort(), ["mine", "other"]);
    assert.equal((await host.ask("tools/call", { name: "mine" })).result.by, "registered");
    assert.deepEqual((await host.ask("tools/call", { name: "other" })).result, {
      by: "other",
      content: [],
      alive: true,
    });
  });

  it("an exception in oncalltool is an error with its code", async () => {
    const { app, host } = await connected({ capabilities: { tools: {} } });
    app.oncalltool = () => {
      throw Object.assign(new Error("busy"), { code: -32050 });
    };
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).error, { code: -32050, message: "busy" });
    app.oncalltool = () => {
      throw Object.assign(new Error("gone"), { code: "ENOENT" });
    };
    assert.deepEqual((await host.ask("tools/call", { name: "t" })).error, { code: -32603, message: "gone" });
  });

  it("names that objects inherit are not tools, and inherited keys are not arguments", async () => {
    const inputSchema = { type: "object", required: ["constructor"], properties: { toString: { type: "string" } } };
    const { host } = await connected({ prepare: (app) => app.registerTool("t", { inputSchema }, () => ({})) });
    for (const name of ["constructor", "__proto__", "toString", undefined]) {
      assert.match((await host.ask("tools/call", { name })).error.message, /unknown/);
    }
    assert.match((await host.ask("tools/call", { name: "t", arguments: {} })).error.message, /: constructor: missing$/);
  });
});

describe("requests of the host", () => {
  it("a cancelled one aborts its handler and gets no response", async () => {
    /** @type {any} */
    let signal;
    const { app, host } = await connected({ capabilities: { tools: {} } });
    app.registerTool("slow", {}, (extra) => {
      ({ signal } = extra);
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve({})));
    });
    await host.ask("tools/call", { name: "slow" }, 0);
    host.notify("notifications/cancelled", { requestId: 0, reason: "changed my mind" });
    await settled();
    assert.equal(signal.reason, "changed my mind");
    assert.equal(
      host.received.some((message) => message.id === 0 && !message.method),
      false,
    );
  });

  it("cancelling after the response does nothing", async () => {
    /** @type {any} */
    let signal;
    const { app, host } = await connected({ capabilities: { tools: {} } });
    app.registerTool("quick", {}, (extra) => ({ signal } = extra) && {});
    await host.ask("tools/call", { name: "quick" }, 3);
    host.notify("notifications/cancelled", { requestId: 3 });
    await settled();
    assert.equal(signal.aborted, false);
  });

  it("cancelling something unknown does nothing", async () => {
    const { host } = await connected();
    host.notify("notifications/cancelled", { requestId: 77 });
    host.notify("notifications/cancelled");
    assert.deepEqual((await host.ask("ping")).result, {});
  });

  it("ids are echoed unchanged: zero, negative, a string, an empty string", async () => {
    const { host } = await connected();
    for (const id of [0, -1, 1.5, "0", "a-b", ""]) {
      assert.deepEqual(await host.ask("ping", {}, id), { jsonrpc: "2.0", id, result: {} });
    }
  });

  it("an unknown one is answered with -32601, also if objects inherit its name", async () => {
    const { host } = await connected();
    for (const method of ["x/y", "initialize", "constructor", "__proto__", "toString"]) {
      const { error } = await host.ask(method);
      assert.deepEqual(error, { code: -32601, message: `Method not found: ${method}` });
    }
  });

  it("a result that cannot be sent is answered with an error", async () => {
    const { app, host } = await connected();
    app.setRequestHandler("x/circle", () => {
      const circle = /** @type {any} */ ({});
      circle.circle = circle;
      return circle;
    });
    assert.equal((await host.ask("x/circle")).error.code, -32603);
  });

  it("setRequestHandler serves new methods, in both forms, and can replace what is built in", async () => {
    const { app, host } = await connected();
    app.setRequestHandler("x/two", ({ method, params }, { requestId }) => ({ method, params, requestId }));
    app.setRequestHandler("x/three", { params: z.any() }, (params, { mcpReq }) => ({ params, id: mcpReq.id }));
    app.setRequestHandler("ping", () => ({ pong: true }));
    assert.deepEqual((await host.ask("x/two", { a: 1 }, "i")).result, {
      method: "x/two",
      params: { a: 1 },
      requestId: "i",
    });
    assert.deepEqual((await host.ask("x/three", { a: 1 }, "j")).result, { params: { a: 1 }, id: "j" });
    assert.deepEqual((await host.ask("ping")).result, { pong: true });
  });

  it("setNotificationHandler gets notifications in addition to the events", async () => {
    const { app, host } = await connected();
    const seen = /** @type {any[]} */ ([]);
    app.setNotificationHandler("notifications/tools/list_changed", ({ method }) => seen.push(method));
    app.setNotificationHandler("ui/notifications/tool-input", {}, (params) => seen.push(params));
    app.ontoolinput = () => seen.push("event");
    host.notify("notifications/tools/list_changed");
    host.notify(...input({ arguments: {} }));
    await settled();
    assert.deepEqual(seen, ["notifications/tools/list_changed", "event", { arguments: {} }]);
  });
});

describe("malformed input", () => {
  /** @type {[string, any][]} */
  const NONSENSE = [
    ["null", null],
    ["text", "hello"],
    ["a number", 7],
    ["an array", [{ jsonrpc: "2.0", id: 1, result: {} }]],
    ["an empty object", {}],
    ["a method that is not text", { jsonrpc: "2.0", id: 5, method: 5 }],
    ["an id of null", { jsonrpc: "2.0", id: null, method: "ping" }],
    ["an id that is an object", { jsonrpc: "2.0", id: {}, method: "ping" }],
    ["an answer to nothing", { jsonrpc: "2.0", id: 999, result: {} }],
    ["an error without an id", { jsonrpc: "2.0", id: null, error: { code: -32700, message: "parse error" } }],
    ["an error that is text", { jsonrpc: "2.0", id: 999, error: "bad" }],
    ["progress of nothing", { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 999 } }],
    ["progress without a token", { jsonrpc: "2.0", method: "notifications/progress" }],
    ["null parameters", { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: null }],
    ["parameters that are an array", { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: [1] }],
    ["styles of null", { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { styles: null } }],
  ];

  for (const [what, message] of NONSENSE) {
    it(`${what} is ignored without a response or an error`, async () => {
      const { app, host } = await connected();
      const errors = mock.fn();
      app.onerror = errors;
      const before = host.received.length;
      await host.transport.send(message);
      await settled();
      assert.equal(host.received.length, before);
      assert.equal(errors.mock.callCount(), 0);
      assert.deepEqual((await host.ask("ping")).result, {});
    });
  }

  it("a response with neither result nor error leaves the request pending", async () => {
    const host = new Host();
    host.answers["ui/open-link"] = () => undefined;
    const { app } = await connected({ host });
    const opening = app.openLink({ url: "x" });
    await settled();
    const { id } = host.receivedMethod("ui/open-link")[0];
    host.send({ id });
    host.send({ id: true, result: {} });
    host.send({ id, result: { isError: true } });
    assert.deepEqual(await opening, { isError: true });
  });

  it("keys of the context that name a prototype change no prototype", async () => {
    const { app, host } = await connected();
    const params = JSON.parse(
      '{"__proto__": {"polluted": 1}, "styles": {"__proto__": {"polluted": 1}}, "constructor": 1}',
    );
    host.notify("ui/notifications/host-context-changed", { styles: { variables: {} } });
    host.notify("ui/notifications/host-context-changed", params);
    await settled();
    assert.equal(/** @type {any} */ ({}).polluted, undefined);
    assert.equal(Object.getPrototypeOf(app.getHostContext()), Object.prototype);
    assert.equal(Object.getPrototypeOf(app.getHostContext()?.styles), Object.prototype);
  });

  it("an error whose keys name a prototype is still an error", async () => {
    const host = new Host();
    host.answers["ui/open-link"] = (_, { id }) => {
      host.send({ id, error: JSON.parse('{"__proto__": null, "code": -1, "message": "m"}') });
    };
    const { app } = await connected({ host });
    await assert.rejects(app.openLink({ url: "x" }), (error) => error instanceof Error && error.message === "m");
  });
});
