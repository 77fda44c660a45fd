// What all parts of the View share. All text goes into the document as textContent. Comments are on lines of their
// own, because they are removed; so are the imports and exports between these files, which become one script.
import { App } from "fanlight";

const DATA_TOOL = "fanlight_data";

const app = new App({ name: "Show", version: "1.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] });

/** @param {string} id @returns {any} */
const at = (id) => document.getElementById(id);

/** What the page knows of its host and of the call that it shows. @type {any} */
const page = { locale: undefined, tool: "", input: {}, show: undefined };

/**
 * Show each kind of item: `(item) => element`. Each file adds its own.
 * @type {Record<string, (item: any) => HTMLElement>}
 */
const renderers = {};

/** Functions that are called when theme or language change. @type {Set<() => void>} */
const redraws = new Set();

/**
 * @param {string} name
 * @param {any} [properties]
 * @param {...(Node | string)} children
 * @returns {any}
 */
const make = (name, properties, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** @param {number} number */
const count = (number) => number.toLocaleString(page.locale);

/** @param {any} result */
const textOf = ({ content }) => content.map((/** @type {any} */ block) => block.text ?? "").join("\n");

/**
 * Show a message above everything else, or remove it.
 * @param {string} text
 * @param {boolean} [canRun] Whether running the tool again helps.
 */
const complain = (text, canRun = false) => {
  const [line, again] = at("notice").children;
  at("notice").hidden = !text;
  line.textContent = text;
  again.hidden = !canRun;
};

/**
 * Do something that may take long, with its progress and a button that cancels it.
 * @template T
 * @param {string} label What is done, in words for the user.
 * @param {(options: { signal: AbortSignal, onprogress: (report: any) => void }) => Promise<T>} work
 * @returns {Promise<T>}
 */
const busy = async (label, work) => {
  const [line, numbers, cancel, bar] = at("busy").children;
  const controller = new AbortController();
  /** @param {any} report */
  const onprogress = ({ progress, total, message, numbers: text }) => {
    // Screen readers announce each change of the line, so it changes only with the message.
    if (line.textContent !== (message || label)) line.textContent = message || label;
    if (total > 0) bar.value = Math.min(progress / total, 1);
    else bar.removeAttribute("value");
    numbers.textContent = text ?? (total > 0 ? `${Math.floor((100 * Math.min(progress, total)) / total)} %` : "");
  };
  onprogress({});
  bar.ariaLabel = label;
  cancel.onclick = () => controller.abort(new DOMException("Cancelled.", "AbortError"));
  // What is done at once does not flicker.
  const timer = setTimeout(() => (at("busy").hidden = false), 200);
  try {
    return await work({ signal: controller.signal, onprogress });
  } finally {
    clearTimeout(timer);
    at("busy").hidden = true;
  }
};

/**
 * Ask the server for more of something that it keeps.
 * @param {any} query
 * @param {any} [options] Those of `callServerTool`.
 * @returns {Promise<any>} The structured content, or undefined if the server has it no longer: the page then says so.
 */
const ask = async (query, options) => {
  const result = await app.callServerTool({ name: DATA_TOOL, arguments: query }, options);
  if (!result.isError) return result.structuredContent;
  complain(textOf(result), !!result.structuredContent?.gone);
};

/**
 * Return the element of an item, or of a message if this View cannot show it.
 * @param {any} item
 */
const render = (item) => {
  const renderer = Object.hasOwn(renderers, item.kind) && renderers[item.kind];
  return renderer ? renderer(item) : make("p", { textContent: `This View cannot show "${item.kind}".` });
};

export { app, ask, at, busy, complain, count, make, page, redraws, render, renderers, textOf };
