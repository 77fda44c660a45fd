// Figures, text, and what arranges several things. Chart libraries are those of the server, loaded in pieces.
import { download } from "fanlight/files";
import { app, ask, busy, complain, make, page, redraws, render, renderers } from "./base.js";

/** @typedef {{ uri: string, parts: number }} Library */

/**
 * Return the data of an item: what came with the result, or what the server keeps because it is large.
 * @param {any} item
 * @returns {Promise<string | undefined>}
 */
const dataOf = async ({ data, handle }) => {
  if (data !== undefined || !handle) return data;
  let text = "";
  let next = 0;
  for (;;) {
    const found = await ask({ handle, start: next });
    if (!found) return undefined;
    text += found.text;
    next = found.next;
    if (next >= found.total) return text;
  }
};

/**
 * Run a library of the server: a script in parts, each base64 of a piece of its gzip.
 * @type {Map<string, Promise<void>>}
 */
const libraries = new Map();

/** @param {Library} library */
const useLibrary = ({ uri, parts }) => {
  const load = async () => {
    const pieces = await Promise.all(
      Array.from({ length: parts }, async (_, n) => {
        const { contents } = await app.readServerResource({ uri: uri + n });
        return Uint8Array.from(atob(contents[0].text ?? atob(contents[0].blob)), (character) =>
          character.charCodeAt(0),
        );
      }),
    );
    const stream = new Blob(pieces).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(make("script", { textContent: await new Response(stream).text() }));
  };
  const known = libraries.get(uri) ?? load();
  libraries.set(uri, known);
  return known;
};

/**
 * Show a chart once its data and its library are there, and again when the theme changes.
 * @param {any} item
 * @param {(element: any, spec: any) => unknown} paint
 */
const chart = (item, paint) => {
  const element = make("figure", { className: "chart", ariaLabel: item.alt });
  const wait = make("p", { textContent: "Loading the chart…" });
  element.append(wait);
  const draw = async () => {
    try {
      const library = useLibrary(item.library);
      library.catch(() => {});
      item.data = await dataOf(item);
      if (item.data === undefined) return;
      await library;
      if (!element.dataset.drawn) element.replaceChildren();
      element.dataset.drawn = "1";
      await paint(element, JSON.parse(item.data));
    } catch (error) {
      libraries.delete(item.library.uri);
      delete element.dataset.drawn;
      complain(`The chart could not be drawn: ${error.message}`, true);
      // A host that does not pass resources on still shows what the chart is about.
      element.replaceChildren(make("p", { textContent: item.alt }), ...(item.data ? dataTables(item) : []));
    }
  };
  redraws.add(draw);
  draw();
  return element;
};

/**
 * Return tables with the data of a chart that cannot be drawn.
 * @param {any} item
 * @returns {HTMLElement[]}
 */
const dataTables = ({ kind, data }) => {
  const spec = JSON.parse(data);
  /** @type {[string, Record<string, any>][]} */
  const sources = [];
  if (kind === "plotly") {
    for (const { name, type, ...trace } of spec.data) {
      const columns = Object.entries(trace).map(([key, value]) => [key, decoded(value)]);
      sources.push([name || type, Object.fromEntries(columns.filter(([, value]) => Array.isArray(value)))]);
    }
  }
  for (const rows of Object.values(spec.datasets ?? {})) {
    const names = Object.keys(rows[0] ?? {});
    const column = (/** @type {string} */ key) => rows.map((/** @type {any} */ row) => row[key]);
    sources.push(["", Object.fromEntries(names.map((key) => [key, column(key)]))]);
  }
  return sources.flatMap(([name, columns]) => {
    const total = Math.min(Math.max(0, ...Object.values(columns).map(({ length }) => length)), MOST_ROWS);
    if (!total) return [];
    const rows = Array.from({ length: total }, (_, n) => Object.values(columns).map((column) => plain(column[n])));
    const described = Object.entries(columns).map(([key, [first]]) => {
      return { name: key, type: typeof first, kind: typeof first === "number" ? "number" : "text" };
    });
    const table = { kind: "table", columns: described, rows, start: 0, total, pageRows: total };
    return [make("p", { dir: "auto", textContent: name }), render(table)];
  });
};

const MOST_ROWS = 500;
const ARRAYS = /** @type {Record<string, any>} */ ({
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  i2: Int16Array,
  i1: Int8Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
});

/** @param {any} value A value of a trace of plotly: a list, or base64 of the bytes of an array. */
const decoded = (value) => {
  if (!value?.bdata || !ARRAYS[value.dtype]) return value;
  const bytes = Uint8Array.from(atob(value.bdata), (character) => character.charCodeAt(0));
  return [...new ARRAYS[value.dtype](bytes.buffer)];
};

/** @param {any} value */
const plain = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : (value ?? null));

const isDark = () => document.documentElement.dataset.theme === "dark";

renderers.plotly = (item) =>
  chart(item, async (element, { data, layout = {}, frames }) => {
    const ink = getComputedStyle(document.body).color;
    const line = getComputedStyle(document.body).getPropertyValue("--grid") || "rgba(128, 128, 128, 0.3)";
    const colors = layout.template?.layout;
    // The default look of plotly gets the colours of the host; one that the author chose stays as it is.
    if (colors?.plot_bgcolor === "#E5ECF6") {
      colors.paper_bgcolor = colors.plot_bgcolor = "rgba(0, 0, 0, 0)";
      colors.font = { ...colors.font, color: ink, family: getComputedStyle(document.body).fontFamily };
      colors.margin = { l: 60, r: 16, t: 48, b: 48, ...colors.margin };
      for (const axis of [colors.xaxis, colors.yaxis]) {
        if (axis) Object.assign(axis, { gridcolor: line, zerolinecolor: line, linecolor: line });
      }
    }
    if (layout.width) layout.width = Math.min(layout.width, element.clientWidth || layout.width);
    else layout.autosize = true;
    layout.height ??= 420;
    const { Plotly } = /** @type {any} */ (window);
    const config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["toImage"] };
    await Plotly.react(element, data, layout, config);
    if (frames?.length && !element.dataset.frames) {
      element.dataset.frames = "1";
      await Plotly.addFrames(element, frames);
    }
  });

renderers.vega = (item) =>
  chart(item, async (element, spec) => {
    const box = make("div");
    element.replaceChildren(box);
    // A chart without a width of its own takes that of the View.
    if (spec.mark && spec.width === undefined) spec.width = "container";
    spec.background ??= "transparent";
    const { vegaEmbed } = /** @type {any} */ (window);
    const theme = isDark() ? { theme: "dark" } : {};
    await vegaEmbed(box, spec, { ast: true, actions: false, renderer: "svg", ...theme });
  });

renderers.bokeh = (item) =>
  chart(item, async (element, spec) => {
    // Its colours are those of white paper, in every theme.
    if (element.classList.contains("paper")) return;
    element.classList.add("paper");
    const { Bokeh } = /** @type {any} */ (window);
    await Bokeh.embed.embed_item(spec, element.appendChild(make("div")));
  });

renderers.image = (item) => {
  const image = make("img", { alt: item.alt });
  const element = make("figure", { className: item.mime === "image/svg+xml" ? "paper" : "" }, image);
  dataOf(item).then(
    (data) => {
      if (data === undefined) return;
      // A picture runs no scripts, not even an SVG.
      image.src =
        item.mime === "image/svg+xml"
          ? `data:${item.mime},${encodeURIComponent(data)}`
          : `data:${item.mime};base64,${data}`;
    },
    (error) => complain(`The picture could not be loaded: ${error.message}`, true),
  );
  return element;
};

// HTML that a library made for notebooks

const ELEMENTS = new Set(
  `A ABBR B BLOCKQUOTE BR CAPTION CODE COL COLGROUP DD DEL DETAILS DIV DL DT EM FIGCAPTION FIGURE H1 H2 H3 H4 H5 H6 HR I
  IMG INS KBD LI MARK OL P PRE Q S SAMP SECTION SMALL SPAN STRONG STYLE SUB SUMMARY SUP TABLE TBODY TD TFOOT TH THEAD
  TIME TR U UL VAR`.split(/\s+/),
);
const ATTRIBUTES = new Set(
  "align class colspan datetime dir headers height id lang rowspan scope span style title valign width alt".split(" "),
);

/**
 * Remove everything from HTML that is not on the lists: scripts, handlers, forms, frames, what loads from elsewhere.
 * @param {ParentNode} parent
 */
const sanitize = (parent) => {
  for (const element of [...parent.children]) {
    if (!ELEMENTS.has(element.tagName)) {
      element.remove();
      continue;
    }
    for (const { name, value } of [...element.attributes]) {
      const isPicture = name === "src" && /^data:image\/(png|jpeg|gif|webp|svg\+xml)[;,]/i.test(value);
      const isLink = name === "href" && /^https?:\/\//i.test(value);
      if (!ATTRIBUTES.has(name) && !isPicture && !isLink) element.removeAttribute(name);
    }
    sanitize(element);
  }
};

/**
 * Open links through the host, since a View cannot navigate.
 * @param {any} event
 */
const openLink = (event) => {
  const link = event.composedPath().find((/** @type {any} */ each) => each.href);
  if (!link) return;
  event.preventDefault();
  app.openLink({ url: link.href }).catch((error) => complain(error.message));
};

renderers.html = (item) => {
  const element = make("div", { className: "html" });
  const root = element.attachShadow({ mode: "open" });
  root.addEventListener("click", openLink);
  dataOf(item).then(
    (data) => {
      const parsed = new DOMParser().parseFromString(data ?? "", "text/html");
      // Styles may be in the head.
      const body = make("div");
      body.append(...parsed.head.querySelectorAll("style"), ...parsed.body.childNodes);
      sanitize(body);
      root.replaceChildren(body);
    },
    (error) => complain(error.message, true),
  );
  return element;
};

// Text

renderers.text = ({ data }) => make("pre", { textContent: data });

/** Marks inside a line: code, bold, italic, links. */
const MARKS = /`([^`]+)`|\*\*(.+?)\*\*|\*(.+?)\*|\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)/g;

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
const inline = (text) => {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    found.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (match[1]) found.push(make("code", { textContent: match[1] }));
    else if (match[2]) found.push(make("strong", {}, ...inline(match[2])));
    else if (match[3]) found.push(make("em", {}, ...inline(match[3])));
    else found.push(make("a", { href: match[5], onclick: openLink }, match[4] ?? ""));
  }
  return [...found, text.slice(end)];
};

renderers.markdown = ({ data }) => {
  const element = make("div", { className: "markdown" });
  for (const block of data.split(/(^```[^\n]*\n[\s\S]*?^```$)|\n{2,}/m)) {
    const text = (block ?? "").trim();
    const heading = /^(#{1,6}) +(.*)/.exec(text);
    const lines = text.split("\n");
    if (!text) continue;
    if (text.startsWith("```")) element.append(make("pre", { textContent: lines.slice(1, -1).join("\n") }));
    else if (heading) {
      element.append(make(`h${Math.min((heading[1]?.length ?? 1) + 1, 6)}`, {}, ...inline(heading[2] ?? "")));
    } else if (lines.every((/** @type {string} */ line) => /^ *([-*+]|\d+[.)]) +/.test(line))) {
      const list = make(/^ *\d/.test(text) ? "ol" : "ul");
      for (const line of lines) list.append(make("li", {}, ...inline(line.replace(/^ *([-*+]|\d+[.)]) +/, ""))));
      element.append(list);
    } else element.append(make("p", {}, ...inline(text)));
  }
  return element;
};

renderers.metric = ({ label, value, delta, good }) => {
  const element = make("div", { className: "metric" });
  const shownValue = typeof value === "number" ? value.toLocaleString(page.locale) : value;
  element.append(
    make("p", { dir: "auto", textContent: label }),
    make("strong", { dir: "auto", textContent: shownValue }),
  );
  if (delta) element.append(make("p", { className: good ? "good" : "bad", dir: "auto", textContent: delta }));
  return element;
};

// Files to save

/**
 * @param {number} size
 * @returns {string} A number of bytes for people, such as `1.5 MB`.
 */
const sizeOf = (size) => {
  const [unit, name] = size < 1e3 ? [1, "byte"] : size < 1e6 ? [1e3, "kilobyte"] : [1e6, "megabyte"];
  const unitDisplay = unit === 1 ? "long" : "short"; // "29 bytes": the short form of bytes has no plural
  /** @type {any} */
  const options = { style: "unit", unit: name, unitDisplay, maximumSignificantDigits: 3 };
  return (size / unit).toLocaleString(page.locale, options);
};

renderers.download = (item) => {
  const button = make("button", { dir: "auto", textContent: `Save ${item.name} (${sizeOf(item.size)})` });
  button.onclick = async () => {
    button.disabled = true;
    complain("");
    try {
      await busy(`Getting ${item.name}…`, (options) => download({ app, item, ...options }));
    } catch (error) {
      complain(`The file could not be saved: ${error.message}.`, !!error.gone);
    }
    button.disabled = false;
    button.focus();
  };
  return make("div", { className: "file" }, button);
};

// Several things

renderers.stack = ({ items }) => make("div", { className: "stack" }, ...items.map(render));
renderers.columns = ({ items }) => make("div", { className: "beside" }, ...items.map(render));

renderers.tabs = ({ items, labels }) => {
  const bar = make("div", { className: "tabs", role: "tablist" });
  const panels = items.map(() => make("div", { role: "tabpanel", hidden: true, tabIndex: 0 }));
  /** @param {number} n */
  const open = (n) => {
    const chosen = (n + items.length) % items.length;
    panels.forEach((/** @type {any} */ panel, /** @type {number} */ i) => {
      panel.hidden = i !== chosen;
      bar.children[i].ariaSelected = String(i === chosen);
      bar.children[i].tabIndex = i === chosen ? 0 : -1;
    });
    // A chart needs a place with a size, so it is drawn when its tab is first opened.
    if (!panels[chosen].firstChild) panels[chosen].append(render(items[chosen]));
    return bar.children[chosen];
  };
  labels.forEach((/** @type {string} */ label, /** @type {number} */ i) => {
    const tab = make("button", { role: "tab", dir: "auto", textContent: label, onclick: () => open(i) });
    tab.onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step) open(i + step).focus();
    };
    panels[i].ariaLabel = label;
    bar.append(tab);
  });
  const element = make("div", { className: "stack" }, bar, ...panels);
  open(0);
  return element;
};

export { sizeOf };
