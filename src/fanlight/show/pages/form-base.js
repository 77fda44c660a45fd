// What the small View of forms has in place of base.js and page.js. It shows forms, and results that are text or one
// object; the View for other results is larger.
import { App } from "fanlight";
import { build } from "../../browser/form/fields.js";

const app = new App({ name: "Form", version: "1.0.0" });

/** @type {Record<string, (item: any) => HTMLElement>} */
const renderers = {};

/** @param {any} result */
const textOf = ({ content }) => content.map((/** @type {any} */ block) => block.text ?? "").join("\n");

/** @param {any} item */
const render = (item) => (Object.hasOwn(renderers, item.kind) ? renderers[item.kind]?.(item) : build("p"));

/** @param {string} text @param {any[]} shown */
const replacePage = (text, ...shown) => {
  // Some hosts, such as MCP Inspector, put the whole document into a body of their own.
  const main = /** @type {any} */ (document.querySelector("main"));
  const notice = main.previousElementSibling;
  if (shown.length) document.title = notice.previousElementSibling.textContent = text;
  notice.textContent = shown.length ? "" : text;
  main.replaceChildren(...shown);
};

app.ontoolresult = (/** @type {any} */ result) => {
  const { item, title } = result.structuredContent ?? {};
  if (result.isError || !item) replacePage(textOf(result));
  else replacePage(title, render(item));
};
app.ontoolcancelled = () => replacePage("The call was cancelled.");
app.connect().catch((/** @type {Error} */ { message }) => replacePage(message));
