/** The least that a sandbox proxy is. `?trusting` hears every frame, `?mangling` loses what is null. */
const RESERVED = "ui/notifications/sandbox-";
const query = new URLSearchParams(location.search);
let view;

const changed = (message) =>
  query.has("mangling") ? JSON.parse(JSON.stringify(message, (_, value) => value ?? undefined)) : message;

addEventListener("message", ({ source, data }) => {
  const method = String(data?.method);
  if (source === parent && method === `${RESERVED}resource-ready`) {
    view = document.createElement("iframe");
    view.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    view.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
    view.srcdoc = data.params.html;
    document.body.append(view);
  } else if (source === parent) {
    view?.contentWindow?.postMessage(changed(data), "*");
  } else if (source === view?.contentWindow ? !method.startsWith(RESERVED) : query.has("trusting")) {
    parent.postMessage(data, "*");
  }
});
parent.postMessage({ jsonrpc: "2.0", method: `${RESERVED}proxy-ready`, params: {} }, "*");
