// The outline is kept here, and each change is one call of the server, so the server needs no state.
import { App } from "fanlight";

const IDS = ["question", "undo", "tree", "editor", "place", "title", "share", "deeper", "problems", "status"];
const [question, undo, tree, editor, place, title, share, deeper, problems, status] = IDS.map((id) =>
  document.getElementById(id),
);
const app = new App({ name: "Outline", version: "1.0.0" });
/** @type {any} what the server validated last */
let shown = null;
let selected = "";
let busy = false;
const closed = new Set();
/** @type {any[]} */
const past = [];

const say = (text, isError = false) => {
  status.textContent = text;
  status.className = isError ? "error" : "quiet";
};
const element = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};
const percent = (number) => `${Number(number.toFixed(1))} %`;

// Every part in the order of reading, with its path and its share of the whole question.
const walk = (parts, above = "", whole = 1) =>
  parts.flatMap((part, index) => {
    const path = above ? `${above}.${index + 1}` : `${index + 1}`;
    const of = part.share === null ? null : (whole ?? 1) * (part.share / 100);
    return [{ path, part, of, index, among: parts.length }, ...walk(part.parts, path, of)];
  });
const visible = (path) => ![...closed].some((other) => path.startsWith(`${other}.`));

const row = ({ path, part, of, index, among }) => {
  const found = shown.findings.filter((finding) => finding.path === path);
  const flag = found.length ? [element("span", { className: "flag", textContent: "●", title: found[0].text })] : [];
  const item = element(
    "li",
    { tabIndex: path === selected ? 0 : -1 },
    element("span", { className: "chevron", textContent: part.parts.length ? "›" : "", ariaHidden: "true" }),
    element("span", {}, element("span", { className: "title", textContent: part.title }), ...flag),
    element(
      "span",
      { className: "share" },
      element("i", { hidden: part.share === null }),
      element("span", { textContent: part.share === null ? "" : percent(part.share) }),
    ),
  );
  item.style.setProperty("--level", path.split(".").length - 1);
  item.style.setProperty("--part", `${100 * (of ?? 0)}%`);
  item.dataset.path = path;
  item.role = "treeitem";
  item.ariaLevel = path.split(".").length;
  item.ariaPosInSet = index + 1;
  item.ariaSetSize = among;
  item.ariaSelected = String(path === selected);
  item.ariaLabel = [part.title, part.share === null ? "" : percent(part.share), ...found.map(({ text }) => text)]
    .filter(Boolean)
    .join(", ");
  if (part.parts.length) item.ariaExpanded = String(!closed.has(path));
  return item;
};
const finding = ({ path, text, fix }) => {
  const label = { rest: "Add “Everything else”", scale: "Scale to 100 %" }[fix];
  const button = label ?? (path && "Show");
  return element(
    "li",
    {},
    element("span", { textContent: text }),
    ...(button
      ? [
          element("button", {
            textContent: button,
            ariaLabel: `${button}: ${text}`,
            onclick: () => (label ? change(fix, "", path) : select(path, true)),
          }),
        ]
      : []),
  );
};
const draw = () => {
  const focused = tree.contains(document.activeElement);
  const all = walk(shown.outline.parts);
  const current = all.find(({ path }) => path === selected) ?? all[0];
  selected = current?.path ?? "";
  question.textContent = shown.outline.question;
  tree.replaceChildren(...all.filter(({ path }) => visible(path)).map(row));
  if (focused) tree.querySelector("[tabindex='0']")?.focus();
  editor.hidden = !current;
  if (current) {
    place.textContent = `Part ${selected}`;
    [title.value, share.value] = [current.part.title, current.part.share ?? ""];
  }
  problems.hidden = !shown.findings.length;
  problems.firstElementChild.replaceChildren(...shown.findings.map(finding));
  undo.hidden = !past.length;
  const count = `${all.length} ${all.length === 1 ? "part" : "parts"}`;
  const more = shown.findings.length === 1 ? "1 finding" : `${shown.findings.length} findings`;
  say(shown.findings.length ? `${count}, ${more}` : `✓ ${count} that cover the question without overlaps`);
};
const select = (path, focus = false) => {
  selected = path;
  for (const other of closed) if (path.startsWith(`${other}.`)) closed.delete(other);
  draw();
  if (focus) tree.querySelector("[tabindex='0']")?.focus();
};

// Changes. The model does not see the calls of a View, so the View sends it the new outline.

const refine = async (action, value, path) => {
  const args = { outline: shown.outline, path, action, value };
  const result = await app.callServerTool({ name: "refine_node", arguments: args });
  if (result.isError) throw new Error(result.content[0].text);
  past.push(shown);
  shown = { ...result.structuredContent, text: result.content[0].text };
  selected = shown.selected;
  updateModel();
};
const updateModel = () => {
  const text = `The user has edited the outline. It is now:\n${shown.text}`;
  app.updateModelContext({ content: [{ type: "text", text }] }).catch(() => {});
};
const guarded = async (act) => {
  if (busy || !shown) return;
  busy = true;
  try {
    await act();
    draw();
  } catch (error) {
    say(error.message, true);
  }
  busy = false;
};
const change = (action, value = "", path = selected) => guarded(() => refine(action, value, path));

editor.onsubmit = (event) => {
  event.preventDefault();
  const { part } = walk(shown.outline.parts).find(({ path }) => path === selected);
  const wanted = share.value.replace(",", ".");
  guarded(async () => {
    const [name, path] = [title.value, selected];
    if (wanted !== String(part.share ?? "")) await refine("share", wanted, path);
    if (name !== part.title) await refine("rename", name, path);
  });
};
for (const button of editor.querySelectorAll("[data-action]")) {
  button.onclick = async () => {
    await change(button.dataset.action);
    if (button.dataset.action === "add") title.select();
  };
}
undo.onclick = () => {
  if (!past.length || busy) return;
  shown = past.pop();
  updateModel();
  draw();
  if (undo.hidden) tree.querySelector("[tabindex='0']")?.focus();
};
deeper.onclick = () => {
  const text = `Break “${title.value}” (part ${selected}) down further, and show me the whole outline again.`;
  app.sendMessage({ role: "user", content: [{ type: "text", text }] }).catch((error) => say(error.message, true));
};

// The keys of a tree, as screen readers announce them

tree.onclick = (event) => {
  const path = event.target.closest("li")?.dataset.path;
  if (path && event.target.closest(".chevron")) closed.has(path) ? closed.delete(path) : closed.add(path);
  if (path) select(path, true);
};
tree.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || !selected) return;
  const paths = [...tree.children].map((item) => item.dataset.path);
  const at = paths.indexOf(selected);
  const item = tree.children[at];
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: paths.length - 1 }[event.key];
  const moves = { ArrowUp: "up", ArrowDown: "down" };
  if (event.altKey && moves[event.key]) change(moves[event.key]);
  else if (event.altKey) return;
  else if (to !== undefined) select(paths[Math.max(0, Math.min(paths.length - 1, to))], true);
  else if (event.key === "ArrowRight" && item.ariaExpanded === "false") (closed.delete(selected), draw());
  else if (event.key === "ArrowRight" && item.ariaExpanded) select(paths[at + 1], true);
  else if (event.key === "ArrowLeft" && item.ariaExpanded === "true") (closed.add(selected), draw());
  else if (event.key === "ArrowLeft" && selected.includes(".")) select(selected.replace(/\.\d+$/, ""), true);
  else if (event.key === "Enter") title.select();
  else if (event.key === "Delete") change("remove");
  else return;
  event.preventDefault();
};

app.ontoolresult = ({ structuredContent, content, isError }) => {
  if (isError) return say(content[0]?.text ?? "The tool failed.", true);
  if (!structuredContent?.outline) return;
  shown = { ...structuredContent, text: content[0]?.text ?? "" };
  past.length = 0;
  draw();
};
app.ontoolcancelled = ({ reason }) => say(`Cancelled${reason ? `: ${reason}` : ""}`, true);
await app.connect();
