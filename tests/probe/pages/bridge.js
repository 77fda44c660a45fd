/** A host in a few lines around the published AppBridge, as its own examples show it. Built once for each version. */
import { AppBridge, PostMessageTransport } from "app-bridge";
import { connect, plan, proxied } from "./host_page.js";

const { client, html } = await connect();
const called = client.callTool({ name: plan.tool, arguments: plan.arguments });
const frame = await proxied();
const capabilities = { serverTools: {}, serverResources: {}, openLinks: {}, updateModelContext: { text: {} } };
const bridge = new AppBridge(client, { name: "AppBridge", version: plan.version }, capabilities, {
  hostContext: { theme: "light", displayMode: "inline", availableDisplayModes: ["inline"], platform: "web" },
});
bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
bridge.onupdatemodelcontext = async () => ({});
bridge.onopenlink = async ({ url }) => {
  if (!/^https?:/.test(url)) return { isError: true };
  return {};
};
bridge.oninitialized = async () => {
  bridge.sendToolInput({ arguments: plan.arguments });
  bridge.sendToolResult(await called);
};
window.closeView = () => bridge.teardownResource({});
await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
await bridge.sendSandboxResourceReady({ html });
