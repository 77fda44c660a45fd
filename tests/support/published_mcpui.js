// The published @mcp-ui/server: answer the calls on standard input, [[version, function, ...arguments], ...], as JSON.
import process from "node:process";
import { text } from "node:stream/consumers";
import * as five from "mcp-ui-server-5";
import * as six from "mcp-ui-server-6";

/** @type {Record<string, any>} */
const versions = { 5: five, 6: six };
const answers = [];
for (const [version, name, ...given] of JSON.parse(await text(process.stdin))) {
  try {
    answers.push({ value: versions[version][name](...given) });
  } catch (error) {
    answers.push({ error: String(error) });
  }
}
process.stdout.write(JSON.stringify(answers));
