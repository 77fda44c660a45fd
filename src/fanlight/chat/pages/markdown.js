// @ts-check
/**
 * Markdown as elements, for text that a model writes: safe, and cheap to update while it grows.
 *
 * Nothing is parsed as HTML: each character ends in a text node. Links lead to http, https and mailto only.
 * An image is a link to it and never loaded by itself, because its address could carry what the model knows to another
 * server. All searches are bounded, so that no text takes long.
 */
import { copy, icon, make } from "./dom.js";
import { highlight } from "./highlight.js";

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const QUOTE = /^ {0,3}> ?/;
const DELIMITER_ROW = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const BARE_LINK = /^https?:\/\/[^\s<>"'`|\\^{}]{1,2000}/;
const ESCAPABLE = /[!-/:-@[-`{-~]/;

// How far the end of a link or of emphasis may be from its start, and how deeply they may be nested.
const MAX_SPAN = 2_000;
const MAX_DEPTH = 12;

const isBlank = (/** @type {string | undefined} */ line) => !line?.trim();

/** Return the address of a link that is safe to open, or undefined. */
const safeLink = (/** @type {string} */ address) => {
  if (!/^(https?:\/\/|mailto:)/i.test(address) || !URL.canParse(address)) return undefined;
  const { protocol, href } = new URL(address);
  return ["http:", "https:", "mailto:"].includes(protocol) ? href : undefined;
};

// Blocks.

/** Return whether a line starts another kind of block than a paragraph. */
const startsBlock = (/** @type {string} */ line) =>
  FENCE.test(line) || HEADING.test(line) || RULE.test(line) || ITEM.test(line) || QUOTE.test(line);

/**
 * Return the index of the line after a block that starts at a line.
 * @param {string[]} lines
 * @param {number} start
 */
const endOfBlock = (lines, start) => {
  const first = lines[start] ?? "";
  const fence = FENCE.exec(first)?.[1];
  let end = start + 1;
  if (fence) {
    const closes = new RegExp(`^ {0,3}${fence.charAt(0)}{${fence.length},}[ \\t]*$`);
    while (end < lines.length && !closes.test(lines[end] ?? "")) end += 1;
    return Math.min(end + 1, lines.length);
  }
  if (HEADING.test(first) || RULE.test(first)) return end;
  if (QUOTE.test(first)) {
    while (end < lines.length && QUOTE.test(lines[end] ?? "")) end += 1;
    return end;
  }
  const item = ITEM.exec(first);
  if (item) {
    const isOrdered = /\d/.test(item[2] ?? "");
    for (; end < lines.length; end += 1) {
      const line = lines[end] ?? "";
      if (isBlank(line)) {
        const next = lines[end + 1] ?? "";
        if (isBlank(next) || !(ITEM.test(next) || /^ {2,}/.test(next))) return end;
        continue;
      }
      const other = ITEM.exec(line);
      if (other && (other[1] ?? "").length < 2 && /\d/.test(other[2] ?? "") !== isOrdered) return end;
      const isLazy = !isBlank(lines[end - 1]) && !startsBlock(line);
      if (!other && !/^ {2,}/.test(line) && !isLazy) return end;
    }
    return end;
  }
  while (end < lines.length && !isBlank(lines[end]) && !startsBlock(lines[end] ?? "")) end += 1;
  return end;
};

/** Split a text into the sources of its blocks. */
export const splitBlocks = (/** @type {string} */ text) => {
  const lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const end = endOfBlock(lines, at);
    blocks.push(lines.slice(at, end).join("\n"));
    at = end;
  }
  return blocks;
};

/**
 * Return the element of one block.
 * @param {string} source
 * @param {number} [depth]
 * @returns {HTMLElement}
 */
export const renderBlock = (source, depth = 0) => {
  const lines = source.split("\n");
  const first = lines[0] ?? "";
  const fence = FENCE.exec(first);
  if (fence) return renderCode(lines, fence[1] ?? "", (fence[2] ?? "").trim());
  const heading = HEADING.exec(first);
  // The page itself has the first two levels.
  if (heading) return inline(make(`h${Math.min((heading[1] ?? "").length + 2, 6)}`), heading[2] ?? "");
  if (RULE.test(first)) return make("hr");
  if (depth < MAX_DEPTH && QUOTE.test(first)) {
    return renderBlocks(make("blockquote"), lines.map((line) => line.replace(QUOTE, "")).join("\n"), depth + 1);
  }
  const item = ITEM.exec(first);
  if (depth < MAX_DEPTH && item) return renderList(lines, item, depth);
  if (first.includes("|") && DELIMITER_ROW.test(lines[1] ?? "")) return renderTable(lines);
  return inline(make("p"), lines.map((line) => line.trimStart()).join("\n"));
};

/**
 * @param {any} parent
 * @param {string} text
 * @param {number} depth
 */
const renderBlocks = (parent, text, depth) => {
  parent.append(...splitBlocks(text).map((source) => renderBlock(source, depth)));
  return parent;
};

/**
 * @param {string[]} lines
 * @param {string} fence
 * @param {string} info
 */
const renderCode = (lines, fence, info) => {
  const last = (lines.at(-1) ?? "").trim();
  const isClosed = lines.length > 1 && last.startsWith(fence) && !last.replaceAll(fence.charAt(0), "");
  const text = lines.slice(1, isClosed ? -1 : undefined).join("\n");
  const language = info.split(/\s/)[0] ?? "";
  const button = make(
    "button",
    { type: "button", className: "icon-button", title: "Copy code", "aria-label": "Copy code" },
    icon("copy"),
  );
  button.onclick = () => copy(button, text);
  const code = make("code", {}, ...highlight(text, language));
  return make(
    "figure",
    { className: "code" },
    make("figcaption", {}, make("span", {}, language || "text"), button),
    make("pre", { tabIndex: 0 }, code),
  );
};

/**
 * @param {string[]} lines
 * @param {RegExpExecArray} first
 * @param {number} depth
 */
const renderList = (lines, first, depth) => {
  const marker = first[2] ?? "";
  const indent = (first[1] ?? "").length;
  const list = make(/\d/.test(marker) ? "ol" : "ul");
  if (/\d/.test(marker) && parseInt(marker) !== 1) list.start = parseInt(marker);
  /** @type {string[][]} */
  const items = [];
  let width = 0;
  for (const line of lines) {
    const found = ITEM.exec(line);
    if (found && (found[1] ?? "").length <= indent + 1) {
      width = found[0].length;
      items.push([line.slice(width)]);
    } else {
      const spaces = line.length - line.trimStart().length;
      items.at(-1)?.push(line.slice(Math.min(spaces, width)));
    }
  }
  for (const item of items) {
    const element = list.appendChild(make("li"));
    const task = /^\[([ xX])\] /.exec(item[0] ?? "");
    if (task) {
      item[0] = (item[0] ?? "").slice(4);
      element.className = "task";
      element.append(make("input", { type: "checkbox", disabled: true, checked: task[1] !== " " }));
    }
    renderBlocks(element, item.join("\n"), depth + 1);
    // An item with one paragraph, and perhaps a list below it, is shown without the space around paragraphs.
    const start = task ? element.children[1] : element.firstElementChild;
    if (start?.tagName === "P" && !item.some(isBlank)) start.replaceWith(...start.childNodes);
  }
  return list;
};

const cellsOf = (/** @type {string} */ row) =>
  row
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));

const renderTable = (/** @type {string[]} */ lines) => {
  const alignments = cellsOf(lines[1] ?? "").map((cell) =>
    cell.endsWith(":") ? (cell.startsWith(":") ? "center" : "right") : "left",
  );
  const row = (/** @type {string} */ line, /** @type {string} */ tag) => {
    const cells = cellsOf(line).slice(0, alignments.length);
    return make("tr", {}, ...cells.map((cell, at) => inline(make(tag, { className: alignments[at] }), cell)));
  };
  return make(
    "div",
    { className: "table", tabIndex: 0 },
    make(
      "table",
      {},
      make("thead", {}, row(lines[0] ?? "", "th")),
      make("tbody", {}, ...lines.slice(2).map((line) => row(line, "td"))),
    ),
  );
};

// What is inside a line.

const EMPHASIS = { "***": ["em", "strong"], "**": ["strong"], __: ["strong"], "~~": ["del"], "*": ["em"], _: ["em"] };

/**
 * Append the nodes of a text to an element.
 * @param {any} parent
 * @param {string} text
 * @param {number} [depth]
 * @returns {any}
 */
export const inline = (parent, text, depth = 0) => {
  let plain = "";
  const flush = () => {
    if (plain) parent.append(plain);
    plain = "";
  };
  /** @type {Set<string>} Delimiters that do not occur again in this text. */
  const missing = new Set();
  const find = (/** @type {string} */ wanted, /** @type {number} */ from) => {
    if (missing.has(wanted)) return -1;
    const found = text.indexOf(wanted, from);
    if (found < 0) missing.add(wanted);
    return found - from > MAX_SPAN ? -1 : found;
  };
  const addLink = (/** @type {string} */ address, /** @type {string} */ label, /** @type {boolean} */ isImage) => {
    const href = safeLink(address);
    if (!href) return false;
    flush();
    const link = make("a", { href, target: "_blank", rel: "noopener noreferrer", title: href });
    if (isImage) link.append(icon("image"), label || "Image");
    else inline(link, label, MAX_DEPTH);
    parent.append(link);
    return true;
  };

  for (let at = 0; at < text.length;) {
    const char = text.charAt(at);
    const rest = (/** @type {number} */ length) => text.slice(at, at + length);
    if (char === "\\" && ESCAPABLE.test(text.charAt(at + 1))) {
      plain += text.charAt(at + 1);
      at += 2;
      continue;
    }
    if (char === "`") {
      const ticks = /^`+/.exec(rest(100))?.[0] ?? "`";
      const end = find(ticks, at + ticks.length);
      if (end > 0) {
        flush();
        const code = text.slice(at + ticks.length, end).replaceAll("\n", " ");
        parent.append(make("code", {}, /^ .*[^ ].* $/.test(code) ? code.slice(1, -1) : code));
        at = end + ticks.length;
      } else {
        plain += ticks;
        at += ticks.length;
      }
      continue;
    }
    if (depth < MAX_DEPTH && (char === "[" || (char === "!" && text.charAt(at + 1) === "["))) {
      const isImage = char === "!";
      const link =
        /^!?\[((?:[^[\]\\]|\\.|\[[^[\]]{0,200}\]){0,1000})\]\(<?([^\s<>()]{0,2000}(?:\([^\s()]{0,500}\))?[^\s<>()]{0,2000})>?(?:\s+"[^"]{0,200}")?\)/.exec(
          rest(MAX_SPAN * 2),
        );
      if (link && addLink(link[2] ?? "", link[1] ?? "", isImage)) {
        at += link[0].length;
        continue;
      }
    }
    if (char === "<" && /^<(?:https?:\/\/|mailto:)/i.test(rest(9))) {
      const end = find(">", at);
      const address = text.slice(at + 1, Math.max(end, 0));
      if (end > 0 && !/\s/.test(address) && addLink(address, address, false)) {
        at = end + 1;
        continue;
      }
    }
    if (char === "h" && depth < MAX_DEPTH && !/\w/.test(text.charAt(at - 1))) {
      const address = BARE_LINK.exec(rest(MAX_SPAN))?.[0].replace(/[.,:;!?*_~)\]]+$/, "");
      if (address && addLink(address, address, false)) {
        at += address.length;
        continue;
      }
    }
    if (depth < MAX_DEPTH && "*_~".includes(char)) {
      const mark = ["***", "**", "__", "~~", "*", "_"].find((each) => text.startsWith(each, at));
      const inner = mark && findEmphasis(text, mark, at, find);
      if (mark && inner) {
        flush();
        const tags = EMPHASIS[/** @type {keyof typeof EMPHASIS} */ (mark)];
        let element = parent;
        for (const tag of tags) element = element.appendChild(make(tag));
        inline(element, inner, depth + 1);
        at += inner.length + 2 * mark.length;
        continue;
      }
      const run = /^(?:\*+|_+|~+)/.exec(rest(100))?.[0] ?? char;
      plain += run;
      at += run.length;
      continue;
    }
    if (char === "\n") {
      // Models write one line for each line that they want to see.
      flush();
      parent.append(make("br"));
      at += 1;
      continue;
    }
    plain += char;
    at += 1;
  }
  flush();
  return parent;
};

/**
 * Return what is between a mark and its closing one, or undefined.
 * @param {string} text
 * @param {string} mark
 * @param {number} at
 * @param {(wanted: string, from: number) => number} find
 */
const findEmphasis = (text, mark, at, find) => {
  const start = at + mark.length;
  if (/^\s|^$/.test(text.charAt(start))) return undefined;
  if (mark.startsWith("_") && /\w/.test(text.charAt(at - 1))) return undefined;
  for (let end = find(mark, start), tries = 0; end > 0 && tries < 20; end = find(mark, end + 1), tries += 1) {
    const follows = text.charAt(end + mark.length);
    const isClosing = !/\s/.test(text.charAt(end - 1)) && end > start && text.charAt(end - 1) !== "\\";
    const isLonger = mark.length === 1 && (follows === mark || text.charAt(end - 1) === mark);
    if (isClosing && !isLonger && !(mark.startsWith("_") && /\w/.test(follows))) return text.slice(start, end);
  }
  return undefined;
};

/** A text that grows. Only blocks that have changed are rendered again. */
export class MarkdownView {
  element = make("div", { className: "markdown" });
  /** @type {{ source: string, block: HTMLElement }[]} */
  #shown = [];

  /** Show a text. */
  update(/** @type {string} */ text) {
    const shown = this.#shown;
    const sources = splitBlocks(text);
    // The blocks are kept in a list, because `children` counts from the start after each change.
    sources.forEach((source, at) => {
      const before = shown[at];
      if (source === before?.source) return;
      const block = renderBlock(source);
      if (before) before.block.replaceWith(block);
      else this.element.append(block);
      shown[at] = { source, block };
    });
    for (const { block } of shown.splice(sources.length)) block.remove();
  }
}
