// @ts-check
/** The conversation: each call with its View, what the model sees of it, and what its View said. */
import { diagnose, ofReason, ofResult } from "./diagnose.js";
import { $, ask, make, pretty, say } from "./dom.js";
import { differences } from "./replay.js";
import { layOut, makeGrip, pace } from "./stage.js";
import { changed, on, page, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */

const PATIENCE = 5_000;
const MOST_MESSAGES = 5_000;
const REST = 300;
// So long after its result, a View may still find its size.
const GROWTH = 1_500;
let last = 0;

/**
 * Call a tool and show what comes of it.
 * @param {string} server
 * @param {Json} tool
 * @param {Json} values
 * @param {string} [recording] What to play instead.
 */
export const call = async (server, tool, values, recording) => {
  const key = `${page} ${(last += 1)}`;
  const body = { key, page, server, tool: tool.name };
  const speed = pace();
  const paused = $("paused").checked;
  const began = Date.now();
  // First of all, so that the call is under way while its card is drawn.
  const answered =
    recording === undefined
      ? ask("call", { ...body, arguments: values, ...(speed !== undefined && { speed, paused }) })
      : ask("replay", { ...body, lines: recording });
  const made = begin(key, server, tool, values, recording !== undefined);
  made.began = began;
  try {
    const answer = await answered;
    if (answer.arguments) made.values = answer.arguments;
    if (answer.recorded) made.recorded = answer.recorded;
    finish(made, answer);
    showRest(made, answer);
  } catch (error) {
    finish(made, { failed: /** @type {Error} */ (error).message });
  }
};

/**
 * The card of the next call, hidden: its proxy is loaded and its socket open before there is a View for them.
 * @type {{ card: any, app: any, stage: any } | undefined}
 */
let spare;

const makeSpare = () => {
  const app = make("mcp-app");
  const box = make("div", { className: "easel" }, app);
  const stage = make("div", { className: "stage" }, box, makeGrip(box));
  const card = make("article", { className: "spare", inert: true, tabIndex: -1 }, stage);
  putFirst(card);
  return { card, app, stage };
};

const takeSpare = () => {
  const taken = spare ?? makeSpare();
  spare = undefined;
  return taken;
};

/** Put something at the top of the conversation, under the card that is not part of it yet. @param {any} element */
const putFirst = (element) => {
  if (spare) spare.card.after(element);
  else $("conversation").prepend(element);
};

/** Make ready for the next call. */
export const prepare = () => {
  if (spare) return;
  spare = makeSpare();
  layOut(spare.app);
  spare.app.setAttribute("src", "/apps");
};

/** @type {any} */
let warm;

/** Let the browser have a process for the View of a tool that may be called next. @param {Json} tool */
export const expect = ({ label }) => {
  const { origin, port, protocol } = location;
  const src = label && `${protocol}//${label}.sandbox.localhost:${port}/warm?host=${encodeURIComponent(origin)}`;
  if (warm?.src === src) return;
  warm?.remove();
  warm = src && make("iframe", { hidden: true, sandbox: "allow-same-origin", title: "", src });
  if (warm) document.body.append(warm);
};

/**
 * @param {string} key
 * @param {string} server
 * @param {Json} tool
 * @param {Json} values
 * @param {boolean} replayed
 * @returns {Call}
 */
const begin = (key, server, tool, values, replayed) => {
  const { card, app, stage } = tool.view ? takeSpare() : makeSpare();
  card.className = "card";
  card.inert = false;
  card.ariaLabel = `${tool.name} (${server})`;
  /** @type {Call} */
  const made = { key, server, tool, values, app, card, messages: [], problems: [], began: Date.now() };
  const parts = {
    state: make("span", { className: "small quiet" }, "running …"),
    size: make("span", { className: "small quiet size" }),
    mode: make(
      "select",
      { "aria-label": "Display mode", title: "Display mode", hidden: true },
      ...["inline", "fullscreen", "pip"].map((mode) => make("option", {}, mode)),
    ),
    again: make(
      "button",
      { type: "button", className: "plain", title: "Call it again with the same arguments" },
      "Again",
    ),
    close: make("button", { type: "button", className: "plain", "aria-label": `Close ${tool.name}` }, "✕"),
    stream: make("div", { className: "stream", hidden: true }),
    problems: make("div", { className: "problems", role: "alert" }),
    stage,
    model: make("pre"),
    seen: make("details", { hidden: true }),
  };
  parts.seen.append(make("summary", {}, "What the model sees"), parts.model);
  stage.hidden = !tool.view;
  // Around the stage, which stays where it is: a frame that is moved is loaded anew.
  stage.before(
    make(
      "header",
      {},
      make("strong", {}, tool.name),
      make("span", { className: "mark" }, server),
      replayed && make("span", { className: "mark warn" }, "replay"),
      parts.state,
      make("span", { className: "gap" }),
      parts.size,
      parts.mode,
      parts.again,
      parts.close,
    ),
    parts.stream,
    parts.problems,
  );
  stage.after(parts.seen);
  /** @type {any} */ (made).parts = parts;
  parts.close.title = "Close (Delete); all of them: Shift and Delete";
  parts.again.onclick = () => call(server, tool, made.values);
  parts.close.onclick = () => close(made);
  parts.mode.onchange = () => changeMode(made, parts.mode);
  card.onfocusin = card.onclick = () => show(made);
  state.calls.unshift(made);
  watch(made);
  layOut(app);
  drawStream(made);
  if (tool.view) app.setAttribute("src", "/apps");
  show(made);
  follow(made);
  app.addEventListener("mcp-size", () => setTimeout(prepare, REST), { once: true });
  card.scrollIntoView({ block: "nearest" });
  return made;
};

/** Keep a card in sight while its View grows, unless the user goes elsewhere. */
const follow = (/** @type {any} */ made) => {
  made.following = new AbortController();
  const { signal } = made.following;
  made.app.addEventListener("mcp-size", () => made.card.scrollIntoView({ block: "nearest" }), { signal });
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(kind, () => made.following.abort(), { signal });
  }
};

/** Give each further View that a result brings a card of its own, below the first. */
const showRest = (/** @type {Call} */ made, /** @type {Json} */ { views = [], ...answer }) => {
  const [first, ...rest] = views;
  const brought = (answer.result?.content ?? []).filter((/** @type {Json} */ { resource }) =>
    `${resource?.uri}`.startsWith("ui://"),
  ).length;
  if (first && !made.tool.view && brought > views.length) {
    const shown = `${views.length} of them ${views.length === 1 ? "is" : "are"} shown`;
    made.problems.push({
      what: `The result brings ${brought} Views, and ${shown}.`,
      todo: "A URI is one View; and no more are opened than the host's limit, result_views.",
    });
    drawProblems(made);
  }
  if (!rest.length) return;
  const name = (/** @type {any} */ { card, parts }, /** @type {string} */ uri, /** @type {number} */ number) => {
    parts.state.before(make("span", { className: "mark" }, `View ${number} of ${views.length}: ${uri}`));
    card.setAttribute("aria-label", `${made.tool.name} (${made.server}), View ${number}`);
  };
  name(made, first.uri, 1);
  let { card } = made;
  rest.forEach((/** @type {Json} */ { view, uri }, /** @type {number} */ index) => {
    const other = begin(`${made.key}.${index + 2}`, made.server, made.tool, made.values, false);
    card.after(other.card);
    ({ card } = other);
    name(other, uri, index + 2);
    finish(other, { ...answer, view });
  });
  show(made);
  made.card.scrollIntoView({ block: "nearest" });
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
  setTimeout(() => made.following.abort(), GROWTH);
  $("pace").removeEventListener("input", made.onPace);
  opened({ key: made.key, ...answer });
  parts.stream.hidden = true;
  const failed = answer.failed ?? (answer.result?.isError && "the tool failed");
  parts.state.textContent =
    answer.cancelled !== undefined
      ? `cancelled: ${answer.cancelled}`
      : failed || (answer.unfinished !== undefined ? "failed" : "");
  parts.state.className = parts.state.textContent ? "small bad" : "small quiet";
  if (answer.failed || !made.view) parts.stage.hidden = true;
  const blocks = (answer.model ?? []).map((/** @type {Json} */ block) => block.text ?? pretty(block));
  parts.model.textContent = blocks.length
    ? blocks.join("\n\n")
    : "Nothing: the result has no content. A model learns nothing from it.";
  parts.seen.hidden = !answer.result;
  parts.seen.open = !made.view;
  if (!made.view) made.card.scrollIntoView({ block: "nearest" });
  made.result = answer.result;
  if (answer.failed || answer.unfinished) {
    made.problems.push({ ...ofReason(answer.failed ?? answer.unfinished), ofCall: true });
  }
  const missed = !made.view && answer.result && ofResult(answer.result);
  if (missed) made.problems.push({ ...missed, ofCall: true });
  if (answer.result?.isError) setTimeout(() => tellFailure(made), 300);
  drawProblems(made);
  changed("calls");
};

/** A tool that failed: what it said, and what its server wrote meanwhile. */
const tellFailure = (/** @type {Call} */ made) => {
  const log = state.servers.find(({ name }) => name === made.server)?.log ?? [];
  const lines = log
    .filter((/** @type {Json} */ { at }) => at * 1_000 >= made.began - 100)
    .map((/** @type {Json} */ { line }) => line);
  const words = made.result?.content?.find((/** @type {Json} */ { text }) => text)?.text ?? "It gave no reason.";
  made.problems.push({
    ofCall: true,
    what: `The tool failed: ${words.slice(0, 500)}`,
    ...(lines.length && { code: lines.slice(-80).join("\n") }),
  });
  drawProblems(made);
};

/** How much of what a View wanted its policy blocked. */
const countBlocked = async (/** @type {any} */ made) => {
  const records = await ask(`audit?view=${made.view}`).catch(() => []);
  made.blocked = records.filter(
    (/** @type {Json} */ { kind, outcome }) => kind === "violation" && outcome === "blocked",
  ).length;
  if (made.blocked) changed("calls");
};

const watch = (/** @type {any} */ made) => {
  const { app, parts } = made;
  app.addEventListener("mcp-message", (/** @type {CustomEvent} */ { detail }) => {
    const { from, message } = detail;
    const entry = /** @type {Json} */ ({ from, message, at: Date.now(), size: JSON.stringify(message).length });
    if (message.method === undefined && message.id !== undefined) {
      entry.of = sinceLoaded(made).findLast(
        (/** @type {Json} */ each) => each.message.id === message.id && each.message.method && each.from !== from,
      );
      if (entry.of) entry.took = entry.at - entry.of.at;
    }
    made.messages.push(entry);
    if (made.messages.length > MOST_MESSAGES) made.messages.shift();
    if (message.method === "ui/notifications/initialized" && from === "view") {
      clearTimeout(made.timer);
      parts.mode.hidden = false;
      for (const delay of [1_000, 4_000, 15_000]) setTimeout(() => made.card.isConnected && countBlocked(made), delay);
      if (made.recorded) setTimeout(() => compare(made), 1_500);
    }
    if (message.params?.logger === "fanlight.error") void examine(made);
    changed("messages");
  });
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
    clearTimeout(made.timer);
    made.failed = true;
    made.problems.push(ofReason(detail.reason));
    drawProblems(made);
  });
  app.addEventListener("mcp-load", () => {
    made.failed = false;
    if (made.loaded) begunAnew(made);
    made.loaded = true;
  });
  app.addEventListener("mcp-context", () => changed("model"));
};

/** Show the Views of a server again that could not be shown: something has changed. @param {string} server */
export const retry = (server) => {
  for (const made of state.calls.filter((each) => each.failed && each.server === server)) {
    begunAnew(made);
    // An element that is put in its place again begins anew.
    made.app.parentElement.append(made.app);
  }
};

/** A View that is loaded again begins anew: what was wrong with it before may be mended. */
const begunAnew = (/** @type {any} */ made) => {
  made.problems = made.problems.filter((/** @type {Json} */ { ofCall }) => ofCall);
  made.messages.push({ at: Date.now(), again: true });
  clearTimeout(made.timer);
  made.timer = setTimeout(() => examine(made), PATIENCE + 500);
  drawProblems(made);
  changed("messages");
};

/** What passed since the View was loaded last. */
const sinceLoaded = (/** @type {Call} */ { messages }) =>
  messages.slice(messages.findLastIndex(({ again }) => again) + 1);

/** Say which step is missing when a View stays blank. */
const examine = async (/** @type {Call} */ made) => {
  const records = made.view ? await ask(`audit?view=${made.view}`).catch(() => []) : [];
  const messages = sinceLoaded(made);
  const failure = messages.findLast(({ message }) => message.params?.logger === "fanlight.error");
  const source = failure ? await sourceLine(made, failure.message.params.data) : undefined;
  const found = diagnose(messages, records, source).filter(
    ({ what }) => !made.problems.some((each) => each.what === what),
  );
  made.problems.push(...found);
  drawProblems(made);
};

/**
 * The line of a View's document where something went wrong, and where that is in the author's files.
 * @param {Call} made
 * @param {Json} data
 */
const sourceLine = async ({ server, tool, view }, { file, line, column }) => {
  if (file || !line || !tool.view) return undefined;
  try {
    const [{ contents }, place] = await Promise.all([
      ask(`resource?server=${encodeURIComponent(server)}&uri=${encodeURIComponent(tool.view)}`),
      ask(`place?view=${view}&line=${line}&column=${column}`),
    ]);
    const text = contents[0].text?.split("\n")[line - 1] ?? "";
    return {
      uri: tool.view,
      text: text.slice(Math.max(0, column - 100), column + 100).trim(),
      ...(place.file && { place: `${place.file}:${place.line}` }),
    };
  } catch {
    return undefined;
  }
};

const compare = (/** @type {Call} */ made) => {
  const now = sinceLoaded(made)
    .filter(({ from, message }) => from === "view" && message.method)
    .map(({ message }) => message.method);
  const found = differences(made.recorded ?? [], now);
  made.problems.push(...(found.length ? found.map((what) => ({ what: `Unlike then: ${what}` })) : []));
  say(
    found.length
      ? "The View says other things than when it was recorded."
      : "The View said the same as when it was recorded.",
  );
  drawProblems(made);
};

const drawProblems = (/** @type {any} */ made) => {
  made.parts.problems.replaceChildren(
    ...made.problems.map((/** @type {Json} */ { what, code, todo }) =>
      make("p", {}, make("strong", {}, what), code && make("code", {}, code), todo && make("span", {}, ` ${todo}`)),
    ),
  );
  changed("calls");
};

/** What stands above a View while its call is under way. */
const drawStream = (/** @type {any} */ made) => {
  const speed = pace();
  if (speed === undefined || isDown(made)) {
    drawWaiting(made);
    setTimeout(() => !made.over && (made.parts.stream.hidden = false), 400);
    if (speed === undefined) return;
    made.onUp = () => drawWriting(made);
    return;
  }
  drawWriting(made);
};

const serverState = (/** @type {Call} */ made) => state.servers.find(({ name }) => name === made.server)?.status.state;

const isDown = (/** @type {Call} */ made) => !made.id && serverState(made) !== "ready";

const cancelButton = (/** @type {any} */ made) =>
  make(
    "button",
    {
      type: "button",
      onclick: () =>
        void ask("cancel", made.id ? { id: made.id } : { key: made.key }).catch((error) => say(error.message)),
    },
    "Cancel",
  );

/** What a call waits for: its tool, or a server that is not there. */
const drawWaiting = (/** @type {any} */ made) => {
  const starting = serverState(made) === "connecting";
  const bad = isDown(made) && !starting;
  const again = make(
    "button",
    {
      type: "button",
      onclick: () => void ask("reconnect", { server: made.server }).catch((error) => say(error.message)),
    },
    "Connect again",
  );
  let words = "The tool runs.";
  if (bad) {
    words =
      `The server ${made.server} is down, and the call waits for it. ` +
      "What it said is with the server; mend it and save the file, or connect again.";
  } else if (isDown(made)) {
    words = `The call waits for the server ${made.server}, which is starting.`;
  }
  if (made.parts.stream.textContent.startsWith(words)) return;
  made.parts.stream.replaceChildren(
    make("span", { className: bad ? "small bad" : "small quiet" }, words),
    ...(bad ? [again] : []),
    cancelButton(made),
  );
};

on(["servers"], () => {
  for (const made of /** @type {any[]} */ (state.calls)) {
    if (made.over || made.waited) continue;
    made.waited = Boolean(made.id);
    if (made.waited && made.onUp) made.onUp();
    else if (made.waited || isDown(made)) drawWaiting(made);
  }
});

/** The controls of arguments that are being written. */
const drawWriting = (/** @type {any} */ made) => {
  made.waited = true;
  const change = (/** @type {Json} */ body) =>
    made.id &&
    !made.over &&
    ask("stream", { id: made.id, ...body }).then(
      ({ sent, total }) => (words.textContent = `${Math.min(sent, total)} of ${total} characters`),
      () => {},
    );
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
  const cancel = cancelButton(made);
  made.onPace = () => void change({ speed: pace() ?? 100_000 });
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
  if (!made.over) ask("cancel", made.id ? { id: made.id } : { key: made.key }).catch(() => {});
  if (made.view) await made.app.close();
  const focused = made.card.contains(document.activeElement);
  made.card.remove();
  state.calls = state.calls.filter((each) => each !== made);
  if (state.shown === made) {
    state.shown = state.calls[0];
    state.shown?.card.setAttribute("data-chosen", "");
  }
  if (focused) (state.shown?.card ?? document.querySelector("#form button.main"))?.focus();
  changed("calls");
};

/** Close every View of the conversation, and clear it. */
export const closeAll = async () => {
  const focused = $("conversation").contains(document.activeElement) || document.activeElement === $("close-all");
  await Promise.all(state.calls.map(close));
  for (const message of $("conversation").querySelectorAll(".message")) message.remove();
  if (focused) document.querySelector(/** @type {any} */ ("#form button.main"))?.focus();
};

/** Close the View that has the focus with Delete, and all with Shift and Delete. */
export const closeByKey = (/** @type {KeyboardEvent} */ event) => {
  const { key, shiftKey, target } = event;
  if (key !== "Delete" || /** @type {any} */ (target).closest("input, select, textarea, dialog")) return;
  const made = state.calls.find(({ card }) => card.contains(target));
  if (!shiftKey && !made) return;
  event.preventDefault();
  void (shiftKey ? closeAll() : close(made));
};

export const show = (/** @type {Call} */ made) => {
  if (state.shown === made) return;
  state.shown?.card.removeAttribute("data-chosen");
  state.shown = made;
  made.card.setAttribute("data-chosen", "");
  changed("calls");
};

/** Put what a View of this page said into the conversation. @param {Json} message */
export const heard = ({ conversation, role, content }) => {
  if (conversation !== page) return;
  const words = content.map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n");
  putFirst(
    make(
      "p",
      { className: "message" },
      make("span", { className: "small quiet" }, `A View said, as the ${role}: `),
      words,
    ),
  );
};
