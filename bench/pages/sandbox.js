// @ts-check
/** The least that the standard asks of a sandbox proxy: it frames the HTML that it is given and passes messages on. */

const WORD = "ui/notifications/sandbox-";

/** @type {HTMLIFrameElement | undefined} */
let view;

addEventListener("message", ({ source, data }) => {
  if (source !== parent) {
    if (source === view?.contentWindow && !String(data?.method).startsWith(WORD)) parent.postMessage(data, "*");
  } else if (data?.method === `${WORD}resource-ready`) {
    view = document.createElement("iframe");
    view.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    view.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
    view.srcdoc = data.params.html;
    document.body.append(view);
  } else {
    view?.contentWindow?.postMessage(data, "*");
  }
});
parent.postMessage({ jsonrpc: "2.0", method: `${WORD}proxy-ready`, params: {} }, "*");
