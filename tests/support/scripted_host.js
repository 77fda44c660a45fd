// Plays the host for one View, as the standard asks and no more. Python decides what to send and answers
// requests through `hostAnswers`, a function that Playwright puts into this page.
const view = document.getElementById("view");
window.messages = [];
window.initialized = false;

const post = (message) => view.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
window.notify = (method, params) => post({ method, params });
let asked = 0;
const answered = new Map();
window.ask = (method, params) =>
  new Promise((answer) => {
    answered.set((asked += 1), answer);
    post({ id: asked, method, params });
  });
window.start = (url, context) => {
  window.context = context;
  view.src = url;
};
window.addEventListener("message", async ({ source, data }) => {
  if (source !== view.contentWindow || data?.jsonrpc !== "2.0") return;
  window.messages.push(data);
  const { id, method, params } = data;
  if (method === "ui/notifications/initialized") window.initialized = true;
  if (method === "ui/notifications/size-changed" && params.height) view.style.height = `${params.height}px`;
  if (method === undefined) answered.get(id)?.("error" in data ? { error: data.error } : { result: data.result });
  if (id === undefined || method === undefined) return;
  const answer = method === "ui/initialize" ? { result: welcome(params) } : await window.hostAnswers(method, params);
  if (method === "ui/request-display-mode") {
    document.documentElement.dataset.mode = answer.result.mode;
    window.notify("ui/notifications/host-context-changed", { displayMode: answer.result.mode });
  }
  post({ id, ...answer });
});
const welcome = ({ protocolVersion }) => ({
  protocolVersion,
  hostInfo: { name: "Scripted host", version: "1.0.0" },
  hostCapabilities: {
    serverTools: {},
    serverResources: {},
    openLinks: {},
    downloadFile: {},
    updateModelContext: { text: {} },
    message: { text: {} },
  },
  hostContext: window.context,
});
