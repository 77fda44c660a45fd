// @ts-check
/**
 * Tells the host of errors that nobody caught, as the View's log. A developer's host puts this before a document:
 * a View whose script fails says nothing else.
 */

/**
 * @param {any} error
 * @param {string} [words]
 * @param {string} [file]
 * @param {number} [line]
 * @param {number} [column]
 */
const report = (error, words, file, line, column) => {
  // The first place of the stack is where it was thrown; an error in parsed text names a line of that text.
  const [, at = file ?? "", row = line, col = column] =
    /(https?:[^\s()]+):(\d+):(\d+)/.exec(String(error?.stack ?? "")) ?? [];
  // Of some errors the browser says no more than this.
  const text = String((words?.trim() === "Uncaught" ? undefined : words) ?? error?.message ?? error).slice(0, 1_000);
  const data = { text, file: at === location.href ? "" : at, line: Number(row ?? 0), column: Number(col ?? 0) };
  const params = { level: "error", logger: "fanlight.error", data };
  window.parent.postMessage({ jsonrpc: "2.0", method: "notifications/message", params }, "*");
};

addEventListener(
  "error",
  ({ error, message, filename, lineno, colno }) => message && report(error, message, filename, lineno, colno),
);
// SDKs catch what handlers throw, and log it.
const { error: log } = console;
console.error = (/** @type {any[]} */ ...words) => {
  log.apply(console, words);
  const error = words.find((word) => word instanceof Error);
  if (error) report(error);
};
addEventListener("unhandledrejection", ({ reason }) => report(reason));
