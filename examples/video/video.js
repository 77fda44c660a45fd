import { App } from "fanlight";

const [title, full, video, loading, share, progress, transcript, status, again] =
  "title,full,video,loading,share,progress,transcript,status,again".split(",").map((id) => document.getElementById(id));
const app = new App({ name: "Video", version: "1.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] });
const reading = new AbortController();
let shown = null;
let captions = null; // the track

const say = (text, isError) => {
  if (status.textContent !== text) status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
const dataUrl = (blob) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });

// The video, part by part

const read = async ({ name, size, type }) => {
  const parts = [];
  for (let offset = 0; offset < size;) {
    const { contents } = await app.readServerResource({ uri: `video://${name}/${offset}` }, { signal: reading.signal });
    const part = Uint8Array.from(atob(contents[0]?.blob ?? ""), (char) => char.charCodeAt(0));
    if (!part.length || offset + part.length > size) throw new Error("The server sent less or more than the video.");
    parts.push(part);
    offset += part.length;
    progress.value = offset / size;
    share.textContent = `${Math.round((offset / size) * 100)} % of ${Math.round(size / 1000)} kB`;
  }
  return new Blob(parts, { type });
};
const load = async () => {
  again.hidden = true;
  loading.hidden = false;
  progress.value = 0;
  say("Loading the video…");
  try {
    if (!video.canPlayType(`${shown.type}; codecs="vp9"`)) throw new Error("This browser cannot play WebM with VP9.");
    const whole = await read(shown);
    // The policy of Views allows data: and no blob: URLs for media, and so no MediaSource either.
    const playable = new Promise((resolve, reject) => {
      video.oncanplay = resolve;
      video.onerror = () => reject(new Error(video.error?.message || "The browser cannot play the video."));
    });
    video.src = await dataUrl(whole);
    await playable;
    video.controls = true;
    for (const button of transcript.querySelectorAll("button")) button.ariaDisabled = "false";
    say(`${Math.round(video.duration)} seconds, ${Math.round(shown.size / 1000)} kB`);
  } catch (error) {
    say(`The video was not loaded: ${error.message}`, true);
    again.hidden = false;
  }
  loading.hidden = true;
};

// Captions

const caption = (text) => {
  captions?.remove();
  captions = document.createElement("track");
  Object.assign(captions, { kind: "captions", label: "English", srclang: "en", default: true });
  captions.onload = list;
  captions.src = `data:text/vtt;charset=utf-8,${encodeURIComponent(text)}`;
  video.append(captions);
  captions.track.mode = "showing";
};
const list = () => {
  const items = Array.from(captions.track.cues, (cue) => {
    const button = document.createElement("button");
    const time = Object.assign(document.createElement("span"), { textContent: clock(cue.startTime) });
    button.append(time, cue.text);
    button.ariaDisabled = String(!video.controls);
    button.onclick = () => video.controls && (video.currentTime = cue.startTime);
    const item = document.createElement("li");
    item.append(button);
    return item;
  });
  transcript.replaceChildren(...items);
  mark();
};
// Not `activeCues`, which some browsers update only while the video plays.
const isActive = ({ startTime, endTime }) => startTime <= video.currentTime && video.currentTime < endTime;
const mark = () => {
  const now = Array.from(captions?.track.cues ?? []).findIndex(isActive);
  [...transcript.querySelectorAll("button")].forEach((button, index) => {
    if (index === now) button.ariaCurrent = "true";
    else button.removeAttribute("aria-current");
  });
};
// What the user sees is what they may ask about. Hosts may reject this request.
const tell = () => {
  if (!video.paused || !shown) return;
  const seen = Array.from(captions?.track.cues ?? []).find(isActive)?.text;
  const place = `${clock(video.currentTime)} of ${clock(video.duration)}`;
  const text = `The user has stopped the video "${shown.title}" at ${place}.`;
  const content = [{ type: "text", text: seen ? `${text} The caption there: ${seen}` : text }];
  app.updateModelContext({ content }).catch(() => {});
};
video.onpause = video.onseeked = tell;
video.ontimeupdate = mark;
again.onclick = load;

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
  shown = structuredContent;
  title.textContent = video.ariaLabel = shown.title;
  const poster = content.find(({ type }) => type === "image");
  if (poster) video.poster = `data:${poster.mimeType};base64,${poster.data}`;
  caption(shown.captions);
  load();
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onhostcontextchanged = dress;
app.onteardown = () => {
  reading.abort();
  video.pause();
};
await app.connect();
dress();
