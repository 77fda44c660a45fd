// A scripted host for one View. The script defines its capabilities and responses. It records every message, and passes
// requests that it cannot handle to `hostAnswers`, a function that the checker adds to this page.
(() => {
  /** @type {HTMLIFrameElement} */
  let frame;
  let began = 0;
  let flexible = false;
  let nextId = 1;
  const waiting = new Map();
  /** @type {{ by: string, message: any, at: number }[]} */
  const messages = [];
  let initialized = false;
  let last = 0;

  const record = (by, message) => {
    last = performance.now();
    messages.push({ by, message, at: last - began });
  };
  const post = (message) => {
    const whole = { jsonrpc: "2.0", ...message };
    record("host", whole);
    frame.contentWindow?.postMessage(whole, "*");
  };

  const host = {
    messages,
    /** Show a View. */
    begin(script) {
      host.script = script;
      flexible = script.height === undefined;
      frame = document.createElement("iframe");
      frame.title = "View";
      frame.sandbox.add("allow-scripts", "allow-same-origin", "allow-forms");
      frame.style.width = `${script.width ?? 700}px`;
      frame.style.height = `${script.height ?? 150}px`;
      frame.src = script.url;
      began = performance.now();
      document.body.append(frame);
    },
    notify: (method, params) => post({ method, params }),
    /** Send a request to the View; resolve with null after a timeout. */
    request(method, params, patience) {
      const id = nextId;
      nextId += 1;
      post({ id, method, params });
      return new Promise((done) => {
        waiting.set(id, done);
        setTimeout(() => done(null), patience);
      });
    },
    /** Wait until the View is initialized. */
    async initialized(patience) {
      const until = performance.now() + patience;
      while (!initialized && performance.now() < until) await new Promise((done) => setTimeout(done, 10));
      return initialized;
    },
    theme(name) {
      document.documentElement.dataset.theme = name;
    },
    size(width, height) {
      frame.style.width = `${width}px`;
      frame.style.height = `${height}px`;
    },
    flexible(on) {
      flexible = on;
    },
  };
  window.host = host;

  addEventListener("message", async ({ source, data }) => {
    if (source !== frame?.contentWindow || data?.jsonrpc !== "2.0") return;
    record("view", data);
    const { id, method, params } = data;
    if (method === undefined) {
      waiting.get(id)?.(data);
      return;
    }
    if (method === "ui/notifications/initialized") initialized = true;
    if (method === "ui/notifications/size-changed" && flexible && params?.height > 0) {
      frame.style.height = `${Math.min(params.height, 5000)}px`;
    }
    if (id === undefined) return;
    post({ id, ...(await answer(method, params ?? {})) });
  });

  const answer = async (method, params) => {
    const { welcome, refuse, stay } = host.script;
    if (method === "ui/initialize") return { result: { protocolVersion: params.protocolVersion, ...welcome } };
    if (method === "ping") return { result: {} };
    if (method === "ui/request-display-mode" && (stay || !refuse)) {
      const offered = welcome.hostContext.availableDisplayModes ?? ["inline"];
      const mode = !stay && offered.includes(params.mode) ? params.mode : "inline";
      setTimeout(() => host.notify("ui/notifications/host-context-changed", { displayMode: mode }), 0);
      return { result: { mode } };
    }
    if (refuse) return { error: refuse };
    if (method.startsWith("ui/")) return { result: {} };
    return window.hostAnswers(method, params);
  };
})();
