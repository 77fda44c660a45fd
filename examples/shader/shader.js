import { App } from "fanlight";

// What is around the code of the model. GLSL needs the version in the first line.
const HEAD = `#version 300 es
precision highp float;
uniform vec3 iResolution;
uniform float iTime;
uniform vec4 iMouse;
uniform float iDark;
out vec4 pixel;
`;
const TAIL = `
void main() {
  vec4 colour = vec4(0.0);
  mainImage(colour, gl_FragCoord.xy);
  pixel = vec4(colour.rgb, 1.0);
}`;
const ABOVE = HEAD.split("\n").length - 1;
const CORNERS = `#version 300 es
void main() {
  gl_Position = vec4(vec2(gl_VertexID % 2, gl_VertexID / 2) * 4.0 - 1.0, 0.0, 1.0);
}`;
const FIRST = 3.2; // the second with which an animation starts, and the one that still pictures show
const SLOW = 40; // milliseconds of a frame from which on the picture has fewer pixels

const [title, play, full, stage, picture, missing, problem, verdict, errors, fix, status, source] =
  "title,play,full,stage,picture,missing,problem,verdict,errors,fix,status,source"
    .split(",")
    .map((id) => document.getElementById(id));
const [numbers, code, run] = ["numbers", "code", "run"].map((id) => document.getElementById(id));
const app = new App({ name: "Shader", version: "1.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] });
const still = matchMedia("(prefers-reduced-motion: reduce)");
const gl = picture.getContext("webgl2", { antialias: false });
// Without a graphics card the processor draws, so the picture moves only if the user wants that.
const card = gl?.getExtension("WEBGL_debug_renderer_info")?.UNMASKED_RENDERER_WEBGL;
const unaided = /SwiftShader|llvmpipe|Software|Basic Render/i.test(card ? gl.getParameter(card) : "");

let program = null; // the last one that compiled
let places = {};
let pointer = [0, 0, 0, 0];
let time = FIRST;
let paused = still.matches || unaided;
let onScreen = true;
let ended = false;
let next = 0; // the frame that is requested
let before = 0; // when the last one was
let scale = 1;
let frames = [];
let named = "Shader";

const say = (text, isError) => {
  if (status.textContent !== text) status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
// Hosts may reject this request.
const tell = (text) => app.updateModelContext({ content: [{ type: "text", text }] }).catch(() => {});

// Compiling

const shader = (kind, text) => {
  const made = gl.createShader(kind);
  gl.shaderSource(made, text);
  gl.compileShader(made);
  return made;
};
/** Compile the code, and return the errors of the compiler, each with its line in the code. */
const compile = (text) => {
  const made = gl.createProgram();
  const parts = [shader(gl.VERTEX_SHADER, CORNERS), shader(gl.FRAGMENT_SHADER, `${HEAD}${text}${TAIL}`)];
  for (const part of parts) gl.attachShader(made, part);
  gl.linkProgram(made);
  const log = gl.getShaderInfoLog(parts[1]) || gl.getProgramInfoLog(made) || "";
  for (const part of parts) gl.deleteShader(part);
  if (gl.getProgramParameter(made, gl.LINK_STATUS)) {
    gl.deleteProgram(program);
    program = made;
    places = Object.fromEntries(
      ["iResolution", "iTime", "iMouse", "iDark"].map((name) => [name, gl.getUniformLocation(made, name)]),
    );
    return [];
  }
  gl.deleteProgram(made);
  const last = text.split("\n").length;
  const found = [...log.matchAll(/^ERROR: \d+:(\d+): (.+)$/gm)].map(([, line, words]) => ({
    line: Math.min(Math.max(line - ABOVE, 1), last),
    words: words.replace(/^'' : /, "").trim(),
  }));
  // What else is wrong in a line follows from the first error in it, mostly.
  const firsts = found.filter(({ line }, index) => found.findIndex((other) => other.line === line) === index);
  return firsts.length ? firsts : [{ line: 1, words: log.trim() || "The shader does not link." }];
};
const count = (found) => (found.length === 1 ? "one error" : `${found.length} errors`);
const show = (found) => {
  problem.hidden = !found.length;
  stage.hidden = Boolean(gl && !program);
  verdict.textContent = `It does not compile: ${count(found)}`;
  errors.replaceChildren(
    ...found.map(({ line, words }) => {
      const button = document.createElement("button");
      button.append(Object.assign(document.createElement("b"), { textContent: `Line ${line}` }), words);
      button.onclick = () => select(line);
      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
  number(found.map(({ line }) => line));
};
const report = (found) => found.map(({ line, words }) => `Line ${line}: ${words}`).join("\n");
const start = (byUser) => {
  if (!gl) {
    tell("The user's browser has no WebGL 2. It shows the source of the shader, and no picture.");
    return say("No WebGL 2, so there is no picture.", true);
  }
  const found = compile(code.value);
  show(found);
  const changed = byUser ? ` The user has changed its code, which is now:\n${code.value}` : "";
  if (found.length) {
    say(program ? "The picture is the last one that compiled." : "There is no picture yet.");
    return tell(`The shader "${named}" does not compile in the user's browser.\n${report(found)}${changed}`);
  }
  picture.ariaLabel = `${named}, an animated picture`;
  tell(`The shader "${named}" compiles, and the user sees it.${changed}`);
  frames = [];
  wake();
};

// Drawing

const draw = () => {
  // A picture that stands still has time for all its pixels.
  const sharp = (next ? scale : 1) * Math.min(devicePixelRatio || 1, 2);
  const [width, height] = [stage.clientWidth, stage.clientHeight].map((size) => Math.max(1, Math.round(size * sharp)));
  if (picture.width !== width || picture.height !== height) [picture.width, picture.height] = [width, height];
  gl.viewport(0, 0, width, height);
  gl.useProgram(program);
  gl.uniform3f(places.iResolution, width, height, 1);
  gl.uniform1f(places.iTime, time);
  gl.uniform4f(places.iMouse, pointer[0] * width, pointer[1] * height, pointer[2], 0);
  gl.uniform1f(places.iDark, isDark() ? 1 : 0);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
};
const isDark = () => {
  const theme = app.getHostContext()?.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const frame = (now) => {
  const took = now - before;
  before = now;
  // The first frames of an animation, and those after a pause, say nothing about the computer.
  if (took < 1000) {
    time += took / 1000;
    frames.push(took);
  }
  if (frames.length === 16) {
    const typical = frames.toSorted((a, b) => a - b)[8];
    if (typical > SLOW && scale > 0.3) scale = Math.max(0.3, scale * 0.75);
    frames = [];
  }
  next = requestAnimationFrame(frame);
  draw();
};
const reason = () => {
  if (still.matches) return ", because your system asks for less motion.";
  return unaided ? ", because this computer draws without a graphics card." : "";
};
const live = () => program && !paused && !ended && onScreen && !document.hidden;
const wake = () => {
  cancelAnimationFrame(next);
  next = 0;
  play.textContent = paused ? "Play" : "Pause";
  play.ariaDisabled = String(!program);
  if (!program || ended) return;
  if (problem.hidden) say(paused ? `Paused${reason()}` : "Live");
  if (!live()) return draw();
  before = performance.now();
  next = requestAnimationFrame(frame);
};

// The source

const number = (wrong = []) => {
  const lines = code.value.split("\n").map((_, index) => {
    const row = document.createElement("span");
    row.className = wrong.includes(index + 1) ? "wrong" : "";
    row.textContent = `${index + 1}\n`;
    return row;
  });
  numbers.replaceChildren(...lines);
  numbers.scrollTop = code.scrollTop;
};
const select = (line) => {
  source.open = true;
  const lines = code.value.split("\n");
  const from = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  code.focus();
  code.setSelectionRange(from, from + lines[line - 1].length);
  code.scrollTop = (line - 5) * 20;
};
code.onscroll = () => (numbers.scrollTop = code.scrollTop);
code.oninput = () => number();
code.onkeydown = (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  start(true);
};
run.onclick = () => start(true);
fix.onclick = async () => {
  const text = `The shader "${named}" does not compile. Please fix it.\n${errors.innerText}\n\n${code.value}`;
  await app
    .sendMessage({ role: "user", content: [{ type: "text", text }] })
    .then(({ isError }) => say(isError ? "The host did not send the message." : "The model has the errors.", isError))
    .catch((error) => say(error.message, true));
};

play.onclick = () => {
  if (!program) return;
  paused = !paused;
  wake();
};
full.onclick = async () => {
  const mode = document.documentElement.dataset.mode === "fullscreen" ? "inline" : "fullscreen";
  await app.requestDisplayMode({ mode }).then(dress, (error) => say(error.message, true));
};
picture.onpointermove = (event) => {
  pointer = [event.offsetX / picture.clientWidth, 1 - event.offsetY / picture.clientHeight, 1, 0];
  if (program && !next) draw();
};
picture.onpointerleave = () => {
  pointer = [0, 0, 0, 0];
  if (program && !next) draw();
};
// A graphics driver may restart, or take the picture away from a page in the background.
picture.addEventListener("webglcontextlost", (event) => {
  event.preventDefault();
  program = null;
  wake();
  say("The browser has taken the graphics away. It will give them back.", true);
});
picture.addEventListener("webglcontextrestored", () => start());
document.addEventListener("visibilitychange", wake);
still.addEventListener("change", () => {
  paused = still.matches || unaided;
  wake();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => wake());
new IntersectionObserver(([{ isIntersecting }]) => {
  if (isIntersecting === onScreen) return;
  onScreen = isIntersecting;
  wake();
}).observe(stage);
new ResizeObserver(() => program && !next && draw()).observe(stage);

const dress = () => {
  const { displayMode = "inline", availableDisplayModes = [] } = app.getHostContext() ?? {};
  document.documentElement.dataset.mode = displayMode;
  full.hidden = !availableDisplayModes.includes("fullscreen");
  full.textContent = displayMode === "fullscreen" ? "Leave full screen" : "Full screen";
  if (program && !next) draw();
};
missing.hidden = Boolean(gl);
source.open = !gl;
app.ontoolinputpartial = ({ arguments: args }) => {
  title.textContent = args?.title || "Shader";
  code.value = args?.code ?? "";
  say(args?.code ? `Line ${code.value.split("\n").length} is being written…` : "Waiting for the code…");
  number();
};
app.ontoolresult = ({ structuredContent, content, isError }) => {
  if (isError) return say(content[0]?.text ?? "The tool failed.", true);
  named = title.textContent = structuredContent.title;
  code.value = structuredContent.code;
  time = FIRST;
  number();
  start();
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onhostcontextchanged = dress;
app.onteardown = () => {
  ended = true;
  cancelAnimationFrame(next);
};
await app.connect();
dress();
