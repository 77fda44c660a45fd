import { App } from "fanlight";

const IDS = ["title", "search", "words", "full", "contents", "chapter", "page", "hits", "status", "quote"];
const [title, search, words, full, contents, chapter, page, hits, status, quote] = IDS.map((id) =>
  document.getElementById(id),
);
const app = new App({ name: "Document", version: "1.0.0" }, { availableDisplayModes: ["inline", "fullscreen"] });
/** @type {{ title: string, part: number }[]} */
let chapters = [];
let loaded = 0;
let current = -1;

const say = (text, isError = false) => {
  status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const ask = async (name, args) => {
  const { structuredContent, content, isError } = await app.callServerTool({ name, arguments: args });
  if (isError) throw new Error(content[0].text);
  return structuredContent;
};

// Parts. Each is an empty section of about the right height until it is near, so the scroll bar spans the document.

const near = new IntersectionObserver(
  (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => load(entry.target)),
  { root: page, rootMargin: "500px" },
);
const load = async (section) => {
  near.unobserve(section);
  if (section.dataset.state) return;
  section.dataset.state = "loading";
  try {
    const { blocks } = await ask("read_part", { part: Number(section.dataset.part) });
    section.replaceChildren(...elements(blocks));
    section.className = "";
    section.style.height = "";
    section.dataset.state = "loaded";
    loaded++;
    report();
  } catch (error) {
    section.dataset.state = "";
    const again = element("button", { textContent: "Load this part again" });
    again.onclick = () => load(section);
    section.replaceChildren(again);
    section.className = "";
    say(error.message, true);
  }
};
const TAGS = { h1: "h2", h2: "h3", p: "p", pre: "pre" };
const elements = (blocks) => {
  const made = [];
  for (const { kind, text } of blocks) {
    if (kind !== "li") made.push(element(TAGS[kind], {}, ...(kind === "pre" ? [dedent(text)] : inline(text))));
    else {
      if (made.at(-1)?.localName !== "ul") made.push(element("ul", {}));
      made.at(-1).append(element("li", {}, ...inline(text)));
    }
  }
  return made;
};
const dedent = (text) => {
  const spaces = Math.min(...text.split("\n").map((line) => (line.trim() ? line.search(/\S/) : Infinity)));
  return text.replaceAll(new RegExp(`^ {${Number.isFinite(spaces) ? spaces : 0}}`, "gm"), "");
};
// The manual quotes code, and marks emphasis with asterisks.
const inline = (text) =>
  text.split(/("[^"\s][^"]{0,60}"|\*\*[^*]{1,40}\*\*|\*[^*\s][^*]{0,40}\*)/).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const tag = piece.startsWith("**") ? "strong" : piece[0] === "*" ? "em" : "code";
    return element(tag, { textContent: piece.replace(/^"|"$|^\*+|\*+$/g, "") });
  });

// The place of the reader

// Not scrollIntoView, which would scroll the page around the View, too.
const scrollTo = (section) => {
  page.scrollTop += section.getBoundingClientRect().top - page.getBoundingClientRect().top;
};
const go = async (part) => {
  hits.hidden = true;
  const section = page.children[part];
  if (!section) return;
  scrollTo(section);
  await load(section);
  scrollTo(section);
  page.focus({ preventScroll: true });
};
const report = () => {
  const middle = page.getBoundingClientRect().top + page.clientHeight / 3;
  const sections = [...page.children];
  const at = Math.max(
    0,
    sections.findLastIndex((section) => section.getBoundingClientRect().top <= middle),
  );
  const share = Math.round((100 * page.scrollTop) / Math.max(1, page.scrollHeight - page.clientHeight));
  const size = sections.length;
  say(`Part ${at + 1} of ${size} · ${share} % · ${loaded} ${loaded === 1 ? "part" : "parts"} loaded`);
  const now = chapters.findLastIndex(({ part }) => part <= at);
  if (now === current || now < 0) return;
  contents.children[current]?.removeAttribute("aria-current");
  current = now;
  const button = contents.children[now];
  button.ariaCurrent = "true";
  contents.scrollTop = button.offsetTop - contents.offsetTop - contents.clientHeight / 3;
  chapter.value = String(now);
};
let framed = 0;
page.addEventListener("scroll", () => {
  cancelAnimationFrame(framed);
  framed = requestAnimationFrame(report);
});

const open = ({ title: name, chapters: all, sizes, start }) => {
  chapters = all;
  [loaded, current] = [0, -1];
  title.textContent = name;
  const buttons = all.map(({ title: label, part }) =>
    element("button", { textContent: label, onclick: () => go(part) }),
  );
  contents.replaceChildren(...buttons);
  chapter.replaceChildren(
    ...all.map(({ title: label }, index) => element("option", { value: String(index), textContent: label })),
  );
  near.disconnect();
  const sections = sizes.map((size, part) => {
    const section = element("section", { className: "waiting" });
    section.style.height = `${Math.round(size * 0.42)}px`;
    section.dataset.part = part;
    return section;
  });
  page.replaceChildren(...sections);
  if (page.children[start]) scrollTo(page.children[start]);
  sections.forEach((section) => near.observe(section));
  report();
};
chapter.onchange = () => go(chapters[Number(chapter.value)].part);

// Finding, and asking about a selection

search.onsubmit = async (event) => {
  event.preventDefault();
  if (!words.value.trim()) return (hits.hidden = true);
  try {
    const { hits: found } = await ask("find_in_document", { words: words.value });
    hits.replaceChildren(
      ...found.map(({ part, chapter: name, text }) =>
        element("button", { onclick: () => go(part) }, element("b", { textContent: name }), text),
      ),
    );
    hits.hidden = !found.length;
    say(found.length ? `${found.length} places` : `“${words.value}” is not in the document.`);
    hits.firstElementChild?.focus();
  } catch (error) {
    say(error.message, true);
  }
};
hits.onkeydown = (event) => {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") words.focus();
  if (event.key === "Escape") hits.hidden = true;
  if (!by) return;
  event.preventDefault();
  const all = [...hits.children];
  all[Math.max(0, Math.min(all.length - 1, all.indexOf(document.activeElement) + by))].focus();
};
const selection = () => {
  const chosen = document.getSelection();
  return chosen && page.contains(chosen.anchorNode) ? chosen.toString().trim().slice(0, 2000) : "";
};
document.addEventListener("selectionchange", () => (quote.hidden = !selection()));
quote.onclick = async () => {
  const passage = selection().replaceAll("\n", "\n> ");
  const text = `Explain this passage of ${chapters[current].title}:\n\n> ${passage}`;
  await app.sendMessage({ role: "user", content: [{ type: "text", text }] }).catch((error) => say(error.message, true));
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
  if (structuredContent?.sizes) open(structuredContent);
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
app.onhostcontextchanged = dress;
await app.connect();
dress();
