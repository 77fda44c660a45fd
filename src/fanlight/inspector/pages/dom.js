// @ts-check
/** Helpers for every part of the page: elements, requests, notices, settings, and formatting. */

/** @typedef {Record<string, any>} Json */

/** Return an element of index.html by its id. */
export const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * Create an element.
 * @param {string} tag
 * @param {Json} [properties] Properties of the element, or attributes if it has no such property.
 * @param {any[]} children Elements and texts; undefined, null, false and "" are left out.
 * @returns {any}
 */
export const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== undefined && child !== null && child !== false && child !== ""),
  );
  return element;
};

/**
 * Create a button that looks like a link.
 * @param {string} label
 * @param {() => void} onclick
 * @param {Json} [properties]
 */
export const plainButton = (label, onclick, properties = {}) =>
  make("button", { type: "button", className: "plain", onclick, ...properties }, label);

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";
const nameOf = (/** @type {any} */ element) =>
  `${element.tagName} ${element.getAttribute("aria-label") ?? (element.labels?.[0] ?? element).textContent}`;

/**
 * Replace the children of an element, and keep the focus on the control that had it.
 * @param {any} parent
 * @param {any[]} children
 */
export const redraw = (parent, children) => {
  const all = () => [...parent.querySelectorAll(FOCUSABLE)];
  const focused = all().find((element) => element === document.activeElement);
  const name = focused && nameOf(focused);
  const namesakes = () => all().filter((element) => nameOf(element) === name);
  const index = namesakes().indexOf(focused);
  parent.replaceChildren(...children);
  if (focused && document.activeElement !== focused) namesakes()[index]?.focus({ preventScroll: true });
};

/**
 * Send a request to the program behind the page: a POST if there is a body, a GET if there is none.
 * @param {string} path
 * @param {Json} [body]
 */
export const request = async (path, body) => {
  const headers = { "content-type": "application/json" };
  let response;
  try {
    response = await fetch(`/api/${path}`, body && { method: "POST", headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("fanlight dev does not respond. Is it still running?");
  }
  if (response.headers.get("content-type") !== "application/json") throw new Error(await response.text());
  const answer = await response.json();
  if (!response.ok || answer.error !== undefined) throw new Error(answer.error ?? `HTTP status ${response.status}`);
  return answer;
};

export const pretty = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);

const MAX_SHOWN = 50_000;

/** Cut a text to what a page can hold, and say how long it is. */
export const shortened = (/** @type {string} */ text) =>
  text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n… (${text.length} characters; Copy has all of them)` : text;

export const formatBytes = (/** @type {number} */ size) =>
  size < 1_000
    ? `${size} B`
    : size < 1_000_000
      ? `${(size / 1_000).toFixed(1)} kB`
      : `${(size / 1_000_000).toFixed(1)} MB`;

export const formatSeconds = (/** @type {number} */ ms) =>
  ms < 10_000 ? `${(ms / 1_000).toFixed(2)} s` : `${Math.round(ms / 1_000)} s`;

const NOTICE_LASTS = 6_000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let noticeTimer;

/**
 * Show a notice at the top of the page.
 * @param {string} message
 * @param {boolean} [stays] Whether it stays until the next notice.
 */
export const notify = (message, stays = false) => {
  clearTimeout(noticeTimer);
  $("notice").textContent = message;
  if (message && !stays) noticeTimer = setTimeout(() => ($("notice").textContent = ""), NOTICE_LASTS);
};

/** Show the message of an error as a notice. */
export const notifyError = (/** @type {Error} */ error) => notify(error.message);

/**
 * Copy a text to the clipboard.
 * @param {string} text
 * @param {string} done The notice to show afterwards.
 */
export const copy = (text, done) =>
  navigator.clipboard.writeText(text).then(
    () => notify(done),
    () => notify("The browser does not allow this page to copy."),
  );

/**
 * Return a value that `saveValue` stored in this browser, or undefined.
 * @param {string} key
 */
export const savedValue = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
};

/**
 * Store a value in this browser, if it allows that.
 * @param {string} key
 * @param {unknown} value
 */
export const saveValue = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Without storage, the form starts with its defaults.
  }
};

/**
 * Offer a text as a file.
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export const download = (name, text, type) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};
