// @ts-check
/** How what a View says now differs from what it said when it was recorded. */

// Sizes come as the browser lays out, and logs as their authors like.
const LOOSE = new Set(["ui/notifications/size-changed", "notifications/message"]);

/**
 * @param {string[]} then The methods of what it said, in order.
 * @param {string[]} now
 * @returns {string[]} Sentences; none if nothing differs.
 */
export const differences = (then, now) => {
  const before = then.filter((method) => !LOOSE.has(method));
  const after = now.filter((method) => !LOOSE.has(method));
  const count = (/** @type {string[]} */ methods, /** @type {string} */ method) =>
    methods.filter((each) => each === method).length;
  const found = [...new Set([...before, ...after])]
    .filter((method) => count(before, method) !== count(after, method))
    .map((method) => `${method}: ${count(before, method)} then, ${count(after, method)} now.`);
  if (found.length) return found;
  const at = before.findIndex((method, index) => method !== after[index]);
  return at < 0 ? [] : [`The order differs: message ${at + 1} was ${before[at]}, and is ${after[at]} now.`];
};
