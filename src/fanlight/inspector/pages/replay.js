// @ts-check
/** Compares the messages of a View in a replay with those in the recording. */

// Sizes depend on the browser's layout, and log messages on chance.
const IGNORED = new Set(["ui/notifications/size-changed", "notifications/message"]);

/**
 * Return how the View's messages differ from the recording, as sentences; none if they do not.
 * @param {string[]} recorded The methods of the recorded messages, in order.
 * @param {string[]} replayed
 * @returns {string[]}
 */
export const differences = (recorded, replayed) => {
  const before = recorded.filter((method) => !IGNORED.has(method));
  const after = replayed.filter((method) => !IGNORED.has(method));
  const count = (/** @type {string[]} */ methods, /** @type {string} */ method) =>
    methods.filter((each) => each === method).length;
  const found = [...new Set([...before, ...after])]
    .filter((method) => count(before, method) !== count(after, method))
    .map((method) => `${method}: ${count(before, method)} recorded, ${count(after, method)} now.`);
  if (found.length) return found;
  const at = before.findIndex((method, index) => method !== after[index]);
  return at < 0 ? [] : [`The order differs: message ${at + 1} was ${before[at]}, and is ${after[at]} now.`];
};
