// @ts-check
/** The controls of a call that is under way: pause, step and cancel its arguments, or wait for its server. */
import { $, make, notifyError, request } from "./dom.js";
import { speed } from "./stage.js";
import { findServer, onChange } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */

// A fast call shows no controls at all.
const DELAY = 400;
const AT_ONCE = 100_000;

/** @type {Map<Call, () => void>} What to draw once the server of a call is ready. */
const waiting = new Map();
/** @type {WeakMap<Call, () => void>} */
const speedListeners = new WeakMap();

/** Show the controls of a call that was just made. */
export const showControls = (/** @type {Call} */ call) => {
  const streams = speed() !== undefined;
  if (streams && !waitsForServer(call)) return drawStream(call);
  waiting.set(call, streams ? () => drawStream(call) : () => drawWaiting(call));
  drawWaiting(call);
  setTimeout(() => !call.over && (call.parts.controls.hidden = false), DELAY);
};

/** Remove the controls of a call that has an outcome. */
export const hideControls = (/** @type {Call} */ call) => {
  waiting.delete(call);
  const listener = speedListeners.get(call);
  if (listener) $("speed").removeEventListener("input", listener);
  call.parts.controls.hidden = true;
};

/** Cancel a call: by its key while it waits for its server, then by its id. */
export const cancelCall = (/** @type {Call} */ call) =>
  request("cancel", call.id ? { id: call.id } : { key: call.key });

onChange(["servers"], () => {
  for (const [call, draw] of waiting) {
    if (call.over) waiting.delete(call);
    else if (call.id) {
      waiting.delete(call);
      draw();
    } else if (waitsForServer(call)) drawWaiting(call);
  }
});

const statusOf = (/** @type {Call} */ call) => findServer(call.server)?.status.state;

const waitsForServer = (/** @type {Call} */ call) => !call.id && statusOf(call) !== "ready";

/** @type {WeakMap<Call, [HTMLElement, HTMLElement]>} */
const sides = new WeakMap();

/**
 * Show elements before and after the button that cancels a call. The button itself stays in the document: a click on a
 * button that is replaced while it is pressed is lost.
 * @param {Call} call
 * @param {HTMLElement[]} before
 * @param {HTMLElement[]} after
 */
const surroundCancel = (call, before, after = []) => {
  let both = sides.get(call);
  if (!both) {
    both = [make("span", { className: "contents" }), make("span", { className: "contents" })];
    sides.set(call, both);
    const cancel = make("button", { type: "button", onclick: () => cancelCall(call).catch(notifyError) }, "Cancel");
    call.parts.controls.replaceChildren(both[0], cancel, both[1]);
  }
  both[0].replaceChildren(...before);
  both[1].replaceChildren(...after);
};

const drawWaiting = (/** @type {Call} */ call) => {
  const { server, parts } = call;
  const down = waitsForServer(call) && statusOf(call) !== "connecting";
  const reconnect = make(
    "button",
    { type: "button", onclick: () => request("reconnect", { server }).catch(notifyError) },
    "Reconnect",
  );
  let message = "The tool is running.";
  if (down) {
    message =
      `The server ${server} is down; the call waits for it. ` +
      "The reason is beside the server's name. Fix it and save the file, or reconnect.";
  } else if (waitsForServer(call)) {
    message = `The call waits for the server ${server}, which is starting.`;
  }
  if (parts.controls.textContent.startsWith(message)) return;
  const shown = make("span", { className: down ? "small bad" : "small quiet" }, message);
  surroundCancel(call, down ? [shown, reconnect] : [shown]);
};

const drawStream = (/** @type {Call} */ call) => {
  const { controls } = call.parts;
  const progress = make("span", { className: "small quiet" }, "streaming the arguments …");
  const change = (/** @type {Json} */ body) =>
    call.id &&
    !call.over &&
    request("stream", { id: call.id, ...body }).then(
      ({ sent, total }) => (progress.textContent = `${Math.min(sent, total)} of ${total} characters`),
      () => {}, // the arguments became complete
    );
  const pause = make("button", { type: "button" }, $("paused").checked ? "Resume" : "Pause");
  pause.onclick = () => {
    const pausing = pause.textContent === "Pause";
    pause.textContent = pausing ? "Resume" : "Pause";
    void change({ paused: pausing });
  };
  const step = make("button", { type: "button" }, "Step");
  step.onclick = () => {
    pause.textContent = "Resume";
    void change({ paused: true, steps: 1 });
  };
  const listener = () => void change({ speed: speed() ?? AT_ONCE });
  $("speed").addEventListener("input", listener);
  speedListeners.set(call, listener);
  surroundCancel(call, [pause, step], [progress]);
  controls.hidden = false;
};
