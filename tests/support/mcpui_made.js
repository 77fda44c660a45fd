// What a published @mcp-ui/server makes of options: `node mcpui_made.js PACKAGE < options.json`. One that raises is
// null.
import { readFileSync } from "node:fs";
import process from "node:process";

const { createUIResource } = await import(process.argv[2] ?? "");

/** @param {any} options */
const made = (options) => {
  try {
    return createUIResource(options);
  } catch {
    return null;
  }
};
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(made)));
