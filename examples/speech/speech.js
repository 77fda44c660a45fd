import { App } from "fanlight";
import { upload } from "fanlight/files";

const RATE = 16000; // samples of a second: enough for speech, and a quarter of what microphones send
const BARS = 120;
const [question, aloud, wave, quiet, spoken, played, record, clock, file, status, answer, parts, send] =
  "question,aloud,wave,quiet,spoken,played,record,clock,file,status,answer,parts,send"
    .split(",")
    .map((id) => document.getElementById(id));
const app = new App({ name: "Dictation", version: "1.0.0" });
let longest = 60;
let recorder = null;
let sound = null; // the recording, as an AudioBuffer
let source = null; // what is played
let audio = null;
let measured = null;
let busy = true;

const say = (text, isError) => {
  if (status.textContent !== text) status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const minutes = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
const ready = () => {
  record.textContent = recorder ? "Stop" : measured ? "Record again" : "Record";
  record.ariaDisabled = String(busy);
  record.classList.toggle("main", Boolean(recorder) || !measured);
  document.body.classList.toggle("recording", Boolean(recorder));
};

// The waveform: a vertical stroke for each bar. Soft sounds are drawn larger than they are, as ears do it.

const strokes = (bars, isDrawn = () => true) =>
  bars
    .map((level, index) => [(index + 0.5) * (600 / BARS), Math.max(1, Math.min(48, 62 * Math.sqrt(level))), index])
    .filter(([, , index]) => isDrawn(index))
    .map(([x, height]) => `M${x},${50 - height}V${50 + height}`)
    .join("");
const drawLive = (bars) => {
  quiet.setAttribute("d", "");
  spoken.setAttribute("d", strokes(bars));
};
const drawMeasured = ({ seconds, parts: found, bars }) => {
  const isSpoken = (index) => {
    const at = ((index + 0.5) / BARS) * seconds;
    return found.some(({ start, end }) => at >= start && at <= end);
  };
  spoken.setAttribute("d", strokes(bars, isSpoken));
  quiet.setAttribute(
    "d",
    strokes(bars, (index) => !isSpoken(index)),
  );
  wave.ariaLabel = `Recording of ${seconds.toFixed(1)} seconds with ${found.length} spoken parts`;
};

// Recording

// The host decides whether a View may ask, then the user is asked, and then a device has to be there.
const isAllowed = () => (document.permissionsPolicy ?? document.featurePolicy)?.allowsFeature("microphone") ?? true;
const refusal = (error) => {
  if (!isAllowed() || !navigator.mediaDevices) return "This host does not give the microphone to apps.";
  if (error.name === "NotAllowedError") return "The microphone was denied. The settings of the browser can allow it.";
  if (error.name === "NotFoundError") return "This computer has no microphone.";
  return `The microphone does not work: ${error.message}`;
};
const deny = (reason) => {
  say(`${reason} You can choose a recording from your files instead.`, true);
  file.focus();
};
const start = async () => {
  let stream;
  try {
    // A request that the host forbids would be an error in the browser's console, too.
    if (isAllowed()) stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch (error) {
    return deny(refusal(error));
  }
  if (!stream) return deny(refusal());
  stop();
  audio ??= new AudioContext();
  await audio.resume();
  const analyser = audio.createAnalyser();
  const microphone = audio.createMediaStreamSource(stream);
  microphone.connect(analyser);
  recorder = new MediaRecorder(stream);
  const mine = recorder;
  const pieces = [];
  const bars = [];
  const began = performance.now();
  const samples = new Float32Array(analyser.fftSize);
  recorder.ondataavailable = ({ data }) => pieces.push(data);
  recorder.onstop = async () => {
    recorder = null;
    microphone.disconnect();
    for (const track of stream.getTracks()) track.stop();
    await take(new Blob(pieces, { type: mine.mimeType }));
  };
  recorder.start();
  const meter = () => {
    if (recorder !== mine) return;
    analyser.getFloatTimeDomainData(samples);
    bars.push(Math.hypot(...samples) / Math.sqrt(samples.length));
    const seconds = (performance.now() - began) / 1000;
    clock.textContent = minutes(seconds);
    drawLive(bars.slice(-BARS));
    if (seconds >= longest - 0.5) mine.stop();
    else requestAnimationFrame(meter);
  };
  answer.hidden = true;
  say("Recording…");
  ready();
  meter();
};
record.onclick = async () => {
  if (busy) return;
  if (recorder) return recorder.stop();
  busy = true;
  await start();
  busy = false;
  ready();
};
file.onchange = () => file.files[0] && !recorder && take(file.files[0]);

// From whatever the browser records to a WAV file, which Python reads without a library

const wav = (samples) => {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const write = (at, text) => [...text].forEach((char, index) => view.setUint8(at + index, char.charCodeAt(0)));
  write(0, "RIFF");
  view.setUint32(4, view.byteLength - 8, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // mono
  view.setUint32(24, RATE, true);
  view.setUint32(28, 2 * RATE, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  write(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, index) => {
    view.setInt16(44 + 2 * index, Math.round(32767 * Math.max(-1, Math.min(1, sample))), true);
  });
  return new File([view.buffer], "answer.wav", { type: "audio/wav" });
};
const decode = async (blob) => {
  const offline = new OfflineAudioContext(1, 1, RATE); // decoding also resamples
  const decoded = await offline.decodeAudioData(await blob.arrayBuffer());
  const mixer = new OfflineAudioContext(1, Math.max(1, Math.min(decoded.length, longest * RATE)), RATE);
  const mixed = mixer.createBufferSource();
  mixed.buffer = decoded;
  mixed.connect(mixer.destination);
  mixed.start();
  return mixer.startRendering();
};
const take = async (blob) => {
  busy = true;
  answer.hidden = true;
  ready();
  say("Reading the recording…");
  try {
    sound = await decode(blob).catch(() => {
      throw new Error("This browser cannot read the recording.");
    });
    clock.textContent = minutes(sound.duration);
    const onprogress = ({ phase, progress, total }) =>
      say(phase === "upload" && total ? `Sending ${Math.round((100 * progress) / total)} %…` : "Measuring…");
    const result = await upload(wav(sound.getChannelData(0)), { app, tool: "measure", onprogress });
    if (result.isError) throw new Error(result.content[0].text);
    measured = result.structuredContent;
    drawMeasured(measured);
    offer();
    answer.hidden = false;
    const count = measured.parts.length === 1 ? "1 spoken part" : `${measured.parts.length} spoken parts`;
    say(`${measured.seconds.toFixed(1)} seconds, ${count}`);
    // The model may use it in its next turn. Hosts may reject this request.
    await app.updateModelContext({ content: [{ type: "text", text: measured.text }] }).catch(() => {});
  } catch (error) {
    say(error.message, true);
  }
  busy = false;
  ready();
};

// Listening

const stop = () => {
  source?.stop();
  source = null;
  played.setAttribute("d", "");
};
const play = async ({ start: from, end }) => {
  stop();
  audio ??= new AudioContext();
  await audio.resume();
  const mine = (source = audio.createBufferSource());
  const began = audio.currentTime;
  mine.buffer = sound;
  mine.connect(audio.destination);
  mine.onended = () => source === mine && stop();
  mine.start(0, from, end - from);
  const follow = () => {
    if (source !== mine) return;
    const x = (600 * (from + audio.currentTime - began)) / sound.duration;
    played.setAttribute("d", `M${x},0V100`);
    requestAnimationFrame(follow);
  };
  follow();
};
const offer = () => {
  const all = { start: 0, end: measured.seconds };
  const button = (name, part) => {
    const made = Object.assign(document.createElement("button"), { textContent: name });
    made.ariaLabel = `Play ${name}`;
    made.onclick = () => play(part);
    return made;
  };
  const named = measured.parts.map((part) => button(`${part.start.toFixed(1)} – ${part.end.toFixed(1)} s`, part));
  parts.replaceChildren(button("All", all), ...named);
};
send.onclick = async () => {
  const content = [{ type: "text", text: `My answer to "${question.textContent}": ${measured.text}` }];
  await app
    .sendMessage({ role: "user", content })
    .then(({ isError }) => say(isError ? "The host did not send it." : "Sent.", isError))
    .catch((error) => say(error.message, true));
};
// Not all browsers can speak, and some have no voice.
const voices = () => (aloud.hidden = !window.speechSynthesis?.getVoices().length);
window.speechSynthesis?.addEventListener?.("voiceschanged", voices);
aloud.onclick = () => {
  speechSynthesis.cancel();
  speechSynthesis.speak(new SpeechSynthesisUtterance(question.textContent));
};

app.ontoolresult = ({ structuredContent, content, isError }) => {
  if (isError) return say(content[0]?.text ?? "The tool failed.", true);
  question.textContent = structuredContent.question;
  longest = structuredContent.longest;
  busy = false;
  say(`Record an answer of up to ${longest} seconds. Its length, loudness and pauses are measured, not its words.`);
  voices();
  ready();
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onteardown = () => {
  if (recorder) recorder.onstop = null;
  recorder?.stream.getTracks().forEach((track) => track.stop());
  stop();
  window.speechSynthesis?.cancel();
};
drawMeasured({ seconds: 1, parts: [], bars: Array(BARS).fill(0) });
wave.ariaLabel = "No recording yet";
await app.connect();
