// The parts of view.js that use the DOM, with a minimal DOM.
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { Host, INFO, connected, hello, sdk, settled } from "./support.js";

const globals = /** @type {any} */ (globalThis);

/** A page whose layout is a function from the frame's height to the content's height. */
class Page {
  /** @type {(frameHeight: number) => number} */
  contentHeight = () => 100;
  inner = { width: 400, height: 150 };
  text = "";
  style = { height: "" };
  /** @type {Set<() => void>} */
  observers = new Set();
  /** @type {Set<() => void>} */
  resizeListeners = new Set();
  laidOut = "";

  /** Let the browser notice what changed: first the frame's size, then the content's, then timers run. */
  async layOut() {
    const size = JSON.stringify(this.inner);
    if (this.laidOut && size !== this.laidOut) for (const notify of this.resizeListeners) notify();
    this.laidOut = size;
    for (const notify of [...this.observers]) notify();
    await settled();
    await new Promise((done) => setTimeout(done));
  }

  install() {
    const page = this;
    const root = {
      style: page.style,
      get textContent() {
        return page.text;
      },
      getBoundingClientRect: () => ({
        // The root is as high as its content only with this style.
        height: page.style.height === "max-content" ? page.contentHeight(page.inner.height) : page.inner.height,
      }),
    };
    globals.document = { documentElement: root, body: {} };
    Object.defineProperty(globals, "innerWidth", { get: () => page.inner.width, configurable: true });
    Object.defineProperty(globals, "innerHeight", { get: () => page.inner.height, configurable: true });
    globals.addEventListener = (/** @type {string} */ type, /** @type {() => void} */ listener) => {
      assert.equal(type, "resize");
      page.resizeListeners.add(listener);
    };
    globals.ResizeObserver = class {
      /** @param {() => void} notify */
      constructor(notify) {
        this.notify = notify;
      }
      /** @param {object | null} element */
      observe(element) {
        if (!element) throw new TypeError("not an Element");
        page.observers.add(this.notify);
      }
      disconnect() {
        page.observers.delete(this.notify);
      }
    };
  }

  uninstall() {
    for (const name of ["document", "innerWidth", "innerHeight", "ResizeObserver", "addEventListener"]) {
      delete globals[name];
    }
  }
}

describe("auto-resize", () => {
  /** @type {Page} */
  let page;
  beforeEach(() => {
    page = new Page();
    page.install();
  });
  afterEach(() => page.uninstall());

  /** @param {Host} host */
  const sizes = (host) => host.receivedMethod("ui/notifications/size-changed").map(({ params }) => params);

  it("reports the content's height and the frame's width, rounded, and only what changed", async () => {
    page.contentHeight = () => 99.2;
    const { host } = await connected();
    await page.layOut();
    assert.deepEqual(sizes(host), [{ width: 400, height: 100 }]);
    page.contentHeight = () => 99.9;
    await page.layOut();
    await page.layOut();
    assert.equal(sizes(host).length, 1);
    page.contentHeight = () => 40;
    await page.layOut();
    page.inner.width = 500;
    await page.layOut();
    assert.deepEqual(sizes(host).slice(1), [
      { width: 400, height: 40 },
      { width: 500, height: 40 },
    ]);
  });

  it("stays on with other options, and is off only with autoResize: false", async () => {
    const { host } = await connected({ options: { strict: true } });
    await page.layOut();
    assert.equal(sizes(host).length, 1);
    const { host: quiet } = await connected({ options: { autoResize: false } });
    await page.layOut();
    assert.equal(sizes(quiet).length, 0);
  });

  it("restores the author's height after measuring", async () => {
    page.style.height = "80%";
    await connected();
    await page.layOut();
    assert.equal(page.style.height, "80%");
  });

  /** A host that gives the View the height that it reports. */
  const obedient = () => {
    const host = new Host();
    const { onmessage } = host.transport;
    host.transport.onmessage = (/** @type {any} */ message) => {
      onmessage(message);
      if (message.method === "ui/notifications/size-changed") page.inner.height = message.params.height;
    };
    return host;
  };

  for (const [what, contentHeight] of /** @type {[string, (frame: number) => number][]} */ ([
    ["of its own height", () => 321],
    ["as high as the frame (100vh)", (frame) => frame],
    ["as high as the frame plus margins", (frame) => frame + 16],
    ["a tenth higher than the frame (110vh)", (frame) => frame * 1.1],
    ["half as high as the frame plus something", (frame) => frame / 2 + 200],
  ])) {
    it(`ends with a host that applies it, with content ${what}`, async () => {
      page.contentHeight = contentHeight;
      const { host } = await connected({ host: obedient() });
      for (let turn = 0; turn < 30; turn++) await page.layOut();
      const reported = sizes(host).length;
      for (let turn = 0; turn < 30; turn++) await page.layOut();
      assert.equal(sizes(host).length, reported);
      assert.ok(page.inner.height <= 450, `the frame grew to ${page.inner.height}`);
    });
  }

  it("content whose text grows as fast as the frame is not treated as an echo", async () => {
    let lines = 8;
    page.contentHeight = () => lines * 20;
    const { host } = await connected({ host: obedient() });
    for (let turn = 0; turn < 5; turn++) {
      await page.layOut();
      lines += 1;
      page.text += "another line\n";
    }
    await page.layOut();
    assert.equal(sizes(host).at(-1).height, lines * 20);
  });

  it("growth is still reported after an echo was suppressed", async () => {
    let extra = 16;
    page.contentHeight = (frame) => frame + extra;
    const { host } = await connected({ host: obedient() });
    for (let turn = 0; turn < 5; turn++) await page.layOut();
    const before = sizes(host).length;
    extra = 116;
    await page.layOut();
    assert.equal(sizes(host).length, before + 1);
  });

  it("a View that is not laid out reports nothing", async () => {
    page.contentHeight = () => 0;
    const { host } = await connected();
    await page.layOut();
    assert.deepEqual(sizes(host), []);
  });

  it("stops when the link closes", async () => {
    const { app } = await connected();
    assert.equal(page.observers.size, 1);
    await app.close();
    assert.equal(page.observers.size, 0);
  });

  it("stops after teardown was answered, not before", async () => {
    /** @type {(value?: unknown) => void} */
    let finish = () => {};
    const { app, host } = await connected();
    app.onteardown = () => new Promise((resolve) => (finish = resolve));
    await host.ask("ping");
    await host.ask("ui/resource-teardown");
    assert.equal(page.observers.size, 1);
    finish();
    await settled();
    assert.equal(page.observers.size, 0);
  });

  it("can be started and stopped by hand, and never runs twice", async () => {
    const { app, host } = await connected({ options: { autoResize: false } });
    const stop = app.setupSizeChangedNotifications();
    app.setupSizeChangedNotifications();
    assert.equal(page.observers.size, 1);
    stop();
    assert.equal(page.observers.size, 1, "an old stopper stops only what it started");
    app.setupSizeChangedNotifications()();
    assert.equal(page.observers.size, 0);
    await page.layOut();
    assert.deepEqual(sizes(host), []);
  });

  it("starts without a body", async () => {
    globals.document.body = null;
    const { host } = await connected();
    await page.layOut();
    assert.equal(sizes(host).length, 1);
  });
});

describe("without ResizeObserver", () => {
  it("there is no auto-resize, and nothing breaks", async () => {
    const { app, host } = await connected();
    app.setupSizeChangedNotifications()();
    assert.deepEqual(host.receivedMethod("ui/notifications/size-changed"), []);
  });
});

describe("PostMessageTransport", () => {
  const parent = { postMessage: mock.fn() };
  beforeEach(() => {
    parent.postMessage.mock.resetCalls();
    globals.window = Object.assign(new EventTarget(), { parent });
  });
  afterEach(() => delete globals.window);

  /**
   * @param {any} data
   * @param {any} source
   */
  const post = (data, source) => globals.window.dispatchEvent(Object.assign(new Event("message"), { data, source }));

  it("sends to the target window and reads only from the source window", async () => {
    const [target, source, stranger] = [{ postMessage: mock.fn() }, {}, {}];
    const transport = new sdk.PostMessageTransport(/** @type {any} */ (target), /** @type {any} */ (source));
    const seen = /** @type {any[]} */ ([]);
    transport.onmessage = (message) => seen.push(message);
    post({ jsonrpc: "2.0", id: 0 }, source);
    await transport.start();
    await transport.send({ jsonrpc: "2.0", method: "m" });
    assert.deepEqual(target.postMessage.mock.calls[0]?.arguments, [{ jsonrpc: "2.0", method: "m" }, "*"]);
    for (const from of [source, stranger, target, globals.window, null, undefined]) {
      post({ jsonrpc: "2.0", id: 1 }, from);
    }
    for (const data of [null, undefined, "text", 1, {}, { jsonrpc: "1.0" }, []]) post(data, source);
    assert.deepEqual(seen, [{ jsonrpc: "2.0", id: 1 }]);
  });

  it("after close() it ignores messages, and calls onclose once", async () => {
    const transport = new sdk.PostMessageTransport();
    const [message, close] = [mock.fn(), mock.fn()];
    Object.assign(transport, { onmessage: message, onclose: close });
    await transport.start();
    await transport.close();
    post({ jsonrpc: "2.0" }, parent);
    assert.equal(message.mock.callCount(), 0);
    assert.equal(close.mock.callCount(), 1);
  });

  it("is what connect() uses, with the parent at both ends", async () => {
    const app = new sdk.App(INFO);
    const connecting = app.connect();
    await settled();
    const { id } = /** @type {any} */ (parent.postMessage.mock.calls[0]).arguments[0];
    post({ jsonrpc: "2.0", id, result: hello({ theme: "evil" }) }, {});
    post({ jsonrpc: "2.0", id, result: hello({ theme: "dark" }) }, parent);
    await connecting;
    assert.equal(app.getHostContext()?.theme, "dark");
    await app.close();
    post({ jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: { theme: "light" } }, parent);
    assert.equal(app.getHostContext()?.theme, "dark");
  });

  it("parameters that cannot be cloned reject the call", async () => {
    const app = new sdk.App(INFO);
    const connecting = app.connect();
    await settled();
    const { id } = /** @type {any} */ (parent.postMessage.mock.calls[0]).arguments[0];
    post({ jsonrpc: "2.0", id, result: hello() }, parent);
    await connecting;
    parent.postMessage.mock.mockImplementationOnce((/** @type {any} */ message) => structuredClone(message));
    await assert.rejects(app.callServerTool({ name: "t", arguments: { f: () => {} } }), { name: "DataCloneError" });
  });
});

describe("the host's theme", () => {
  /** @type {any} */
  let root;
  /** @type {any[]} */
  let head;
  beforeEach(() => {
    root = { dataset: {}, className: "", style: { setProperty: mock.fn() } };
    head = [];
    globals.document = {
      documentElement: root,
      head: { appendChild: (/** @type {any} */ element) => (head.push(element), element) },
      createElement: (/** @type {string} */ tag) => ({ tag }),
      getElementById: (/** @type {string} */ id) => head.find((element) => element.id === id) ?? null,
    };
  });
  afterEach(() => delete globals.document);

  it("the theme that was applied is the theme that is read", () => {
    for (const theme of ["dark", "light"]) {
      sdk.applyDocumentTheme(theme);
      assert.deepEqual([root.dataset.theme, root.style.colorScheme, sdk.getDocumentTheme()], [theme, theme, theme]);
    }
  });

  it("without a theme the class decides, and light is the default", () => {
    assert.equal(sdk.getDocumentTheme(), "light");
    root.className = "app dark wide";
    assert.equal(sdk.getDocumentTheme(), "dark");
    root.className = "darkness";
    assert.equal(sdk.getDocumentTheme(), "light");
  });

  it("variables are set on the root or another element; null, undefined and other properties are not", () => {
    const variables = /** @type {any} */ ({ "--a": "1px", "--b": null, "--c": undefined, "--d": "", color: "red" });
    sdk.applyHostStyleVariables(variables);
    const set = root.style.setProperty.mock.calls.map((/** @type {any} */ call) => call.arguments);
    assert.deepEqual(set, [
      ["--a", "1px"],
      ["--d", ""],
    ]);
    const element = /** @type {any} */ ({ style: { setProperty: mock.fn() } });
    sdk.applyHostStyleVariables(variables, element);
    assert.equal(element.style.setProperty.mock.callCount(), 2);
  });

  it("fonts are inserted once and updated", () => {
    sdk.applyHostFonts("@font-face { one }");
    sdk.applyHostFonts("@font-face { one }");
    sdk.applyHostFonts("@font-face { two }");
    assert.equal(head.length, 1);
    assert.deepEqual([head[0].tag, head[0].textContent], ["style", "@font-face { two }"]);
  });
});

describe("the constants", () => {
  it("are those of the standard", () => {
    assert.equal(sdk.LATEST_PROTOCOL_VERSION, "2026-01-26");
    assert.equal(sdk.RESOURCE_MIME_TYPE, "text/html;profile=mcp-app");
    assert.equal(sdk.RESOURCE_URI_META_KEY, "ui/resourceUri");
  });
});
