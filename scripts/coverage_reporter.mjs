// A reporter of `node --test` that prints coverage as a Markdown table, in the form of coverage_table.py, and failures.

import { basename } from "node:path";

/**
 * @param {AsyncIterable<{ type: string, data: any }>} events
 * @returns {AsyncGenerator<string>}
 */
export default async function* coverageTable(events) {
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.details?.type !== "suite") {
      yield `failed: ${data.name}\n`;
    }
    if (type === "test:coverage") {
      yield "\n| script | lines | branches |\n|---|--:|--:|\n";
      for (const file of data.summary.files) {
        const { path, coveredLinePercent, coveredBranchPercent } = file;
        yield `| ${basename(path)} | ${coveredLinePercent.toFixed(1)} % | ${coveredBranchPercent.toFixed(1)} % |\n`;
      }
    }
  }
}
