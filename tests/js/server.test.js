// Our servers, used by the published TypeScript clients: SDK 2.x and 1.x, with and without apps.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { RESOURCE_MIME_TYPE, getToolUiResourceUri } from "ext-apps-2/app-bridge";

const path = (/** @type {string} */ relative) => fileURLToPath(new URL(relative, import.meta.url));
const SERVER = { command: path("../../.venv/bin/python"), args: [path("../../examples/clock/server.py")] };
const UI = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } };

/** @type {[string, any, any][]} */
const CLIENTS = [
  ["2.x", Client2, Stdio2],
  ["1.x", Client1, Stdio1],
];

for (const [version, Client, Stdio] of CLIENTS) {
  /**
   * @param {object} capabilities
   * @param {(client: any) => Promise<void>} use
   */
  const withClient = async (capabilities, use) => {
    const client = new Client({ name: "test", version: "1" }, { capabilities });
    await client.connect(new Stdio({ ...SERVER, stderr: "inherit" }));
    try {
      await use(client);
    } finally {
      await client.close();
    }
  };

  describe(`the TypeScript client ${version}`, () => {
    it("finds the View of a tool, reads it, and calls the app-only tool", () =>
      withClient(UI, async (client) => {
        const { tools } = await client.listTools();
        const tool = tools.find((/** @type {any} */ { name }) => name === "get_time");
        const uri = getToolUiResourceUri(tool);
        assert.equal(uri, "ui://clock/clock");
        const { contents } = await client.readResource({ uri });
        assert.equal(contents.length, 1);
        assert.equal(contents[0].mimeType, RESOURCE_MIME_TYPE);
        assert.match(contents[0].text, /^<!doctype html>/);
        assert.ok(client.getServerCapabilities().extensions["io.modelcontextprotocol/ui"]);
        const at = new Date(Date.now() + 3_600_000).toISOString();
        const { structuredContent } = await client.callTool({ name: "set_alarm", arguments: { at } });
        assert.ok(structuredContent.seconds > 3000);
      }));

    it("without apps sees only text tools", () =>
      withClient({}, async (client) => {
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map((/** @type {any} */ { name }) => name),
          ["get_time"],
        );
        assert.equal(tools[0]._meta, undefined);
        assert.deepEqual((await client.listResources()).resources, []);
        assert.equal(client.getServerCapabilities().extensions, undefined);
        const { content } = await client.callTool({ name: "get_time", arguments: { zone: "UTC" } });
        assert.match(content[0].text, /UTC/);
      }));
  });
}
