/** What the host pages of these tests share: an MCP client, and the frames around a View. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const UI = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

/** What this run is about: the tool and its arguments, where the sandbox is, and what to do wrong. */
export const plan = await (await fetch("/plan.json")).json();

export const connect = async (extensions = UI) => {
  const client = new Client({ name: "stand", version: "1" }, { capabilities: { extensions } });
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", location.href)));
  const { tools } = await client.listTools();
  const tool = tools.find(({ name }) => name === plan.tool);
  const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri });
  return { client, tools, tool, html: contents[0].text };
};

/** Add a frame with the sandbox proxy in it, which may do something wrong too, and wait until it is ready. */
export const proxied = (words = "") =>
  new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
    addEventListener("message", function ready({ source, data }) {
      if (source !== frame.contentWindow || data?.method !== "ui/notifications/sandbox-proxy-ready") return;
      removeEventListener("message", ready);
      resolve(frame);
    });
    frame.src = `${plan.sandbox}?${words}`;
    document.body.append(frame);
  });
