// @ts-check
/**
 * Sends uncaught errors to the host as log messages of the View. Hosts for developers insert this script before a
 * document, because a View with a script that fails sends nothing else.
 */

/**
 * @param {any} error
 * @param {string} [message]
 * @param {string} [file]
 * @param {number} [line]
 * @param {number} [column]
 */
const report = (error, message, file, line, column) => {
  // The first entry of the stack is where the error was thrown. A JSON error has the line of the JSON text instead.
  const entries = [...String(error?.stack ?? "").matchAll(/(https?:[^\s()]+):(\d+):(\d+)/g)];
  const [, at = file ?? "", row = line, col = column] = entries[0] ?? [];
  // An error of the SDK is thrown in its code; the entries below say where the author called it.
  const stack = entries
    .filter((entry) => entry[1] === location.href)
    .slice(0, 10)
    .map((entry) => [Number(entry[2]), Number(entry[3])]);
  // For some errors, "Uncaught" is the browser's whole message.
  const known = message?.trim() === "Uncaught" ? undefined : message;
  const text = String(known ?? error?.message ?? error).slice(0, 1_000);
  const data = { text, file: at === location.href ? "" : at, line: Number(row ?? 0), column: Number(col ?? 0), stack };
  const params = { level: "error", logger: "fanlight.error", data };
  window.parent.postMessage({ jsonrpc: "2.0", method: "notifications/message", params }, "*");
};

addEventListener(
  "error",
  ({ error, message, filename, lineno, colno }) => message && report(error, message, filename, lineno, colno),
);
// SDKs catch the errors of handlers and log them.
const { error: log } = console;
console.error = (/** @type {any[]} */ ...values) => {
  log.apply(console, values);
  const error = values.find((value) => value instanceof Error);
  if (error) report(error);
};
addEventListener("unhandledrejection", ({ reason }) => report(reason));
