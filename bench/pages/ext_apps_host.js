/**
 * A host in the page alone, made of what is published: ext-apps' AppBridge, and the MCP client for TypeScript that
 * talks to the server over HTTP. At a click everything begins at once: the call, the frame, and reading the View,
 * which is read only once.
 */
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { query, run } from "./click.js";

const INFO = { name: "bench", version: "1" };
const EXTENSIONS = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };
const INPUT = JSON.parse(query.get("input") ?? '{ "place": "Oslo" }');
/** Markup that the benchmark adds to each View. */
const PROBE = "/* probe */";

const client = new Client(INFO, { capabilities: { extensions: EXTENSIONS } });
const views = new Map();
const documents = new Map();

const read = async (uri) => {
  const { contents } = await client.readResource({ uri });
  return contents[0].text + PROBE;
};

const proxied = (made) =>
  new Promise((resolve) => {
    const listen = ({ source, data }) => {
      if (source !== made.contentWindow || data?.method !== "ui/notifications/sandbox-proxy-ready") return;
      removeEventListener("message", listen);
      resolve();
    };
    addEventListener("message", listen);
    made.src = query.get("sandbox");
  });

const show = async (tool) => {
  const uri = views.get(tool);
  const called = client.callTool({ name: tool, arguments: INPUT });
  if (!documents.has(uri)) documents.set(uri, read(uri));
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  document.body.prepend(frame);
  await proxied(frame);
  const capabilities = { serverTools: {}, serverResources: {}, openLinks: {} };
  const hostContext = { theme: "light", displayMode: "inline", platform: "web" };
  const bridge = new AppBridge(client, INFO, capabilities, { hostContext });
  bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
  bridge.oninitialized = async () => {
    bridge.sendToolInput({ arguments: INPUT });
    bridge.sendToolResult(await called);
  };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  await bridge.sendSandboxResourceReady({ html: await documents.get(uri) });
};

const connect = async () => {
  await client.connect(new StreamableHTTPClientTransport(new URL(query.get("server"))));
  for (const { name, _meta } of (await client.listTools()).tools) views.set(name, _meta?.ui?.resourceUri);
};

await run({ ready: () => views.size || connect(), show });
