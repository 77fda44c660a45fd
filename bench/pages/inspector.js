// @ts-check
/**
 * Runs in every frame of pages that were made by others, as an extension of the browser. In the page itself it presses
 * buttons as soon as they are there; in a View it looks for the View's data, and tells the page when they were shown
 * and when painted. What was found is handed over by going to the collector's page.
 */

/**
 * @typedef {[string, string]} Button A selector, and a nextReport of its text.
 * @typedef {object} Plan
 * @property {Button[]} prepare Until the server is connected and its tools are listed.
 * @property {Button[]} choose What comes before the button that calls the tool.
 * @property {Button} call
 * @property {Button[]} leave Back to where the tool can be called once more.
 *
 * @typedef {object} Settings
 * @property {string} collector
 * @property {number} clicks
 * @property {number} settle
 * @property {string} selector
 * @property {string} pattern
 * @property {Record<string, Plan>} plans
 */

// Written by bench/inspector.py.
const { collector, clicks, settle, selector, pattern, plans } = /** @type {Settings} */ (JSON.parse("/* given */"));

const now = () => performance.timeOrigin + performance.now();
const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
const pause = () => new Promise((resolve) => setTimeout(resolve, settle));

/**
 * Wait until something is found in the document.
 * @template T
 * @param {() => T | undefined} find
 * @returns {Promise<T>}
 */
const there = (find) =>
  new Promise((resolve) => {
    const observer = new MutationObserver(() => look());
    const look = () => {
      const found = find();
      if (found === undefined) return;
      observer.disconnect();
      resolve(found);
    };
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
  });

/** @param {Button} button */
const button = ([where, words]) =>
  there(() =>
    [.../** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(where))].find(
      (each) => !each.disabled && each.textContent.includes(words),
    ),
  );

/** @param {Button[]} buttons */
const press = async (buttons) => {
  for (const each of buttons) (await button(each)).click();
};

/** What the next View says. */
const nextReport = () =>
  new Promise((resolve) => {
    /** @param {MessageEvent} event */
    const listen = ({ data }) => {
      if (!data?.bench) return;
      removeEventListener("message", listen);
      resolve(data.bench);
    };
    addEventListener("message", listen);
  });

/** @param {Plan} plan */
const measure = async ({ prepare, choose, call, leave }) => {
  const found = [];
  await press(prepare);
  for (let turn = 0; turn < clicks; turn++) {
    if (turn > 0) await press(leave);
    await press(choose);
    const ready = await button(call);
    if (settle) await pause();
    const reported = nextReport();
    const clicked = now();
    ready.click();
    found.push({ clicked, ...(await reported) });
  }
  location.replace(`${collector}/#${encodeURIComponent(JSON.stringify(found))}`);
};

/** In a View. */
const tell = async () => {
  const matches = new RegExp(pattern);
  await there(() => (matches.test(document.querySelector(selector)?.textContent ?? "") ? true : undefined));
  const shown = now();
  await frame();
  await frame();
  top?.postMessage({ bench: { shown, painted: now() } }, "*");
};

if (window !== top) void tell();
else if (location.origin !== collector) void measure(/** @type {Plan} */ (plans[location.hostname]));
