// A table: one page of rows. Sorting, filtering and searching is done by the server.
import { app, ask, at, busy, complain, count, make, page, redraws, renderers } from "./base.js";

const MOST_CSV = 8_000_000;
const ENDS = ["integer", "number", "decimal", "duration"];
const RANGES = ["integer", "number", "decimal", "date", "datetime"];

/**
 * Return a function that formats the values of a column, chosen for all values on the page.
 * @param {any} column
 * @param {any[]} values
 * @returns {(value: any) => string}
 */
const formatter = (column, values) => {
  const { kind, name, zone } = column;
  /** @type {any} */
  const options = {};
  if (kind === "integer" || kind === "number" || kind === "decimal") {
    // Four digits alone may be a year. Beside longer numbers they are grouped like these.
    const grouping = values.some((value) => Math.abs(value) >= 10_000) || "min2";
    options.useGrouping = !/(^|[^a-z])(id|year|zip|code|no|nr)$/i.test(name) && grouping;
    const digits = values.map((value) =>
      String(value).includes("e") ? 9 : (String(value).split(".")[1]?.length ?? 0),
    );
    const most = Math.max(0, ...digits);
    // Six digits of the largest value, and as many decimals for all of them, so that their points line up.
    const largest = Math.max(...values.map((value) => Math.abs(value)).filter(isFinite));
    const decimals = Math.max(5 - Math.floor(Math.log10(largest || 1)), 2);
    const fraction = kind !== "decimal" && most > 4 ? Math.min(decimals, most) : most;
    options.minimumFractionDigits = options.maximumFractionDigits = Math.min(fraction, 20);
    const format = new Intl.NumberFormat(page.locale, options);
    const extreme = new Intl.NumberFormat(page.locale, { notation: "scientific", maximumSignificantDigits: 6 });
    return (value) => {
      // A string is a number that JSON cannot represent: not finite, or with more digits.
      if (isNaN(value) || !isFinite(value)) return value;
      const size = Math.abs(value);
      // What would be shown as zero, or with more digits than it has.
      const isExtreme = kind === "number" && size && (size < 0.5 / 10 ** fraction || size >= 1e15);
      return (isExtreme ? extreme : format).format(value);
    };
  }
  if (kind === "date" || kind === "datetime") {
    Object.assign(options, { year: "numeric", month: "short", day: "numeric", timeZone: zone ?? "UTC" });
    const times = values.filter(Boolean).map((value) => value.slice(11));
    if (times.some((time) => zone || /[1-9]/.test(time))) {
      Object.assign(options, { hour: "2-digit", minute: "2-digit" });
    }
    if (times.some((time) => /^..:..:(?!00(\D|$))/.test(time))) options.second = "2-digit";
    if (zone) options.timeZoneName = "short";
    const format = dateFormat(options);
    return (value) => {
      const moment = new Date(kind === "datetime" && !zone ? value + "Z" : value);
      return isNaN(+moment) ? value : format.format(moment);
    };
  }
  return String;
};

/** @param {string} text JSON, unless it is too long and was cut. */
const indented = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** @param {any} options */
const dateFormat = (options) => {
  try {
    return new Intl.DateTimeFormat(page.locale, options);
  } catch {
    // A time zone that this browser does not know.
    return new Intl.DateTimeFormat(page.locale, { ...options, timeZone: "UTC" });
  }
};

/**
 * @param {any} table The item, as the server described it.
 * @returns {HTMLElement}
 */
renderers.table = (table) => {
  const root = at("table").content.firstElementChild.cloneNode(true);
  // The elements with a class, found once: those of the tools may be moved to another place of the page.
  const parts = Object.fromEntries([...root.querySelectorAll("[class]")].map((each) => [each.className, each]));
  /** @param {string} name @returns {any} */
  const part = (name) => parts[name];
  const [head, body] = part("grid").children;
  /** The rows on the page. @type {any[][]} */
  let rows = table.rows;
  let { start, total } = table;
  /** @type {{ column: number, descending: boolean }[]} */
  let sort = [];
  /** The filters of each column, by position. @type {Map<number, { op: string, value: string }[]>} */
  const filters = new Map();
  let search = "";
  /** @type {Set<number>} */
  const hidden = new Set();
  /** Widths that the user chose, by column. @type {Map<number, number>} */
  const widths = new Map();
  /** The column whose filter is in the panel, -1 for the list of columns, or undefined. @type {number | undefined} */
  let open;
  /** The cell that has the focus or would get it: row, from -1 for the header, and position among the shown columns. */
  let active = { y: -1, x: 0 };
  let latest = 0;
  /** Text that a copy event puts on the clipboard. @type {string | undefined} */
  let clipboard;

  const shown = () =>
    table.columns
      .map((/** @type {any} */ _, /** @type {number} */ i) => i)
      .filter((/** @type {number} */ i) => !hidden.has(i));

  // Drawing

  const draw = () => {
    const { columns, handle } = table;
    const visible = shown();
    const formats = new Map(
      visible.map((/** @type {number} */ i) => [
        i,
        formatter(
          columns[i],
          rows.map((row) => row[i] ?? ""),
        ),
      ]),
    );
    const { activeElement } = document;
    const hadFocus = part("grid").contains(activeElement);
    head.replaceChildren(make("tr", { ariaRowIndex: 1 }, ...visible.map(heading)));
    body.replaceChildren(
      ...rows.map((row, y) => {
        const line = make("tr", { ariaRowIndex: start + y + 2 });
        line.append(...visible.map((/** @type {number} */ i) => cell(columns[i], row[i], formats.get(i), i)));
        return line;
      }),
    );
    if (!rows.length && visible.length) {
      const textContent = table.total ? "No rows fit the search and the filters." : "No rows.";
      const td = make("td", { className: "none", colSpan: visible.length }, make("span", { textContent }));
      body.append(make("tr", {}, td));
    }
    part("grid").ariaRowCount = total + 1;
    part("grid").ariaColCount = visible.length;
    part("scroll").hidden = !columns.length;
    part("tools").hidden = false;
    part("columns").disabled = !columns.length;
    part("search").disabled = !handle;
    part("download").hidden = !handle || !app.getHostCapabilities()?.downloadFile;
    part("pages").hidden = !handle || (total <= rows.length && !start);
    part("first").disabled = part("previous").disabled = !start;
    part("next").disabled = part("last").disabled = start + rows.length >= total;
    part("page").value = Math.floor(start / table.pageRows) + 1;
    part("page").max = Math.ceil(total / table.pageRows);
    drawFilters();
    drawStatus();
    focus(active.y, active.x, hadFocus);
  };

  /** @param {number} i */
  const heading = (i) => {
    const { name, type, fixed } = table.columns[i];
    const sorted = sort.find(({ column }) => column === i);
    const th = make("th", { scope: "col", tabIndex: -1, title: `${name} (${type})` });
    th.append(make("span", { dir: "auto", textContent: name || "(no name)" }));
    th.dataset.column = i;
    if (sorted) th.ariaSort = sorted.descending ? "descending" : "ascending";
    if (ENDS.includes(table.columns[i].kind)) th.classList.add("end");
    th.classList.toggle("filtered", filters.has(i));
    if (table.handle && !fixed) {
      th.onclick = (/** @type {MouseEvent} */ event) => toggleSort(i, event.shiftKey);
    }
    if (table.handle) {
      const menu = make("button", { tabIndex: -1, textContent: "⋮", ariaLabel: `Filter or hide ${name}` });
      menu.onclick = (/** @type {Event} */ event) => {
        event.stopPropagation();
        showPanel(open === i ? undefined : i);
      };
      th.append(menu);
    }
    const edge = make("i");
    edge.onclick = (/** @type {Event} */ event) => event.stopPropagation();
    edge.onpointerdown = (/** @type {PointerEvent} */ event) => {
      edge.setPointerCapture(event.pointerId);
      const before = th.offsetWidth - event.clientX;
      edge.onpointermove = (/** @type {PointerEvent} */ move) => resize(i, before + move.clientX);
      edge.onpointerup = () => (edge.onpointermove = null);
    };
    edge.ondblclick = () => {
      widths.delete(i);
      draw();
    };
    th.append(edge);
    setWidth(th, i);
    return th;
  };

  /**
   * @param {any} column
   * @param {any} value
   * @param {any} format
   * @param {number} i
   */
  const cell = (column, value, format, i) => {
    const td = make("td", { tabIndex: -1, dir: "auto" });
    td.textContent = value === null ? "null" : format(value);
    td.classList.toggle("null", value === null);
    td.classList.toggle("code", column.kind === "nested");
    td.classList.toggle("end", ENDS.includes(column.kind));
    if (value === null) td.title = "no value";
    else if (td.textContent !== String(value) || td.textContent.length > 30) td.title = value;
    setWidth(td, i);
    return td;
  };

  /**
   * @param {HTMLElement} element
   * @param {number} i
   */
  const setWidth = (element, i) => {
    const width = widths.get(i);
    if (width) element.style.minWidth = element.style.maxWidth = `${width}px`;
  };

  /**
   * @param {number} i
   * @param {number} width
   */
  const resize = (i, width) => {
    widths.set(i, Math.max(48, Math.round(width)));
    const position = shown().indexOf(i);
    for (const line of part("grid").rows) setWidth(line.cells[position], i);
  };

  /** @param {number} number */
  const rowsOf = (number) => (number === 1 ? "1 row" : `${count(number)} rows`);

  const drawStatus = () => {
    const range = `${count(start + 1)}–${count(start + rows.length)} of ${count(total)} rows`;
    const parts = [rows.length < total || start ? range : rowsOf(total)];
    if (total < table.total) parts.push(`filtered from ${count(table.total)}`);
    if (hidden.size) parts.push(hidden.size === 1 ? "1 column hidden" : `${hidden.size} columns hidden`);
    if (table.hiddenColumns) parts.push(`${count(table.hiddenColumns)} more columns only in the CSV file`);
    if (!table.handle && rows.length < total) parts.push("the table is too large to keep, so these are its first rows");
    part("status").textContent = parts.join(" · ");
  };

  const drawFilters = () => {
    const chips = [...filters].flatMap(([i, list]) => {
      const { name } = table.columns[i];
      const texts = list.map(({ op, value }) => {
        if (op === "null" || op === "not_null") return op === "null" ? "is null" : "is not null";
        return { at_least: "≥", at_most: "≤", equals: "=" }[op]
          ? `${{ at_least: "≥", at_most: "≤", equals: "=" }[op]} ${value}`
          : `contains “${value}”`;
      });
      const chip = make("button", { type: "button", title: "Remove this filter" });
      chip.textContent = `${name} ${texts.join(" and ")} ✕`;
      chip.onclick = () => setFilter(i, []);
      return [chip];
    });
    if (chips.length > 1 || (chips.length && search)) {
      const onclick = () => {
        search = part("search").value = "";
        filters.clear();
        load(0);
      };
      chips.push(make("button", { type: "button", textContent: "Clear all", onclick }));
    }
    part("filters").replaceChildren(...chips);
    part("filters").hidden = !chips.length;
  };

  // The keyboard

  /**
   * Make a cell the one that Tab reaches, and focus it.
   * @param {number} y
   * @param {number} x
   * @param {boolean} [now]
   */
  const focus = (y, x, now = true) => {
    y = Math.min(Math.max(y, -1), rows.length - 1);
    x = Math.min(Math.max(x, 0), shown().length - 1);
    for (const old of part("grid").querySelectorAll("[tabindex='0']")) old.tabIndex = -1;
    active = { y, x };
    const next = part("grid").rows[y + 1]?.cells[x];
    if (!next) return;
    next.tabIndex = 0;
    if (now) next.focus();
  };

  /**
   * Show all of a cell, or its first line again.
   * @param {number} y
   * @param {number} x
   */
  const expand = (y, x) => {
    const td = part("grid").rows[y + 1].cells[x];
    const i = shown()[x];
    const isOpen = td.classList.toggle("open");
    if (table.columns[i].kind === "nested" && rows[y]?.[i]) {
      td.textContent = isOpen ? indented(rows[y][i]) : rows[y][i];
    }
  };

  body.ondblclick = (/** @type {any} */ { target }) => {
    const td = target.closest("td[tabindex]");
    if (td) expand(td.parentNode.rowIndex - 1, td.cellIndex);
  };

  part("grid").onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
    const { y, x } = active;
    const i = shown()[x];
    const last = shown().length - 1;
    const far = ctrlKey || metaKey;
    const rtl = getComputedStyle(part("grid")).direction === "rtl" ? -1 : 1;
    /** @type {Record<string, () => unknown>} */
    const actions = {
      ArrowRight: () =>
        shiftKey && y < 0 ? resize(i, part("grid").rows[0].cells[x].offsetWidth + 16) : focus(y, x + rtl),
      ArrowLeft: () =>
        shiftKey && y < 0 ? resize(i, part("grid").rows[0].cells[x].offsetWidth - 16) : focus(y, x - rtl),
      ArrowDown: () => (altKey && y < 0 && table.handle ? showPanel(i) : focus(y + 1, x)),
      ArrowUp: () => focus(y - 1, x),
      Home: () => focus(far ? 0 : y, 0),
      End: () => focus(far ? rows.length - 1 : y, last),
      PageDown: () => turn(start + rows.length),
      PageUp: () => turn(start - table.pageRows),
      Enter: () => (y < 0 ? part("grid").rows[0].cells[x].click() : expand(y, x)),
    };
    if (!actions[key] || /** @type {any} */ (event.target).tagName === "BUTTON") return;
    event.preventDefault();
    actions[key]();
  };
  part("grid").addEventListener("focusin", (/** @type {any} */ { target }) => {
    const found = target.closest("th, td");
    const y = found.parentNode.rowIndex - 1;
    if (y !== active.y || found.cellIndex !== active.x) focus(y, found.cellIndex, false);
  });

  // Sorting, filters, pages

  /**
   * Sort by a column: ascending, then descending, then not at all. With `more`, keep the columns before it.
   * @param {number} i
   * @param {boolean} more
   */
  const toggleSort = (i, more) => {
    const old = sort.find(({ column }) => column === i);
    const rest = more ? sort.filter(({ column }) => column !== i) : [];
    sort = old?.descending ? rest : [...rest, { column: i, descending: !!old }].slice(-4);
    load(0);
  };

  /**
   * @param {number} i
   * @param {{ op: string, value: string }[]} list
   */
  const setFilter = (i, list) => {
    if (list.length) filters.set(i, list);
    else filters.delete(i);
    load(0);
  };

  /** @param {number} next */
  const turn = (next) => {
    if (!table.handle || next >= total || (next < 0 && !start)) return;
    load(Math.max(next, 0));
  };

  /**
   * @param {any} query
   * @param {any} [options]
   */
  const more = (query, options) => {
    const list = [...filters].flatMap(([column, found]) => found.map((each) => ({ column, ...each })));
    return ask({ handle: table.handle, sort, filters: list, search, ...query }, options);
  };

  /** @param {number} next */
  const load = async (next) => {
    const turnOf = ++latest;
    part("grid").ariaBusy = "true";
    try {
      complain("");
      const found = await more({ start: next, count: table.pageRows });
      if (found && turnOf === latest) {
        ({ rows, start, total } = found);
        part("scroll").scrollTop = 0;
        draw();
      }
    } catch (error) {
      if (turnOf === latest) complain(`The rows could not be loaded: ${error.message}`);
    }
    if (turnOf === latest) part("grid").ariaBusy = "false";
  };

  part("first").onclick = () => turn(0);
  part("previous").onclick = () => turn(start - table.pageRows);
  part("next").onclick = () => turn(start + rows.length);
  part("last").onclick = () => turn(Math.floor((total - 1) / table.pageRows) * table.pageRows);
  part("page").onchange = () => turn((Math.min(part("page").value, part("page").max) - 1) * table.pageRows);
  /** @type {any} */
  let typing;
  part("search").oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      search = part("search").value;
      load(0);
    }, 250);
  };

  // The panel: the filter of a column, or the list of columns

  /** @param {number | undefined} next */
  const showPanel = (next) => {
    const before = open;
    open = next;
    const panel = part("panel");
    panel.hidden = next === undefined;
    part("columns").ariaExpanded = next === -1;
    if (next === undefined) {
      panel.replaceChildren();
      if (before === -1) part("columns").focus();
      else focus(-1, Math.max(shown().indexOf(before), 0));
      return;
    }
    panel.replaceChildren(...(next < 0 ? columnList() : filterFields(next)));
    panel.append(make("button", { type: "button", textContent: "Close", onclick: () => showPanel(undefined) }));
    panel.querySelector("input, select, button").focus();
  };

  const columnList = () =>
    table.columns.map((/** @type {any} */ { name }, /** @type {number} */ i) => {
      const box = make("input", { type: "checkbox", checked: !hidden.has(i) });
      box.onchange = () => {
        if (box.checked) hidden.delete(i);
        else hidden.add(i);
        draw();
      };
      return make("label", { dir: "auto" }, box, name || "(no name)");
    });

  /** @param {number} i */
  const filterFields = (i) => {
    const { name, kind, type: typeName, fixed } = table.columns[i];
    const list = filters.get(i) ?? [];
    /** @param {string} op */
    const old = (op) => list.find((each) => each.op === op)?.value ?? "";
    const type = kind.startsWith("date") ? "date" : "text";
    /** @type {[string, any][]} */
    const fields = [];
    /**
     * @param {string} label
     * @param {string} op
     * @param {any} control
     */
    const add = (label, op, control) => {
      control.value = old(op);
      control.ariaLabel = label;
      fields.push([op, control]);
      return make("label", {}, label, control);
    };
    const parts = [make("strong", { dir: "auto" }, name, make("small", { textContent: typeName }))];
    if (RANGES.includes(kind)) {
      const inputMode = type === "text" ? "decimal" : "";
      parts.push(add("from", "at_least", make("input", { type, inputMode })));
      parts.push(add("to", "at_most", make("input", { type, inputMode })));
    } else if (kind === "boolean") {
      parts.push(
        add(
          "is",
          "equals",
          choice([
            ["", "any"],
            ["true", "true"],
            ["false", "false"],
          ]),
        ),
      );
    } else if (!fixed) parts.push(add("contains", "contains", make("input", { type: "text" })));
    const empty = choice([
      ["", "any value"],
      ["not_null", "not null"],
      ["null", "null"],
    ]);
    empty.ariaLabel = "Missing values";
    empty.value = list.find(({ op }) => op.endsWith("null"))?.op ?? "";
    const hide = make("button", { type: "button", textContent: "Hide column" });
    hide.onclick = () => {
      hidden.add(i);
      draw();
      showPanel(undefined);
    };
    part("panel").onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      if (open !== i) return;
      const set = fields.filter(([, { value }]) => value).map(([op, { value }]) => ({ op, value }));
      setFilter(i, empty.value ? [...set, { op: empty.value, value: "" }] : set);
      showPanel(undefined);
    };
    return [...parts, empty, make("button", { textContent: "Apply" }), hide];
  };

  /** @param {string[][]} options */
  const choice = (options) =>
    make("select", {}, ...options.map(([value, textContent]) => make("option", { value, textContent })));

  part("panel").onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    if (key === "Escape") showPanel(undefined);
  };
  part("columns").onclick = () => showPanel(open === -1 ? undefined : -1);

  // Copy and download

  /** A value for a spreadsheet, which must not take it for a formula. @param {any} value */
  const safe = (value) => {
    const text = String(value ?? "").replace(/[\t\r\n]+/g, " ");
    return typeof value === "string" && /^[=+\-@＝＋－＠]/.test(text) && isNaN(+text) ? `'${text}` : text;
  };

  part("copy").onclick = () => {
    const visible = shown();
    const lines = [visible.map((/** @type {number} */ i) => safe(table.columns[i].name))];
    for (const row of rows) lines.push(visible.map((/** @type {number} */ i) => safe(row[i])));
    clipboard = lines.map((line) => line.join("\t")).join("\n");
    const done = document.execCommand("copy");
    clipboard = undefined;
    part("status").textContent = done ? `${rowsOf(rows.length)} copied` : "This host does not allow copying.";
  };
  /** @param {ClipboardEvent} event */
  const copied = (event) => {
    if (!root.isConnected) return document.removeEventListener("copy", copied);
    const { y, x } = active;
    if (clipboard === undefined && part("grid").contains(document.activeElement) && !String(document.getSelection())) {
      const i = shown()[x];
      clipboard = String((y < 0 ? table.columns[i].name : rows[y]?.[i]) ?? "");
    }
    if (clipboard === undefined) return;
    event.clipboardData?.setData("text/plain", clipboard);
    event.preventDefault();
    clipboard = undefined;
  };
  document.addEventListener("copy", copied);

  part("download").onclick = async () => {
    part("download").disabled = true;
    let text = "";
    // Lines: the first has the names of the columns. A long one comes in several parts.
    let [next, skip] = [0, 0];
    try {
      const isThere = await busy("Getting the rows…", async ({ signal, onprogress }) => {
        do {
          const found = await more({ start: next, skip, csv: true }, { signal });
          if (!found) return false;
          text += found.text;
          if (!found.text) break;
          ({ next, skip } = found);
          const done = Math.max(next - 1, 0);
          onprogress({ progress: done, total, numbers: `${count(done)} of ${count(total)}` });
        } while (next <= total && text.length < MOST_CSV);
        return true;
      });
      if (!isThere) return;
      const uri = `file:///${encodeURIComponent(page.tool || "table")}.csv`;
      const resource = { uri, mimeType: "text/csv", text: "\ufeff" + text };
      const { isError } = await app.downloadFile({ contents: [{ type: "resource", resource }] });
      const rest = next <= total ? ` The file has the first ${count(next - 1)} rows only: the rest is too large.` : "";
      part("status").textContent = (isError ? "The host did not save the file." : "Saved.") + rest;
    } catch (error) {
      complain(`The file could not be saved: ${error.message}`);
    } finally {
      part("download").disabled = false;
    }
  };

  part("grid").ariaLabel = document.title;
  redraws.add(draw);
  draw();
  return root;
};
