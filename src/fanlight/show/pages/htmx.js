// Lets htmx 4 call actions: hx-get="action:name" and hx-post="action:name".
import { app, root, sanitize, scripts, textOf } from "./swap.js";

/**
 * Answer a request of htmx with the HTML of an action.
 * @param {string} url
 * @param {any} request
 */
const answer = async (url, { body, signal }) => {
  const [, name = "", query] = /([^/:?]+)(?:[?](.*))?$/.exec(url) ?? [];
  /** @type {any} */
  const values = {};
  for (const [key, value] of body ?? new URLSearchParams(query)) {
    values[key] = Object.hasOwn(values, key) ? [values[key], value].flat() : value;
  }
  const result = await app.callServerTool({ name, arguments: values }, { signal });
  if (!result.isError) return new Response(result.structuredContent?.html ?? "");
  const text = document.createElement("p");
  Object.assign(text, { className: "error", role: "alert", textContent: textOf(result) });
  return new Response(text.outerHTML, { status: 422 });
};

document.addEventListener("htmx:before:request", (/** @type {any} */ { detail: { ctx } }) => {
  if (!/^https?:/.test(ctx.request.action)) ctx.fetch = answer;
});
document.addEventListener("htmx:before:swap", (/** @type {any} */ { detail: { tasks } }) => {
  for (const { fragment } of tasks) if (fragment && !scripts) sanitize(fragment);
});
// What this page put into itself is new to htmx.
const { htmx } = /** @type {any} */ (window);
new MutationObserver(() => htmx?.process(root)).observe(root, { childList: true, subtree: true });
