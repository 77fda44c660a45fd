/** A host without a library. Without faults it keeps every rule; each fault breaks some. */
import { connect, plan, proxied } from "./host_page.js";

const faults = new Set(plan.faults);
const { client, tools, html } = await connect(faults.has("no extension") ? {} : undefined);
const result = await client.callTool({ name: plan.tool, arguments: plan.arguments });
const words = ["trusting", "mangling"].filter((word) => faults.has(word)).join("&");
const frame = faults.has("bare frame") ? document.createElement("iframe") : await proxied(words);
const mode = { now: "inline" };
let ready = false;

const post = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
const tell = (method, params) => post({ method: `ui/notifications/${method}`, params });

const context = () => ({
  theme: "light",
  displayMode: mode.now,
  availableDisplayModes: ["inline", "fullscreen"],
  containerDimensions: faults.has("both sizes") ? { height: 300, maxHeight: 400 } : { maxHeight: 2000 },
  locale: "en",
  styles: { variables: { "--color-text-primary": "light-dark(black, white)" } },
  ...(faults.has("odd context") && { theme: "blue", locale: null }),
  ...(faults.has("odd variable") && { styles: { variables: { "--color-odd": "red" } } }),
});

const offered = (name) => {
  if (faults.has("calls all")) return true;
  const tool = tools.find((tool) => tool.name === name);
  return Boolean(tool) && (tool._meta?.ui?.visibility ?? ["app"]).includes("app");
};

const fault = (code, message) => Object.assign(new Error(message), { code });
const calls = new Map();

const answers = {
  ping: () => {
    if (faults.has("late ping") && !ready) throw undefined;
    return {};
  },
  "ui/initialize": ({ protocolVersion }) => ({
    protocolVersion,
    ...(!faults.has("no info") && { hostInfo: { name: "scripted", version: "1" } }),
    hostCapabilities: { serverTools: {}, serverResources: {}, openLinks: {}, message: { text: {} } },
    hostContext: context(),
  }),
  "tools/call": async (params, id) => {
    if (typeof params.name !== "string" || !offered(params.name)) throw fault(-32602, "no such tool");
    const stop = new AbortController();
    calls.set(id, stop);
    const { name, arguments: given } = params;
    return client.callTool({ name, arguments: given }, { signal: stop.signal });
  },
  "tools/list": () => ({ tools: tools.filter(({ name }) => offered(name)) }),
  "resources/read": (params) => client.readResource(params),
  "ui/update-model-context": () => (faults.has("talkative") ? { isError: false } : {}),
  "ui/open-link": ({ url }) => {
    if (!faults.has("opens all") && !/^https?:/.test(url)) throw fault(-32000, "not a web link");
    return {};
  },
  "ui/message": ({ content }) => {
    if (!Array.isArray(content)) throw fault(-32602, "content is no list");
    return {};
  },
  "ui/request-display-mode": ({ mode: wanted }) => {
    if (faults.has("no mode")) return {};
    const allowed = faults.has("any mode") ? ["inline", "fullscreen", "pip"] : ["inline", "fullscreen"];
    if (allowed.includes(wanted) && wanted !== mode.now) {
      mode.now = wanted;
      if (!faults.has("silent mode")) tell("host-context-changed", { displayMode: wanted });
    }
    return { mode: mode.now };
  },
};

const begin = () => {
  ready = true;
  const input = faults.has("other arguments") ? { note: "another" } : plan.arguments;
  const { _meta, ...rest } = result;
  const sent = faults.has("no meta") ? rest : result;
  if (faults.has("result first")) tell("tool-result", sent);
  tell("tool-input-partial", { arguments: faults.has("odd partial") ? null : {} });
  tell("tool-input", { arguments: input });
  if (faults.has("late partial")) tell("tool-input-partial", { arguments: {} });
  if (faults.has("input twice")) tell("tool-input", { arguments: input });
  if (!faults.has("result first")) tell("tool-result", sent);
  if (faults.has("loud sandbox")) tell("sandbox-other", {});
};

const notified = {
  "ui/notifications/initialized": begin,
  "ui/notifications/size-changed": ({ height }) => {
    if (!faults.has("stiff")) frame.style.height = `${height}px`;
  },
  "notifications/cancelled": ({ requestId }) => calls.get(requestId)?.abort(),
};

const serve = async ({ id, method, params = {} }) => {
  if (faults.has("mute")) return;
  const answer = answers[method];
  try {
    if (!answer && faults.has("knows all")) return post({ id, result: {} });
    if (!answer) throw fault(-32601, "Method not found");
    post({ id, result: await answer(params, id) });
    if (faults.has("twice") && method === "tools/list") post({ id, result: {} });
  } catch (error) {
    if (error && !calls.get(id)?.signal.aborted) {
      post({ id, error: { code: Number.isInteger(error.code) ? error.code : -32603, message: String(error.message) } });
    }
  }
};

addEventListener("message", ({ source, data }) => {
  if (source !== frame.contentWindow && !faults.has("trusting")) return;
  if (typeof data !== "object" || data === null || (data.jsonrpc !== "2.0" && !faults.has("trusting"))) return;
  if (typeof data.method !== "string") return;
  if (data.id === undefined) notified[data.method]?.(data.params ?? {});
  else if (typeof data.id !== "object") serve(data);
});

if (faults.has("bare frame")) {
  frame.srcdoc = html;
  document.body.append(frame);
} else {
  tell("sandbox-resource-ready", { html });
}
if (faults.has("early")) setTimeout(() => tell("host-context-changed", { theme: "dark" }), 1_000);
