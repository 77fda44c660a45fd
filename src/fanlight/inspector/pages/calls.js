// @ts-check
/** The conversation: each call with its View, what the model sees of it, and what its View said. */
import { diagnose, ofReason } from "./diagnose.js";
import { $, ask, make, pretty, say } from "./dom.js";
import { differences } from "./replay.js";
import { layOut, makeGrip, pace } from "./stage.js";
import { changed, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */

const PATIENCE = 5_000;
const MOST_MESSAGES = 5_000;
let last = 0;

/**
 * Call a tool and show what comes of it.
 * @param {string} server
 * @param {Json} tool
 * @param {Json} values
 * @param {string} [recording] What to play instead.
 */
export const call = async (server, tool, values, recording) => {
  const key = String((last += 1));
  const body = { key, server, tool: tool.name };
  const speed = pace();
  const paused = $("paused").checked;
  // First of all, so that the call is under way while its card is drawn.
  const answered = recording === undefined
    ? ask("call", { ...body, arguments: values, ...(speed !== undefined && { pace: speed, paused }) })
    : ask("replay", { ...body, lines: recording });
  const made = begin(key, server, tool, values, recording !== undefined);
  try {
    const answer = await answered;
    if (answer.arguments) made.values = answer.arguments;
    if (answer.said) made.said = answer.said;
    finish(made, answer);
  } catch (error) {
    finish(made, { failed: /** @type {Error} */ (error).message });
  }
};

/** @param {string} key @param {string} server @param {Json} tool @param {Json} values @param {boolean} replayed @returns {Call} */
const begin = (key, server, tool, values, replayed) => {
  const app = make("mcp-app");
  const box = make("div", { className: "easel" }, app);
  const grip = makeGrip(box);
  const card = make("article", { className: "card", tabIndex: -1, "aria-label": `${tool.name} (${server})` });
  /** @type {Call} */
  const made = { key, server, tool, values, app, card, messages: [], problems: [], began: Date.now() };
  const parts = {
    state: make("span", { className: "small quiet" }, "running …"),
    size: make("span", { className: "small quiet size" }),
    mode: make("select", { "aria-label": "Display mode", title: "Display mode", hidden: true }, ...["inline", "fullscreen", "pip"].map((mode) => make("option", {}, mode))),
    again: make("button", { type: "button", className: "plain", title: "Call it again with the same arguments" }, "Again"),
    close: make("button", { type: "button", className: "plain", "aria-label": `Close ${tool.name}` }, "✕"),
    stream: make("div", { className: "stream", hidden: true }),
    problems: make("div", { className: "problems", role: "alert" }),
    stage: make("div", { className: "stage", hidden: !tool.view }, box, grip),
    model: make("pre"),
    seen: make("details", { hidden: true }),
  };
  parts.seen.append(make("summary", {}, "What the model sees"), parts.model);
  card.append(
    make("header", {}, make("strong", {}, tool.name), make("span", { className: "mark" }, server), replayed && make("span", { className: "mark warn" }, "replay"), parts.state, make("span", { className: "gap" }), parts.size, parts.mode, parts.again, parts.close),
    parts.stream,
    parts.problems,
    parts.stage,
    parts.seen,
  );
  /** @type {any} */ (made).parts = parts;
  parts.again.onclick = () => call(server, tool, made.values);
  parts.close.onclick = () => close(made);
  parts.mode.onchange = () => changeMode(made, parts.mode);
  card.onfocusin = card.onclick = () => show(made);
  state.calls.unshift(made);
  $("conversation").prepend(card);
  watch(made);
  layOut(app);
  drawStream(made);
  if (tool.view) app.setAttribute("src", "/apps");
  show(made);
  app.addEventListener("mcp-size", () => card.scrollIntoView({ block: "nearest" }), { once: true });
  card.scrollIntoView({ block: "nearest" });
  return made;
};

/** Take note of a call's id and View. @param {Json} event */
export const opened = ({ key, id, view }) => {
  const made = state.calls.find((each) => each.key === key);
  if (!made) return;
  made.id = id;
  if (!view || made.view) return;
  made.view = view;
  // A result may bring a View that the tool did not promise.
  /** @type {any} */ (made).parts.stage.hidden = false;
  made.app.setAttribute("view", view);
  made.app.setAttribute("src", "/apps");
  made.timer = setTimeout(() => examine(made), PATIENCE + 500);
};

const finish = (/** @type {any} */ made, /** @type {Json} */ answer) => {
  const { parts } = made;
  made.over = true;
  $("pace").removeEventListener("input", made.onPace);
  opened({ key: made.key, ...answer });
  parts.stream.hidden = true;
  const failed = answer.failed ?? (answer.result?.isError && "the tool failed");
  parts.state.textContent = answer.cancelled !== undefined ? `cancelled: ${answer.cancelled}` : failed || (answer.unfinished !== undefined ? "failed" : "");
  parts.state.className = parts.state.textContent ? "small bad" : "small quiet";
  if (answer.failed) parts.stage.hidden = true;
  const blocks = (answer.model ?? []).map((/** @type {Json} */ block) => block.text ?? pretty(block));
  parts.model.textContent = blocks.length ? blocks.join("\n\n") : "Nothing: the result has no content. A model learns nothing from it.";
  parts.seen.hidden = !answer.result;
  parts.seen.open = !made.view;
  if (!made.view) made.card.scrollIntoView({ block: "nearest" });
  made.result = answer.result;
  if (answer.failed || answer.unfinished) made.problems.push(ofReason(answer.failed ?? answer.unfinished));
  if (answer.result?.isError) setTimeout(() => tellFailure(made), 300);
  drawProblems(made);
  changed("calls");
};

/** A tool that failed: what it said, and what its server wrote meanwhile. */
const tellFailure = (/** @type {Call} */ made) => {
  const log = state.servers.find(({ name }) => name === made.server)?.log ?? [];
  const lines = log.filter((/** @type {Json} */ { at }) => at * 1_000 >= made.began - 100).map((/** @type {Json} */ { line }) => line);
  const words = made.result?.content?.find((/** @type {Json} */ { text }) => text)?.text ?? "It gave no reason.";
  made.problems.push({ what: `The tool failed: ${words.slice(0, 500)}`, ...(lines.length && { code: lines.slice(-80).join("\n") }) });
  drawProblems(made);
};

/** How much of what a View wanted its policy blocked. */
const countBlocked = async (/** @type {any} */ made) => {
  const records = await ask(`audit?view=${made.view}`).catch(() => []);
  made.blocked = records.filter((/** @type {Json} */ { kind, outcome }) => kind === "violation" && outcome === "blocked").length;
  if (made.blocked) changed("calls");
};

const watch = (/** @type {any} */ made) => {
  const { app, parts } = made;
  app.addEventListener("mcp-message", (/** @type {CustomEvent} */ { detail }) => {
    const { from, message } = detail;
    const entry = /** @type {Json} */ ({ from, message, at: Date.now(), size: JSON.stringify(message).length });
    if (message.method === undefined && message.id !== undefined) {
      entry.of = made.messages.findLast((/** @type {Json} */ each) => each.message.id === message.id && each.message.method && each.from !== from);
      if (entry.of) entry.took = entry.at - entry.of.at;
    }
    made.messages.push(entry);
    if (made.messages.length > MOST_MESSAGES) made.messages.shift();
    if (message.method === "ui/notifications/initialized" && from === "view") {
      clearTimeout(made.timer);
      parts.mode.hidden = false;
      for (const delay of [1_000, 4_000, 15_000]) setTimeout(() => made.card.isConnected && countBlocked(made), delay);
      if (made.said) setTimeout(() => compare(made), 1_500);
    }
    if (message.params?.logger === "fanlight.error") void examine(made);
    changed("messages");
  });
  app.addEventListener("mcp-size", (/** @type {CustomEvent} */ { detail }) => (parts.size.textContent = `${app.clientWidth} × ${detail.height}`));
  new ResizeObserver(() => {
    const [, height] = parts.size.textContent.split(" × ");
    if (height && app.clientWidth) parts.size.textContent = `${app.clientWidth} × ${height}`;
  }).observe(app);
  app.addEventListener("mcp-display-mode", (/** @type {CustomEvent} */ { detail }) => (parts.mode.value = detail.mode));
  app.addEventListener("mcp-error", (/** @type {CustomEvent} */ { detail }) => {
    clearTimeout(made.timer);
    made.problems.push(ofReason(detail.reason));
    drawProblems(made);
  });
  app.addEventListener("mcp-context", () => changed("model"));
};

/** Say which step is missing when a View stays blank. */
const examine = async (/** @type {Call} */ made) => {
  const records = made.view ? await ask(`audit?view=${made.view}`).catch(() => []) : [];
  const failure = made.messages.findLast(({ message }) => message.params?.logger === "fanlight.error");
  const source = failure ? await sourceLine(made, failure.message.params.data) : undefined;
  const found = diagnose(made.messages, records, source).filter(({ what }) => !made.problems.some((each) => each.what === what));
  made.problems.push(...found);
  drawProblems(made);
};

/** The line of a View's document where something went wrong, and where that is in the author's files. @param {Call} made @param {Json} data */
const sourceLine = async ({ server, tool, view }, { file, line, column }) => {
  if (file || !line || !tool.view) return undefined;
  try {
    const [{ contents }, place] = await Promise.all([
      ask(`resource?server=${encodeURIComponent(server)}&uri=${encodeURIComponent(tool.view)}`),
      ask(`place?view=${view}&line=${line}&column=${column}`),
    ]);
    const text = contents[0].text?.split("\n")[line - 1] ?? "";
    return { uri: tool.view, text: text.slice(Math.max(0, column - 100), column + 100).trim(), ...(place.file && { place: `${place.file}:${place.line}` }) };
  } catch {
    return undefined;
  }
};

const compare = (/** @type {Call} */ made) => {
  const now = made.messages.filter(({ from, message }) => from === "view" && message.method).map(({ message }) => message.method);
  const found = differences(made.said ?? [], now);
  made.problems.push(...(found.length ? found.map((what) => ({ what: `Unlike then: ${what}` })) : []));
  say(found.length ? "The View says other things than when it was recorded." : "The View said the same as when it was recorded.");
  drawProblems(made);
};

const drawProblems = (/** @type {any} */ made) => {
  made.parts.problems.replaceChildren(...made.problems.map((/** @type {Json} */ { what, code, todo }) => make("p", {}, make("strong", {}, what), code && make("code", {}, code), todo && make("span", {}, ` ${todo}`))));
  changed("calls");
};

/** The controls of arguments that are being written. */
const drawStream = (/** @type {any} */ made) => {
  const speed = pace();
  if (speed === undefined) {
    const cancel = make("button", { type: "button", onclick: () => made.id && ask("cancel", { id: made.id }) }, "Cancel");
    made.parts.stream.replaceChildren(make("span", { className: "small quiet" }, "The tool runs."), cancel);
    setTimeout(() => !made.over && (made.parts.stream.hidden = false), 400);
    return;
  }
  const change = (/** @type {Json} */ body) => made.id && !made.over && ask("stream", { id: made.id, ...body }).then(({ written, of }) => (words.textContent = `${Math.min(written, of)} of ${of} characters`), () => {});
  const words = make("span", { className: "small quiet" }, "writing the arguments …");
  const paused = $("paused").checked;
  const pause = make("button", { type: "button" }, paused ? "Go on" : "Pause");
  pause.onclick = () => {
    const pausing = pause.textContent === "Pause";
    pause.textContent = pausing ? "Go on" : "Pause";
    void change({ paused: pausing });
  };
  const step = make("button", { type: "button" }, "Step");
  step.onclick = () => {
    pause.textContent = "Go on";
    void change({ paused: true, steps: 1 });
  };
  const cancel = make("button", { type: "button", onclick: () => made.id && ask("cancel", { id: made.id }) }, "Cancel");
  made.onPace = () => void change({ pace: pace() ?? 100_000 });
  $("pace").addEventListener("input", made.onPace);
  made.parts.stream.replaceChildren(pause, step, cancel, words);
  made.parts.stream.hidden = false;
};

const changeMode = async (/** @type {Call} */ made, /** @type {any} */ mode) => {
  try {
    await ask("mode", { view: made.view, mode: mode.value });
  } catch (error) {
    say(/** @type {Error} */ (error).message);
  }
  mode.value = made.app.displayMode;
};

const close = async (/** @type {any} */ made) => {
  made.parts.state.textContent = "closing …";
  clearTimeout(made.timer);
  if (made.view) await made.app.close();
  made.card.remove();
  state.calls = state.calls.filter((each) => each !== made);
  if (state.shown === made) {
    state.shown = state.calls[0];
    state.shown?.card.setAttribute("data-chosen", "");
  }
  changed("calls");
};

export const show = (/** @type {Call} */ made) => {
  if (state.shown === made) return;
  state.shown?.card.removeAttribute("data-chosen");
  state.shown = made;
  made.card.setAttribute("data-chosen", "");
  changed("calls");
};

/** Put what a View said into the conversation. @param {Json} message */
export const heard = ({ role, content }) => {
  const words = content.map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n");
  $("conversation").prepend(make("p", { className: "message" }, make("span", { className: "small quiet" }, `A View said, as the ${role}: `), words));
};
