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
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== ""));
  return element;
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

export const bytes = (/** @type {number} */ size) =>
  size < 1_000 ? `${size} B` : size < 1_000_000 ? `${(size / 1_000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;

export const seconds = (/** @type {number} */ ms) => (ms < 10_000 ? `${(ms / 1_000).toFixed(2)} s` : `${Math.round(ms / 1_000)} s`);

/** Say something that happened, where it disturbs nobody. */
export const say = (/** @type {string} */ words) => ($("news").textContent = words);

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
