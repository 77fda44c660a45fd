// sandbox.js in a window that is the least of one. tests/browser/test_sandbox.py has real ones.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { features, policy, reserved, sandboxTokens, start } from "../../src/fanlight/browser/sandbox.js";

const HOST = "https://host.example";
const PROXY = "https://sandbox.example";
const VIEW = "https://abc.sandbox.example";

/** A window of another origin: it takes messages, and nothing in it can be touched. */
class Other {
  /** @type {{ data: any, to: string }[]} */
  got = [];
  get document() {
    throw new Error("Blocked a frame from accessing a cross-origin frame.");
  }
  /** @param {any} data @param {string} to */
  postMessage(data, to) {
    this.got.push({ data: structuredClone(data), to });
  }
}

/** @param {string} tag */
const element = (tag) => {
  /** @type {Record<string, () => void>} */
  const listeners = {};
  return {
    tag,
    contentWindow: new Other(),
    style: {},
    /** @type {Record<string, string>} */
    attributes: {},
    /** @type {any[]} */
    children: [],
    httpEquiv: "",
    content: "",
    srcdoc: undefined,
    src: undefined,
    /** @param {string} name @param {string} value */
    setAttribute(name, value) {
      this.attributes[name] = value;
    },
    /** @param {string} type @param {() => void} listener */
    addEventListener(type, listener) {
      listeners[type] = listener;
    },
    /** @param {string} type */
    fire: (type) => listeners[type]?.(),
    /** @param {any} child */
    append(child) {
      this.children.push(child);
    },
    get outerHTML() {
      return `<meta http-equiv="${this.httpEquiv}" content="${this.content}">`;
    },
  };
};

/** @typedef {(url: string, options: any) => Promise<any>} Fetch */

/** @param {{ search?: string, parent?: any, top?: any, fetch?: Fetch }} [setup] */
const proxy = ({ search = `?host=${HOST}&view=*`, parent = new Other(), top = parent, fetch } = {}) => {
  /** @type {(() => unknown)[]} */
  const timers = [];
  /** @type {((event: any) => void)[]} */
  const listeners = [];
  const document = { createElement: element, head: element("head"), body: { ...element("body"), textContent: "" } };
  /** @type {any} */
  const window = {
    document,
    location: { search, origin: PROXY, protocol: "https:", host: "sandbox.example" },
    parent,
    top,
    fetch,
    setTimeout: (/** @type {() => unknown} */ callback) => timers.push(callback),
    addEventListener: (/** @type {string} */ _, /** @type {any} */ listener) => listeners.push(listener),
  };
  if (parent === "itself") window.parent = window.top = window;
  start(window);
  return {
    host: parent,
    document,
    frames: document.body.children,
    timers,
    /** @param {any} source @param {string} origin @param {any} data */
    say: (source, origin, data) => listeners.forEach((listener) => listener({ source, origin, data })),
  };
};

const resource = (/** @type {any} */ params) => ({
  jsonrpc: "2.0",
  method: "ui/notifications/sandbox-resource-ready",
  params,
});
const PING = { jsonrpc: "2.0", id: 0, method: "ping" };

/** @param {{ search?: string, params?: any, fetch?: Fetch }} [setup] */
const loaded = ({ search, params = { url: `${VIEW}/d` }, fetch } = {}) => {
  const made = proxy({ search, fetch });
  made.say(made.host, HOST, resource(params));
  made.host.got.length = 0;
  const [frame] = made.frames;
  return { ...made, frame, view: frame?.contentWindow };
};
const HTML = { search: `?host=${HOST}`, params: { html: "<p>hi" } };

describe("before a document is loaded", () => {
  it("the proxy sends sandbox-proxy-ready to the host's exact origin, and nothing else (SBX-04, SBX-10)", () => {
    const { host } = proxy();
    const ready = { jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} };
    assert.deepEqual(host.got, [{ data: ready, to: HOST }]);
  });

  const own = { document: {}, postMessage: () => assert.fail("sent a message") };
  for (const [what, setup] of /** @type {[string, any][]} */ ([
    ["without a frame around it", { parent: "itself" }],
    ["in a page that it can touch", { parent: own }],
    ["under a top page that it can touch", { top: own }],
    ["without a host", { search: "" }],
    ["with any host", { search: "?host=*" }],
    ["with a host that is more than an origin", { search: `?host=${HOST}/` }],
    ["with the opaque host", { search: "?host=null&view=*" }],
    ["with a host of a scheme without origins", { search: "?host=data:,x" }],
    ["with itself as the host", { search: `?host=${PROXY}` }],
  ])) {
    it(`the proxy refuses to run ${what}`, () => assert.throws(() => proxy(setup)));
  }
});

describe("the document", () => {
  it("is loaded from the View's origin, without referrer, in one frame", () => {
    const { frames, frame, document } = loaded({
      params: { url: `${VIEW}/d?x=1`, sandbox: "allow-scripts allow-same-origin", allow: "camera" },
    });
    assert.equal(frames.length, 1);
    assert.equal(frame.src, `${VIEW}/d?x=1`);
    assert.equal(frame.srcdoc, undefined);
    assert.equal(frame.referrerPolicy, "no-referrer");
    assert.deepEqual(frame.attributes, { sandbox: "allow-scripts allow-same-origin" });
    assert.equal(frame.allow, "camera");
    assert.deepEqual(
      document.head.children.map(({ content }) => content),
      [`default-src 'none'; frame-src ${VIEW}; connect-src ${VIEW}; base-uri 'none'; form-action 'none'`],
    );
  });

  for (const url of [
    `${HOST}/d`,
    `${PROXY}/d`,
    "https://a.b.sandbox.example/d",
    "https://xsandbox.example/d",
    "http://abc.sandbox.example/d",
    `${VIEW}:8443/d`,
    `${VIEW}.evil.example/d`,
    `https://abc.sandbox.example@evil.example/`,
    "javascript:alert(1)",
    "data:text/html,x",
    `blob:${PROXY}/x`,
    "/d",
    "",
    7,
    null,
    undefined,
  ]) {
    it(`is not loaded from ${url}`, () => assert.equal(loaded({ params: { url } }).frames.length, 0));
  }

  it("is not loaded from the host's origin, whatever that is", () => {
    const made = proxy({ search: `?host=${VIEW}&view=*` });
    made.say(made.host, VIEW, resource({ url: `${VIEW}/d` }));
    assert.equal(made.frames.length, 0);
  });

  it("is rejected as HTML if the proxy has a View origin, and as a URL if it has none", () => {
    assert.equal(loaded({ params: { html: "<p>hi" } }).frames.length, 0);
    assert.equal(loaded({ search: `?host=${HOST}`, params: { url: `${VIEW}/d` } }).frames.length, 0);
  });

  it("gets the policy before its first element and an opaque origin, if it is HTML", () => {
    const csp = { connectDomains: ["https://api.example"] };
    const html = "\uFEFF<!doctype html><p>hi";
    const { frame, document } = loaded({ ...HTML, params: { html, csp, sandbox: "allow-scripts allow-same-origin" } });
    const meta = `<meta http-equiv="Content-Security-Policy" content="${policy(csp)}">`;
    assert.equal(frame.srcdoc, `${meta}<!doctype html><p>hi`);
    assert.equal(frame.src, undefined);
    assert.deepEqual(frame.attributes, { sandbox: "allow-scripts" });
    // What is inherited cannot be taken out by the document.
    assert.deepEqual(
      document.head.children.map(({ content }) => content),
      [policy(csp)],
    );
  });

  it("is loaded once; a second one is ignored", () => {
    const { frames, frame, say, host, view } = loaded();
    say(host, HOST, resource({ url: `${VIEW}/other` }));
    assert.deepEqual([frames.length, frame.src, view.got], [1, `${VIEW}/d`, []]);
  });

  it("is accepted only from the parent with the host's origin", () => {
    for (const [source, origin] of [
      [new Other(), HOST],
      ["parent", "https://evil.example"],
      ["parent", "null"],
      ["parent", PROXY],
    ]) {
      const { host, say, frames } = proxy();
      say(source === "parent" ? host : source, /** @type {string} */ (origin), resource({ url: `${VIEW}/d` }));
      assert.equal(frames.length, 0);
    }
  });

  it("is not loaded if the message has no params", () => {
    for (const params of [undefined, null, 7, "x", []]) {
      const { host, say, frames } = proxy();
      say(host, HOST, resource(params));
      assert.equal(frames.length, 0);
    }
  });
});

describe("messages", () => {
  const big = { jsonrpc: "2.0", id: "x", result: { text: "é".repeat(3_000_000), deep: [{ a: [null, 0, ""] }] } };
  const passing = [
    PING,
    { jsonrpc: "2.0", id: 0, result: {} },
    { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no" } },
    { jsonrpc: "2.0", method: "ui/initialize", id: 1, params: {} },
    { jsonrpc: "2.0", method: "unknown/method" },
    { jsonrpc: "2.0", method: "ui/notifications/sandboxed" },
    [PING],
    "text",
    null,
    big,
  ];
  for (const [what, setup, origin, target] of /** @type {[string, any, string, string][]} */ ([
    ["a View with an origin", undefined, VIEW, VIEW],
    ["a View without", HTML, "null", "*"],
  ])) {
    it(`pass unchanged in both directions, with ${what} (SBX-07)`, () => {
      const { host, view, say } = loaded(setup);
      for (const message of passing) {
        say(host, HOST, message);
        say(view, origin, message);
      }
      assert.deepEqual(
        view.got,
        passing.map((data) => ({ data, to: target })),
      );
      assert.deepEqual(
        host.got,
        passing.map((data) => ({ data, to: HOST })),
      );
    });

    it(`with reserved methods pass in neither direction, with ${what} (SBX-08)`, () => {
      const { host, view, say } = loaded(setup);
      for (const name of ["proxy-ready", "resource-ready", "", "anything"]) {
        const method = `ui/notifications/sandbox-${name}`;
        for (const message of [{ jsonrpc: "2.0", method }, [PING, { method }], { method: [method] }]) {
          say(host, HOST, message);
          say(view, origin, message);
        }
      }
      assert.deepEqual([host.got, view.got], [[], []]);
    });

    it(`stop when the frame has loaded another document, with ${what}`, () => {
      const { host, view, say, frame } = loaded(setup);
      frame.fire("load");
      say(host, HOST, PING);
      say(view, origin, PING);
      assert.deepEqual([host.got.length, view.got.length], [1, 1]);
      frame.fire("load");
      say(host, HOST, PING);
      say(view, origin, PING);
      assert.deepEqual([host.got.length, view.got.length], [1, 1]);
    });

    it(`of other windows and origins are dropped, with ${what}`, () => {
      const { host, view, say } = loaded(setup);
      const wrong = ["https://evil.example", PROXY, HOST, VIEW, "null"].filter((other) => other !== origin);
      for (const other of wrong) say(view, other, PING);
      for (const other of [...wrong, origin].filter((name) => name !== HOST)) say(host, other, PING);
      for (const other of [HOST, origin]) say(new Other(), other, PING);
      for (const other of [HOST, origin]) say(null, other, PING);
      assert.deepEqual([host.got, view.got], [[], []]);
    });
  }

  it("are dropped while there is no View", () => {
    const { host, say } = proxy();
    host.got.length = 0;
    say(host, HOST, PING);
    say(undefined, VIEW, PING);
    say(null, "null", PING);
    assert.deepEqual(host.got, []);
  });
});

describe("the permissions of a View", () => {
  for (const [asked, left] of /** @type {[any, string][]} */ ([
    [undefined, "allow-scripts allow-same-origin allow-forms"],
    ["", ""],
    ["allow-scripts", "allow-scripts"],
    ["allow-forms\n allow-pointer-lock\tallow-scripts", "allow-scripts allow-forms allow-pointer-lock"],
    ["allow-scripts allow-top-navigation allow-top-navigation-by-user-activation", "allow-scripts"],
    ["allow-top-navigation-to-custom-protocols", ""],
    ["allow-popups allow-popups-to-escape-sandbox allow-downloads allow-modals allow-presentation", ""],
    ["allow-scripts,allow-same-origin ALLOW-SCRIPTS", ""],
    [["allow-scripts"], "allow-scripts allow-same-origin allow-forms"],
  ])) {
    it(`include of the sandbox tokens ${JSON.stringify(asked)}: ${left || "none"}`, () => {
      assert.equal(sandboxTokens(asked, false), left);
      assert.equal(sandboxTokens(asked, true), left.replace("allow-same-origin ", ""));
    });
  }

  it("are those of the four known ones that were granted (SBX-06f)", () => {
    assert.equal(features(undefined, undefined), "");
    assert.equal(features("camera; microphone", undefined), "camera; microphone");
    assert.equal(
      features("clipboard-write;camera *; usb; fullscreen; geolocation", null),
      "geolocation; clipboard-write",
    );
    const permissions = { clipboardWrite: {}, geolocation: {}, usb: {}, camera: {}, microphone: {} };
    assert.equal(features(undefined, permissions), "camera; microphone; geolocation; clipboard-write");
    assert.equal(features("*", { camera: false }), "");
    assert.equal(features(["camera"], "camera"), "");
  });
});

describe("the policy of HTML", () => {
  /** @param {any} csp */
  const directives = (csp) =>
    Object.fromEntries(
      policy(csp)
        .split("; ")
        .map((text) => text.split(/ (.*)/)),
    );

  it("without metadata allows no network (SBX-06b to e, CSP-02)", () => {
    for (const csp of [undefined, null, {}, "x", { connectDomains: "https://a.example", frameDomains: {} }]) {
      assert.deepEqual(directives(csp), {
        "default-src": "'none'",
        "script-src": "'self' 'unsafe-inline'",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "media-src": "'self' data:",
        "connect-src": "'none'",
        "frame-src": "'none'",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'none'",
      });
    }
  });

  it("has each declared domain in its directive (SBX-06a, CSP-09, CSP-10)", () => {
    const found = directives({
      connectDomains: ["https://api.example", "wss://live.example:8443"],
      resourceDomains: ["https://*.cdn.example", "fonts.example:*"],
      frameDomains: ["https://frame.example"],
      baseUriDomains: ["https://base.example"],
    });
    assert.equal(found["connect-src"], "https://api.example wss://live.example:8443");
    for (const name of ["script", "style", "img", "font", "media"]) {
      assert.ok(found[`${name}-src`].endsWith(" https://*.cdn.example fonts.example:*"), name);
    }
    assert.equal(found["frame-src"], "https://frame.example");
    assert.equal(found["base-uri"], "https://base.example");
  });

  for (const bad of [
    "*",
    "https:",
    "https://*",
    "data:",
    "data",
    "blob",
    "'unsafe-eval'",
    "'self'",
    "https://a.example; script-src *",
    "https://a.example https://b.example",
    "https://a.example,b.example",
    "https://a.example\n",
    "https://a.example/path",
    'https://a.example"><script>alert(1)</script>',
    "https://user@a.example",
    "https://*.*.example",
    "https://ä.example",
    "ftp://a.example",
    "",
    7,
    null,
    ["https://a.example"],
  ]) {
    it(`leaves out ${JSON.stringify(bad)}`, () => {
      const names = ["connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"];
      assert.equal(policy(Object.fromEntries(names.map((name) => [name, [bad]]))), policy(undefined));
    });
  }
});

it("a message is reserved by the prefix of its method, also in an array", () => {
  assert.ok(reserved({ method: "ui/notifications/sandbox-x" }));
  assert.ok(reserved([{ method: "ui/notifications/sandbox-x" }]));
  for (const other of [{}, null, undefined, 1, "ui/notifications/sandbox-x", { method: 1 }, []]) {
    assert.ok(!reserved(other));
  }
});

it("a sparse array with billions of holes is checked at once", () => {
  const holes = [];
  holes[4_294_967_290] = { method: "ui/notifications/sandbox-x" };
  assert.ok(reserved(holes));
  holes[4_294_967_290] = { method: "ping" };
  assert.ok(!reserved(holes));
});

describe("the document of a View that sends nothing", () => {
  /** @type {[string, any][]} */
  const asked = [];
  /** @param {any} answer */
  const answering = (answer) => async (/** @type {string} */ url, /** @type {any} */ options) => {
    asked.push([url, options]);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  for (const [what, answer, status] of /** @type {[string, any, number][]} */ ([
    ["if the server does not have it", { ok: false, status: 404 }, 404],
    ["if a gateway responds for it", { ok: false, status: 502 }, 502],
    ["if it cannot be reached", new TypeError("Failed to fetch"), 0],
  ])) {
    it(`is reported with its status ${what}`, async () => {
      asked.length = 0;
      const { host, frame, timers } = loaded({ fetch: answering(answer) });
      frame.fire("load");
      assert.deepEqual(asked, []);
      await Promise.all(timers.map((callback) => callback()));
      assert.deepEqual(asked, [[`${VIEW}/d`, { method: "HEAD", cache: "no-store", credentials: "omit" }]]);
      const data = { jsonrpc: "2.0", method: "ui/notifications/sandbox-document-failed", params: { status } };
      assert.deepEqual(host.got, [{ data, to: HOST }]);
    });
  }

  it("is not reported if the server has it", async () => {
    const { host, frame, timers } = loaded({ fetch: answering({ ok: true, status: 200 }) });
    frame.fire("load");
    await Promise.all(timers.map((callback) => callback()));
    assert.deepEqual(host.got, []);
  });

  it("is not requested if the View has sent something, or if its HTML came in a message", async () => {
    asked.length = 0;
    const spoken = loaded({ fetch: answering({ ok: false, status: 404 }) });
    spoken.frame.fire("load");
    spoken.say(spoken.view, VIEW, PING);
    await Promise.all(spoken.timers.map((callback) => callback()));
    const inline = loaded({ ...HTML, fetch: answering({ ok: false, status: 404 }) });
    inline.frame.fire("load");
    assert.deepEqual(inline.timers, []);
    assert.deepEqual(asked, []);
  });
});
