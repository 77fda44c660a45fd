// @ts-check
/** The problems of calls: found, kept up to date, and shown above the View and in the panel. */
import { diagnose, findScriptError, placeOfError } from "./diagnose.js";
import { make, notify, request } from "./dom.js";
import { differences } from "./replay.js";
import { changed, findServer, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */
/** @typedef {import("./state.js").Problem} Problem */

// A View has this long to connect.
const CONNECT_LIMIT = 5_500;
// A server's log may arrive after the result of the call.
const LOG_DELAY = 300;
const MAX_LOG_LINES = 80;
// A View has this long to send the messages of a recording.
const REPLAY_TIME = 1_500;

/**
 * Add problems that a call does not have yet.
 * @param {Call} call
 * @param {Problem[]} problems
 */
export const addProblems = (call, ...problems) => {
  const known = new Set(call.problems.map(({ message }) => message));
  call.problems.push(...problems.filter(({ message }) => !known.has(message)));
  draw(call);
};

/** Forget the problems of the document that a View showed before: a new one is loaded. */
export const clearViewProblems = (/** @type {Call} */ call) => {
  call.problems = call.problems.filter(({ scope }) => scope === "call");
  draw(call);
};

const draw = (/** @type {Call} */ call) => {
  call.parts.problems.replaceChildren(...call.problems.map(drawProblem));
  changed("calls");
};

const drawProblem = (/** @type {Problem} */ { message, code, advice }) =>
  make(
    "div",
    { className: "problem" },
    make("p", {}, make("strong", {}, message)),
    code && make("pre", {}, code),
    advice && make("p", {}, advice),
  );

/** Return the content of the panel: the problems of all open calls, those of the selected call first. */
export const drawProblemsPanel = () => {
  const { selected, calls } = state;
  const ordered = [...calls].sort((a, b) => Number(b === selected) - Number(a === selected));
  const found = ordered.filter(({ problems }) => problems.length);
  if (!found.length) return [make("p", { className: "empty" }, "No problems found.")];
  return found.flatMap(({ tool, server, problems }) => [
    make("h3", {}, `${tool.name} (${server})`),
    ...problems.map(drawProblem),
  ]);
};

/** Examine a View that has just been loaded, unless it connects in time. */
export const expectConnection = (/** @type {Call} */ call) => {
  clearTimeout(call.timer);
  call.timer = setTimeout(() => void examine(call), CONNECT_LIMIT);
};

/** Return the messages since the View was last loaded. */
export const messagesSinceLoad = (/** @type {Call} */ { messages }) =>
  messages.slice(messages.findLastIndex(({ reloaded }) => reloaded) + 1);

/** Find out what is wrong with a View that reports an error or does not connect. */
export const examine = async (/** @type {Call} */ call) => {
  const error = findScriptError(messagesSinceLoad(call));
  const source = error && (await findSource(call, error));
  const finding = diagnose(messagesSinceLoad(call), source);
  if (!finding || call.failed || call.problems.some(({ message }) => message === finding.message)) return;
  addProblems(call, { scope: "view", ...finding });
  if (error) {
    const place = placeOfError(error, source);
    void request("view-error", { place, message: error.text.replace(/^Uncaught /, "") }).catch(() => {});
  }
};

/**
 * Return the line of a View's document where a script failed, and its place in the author's files.
 * @param {Call} call
 * @param {Json} error
 */
const findSource = async ({ server, tool, view }, error) => {
  const thrown = error.file || !error.line ? [] : [[error.line, error.column]];
  const positions = [...thrown, ...(error.stack ?? [])];
  if (!positions.length || !tool.view) return undefined;
  try {
    const [{ contents }, place] = await Promise.all([
      request(`resource?server=${encodeURIComponent(server)}&uri=${encodeURIComponent(tool.view)}`),
      request(`place?view=${view}&positions=${positions.map((each) => each.join(":")).join(",")}`),
    ]);
    if (!place.file && error.file) return undefined;
    const [line, column] = place.position ?? positions[0];
    const text = contents[0].text?.split("\n")[line - 1] ?? "";
    return {
      uri: tool.view,
      text: text.slice(Math.max(0, column - 100), column + 100).trim(),
      ...(place.file && { place: [place.file, place.line, place.column].filter(Boolean).join(":") }),
    };
  } catch {
    return undefined;
  }
};

/** Update what the policy of a View has blocked. */
export const checkBlocked = async (/** @type {Call} */ call) => {
  if (!call.view) return;
  const blocked = await request(`blocked?view=${call.view}`).catch(() => []);
  call.problems = [
    ...call.problems.filter(({ scope }) => scope !== "blocked"),
    ...blocked.map((/** @type {Json} */ each) => ({
      scope: "blocked",
      message: `The View's policy blocked ${each.blocked} (${each.directive})${placeOf(each)}`,
      advice: each.fix,
    })),
  ];
  draw(call);
};

/** Update the calls whose View may have caused a violation. */
export const onViolation = (/** @type {Json} */ { server, uri }) => {
  for (const call of state.calls) {
    if (call.server === server && (call.uri ?? call.tool.view ?? uri) === uri) void checkBlocked(call);
  }
};

/** Return where something was blocked: in the author's files, or in the document. */
export const placeOf = (/** @type {Json} */ { place, line, count = 1 }) => {
  const where = place ? `, ${place.file}:${place.line}` : line ? `, line ${line}` : "";
  return count > 1 ? `${where}, ${count} times` : where;
};

/** Explain a result that is an error: with the exception that the tool raised, and with the server's log. */
export const explainFailure = (/** @type {Call} */ call) =>
  setTimeout(async () => {
    const since = (call.began - 100) / 1_000;
    const path = `exceptions?server=${encodeURIComponent(call.server)}&since=${since}`;
    /** @type {Json[]} */
    const [exception, ...causes] = (await request(path).catch(() => [])).reverse();
    const text = call.result?.content?.find((/** @type {Json} */ block) => block.text)?.text ?? "It gave no reason.";
    const log = (findServer(call.server)?.log ?? [])
      .filter((/** @type {Json} */ { at, plain }) => at >= since && plain)
      .map((/** @type {Json} */ { line }) => line);
    const code = [
      exception?.traceback,
      ...causes.map(({ traceback }) => `Caused by ${traceback}`),
      log.slice(-MAX_LOG_LINES).join("\n"),
    ].filter(Boolean);
    addProblems(call, {
      scope: "call",
      message: exception ? `The tool raised ${exception.summary}` : `The tool failed: ${text.slice(0, 500)}`,
      ...(code.length && { code: code.join("\n\n") }),
    });
  }, LOG_DELAY);

/** Compare the messages of a replayed View with the recording. */
export const compareReplay = (/** @type {Call} */ call) =>
  setTimeout(() => {
    const methods = messagesSinceLoad(call)
      .filter(({ from, message }) => from === "view" && message.method)
      .map(({ message }) => message.method);
    const found = differences(call.recorded ?? [], methods);
    notify(
      found.length
        ? "The View sent other messages than in the recording."
        : "The View sent the same messages as in the recording.",
    );
    addProblems(
      call,
      ...found.map((each) => ({ scope: /** @type {const} */ ("view"), message: `Unlike the recording: ${each}` })),
    );
  }, REPLAY_TIME);
