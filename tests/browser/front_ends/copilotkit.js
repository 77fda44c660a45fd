// What the renderers of CopilotKit for React, Vue and Angular do with an activity, in a page without a framework.
import { HttpAgent } from "@ag-ui/client";
import { bindMcpApp } from "@copilotkit/mcp-apps-renderer";

const agent = new HttpAgent({ url: "/run", threadId: "c1" });
window.failures = [];
agent.subscribe({ onRunErrorEvent: ({ event }) => void window.failures.push(event.message) });
/** Send a request as a View of CopilotKit does. */
window.proxied = async (request) => (await agent.runAgent({ forwardedProps: { __proxiedMCPRequest: request } })).result;

const show = (content) => {
  const iframe = document.createElement("iframe");
  iframe.style.cssText = "width:100%;height:100px;border:none;display:block";
  document.getElementById("root").append(iframe);
  const session = bindMcpApp({
    iframe,
    getContent: () => content,
    getAgent: () => agent,
    hooks: {
      onSizeChanged: ({ height }) => (iframe.style.height = `${height}px`),
      onError: (error) => document.getElementById("root").append(`Error: ${error.message}`),
    },
  });
  session.sendToolInput(content.toolInput);
  session.sendToolResult(content.result);
};

document.getElementById("send").onclick = async () => {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "Where is my order?" });
  const known = agent.messages.length;
  await agent.runAgent();
  const activities = agent.messages.slice(known).filter(({ activityType }) => activityType === "mcp-apps");
  activities.forEach(({ content }) => show(content));
};
