// @ts-check
/**
 * What every host page of the benchmark does: it clicks a button, waits for what the View has to say, and posts that
 * with the moment of the click. The address says what to show, how often, and where to post; the answer to the post
 * is the address of the next page.
 */

/**
 * @typedef {object} Host
 * @property {() => unknown} ready What a program does before anybody clicks: each time, for the next View.
 * @property {(tool: string) => unknown} show Called by the click: call a tool and show its View, above earlier ones.
 */

const PATIENCE = 20_000;
const SETTLE = 300;
const query = new URLSearchParams(location.search);

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Wait for the message of the View to the top page. */
const nextReport = () =>
  new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${location.href}: the View sent no message`)), PATIENCE);
    /** @param {MessageEvent} event */
    const listen = ({ data }) => {
      if (!String(data?.method).startsWith("bench/")) return;
      removeEventListener("message", listen);
      clearTimeout(late);
      resolve(data.params);
    };
    addEventListener("message", listen);
  });

/**
 * Wait for a moment between two animation frames: when a View begins decides how long it waits to be painted.
 * @param {number} phase Between 0 and 1.
 */
const moment = async (phase) => {
  const frame = await new Promise((resolve) => requestAnimationFrame(resolve));
  while (performance.now() < frame + (phase * 1000) / 60);
};

/** @param {Host} host */
const measure = async (host) => {
  const button = document.createElement("button");
  document.body.append(button);
  const found = [];
  let clicked = 0;
  button.addEventListener("click", () => {
    clicked = performance.timeOrigin + performance.now();
    host.show(String(query.get("tool")));
  });
  for (let turn = 0; turn < Number(query.get("clicks")); turn++) {
    await host.ready();
    await pause(SETTLE);
    await moment((Number(query.get("phase")) + turn * 0.618034) % 1);
    const reported = nextReport();
    button.click();
    found.push({ clicked, reported: await reported });
  }
  return found;
};

/** @param {Host} host */
export const run = async (host) => {
  const post = async (/** @type {string} */ path, /** @type {unknown} */ body) => {
    const response = await fetch(`${query.get("collector")}/${path}`, { method: "POST", body: JSON.stringify(body) });
    return response.text();
  };
  addEventListener("unhandledrejection", ({ reason }) => post("failed", String(reason)));
  try {
    const next = await post("found", await measure(host));
    if (next) location.replace(next);
  } catch (error) {
    await post("failed", String(error));
  }
};

export { query };
