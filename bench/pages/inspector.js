// @ts-check
/**
 * Put into every frame of a page that was made by others. In the page itself it presses buttons as soon as they are
 * there; in a View it looks for the View's data, and tells the page when they were shown and when painted.
 */
(() => {
  // The name of the element that shows the data, and what they look like. Written by bench/inspector.py.
  const [selector, pattern] = /** @type {[string, string]} */ (JSON.parse("/* data */"));

  const now = () => performance.timeOrigin + performance.now();

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

  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

  if (window === top) {
    const buttons = (/** @type {string} */ where, /** @type {string} */ words) =>
      [.../** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll(where))].find(
        (button) => !button.disabled && button.textContent.includes(words),
      );
    const press = async (/** @type {[string, string]} */ [where, words]) => {
      const button = await there(() => buttons(where, words));
      const at = now();
      button.click();
      return at;
    };
    /** Press one button after the other. @param {[string, string][]} steps */
    const pressAll = async (steps) => {
      let at = now();
      for (const step of steps) at = await press(step);
      return at;
    };
    const word = () =>
      new Promise((resolve) => {
        const listen = (/** @type {MessageEvent} */ { data }) => {
          if (!data?.bench) return;
          removeEventListener("message", listen);
          resolve(data.bench);
        };
        addEventListener("message", listen);
      });
    const bench = {
      pressAll,
      until: (/** @type {[string, string]} */ [where, words]) => there(() => buttons(where, words)).then(() => now()),
      /** Press buttons, and tell when the last one was pressed and what its View said. @param {[string, string][]} steps */
      show: async (steps) => {
        const said = word();
        const clicked = await pressAll(steps);
        return { clicked, ...(await said) };
      },
    };
    Object.assign(window, { bench });
    return;
  }

  const matches = new RegExp(pattern);
  void there(() => {
    const text = document.querySelector(selector)?.textContent ?? "";
    return matches.test(text) ? text : undefined;
  }).then(async () => {
    const shown = now();
    await frame();
    await frame();
    top?.postMessage({ bench: { shown, painted: now() } }, "*");
  });
})();
