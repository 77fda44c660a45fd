// Plays the host with the published AppBridge. Built by the tests with esbuild, once per version of the package.
import { AppBridge, PostMessageTransport } from "app-bridge";

const view = document.getElementById("view");
window.messages = [];
window.initialized = false;

window.start = async (url, hostContext) => {
  const capabilities = {
    serverTools: {},
    serverResources: {},
    openLinks: {},
    updateModelContext: { text: {} },
    message: { text: {} },
  };
  const bridge = new AppBridge(null, { name: "AppBridge", version: "1.0.0" }, capabilities, { hostContext });
  const ask = (method) => async (params) => {
    window.messages.push({ method, params });
    const { result, error } = await window.hostAnswers(method, params);
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  };
  bridge.oninitialized = () => (window.initialized = true);
  bridge.onsizechange = (params) => {
    window.messages.push({ method: "ui/notifications/size-changed", params });
    if (params.height) view.style.height = `${params.height}px`;
  };
  bridge.oncalltool = ask("tools/call");
  bridge.onreadresource = ask("resources/read");
  bridge.onmessage = ask("ui/message");
  bridge.onopenlink = ask("ui/open-link");
  bridge.onupdatemodelcontext = ask("ui/update-model-context");
  bridge.onrequestdisplaymode = ask("ui/request-display-mode");
  window.notify = (method, params) => bridge.notification({ method, params });
  window.teardown = () => bridge.teardownResource({});
  view.src = "about:blank";
  await bridge.connect(new PostMessageTransport(view.contentWindow, view.contentWindow));
  view.src = url;
};
