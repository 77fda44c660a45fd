// @ts-check
/** What every part of the page needs: elements, requests, and words for numbers. */

/** @typedef {Record<string, any>} Json */

export const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {Json} [properties]
 * @param {any[]} children What is undefined, null, false or empty is left out.
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

const FOCUSABLE = "a, button, input, select, textarea, summary, [tabindex]";
const nameOf = (/** @type {any} */ element) =>
  `${element.tagName} ${element.getAttribute("aria-label") ?? (element.labels?.[0] ?? element).textContent}`;

/** Put new children into a place, and leave the focus on what it was on. @param {any} place @param {any[]} children */
export const redraw = (place, children) => {
  const all = () => [...place.querySelectorAll(FOCUSABLE)];
  const at = all().find((element) => element === document.activeElement);
  const name = at && nameOf(at);
  const namesakes = () => all().filter((element) => nameOf(element) === name);
  const index = namesakes().indexOf(at);
  place.replaceChildren(...children);
  if (at && document.activeElement !== at) namesakes()[index]?.focus({ preventScroll: true });
};

/**
 * Ask the program behind the page: with a body to do something, without one to tell something.
 * @param {string} path
 * @param {Json} [body]
 */
export const ask = async (path, body) => {
  const headers = { "content-type": "application/json" };
  let response;
  try {
    response = await fetch(`/api/${path}`, body && { method: "POST", headers, body: JSON.stringify(body) });
  } catch {
    throw new Error("fanlight dev does not answer. Does it still run?");
  }
  if (response.headers.get("content-type") !== "application/json") throw new Error(await response.text());
  const answer = await response.json();
  if (!response.ok || answer.error !== undefined) throw new Error(answer.error ?? `The answer was ${response.status}.`);
  return answer;
};

export const pretty = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);

const MOST_SHOWN = 50_000;

/** A text that a page can hold, with how much there is of it. */
export const shortened = (/** @type {string} */ text) =>
  text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}\n… (${text.length} characters; Copy has them all)` : text;

export const bytes = (/** @type {number} */ size) =>
  size < 1_000
    ? `${size} B`
    : size < 1_000_000
      ? `${(size / 1_000).toFixed(1)} kB`
      : `${(size / 1_000_000).toFixed(1)} MB`;

export const seconds = (/** @type {number} */ ms) =>
  ms < 10_000 ? `${(ms / 1_000).toFixed(2)} s` : `${Math.round(ms / 1_000)} s`;

const NEWS_LASTS = 6_000;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let forgetting;

/**
 * Say something that happened, where it disturbs nobody. It goes by itself, unless it stays true.
 * @param {string} words
 * @param {boolean} [stays]
 */
export const say = (words, stays = false) => {
  clearTimeout(forgetting);
  $("news").textContent = words;
  if (words && !stays) forgetting = setTimeout(() => ($("news").textContent = ""), NEWS_LASTS);
};

/**
 * A value that a browser may have kept, or undefined.
 * @param {string} key
 */
export const remembered = (key) => {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
};

/**
 * @param {string} key
 * @param {unknown} value
 */
export const remember = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // A browser without storage forgets, and nothing else is lost.
  }
};

/** @param {string} name @param {string} text @param {string} type */
export const download = (name, text, type) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};
