// @ts-check
/** What every part of the page needs: elements, icons, and requests to the program. */

/** @typedef {Record<string, any>} Json */

/** Return an element of index.html by its id. */
export const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * Create an element. What models, servers and users wrote is only ever given to it as text.
 * @param {string} tag
 * @param {Json} [properties] Properties of the element, or attributes if it has no such property.
 * @param {(Node | string | false | null | undefined)[]} children
 * @returns {any}
 */
export const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value);
  }
  for (const child of children) if (child) element.append(child);
  return element;
};

const SVG = "http://www.w3.org/2000/svg";

/** Return an icon of index.html. */
export const icon = (/** @type {string} */ name) => {
  const svg = document.createElementNS(SVG, "svg");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
};

/**
 * Create a button that is an icon.
 * @param {string} name
 * @param {string} label
 * @param {(event: Event) => void} onclick
 */
export const iconButton = (name, label, onclick) =>
  make("button", { type: "button", className: "icon-button", title: label, "aria-label": label, onclick }, icon(name));

/** Say something to screen readers. */
export const announce = (/** @type {string} */ text) => void ($("announcement").textContent = text);

/** Show a message at the top of the page for a while, or until the user closes it. */
export const toast = (/** @type {string} */ text) => {
  const close = iconButton("x", "Close message", () => shown.remove());
  const shown = make("div", { className: "toast", role: "status" }, make("p", {}, text), close);
  $("toasts").append(shown);
  setTimeout(() => shown.remove(), 8_000);
};

/**
 * The buttons that show that something was copied.
 * @type {WeakMap<object, { icon: Node[], timer: ReturnType<typeof setTimeout> }>}
 */
const copied = new WeakMap();

/** Copy a text, and show on the button that it was copied. */
export const copy = (/** @type {any} */ button, /** @type {string} */ text) =>
  attempt(async () => {
    // Browsers have a clipboard only for pages of this machine, and with https.
    if (!navigator.clipboard) throw new Error("This browser lets no page copy that was loaded without https.");
    await navigator.clipboard.writeText(text);
    const before = copied.get(button);
    clearTimeout(before?.timer);
    const shown = before?.icon ?? [...button.childNodes];
    button.replaceChildren(icon("check"));
    announce("Copied");
    const restore = () => {
      copied.delete(button);
      button.replaceChildren(...shown);
    };
    copied.set(button, { icon: shown, timer: setTimeout(restore, 1_500) });
  });

/**
 * Send a request to the program: a POST if there is a body, a GET if there is none.
 * @param {string} path
 * @param {Json | Blob} [body]
 */
export const request = async (path, body) => {
  const isFile = body instanceof Blob;
  const headers = { "content-type": isFile ? body.type : "application/json" };
  let response;
  try {
    const options = body && { method: "POST", headers, body: isFile ? body : JSON.stringify(body) };
    response = await fetch(`/api/${path}`, options);
  } catch {
    throw new Error("fanlight chat does not respond. Is it still running?");
  }
  if (!response.headers.get("content-type")?.startsWith("application/json")) throw new Error(await response.text());
  const answer = await response.json();
  if (!response.ok || answer.error !== undefined) throw new Error(answer.error ?? `HTTP status ${response.status}`);
  return answer;
};

/** Run something that may fail, and show why it did. */
export const attempt = async (/** @type {() => unknown} */ work) => {
  try {
    await work();
  } catch (error) {
    toast(error.message);
  }
};
