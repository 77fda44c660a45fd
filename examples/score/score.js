import { App } from "fanlight";

const AHEAD = 0.15; // seconds that notes are given to the audio clock before they sound
const [title, about, sheet, play, rewind, tempo, beats, status, notation, draw] =
  "title,about,sheet,play,rewind,tempo,beats,status,notes,draw".split(",").map((id) => document.getElementById(id));
const app = new App({ name: "Score", version: "1.0.0" });
let score = null;
let drawn = null; // the notes with their places, and the cursor
let width = 0;
let beat = 0; // where the music is, in quarter notes
let music = null; // while it plays: its volume, its first beat and when that was, and the next note

let audio = null;

const say = (text, isError) => {
  status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const ready = () => {
  play.textContent = music ? "Pause" : "Play";
  play.ariaDisabled = rewind.ariaDisabled = String(!drawn);
};
const end = () => {
  const { start, beats: length } = drawn.notes.at(-1);
  return start + length;
};
const noteAt = (time) => drawn.notes.findLast(({ start }) => start <= time + 1e-6) ?? drawn.notes[0];

// The picture

const showCursor = () => {
  const note = noteAt(beat);
  const index = drawn.notes.indexOf(note);
  const next = drawn.notes[index + 1];
  const to = next?.y === note.y ? next.x : note.end;
  const x = note.x + ((to - note.x) * (beat - note.start)) / note.beats;
  const isShown = Boolean(music) || beat > 0;
  const place = { x: x - 8, y: note.y + 4, height: note.height - 8, visibility: isShown ? "visible" : "hidden" };
  for (const [name, value] of Object.entries(place)) drawn.cursor.setAttribute(name, value);
  for (const other of drawn.notes) other.element.classList.toggle("now", isShown && other === note);
};
const render = () => {
  if (!score || !sheet.clientWidth) return;
  const focused = drawn?.notes.findIndex(({ element }) => element === document.activeElement) ?? -1;
  width = sheet.clientWidth;
  drawn = sheet.engrave(score);
  drawn.notes[Math.max(focused, 0)].element.setAttribute("tabindex", "0");
  if (focused >= 0) drawn.notes[focused].element.focus();
  showCursor();
  ready();
};
new ResizeObserver(() => sheet.clientWidth !== width && render()).observe(sheet);

// The sound

const sound = ({ pitch, step, beats: length }, time, speed) => {
  if (step === null) return;
  const [voice, envelope, seconds] = [audio.createOscillator(), audio.createGain(), length / speed];
  voice.type = "triangle";
  voice.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
  envelope.gain.setValueAtTime(0, time);
  envelope.gain.linearRampToValueAtTime(0.35, time + 0.012);
  envelope.gain.setTargetAtTime(0.12, time + 0.012, 0.25);
  envelope.gain.setTargetAtTime(0, time + seconds * 0.92, 0.02);
  voice.connect(envelope).connect(music.volume);
  voice.start(time);
  voice.stop(time + seconds + 0.1);
};
const follow = () => {
  if (!music) return;
  const speed = tempo.valueAsNumber / 60;
  beat = Math.max(music.beat, music.beat + (audio.currentTime - music.time) * speed);
  while (drawn.notes[music.next]?.start < beat + AHEAD * speed) {
    const note = drawn.notes[music.next];
    sound(note, Math.max(music.time + (note.start - music.beat) / speed, audio.currentTime), speed);
    music.next += 1;
  }
  if (beat >= end()) {
    pause();
    beat = 0;
    say("The end.");
  }
  showCursor();
  requestAnimationFrame(follow);
};
const pause = () => {
  music?.volume.disconnect();
  music = null;
  ready();
};
const start = async (from) => {
  pause();
  audio ??= new AudioContext();
  await audio.resume();
  const volume = audio.createGain();
  volume.connect(audio.destination);
  const next = drawn.notes.findIndex((note) => note.start >= from - 1e-6);
  music = { volume, beat: from, time: audio.currentTime + 0.05, next: next < 0 ? drawn.notes.length : next };
  beat = from;
  say(`Playing from bar ${noteAt(from).bar} of ${score.bars.length}.`);
  ready();
  requestAnimationFrame(follow);
};
play.onclick = () => {
  if (!drawn) return;
  if (!music) return start(beat);
  pause();
  say(`Paused in bar ${noteAt(beat).bar} of ${score.bars.length}.`);
};
rewind.onclick = () => {
  if (!drawn) return;
  pause();
  beat = 0;
  showCursor();
  say("");
};
tempo.oninput = () => {
  beats.textContent = tempo.value;
  if (music) Object.assign(music, { beat, time: audio.currentTime });
};
// Browsers stop drawing pages in the background, so the cursor would lose the music.
document.addEventListener("visibilitychange", () => document.hidden && pause());

// Starting at a note, with the pointer or the keyboard. The notes are one stop of the Tab key.

const chosen = ({ target }) => drawn?.notes.findIndex(({ element }) => element === target.closest(".note")) ?? -1;
const focus = (index) => {
  for (const [at, { element }] of drawn.notes.entries()) element.setAttribute("tabindex", at === index ? "0" : "-1");
  drawn.notes[index].element.focus();
};
sheet.onclick = (event) => {
  const index = chosen(event);
  if (index < 0) return;
  focus(index);
  start(drawn.notes[index].start);
};
sheet.onkeydown = (event) => {
  const index = chosen(event);
  if (index < 0) return;
  const last = drawn.notes.length - 1;
  const moves = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last };
  if (event.key in moves) focus(Math.min(Math.max(moves[event.key], 0), last));
  else if (event.key === "Enter" || event.key === " ") start(drawn.notes[index].start);
  else return;
  event.preventDefault();
};

const nameOfKey = (key) =>
  `${key.replace("m", "").replace("#", " sharp").replace("b", " flat")} ${key.endsWith("m") ? "minor" : "major"}`;
const show = ({ structuredContent, content, isError }) => {
  if (isError) return say(content[0]?.text ?? "The tool failed.", true);
  if (!structuredContent?.bars?.length) return;
  pause();
  score = structuredContent;
  beat = 0;
  title.textContent = score.title;
  about.textContent = `${nameOfKey(score.key)}, ${score.metre}`;
  notation.value = score.notes;
  tempo.value = beats.textContent = score.tempo;
  say("Click a note to play from it.");
  render();
};
draw.onclick = async () => {
  if (!score) return;
  const { title: name, key, metre, clef } = score;
  const changed = { title: name, notes: notation.value, key, metre, tempo: tempo.valueAsNumber, clef };
  try {
    const result = await app.callServerTool({ name: "show_score", arguments: changed });
    show(result);
    if (result.isError) return;
    const text = `The user has changed the notes. ${result.content[0].text}`;
    await app.updateModelContext({ content: [{ type: "text", text }] }).catch(() => {}); // hosts may reject this
  } catch (error) {
    say(error.message, true);
  }
};
app.ontoolinputpartial = ({ arguments: args }) => {
  title.textContent = args?.title || "Score";
  if (args?.notes) say(`Bar ${args.notes.split("|").length} is being written…`);
};
app.ontoolresult = show;
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onteardown = pause;
await app.connect();
