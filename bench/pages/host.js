// @ts-check
/**
 * A host of few lines that shows one View after the other and measures each: from setting the frame's
 * address until the View says that it has painted the tool result. What it found it posts to its server.
 */

/** @typedef {{ views: Record<string, string>, rounds: number, warmUp: number }} Plan */

const TEXT = "Oslo: 4 degrees";
const PATIENCE = 10_000;

const INITIALIZED = {
  protocolVersion: "2026-01-26",
  hostInfo: { name: "bench", version: "1" },
  hostCapabilities: {},
  hostContext: {},
};
const TOOL_RESULT = { content: [{ type: "text", text: TEXT }], structuredContent: { text: TEXT } };

/** @param {number} milliseconds */
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** @param {Window} view @param {any} message */
const answer = (view, message) => {
  const send = (/** @type {object} */ body) => view.postMessage({ jsonrpc: "2.0", ...body }, "*");
  if (message.method === "ui/initialize") send({ id: message.id, result: INITIALIZED });
  if (message.method === "ui/notifications/initialized") {
    send({ method: "ui/notifications/tool-input", params: { arguments: { place: "Oslo" } } });
    send({ method: "ui/notifications/tool-result", params: TOOL_RESULT });
  }
  if (message.method === "bench/ask") send({ method: "bench/answer", params: TOOL_RESULT });
};

/**
 * Wait for a moment between two animation frames. Views are painted 60 times a second, so when one begins
 * decides how long it waits; in each round all begin at the same moment, and each round at another.
 * @param {number} phase Between 0 and 1.
 */
const moment = async (phase) => {
  const frame = await new Promise((resolve) => requestAnimationFrame(resolve));
  while (performance.now() < frame + (phase * 1000) / 60);
};

/** @typedef {{ elapsed: number, marks: Record<string, number> }} Shown Milliseconds since the address was set. */

/**
 * Show a View and return how long it took until it had painted.
 * @param {string} url
 * @param {number} phase
 * @returns {Promise<Shown>}
 */
const show = async (url, phase) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
  document.body.append(frame);
  await pause(50);
  await moment(phase);
  try {
    return await new Promise((resolve, reject) => {
      const started = performance.now();
      const late = setTimeout(() => reject(new Error(`${url} did not paint`)), PATIENCE);
      /** @param {MessageEvent} event */
      const listen = ({ data, source }) => {
        if (source !== frame.contentWindow) return;
        if (data.method !== "bench/painted") return answer(/** @type {Window} */ (source), data);
        const elapsed = performance.now() - started;
        removeEventListener("message", listen);
        clearTimeout(late);
        if (data.params.text !== TEXT) reject(new Error(`${url} painted ${data.params.text}`));
        const origin = data.params.origin - performance.timeOrigin - started;
        /** @type {Record<string, number>} */
        const marks = {};
        for (const [name, at] of Object.entries(data.params.marks)) marks[name] = Number(at) + origin;
        resolve({ elapsed, marks });
      };
      addEventListener("message", listen);
      frame.src = url;
    });
  } finally {
    frame.remove();
  }
};

/** @param {string} path @param {unknown} body */
const post = (path, body) => fetch(path, { method: "POST", body: JSON.stringify(body) });

/** @param {Plan} plan */
const measure = async ({ views, rounds, warmUp }) => {
  const names = Object.keys(views);
  /** @type {Record<string, Shown[]>} */
  const found = Object.fromEntries(names.map((name) => [name, []]));
  for (let turn = -warmUp; turn < rounds; turn++) {
    const first = (turn + warmUp) % names.length;
    const phase = (Math.abs(turn) * 0.618034) % 1;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const shown = await show(views[name], phase);
      if (turn >= 0) found[name].push(shown);
    }
  }
  return found;
};

try {
  /** @type {Plan} */
  const plan = await (await fetch("plan.json")).json();
  await post("found", await measure(plan));
} catch (error) {
  await post("failed", String(error));
}
