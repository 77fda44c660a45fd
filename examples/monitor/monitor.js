import { App } from "fanlight";

const EVERY = 1000; // milliseconds between two reads
const KEPT = 800; // lines in memory
const ROWS = 300; // lines in the page
const SLOT = 5; // seconds of one bar
const SLOTS = 12;
const LEVELS = ["info", "warning", "error"];
const [pause, full, rates, alarm, ask, level, contains, log, newest, status] =
  "pause,full,rates,alarm,ask,level,contains,log,newest,status".split(",").map((id) => document.getElementById(id));
const app = new App({ name: "Monitor", version: "1.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] });

let lines = []; // the newest last; `missed` counts what was lost before a line
let cursor = -1;
let limit = Infinity;
let unseen = 0; // lines below the part of the log that the user reads
let following = true;
let paused = false;
let onScreen = true;
let ended = false;
let reading = false;
let known = false; // whether a result has come
let timer;

const say = (text, isError) => {
  if (status.textContent !== text) status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const number = (value) => value.toLocaleString(app.getHostContext()?.locale);
const time = (at) => new Date(at).toLocaleTimeString(app.getHostContext()?.locale, { hour12: false });
const second = (line) => Date.parse(line.at) / 1000;
const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

// The log

const fits = (line) =>
  LEVELS.indexOf(line.level) >= LEVELS.indexOf(level.value) &&
  `${line.source} ${line.text}`.toLowerCase().includes(contains.value.trim().toLowerCase());
const row = (line) => {
  const made = element(
    "li",
    {},
    element("time", { dateTime: line.at, textContent: time(line.at) }),
    element("i", { textContent: line.level }),
    element("span", { textContent: line.source }),
    element("span", { className: "text", textContent: line.text }),
  );
  made.dataset.level = line.level;
  return made;
};
const gap = (missed) =>
  element("li", { className: "gap", textContent: `${number(missed)} lines were dropped meanwhile` });
const rows = (some) =>
  some.flatMap((line) => [...(line.missed ? [gap(line.missed)] : []), ...(fits(line) ? [row(line)] : [])]);
const settle = () => {
  while (log.children.length > ROWS) log.firstChild.remove();
  if (following) log.scrollTop = log.scrollHeight;
  newest.hidden = following || !unseen;
  newest.textContent = unseen === 1 ? "1 new line" : `${number(unseen)} new lines`;
};
const refill = () => {
  log.replaceChildren(...rows(lines).slice(-ROWS));
  following = true;
  unseen = 0;
  settle();
};
const add = ({ lines: more, cursor: next, missed }) => {
  cursor = next;
  if (missed && more.length) more[0].missed = missed;
  lines = [...lines, ...more].slice(-KEPT);
  const added = rows(more);
  log.append(...added);
  if (!following) unseen += added.length;
  settle();
  draw();
};

// Sparklines and the alert

const svg = (tag, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const slot = (line) => Math.floor(second(line) / SLOT);
const counts = (some, last) => {
  const found = Array(SLOTS).fill(0);
  for (const line of some) if (slot(line) > last - SLOTS) found[slot(line) - last + SLOTS - 1] += 1;
  return found;
};
const spark = (values, name, threshold) => {
  const top = Math.max(...values, threshold ?? 0, 1) * 1.1;
  const height = (value) => (value / top) * 40;
  const chart = svg("svg", { viewBox: `0 0 ${SLOTS * 10} 40`, preserveAspectRatio: "none", role: "img" });
  chart.setAttribute("aria-label", `${name} every ${SLOT} seconds, oldest first: ${values.join(", ")}`);
  values.forEach((value, index) => {
    const [y, tall] = [40 - height(value), height(value)].map((size) => size.toFixed(1));
    chart.append(svg("rect", { x: index * 10 + 1, y, width: 8, height: tall }));
  });
  if (threshold) {
    const y = (40 - height(threshold)).toFixed(1);
    chart.append(svg("line", { x1: 0, x2: SLOTS * 10, y1: y, y2: y }));
  }
  return chart;
};
const draw = () => {
  if (!lines.length) return;
  const last = slot(lines.at(-1));
  const tiles = [
    ["Orders paid", lines.filter((line) => line.text.includes(" paid ")), "info"],
    ["Warnings", lines.filter((line) => line.level === "warning"), "warning"],
    ["Errors", lines.filter((line) => line.level === "error"), "error", limit],
  ].map(([name, some, kind, threshold]) => {
    const values = counts(some, last);
    const total = element("b", { textContent: number(values.reduce((sum, value) => sum + value, 0)) });
    const label = element("span", { className: "quiet", textContent: name });
    const tile = element("li", {}, element("p", {}, label, total), spark(values, name, threshold));
    tile.dataset.level = kind;
    return tile;
  });
  rates.replaceChildren(...tiles);
  watch(last);
};
const errorsSince = (start) => lines.filter((line) => line.level === "error" && slot(line) >= start);
const watch = (last) => {
  // The newest slot is not complete, so the one before counts, too.
  const most = Math.max(...counts(errorsSince(last - 1), last));
  if (most > limit === Boolean(alarm.textContent)) return;
  alarm.textContent = most > limit ? `Alert: more than ${limit} errors in ${SLOT} seconds` : "";
  tell(most > limit ? `Alert in the log of the shop: ${describe()}` : "The alert in the log of the shop is over.");
};
const describe = () => {
  const recent = errorsSince(slot(lines.at(-1)) - 2);
  const latest = recent.slice(-5).map((line) => `${line.at.slice(11, 19)} UTC ${line.source}: ${line.text}`);
  return [`${recent.length} errors within ${3 * SLOT} seconds. The latest:`, ...latest].join("\n");
};
// Hosts may reject this request.
const tell = (text) => app.updateModelContext({ content: [{ type: "text", text }] }).catch(() => {});
ask.onclick = async () => {
  const text = `What happened in the shop? ${describe()}`;
  await app
    .sendMessage({ role: "user", content: [{ type: "text", text }] })
    .catch((error) => say(`The question was not sent: ${error.message}`, true));
};

// Reading: one page at a time, from where the last one ended

const live = () => known && !paused && !ended && onScreen && !document.hidden;
const read = async () => {
  if (reading || !live()) return;
  reading = true;
  let soon = false;
  try {
    const { structuredContent, content, isError } = await app.callServerTool({
      name: "read_log",
      arguments: { cursor },
    });
    if (isError) throw new Error(content[0].text);
    if (ended) return;
    add(structuredContent);
    soon = structuredContent.more;
    say(soon ? "Catching up…" : "Live");
  } catch (error) {
    paused = true;
    say(`Paused: ${error.message}`, true);
  } finally {
    reading = false;
    plan(soon ? 0 : EVERY);
  }
};
const plan = (wait) => {
  clearTimeout(timer);
  pause.textContent = paused ? "Resume" : "Pause";
  if (live()) timer = setTimeout(read, wait);
};
pause.onclick = () => {
  paused = !paused;
  say(paused ? "Paused. The log goes on, and is read from here when you resume." : "Live");
  plan(0);
};
document.addEventListener("visibilitychange", () => plan(0));
new IntersectionObserver(([{ isIntersecting }]) => {
  if (isIntersecting === onScreen) return;
  onScreen = isIntersecting;
  plan(0);
}).observe(document.body);

level.onchange = contains.oninput = refill;
log.onscroll = () => {
  following = log.scrollTop + log.clientHeight > log.scrollHeight - 8;
  if (following) unseen = 0;
  newest.hidden = following || !unseen;
};
newest.onclick = () => {
  following = true;
  unseen = 0;
  settle();
  log.focus();
};

const dress = () => {
  const { displayMode = "inline", availableDisplayModes = [] } = app.getHostContext() ?? {};
  document.documentElement.dataset.mode = displayMode;
  full.hidden = !availableDisplayModes.includes("fullscreen");
  full.textContent = displayMode === "fullscreen" ? "Leave full screen" : "Full screen";
};
full.onclick = async () => {
  const mode = document.documentElement.dataset.mode === "fullscreen" ? "inline" : "fullscreen";
  await app.requestDisplayMode({ mode }).then(dress, (error) => say(error.message, true));
};
app.ontoolresult = ({ structuredContent, content, isError }) => {
  if (isError) return say(content[0]?.text ?? "The tool failed.", true);
  [level.value, contains.value, limit] = [structuredContent.level, structuredContent.contains, structuredContent.limit];
  lines = [];
  log.replaceChildren();
  // What was before this page was not missed: the user has just begun to watch.
  add({ ...structuredContent.page, missed: 0 });
  known = true;
  say("Live");
  plan(EVERY);
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onhostcontextchanged = dress;
app.onteardown = () => {
  ended = true;
  clearTimeout(timer);
};
await app.connect();
dress();
