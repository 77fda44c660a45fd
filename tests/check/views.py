"""Views without an SDK, each with one mistake: the scene in which it shows, and the rules that it breaks."""

CLIENT = """
const waiting = new Map();
let next = 1;
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const notify = (method, params = {}) => post({ method, params });
const request = (method, params = {}) =>
  new Promise((done) => {
    waiting.set(next, done);
    post({ id: next++, method, params });
  });
const on = {};
const answers = { ping: () => ({}), "ui/resource-teardown": () => ({}) };
addEventListener("message", ({ data }) => {
  const { id, method, params } = data;
  if (method === undefined) waiting.get(id)?.(data);
  else if (id === undefined) on[method.split("/").at(-1)]?.(params);
  else if (answers[method]) post({ id, result: answers[method](params) });
  else post({ id, error: { code: -32601, message: "Method not found" } });
});
"""
START = """
const start = async (appCapabilities = {}) => {
  const appInfo = { name: "x", version: "1" };
  await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo, appCapabilities });
  notify("ui/notifications/initialized");
  const root = document.documentElement;
  const report = () => notify("ui/notifications/size-changed", { height: root.scrollHeight });
  new ResizeObserver(report).observe(document.body);
};
"""
BODY = '<!doctype html><html lang="en"><title>x</title><body><p id="out">Hello</p>'


def raw(code: str, body: str = "") -> str:
    """Return a View without an SDK."""
    return f'{BODY}{body}<script type="module">{CLIENT}{START}{code}</script>'


LOOP = """
await start();
const grow = () => { notify("ui/notifications/size-changed", { height: 100 + (next++ % 2) }); setTimeout(grow, 2); };
grow();
"""
WRONG: dict[str, tuple[str, str, set[str]]] = {
    "a good one": ("plain", raw("await start();"), set()),
    "does nothing": ("plain", f"{BODY}</html>", {"INI-04"}),
    "uses methods of MCP": (
        "plain",
        raw('await request("initialize", {}); notify("notifications/initialized");'),
        {"INI-04", "INI-05"},
    ),
    "has no appInfo": ("plain", raw("start(null);"), {"INI-01"}),
    "asks for display modes": (
        "bare",
        raw('await start(); request("ui/request-display-mode", { mode: "fullscreen" });'),
        {"DSP-01", "DSP-02"},
    ),
    "asks when a button is clicked": (
        "bare",
        raw(
            'await start(); document.querySelector("button").onclick = () =>'
            ' request("ui/request-display-mode", { mode: "pip" });',
            "<button>Picture in picture</button>",
        ),
        {"DSP-01", "DSP-02"},
    ),
    "buys on partial arguments": (
        "partial",
        raw('on["tool-input-partial"] = () => request("tools/call", { name: "buy" }); await start();'),
        {"TIP-07"},
    ),
    "fails on partial arguments": (
        "partial",
        raw('on["tool-input-partial"] = ({ arguments: a }) => a.zone.length; await start();'),
        {"TIP-08"},
    ),
    "fails on an error result": (
        "error",
        raw('on["tool-result"] = ({ structuredContent }) => structuredContent.a; await start();'),
        {"QUA-13"},
    ),
    "fails on a cancellation": (
        "partial",
        raw('on["tool-cancelled"] = () => nothing(); await start();'),
        {"QUA-12"},
    ),
    "throws an uncaught error": ("plain", raw("await start(); nothing();"), {"QUA-02"}),
    "loops": ("plain", raw(LOOP), {"QUA-04"}),
    "does not report its size": (
        "plain",
        raw('await request("ui/initialize", { appCapabilities: {} }); notify("ui/notifications/initialized");'),
        {"SIZ-01"},
    ),
    "has pale text": (
        "plain",
        raw("await start();", '<p style="color: #ccc; background: #fff">Pale words</p>'),
        {"QUA-05"},
    ),
    "has no names for screen readers": (
        "plain",
        raw("await start();", '<button></button><img src="data:,"><input>'),
        {"QUA-06"},
    ),
    "uses the host's colours": (
        "bare",
        raw("await start();", "<style>p { color: var(--color-text-primary) }</style>"),
        {"THM-03"},
    ),
    "is too wide": ("bare", raw("await start();", '<div style="width: 1000px">Wide</div>'), {"DIM-03"}),
    "reloads itself": ("plain", raw("await start(); setTimeout(() => location.reload(), 100);"), {"QUA-23"}),
    "reloads at once": ("bare", raw("location.reload(); await start();"), {"QUA-23"}),
    "navigates away": (
        "plain",
        raw('await start(); setTimeout(() => location.assign("https://elsewhere.example/?q=1"), 100);'),
        {"QUA-23"},
    ),
    "does not catch a denial": (
        "odd",
        raw('await start(); const denied = await request("tools/call", {}); throw new Error(denied.error.message);'),
        {"QUA-22"},
    ),
    "uses fragments": ("plain", raw('await start(); location.hash = "#a"; history.pushState({}, "", "?b");'), set()),
    "calls a tool without looking at the capabilities": (
        "bare",
        raw(
            'await start(); const { error } = await request("tools/call", { name: "show" });'
            "if (error) throw new Error(error.message);"
        ),
        {"ADV-13", "QUA-11"},
    ),
    "requests sampling": ("plain", raw('await start(); request("sampling/createMessage", {});'), {"D-SMP-01"}),
    "declares tools": ("plain", raw("await start({ tools: {} });"), {"D-APT-01", "D-APT-02"}),
    "accepts any tool call": (
        "plain",
        raw(
            'answers["tools/list"] = () => ({ tools: [{ name: "set", inputSchema: { required: ["a"] } }] });'
            'answers["tools/call"] = () => ({ content: [] }); await start({ tools: {} });'
        ),
        {"D-APT-03", "D-APT-05", "D-APT-08"},
    ),
    "has no teardown handler": ("plain", raw('delete answers["ui/resource-teardown"]; await start();'), set()),
    "fails during teardown": (
        "plain",
        raw('answers["ui/resource-teardown"] = () => nothing(); await start();'),
        {"QUA-14"},
    ),
    "loads from another origin": (
        "plain",
        raw('await start(); new Image().src = "https://elsewhere.example/a.png";'),
        {"QUA-01"},
    ),
    "uses eval": ("plain", raw('await start(); try { new Function("") } catch {}'), {"QUA-19", "REV-03"}),
    "forgets the theme": (
        "plain",
        raw(
            'on["host-context-changed"] = (c) => (document.body.style.background = c.theme === "dark" ? "#111" : "");'
            "await start();"
        ),
        {"HCC-02"},
    ),
    "shows nothing": (
        "plain",
        raw('on["tool-result"] = () => (document.body.innerHTML = ""); await start();'),
        {"QUA-16"},
    ),
    "takes permissions for granted": (
        "bare",
        raw('await start(); await navigator.clipboard.writeText("Noon");'),
        {"RES-12"},
    ),
}
