// @ts-check
/** The calls of this page: made, shown, reloaded and closed. */
import { follow, numberCard, openCard, prepareCard, putFirst } from "./card.js";
import { cancelCall, hideControls, showControls } from "./controls.js";
import { explainMissingBuild, explainResult } from "./diagnose.js";
import { $, formatBytes, make, notifyError, pretty, request } from "./dom.js";
import {
  addProblems,
  checkBlocked,
  clearViewProblems,
  compareReplay,
  examine,
  expectConnection,
  explainFailure,
  messagesSinceLoad,
} from "./problems.js";
import { layOut, speed } from "./stage.js";
import { changed, page, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */

const MAX_MESSAGES = 5_000;
// After a View has its size, there is time to prepare the next card.
const PREPARE_DELAY = 300;
// A View may still change its size for this long after its result.
const GROWTH_TIME = 1_500;
let count = 0;

/**
 * Call a tool, and show the outcome.
 * @param {string} server
 * @param {Json} tool
 * @param {Json} values The arguments.
 * @param {string} [recording] What to replay instead of calling the server.
 */
export const startCall = async (server, tool, values, recording) => {
  const key = `${page} ${(count += 1)}`;
  const body = { key, page, server, tool: tool.name };
  const began = Date.now();
  const stream = speed() !== undefined && { speed: speed(), paused: $("paused").checked };
  // Sent first, so that the call is under way while its card is drawn.
  const response =
    recording === undefined
      ? request("call", { ...body, arguments: values, ...stream })
      : request("replay", { ...body, lines: recording });
  const call = open(key, server, tool, values, recording !== undefined);
  call.began = began;
  try {
    const outcome = await response;
    if (outcome.arguments) call.values = outcome.arguments;
    if (outcome.recorded) call.recorded = outcome.recorded;
    finish(call, outcome);
    openFurtherViews(call, outcome);
  } catch (error) {
    finish(call, { failed: /** @type {Error} */ (error).message });
  }
};

/**
 * Open the card of a call.
 * @param {string} key
 * @param {string} server
 * @param {Json} tool
 * @param {Json} values
 * @param {boolean} replayed
 * @returns {Call}
 */
const open = (key, server, tool, values, replayed) => {
  const { card, app, parts } = openCard(server, tool, replayed);
  /** @type {Call} */
  const call = {
    key,
    server,
    tool,
    values,
    app,
    card,
    parts,
    messages: [],
    problems: [],
    began: Date.now(),
    over: false,
  };
  parts.again.onclick = () => startCall(server, tool, call.values);
  parts.close.onclick = () => close(call);
  parts.mode.onchange = () => changeMode(call);
  card.onfocusin = card.onclick = () => select(call);
  state.calls.unshift(call);
  listen(call);
  layOut(app);
  showControls(call);
  if (tool.view) app.setAttribute("src", "/apps");
  select(call);
  call.following = follow(call);
  app.addEventListener("mcp-size", () => setTimeout(prepareCard, PREPARE_DELAY), { once: true });
  card.scrollIntoView({ block: "nearest" });
  return call;
};

/** Open a card for each further View that a result brings, below the first. */
const openFurtherViews = (/** @type {Call} */ call, /** @type {Json} */ { views = [], ...outcome }) => {
  const [first, ...rest] = views;
  const brought = (outcome.result?.content ?? []).filter((/** @type {Json} */ { resource }) =>
    `${resource?.uri}`.startsWith("ui://"),
  ).length;
  if (first && !call.tool.view) call.uri = first.uri;
  if (first && !call.tool.view && brought > views.length) {
    addProblems(call, {
      scope: "call",
      message: `The result brings ${brought} Views, but only ${views.length} of them can be shown.`,
      advice: "Give each View a URI of its own. A host also limits their number (Limits.result_views).",
    });
  }
  if (!rest.length) return;
  numberCard(call, first.uri, 1, views.length);
  let above = call.card;
  rest.forEach((/** @type {Json} */ { view, token, uri }, /** @type {number} */ index) => {
    const further = open(`${call.key}.${index + 2}`, call.server, call.tool, call.values, false);
    above.after(further.card);
    above = further.card;
    further.uri = uri;
    numberCard(further, uri, index + 2, views.length);
    finish(further, { ...outcome, view, token });
  });
  select(call);
  call.card.scrollIntoView({ block: "nearest" });
};

/** Set the id and the View of a call, once they are known. */
export const onBegun = (/** @type {Json} */ { key, id, view, token }) => {
  const call = state.calls.find((each) => each.key === key);
  if (!call) return;
  call.id = id;
  if (!view || call.view) return;
  call.view = view;
  // A result may bring a View that the tool did not link to.
  call.parts.stage.hidden = false;
  call.app.setAttribute("token", token);
  call.app.setAttribute("view", view);
  call.app.setAttribute("src", "/apps");
  expectConnection(call);
};

const finish = (/** @type {Call} */ call, /** @type {Json} */ outcome) => {
  const { parts } = call;
  call.over = true;
  setTimeout(() => call.following?.abort(), GROWTH_TIME);
  onBegun({ key: call.key, ...outcome });
  hideControls(call);
  const { cancelled, failed, unfinished, result } = outcome;
  const isError = Boolean(result?.isError);
  parts.state.textContent =
    cancelled !== undefined
      ? `cancelled: ${cancelled}`
      : failed || unfinished !== undefined
        ? "failed"
        : isError
          ? "the tool failed"
          : "";
  parts.state.className = parts.state.textContent ? "small bad" : "small quiet";
  if (failed || !call.view) parts.stage.hidden = true;
  const blocks = (outcome.model ?? []).map((/** @type {Json} */ block) => block.text ?? pretty(block));
  parts.model.textContent = blocks.length
    ? blocks.join("\n\n")
    : "Nothing: the result has no content, so the model learns nothing from it.";
  parts.seenSize.textContent = blocks.length ? formatBytes(new Blob(blocks).size) : "";
  parts.seen.hidden = !result;
  parts.seen.open = !call.view;
  if (!call.view) call.card.scrollIntoView({ block: "nearest" });
  call.result = result;
  if (failed || unfinished) addProblems(call, { scope: "call", message: failed ?? unfinished });
  const missed = !call.view && result && explainResult(result);
  if (missed) addProblems(call, { scope: "call", ...missed });
  if (isError) explainFailure(call);
  changed("calls");
};

/** Follow the events of a call's `<mcp-app>`. */
const listen = (/** @type {Call} */ call) => {
  const { app, parts } = call;
  app.addEventListener("mcp-message", (/** @type {CustomEvent} */ { detail }) => addMessage(call, detail));
  app.addEventListener(
    "mcp-size",
    (/** @type {CustomEvent} */ { detail }) => (parts.size.textContent = `${app.clientWidth} × ${detail.height}`),
  );
  new ResizeObserver(() => {
    const [, height] = parts.size.textContent.split(" × ");
    if (height && app.clientWidth) parts.size.textContent = `${app.clientWidth} × ${height}`;
  }).observe(app);
  app.addEventListener("mcp-display-mode", (/** @type {CustomEvent} */ { detail }) => (parts.mode.value = detail.mode));
  app.addEventListener("mcp-error", (/** @type {CustomEvent} */ { detail }) => {
    clearTimeout(call.timer);
    call.failed = true;
    // What was wrong with the document before no longer matters: this one is not shown at all.
    clearViewProblems(call);
    const message = explainMissingBuild(detail.reason, state.builds);
    // The element shows the reason itself, which would say something else.
    app.classList.toggle("building", message !== detail.reason);
    addProblems(call, { scope: "view", message });
  });
  app.addEventListener("mcp-load", () => {
    call.failed = false;
    if (call.loaded) restart(call);
    call.loaded = true;
  });
  app.addEventListener("mcp-context", () => changed("model"));
};

const addMessage = (/** @type {Call} */ call, /** @type {Json} */ { from, message }) => {
  const entry = /** @type {Json} */ ({ from, message, at: Date.now(), size: JSON.stringify(message).length });
  if (message.method === undefined && message.id !== undefined) {
    entry.request = messagesSinceLoad(call).findLast(
      (each) => each.message.id === message.id && each.message.method && each.from !== from,
    );
    if (entry.request) entry.took = entry.at - entry.request.at;
  }
  call.messages.push(entry);
  if (call.messages.length > MAX_MESSAGES) call.messages.shift();
  if (message.method === "ui/notifications/initialized" && from === "view") {
    clearTimeout(call.timer);
    call.parts.mode.hidden = false;
    if (call.recorded) compareReplay(call);
  }
  if (message.params?.logger === "fanlight.error") void examine(call);
  changed("messages");
};

/** Try again to show the Views of a server that could not be shown: a file has changed. */
export const retryViews = (/** @type {string} */ server) => {
  for (const call of state.calls.filter((each) => each.failed && each.server === server)) {
    restart(call);
    call.app.reopen();
  }
};

/** Begin again with a View that is reloaded. */
const restart = (/** @type {Call} */ call) => {
  clearViewProblems(call);
  call.messages.push({ at: Date.now(), reloaded: true });
  expectConnection(call);
  void checkBlocked(call);
  changed("messages");
};

const changeMode = async (/** @type {Call} */ { view, app, parts: { mode } }) => {
  await request("mode", { view, mode: mode.value }).catch(notifyError);
  mode.value = app.displayMode;
};

const close = async (/** @type {Call} */ call) => {
  call.parts.state.textContent = "closing …";
  clearTimeout(call.timer);
  if (!call.over) cancelCall(call).catch(() => {});
  if (call.view) await call.app.close();
  const focused = call.card.contains(document.activeElement);
  call.card.remove();
  state.calls = state.calls.filter((each) => each !== call);
  if (state.selected === call) {
    state.selected = state.calls[0];
    state.selected?.card.setAttribute("data-selected", "");
  }
  if (focused) (state.selected?.card ?? document.querySelector("#form button.main"))?.focus();
  changed("calls");
};

/** Close every View, and clear the conversation. */
export const closeAll = async () => {
  const focused = $("conversation").contains(document.activeElement) || document.activeElement === $("close-all");
  await Promise.all(state.calls.map(close));
  for (const message of $("conversation").querySelectorAll(".message")) message.remove();
  if (focused) document.querySelector(/** @type {any} */ ("#form button.main"))?.focus();
};

/** Close the View that has the focus with Delete, and all Views with Shift+Delete. */
export const closeByKey = (/** @type {KeyboardEvent} */ event) => {
  const { key, shiftKey, target } = event;
  if (key !== "Delete" || /** @type {any} */ (target).closest("input, select, textarea, dialog")) return;
  const call = state.calls.find(({ card }) => card.contains(target));
  if (!shiftKey && !call) return;
  event.preventDefault();
  void (shiftKey || !call ? closeAll() : close(call));
};

const select = (/** @type {Call} */ call) => {
  if (state.selected === call) return;
  state.selected?.card.removeAttribute("data-selected");
  state.selected = call;
  call.card.setAttribute("data-selected", "");
  changed("calls");
};

/** Show a message that a View of this page added to the conversation. */
export const onMessage = (/** @type {Json} */ { conversation, role, content }) => {
  if (conversation !== page) return;
  const text = content.map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n");
  putFirst(
    make(
      "p",
      { className: "message" },
      make("span", { className: "small quiet" }, `From a View, as the ${role}: `),
      text,
    ),
  );
};
