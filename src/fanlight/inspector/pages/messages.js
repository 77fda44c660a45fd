// @ts-check
/** The messages panel: all messages between the View and the host, and between the host and the server, in order. */
import { $, copy, download, formatBytes, formatSeconds, make, plainButton, pretty, shortened } from "./dom.js";
import { changed, state } from "./state.js";

/** @typedef {Record<string, any>} Json */

const MAX_SHOWN = 400;
const MAX_KEPT = 2_000;
const ARROWS = /** @type {Json} */ ({ view: "→", host: "←", client: "⇒", server: "⇐" });
const DIRECTIONS = /** @type {Json} */ ({
  view: "from the View to the host",
  host: "from the host to the View",
  client: "from the host to the server",
  server: "from the server to the host",
});

let filter = "";
const included = { view: true, server: false };
/** @type {WeakSet<Json>} The messages that are expanded. */
const expanded = new WeakSet();

/** Keep a message between the host and a server. */
export const onServerMessage = (/** @type {Json} */ { server, at, direction, message }) => {
  const log = (state.serverMessages[server] ??= []);
  const entry = /** @type {Json} */ ({
    from: direction === "sent" ? "client" : "server",
    message,
    at: at * 1_000,
    size: JSON.stringify(message).length,
  });
  if (message.method === undefined && message.id !== undefined) {
    entry.request = log.findLast(
      (each) => each.message.id === message.id && each.message.method && each.from !== entry.from,
    );
    if (entry.request) entry.took = entry.at - entry.request.at;
  }
  log.push(entry);
  if (log.length > MAX_KEPT) log.shift();
  changed("messages");
};

const allEntries = () => {
  const { selected } = state;
  const server = selected?.server ?? state.chosen?.server;
  const ofView = included.view && selected ? selected.messages : [];
  const ofServer = included.server && server ? (state.serverMessages[server] ?? []) : [];
  return [...ofView, ...ofServer].sort((a, b) => a.at - b.at);
};

const matches = (/** @type {Json} */ { message, from, reloaded }) =>
  !filter || (!reloaded && `${from} ${JSON.stringify(message)}`.toLowerCase().includes(filter));

/** Return the content of the panel; `replay` is called with a recording that the user opens. */
export const drawMessagesPanel = (/** @type {(recording: string) => void} */ replay) => {
  // Reused, so that typing in it is not interrupted.
  const search =
    $("panel").querySelector("#filter") ??
    make("input", {
      id: "filter",
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter messages",
      value: filter,
    });
  search.oninput = () => {
    filter = search.value.toLowerCase();
    changed("messages");
  };
  const include = (/** @type {"view" | "server"} */ key, /** @type {string} */ label) =>
    make(
      "label",
      { className: "small" },
      make("input", {
        type: "checkbox",
        checked: included[key],
        onchange: (/** @type {any} */ { target }) => {
          included[key] = target.checked;
          changed("messages");
        },
      }),
      ` ${label}`,
    );
  const all = allEntries();
  const found = all.filter(matches);
  const began = state.selected?.began ?? found[0]?.at ?? 0;
  const file = make("input", {
    type: "file",
    accept: ".jsonl,.json,.txt",
    hidden: true,
    onchange: async () => file.files[0] && replay(await file.files[0].text()),
  });
  return [
    make(
      "div",
      { className: "actions tight" },
      search,
      include("view", "View"),
      include("server", "server"),
      plainButton("Export", () => save(found, began), { disabled: !found.length }),
      plainButton("Replay …", () => file.click(), {
        title: "Replay an exported conversation against the View of the chosen tool",
        disabled: !state.chosen,
      }),
      file,
    ),
    found.length > MAX_SHOWN &&
      make(
        "p",
        { className: "small quiet" },
        `These are the last ${MAX_SHOWN} of ${found.length}. Export has all of them.`,
      ),
    found.length
      ? make("ol", {}, ...found.slice(-MAX_SHOWN).map((entry) => drawEntry(entry, began)))
      : make("p", { className: "empty" }, all.length ? "No message matches the filter." : "No messages yet."),
  ];
};

/**
 * Format when a message was sent, relative to the call.
 * @param {number} at
 * @param {number} began
 */
const formatTime = (at, began) => (at < began ? `${formatSeconds(began - at)} before` : formatSeconds(at - began));

const drawEntry = (/** @type {Json} */ entry, /** @type {number} */ began) => {
  const { from, message, at, size, took, reloaded } = entry;
  if (reloaded) return make("li", { className: "reloaded small quiet" }, `reloaded · ${formatTime(at, began)}`);
  const name = message.method ?? `response to ${entry.request?.message.method ?? message.id}`;
  const time =
    took === undefined ? formatTime(at, began) : `+${took < 1_000 ? `${Math.round(took)} ms` : formatSeconds(took)}`;
  const body = () =>
    make(
      "div",
      { className: "body" },
      plainButton("Copy", () => void copy(pretty(message), "The message is copied."), { className: "plain copy" }),
      make("pre", {}, shortened(pretty(message))),
    );
  const details = make(
    "details",
    {
      open: expanded.has(entry),
      ontoggle: () => {
        if (details.open) expanded.add(entry);
        else expanded.delete(entry);
        if (details.open && !details.children[1]) details.append(body());
      },
    },
    make(
      "summary",
      { className: message.error || message.result?.isError ? "bad" : "" },
      make("span", { title: DIRECTIONS[from], className: `arrow ${from}` }, ARROWS[from]),
      make("span", {}, name, message.params?.name && make("span", { className: "quiet" }, ` ${message.params.name}`)),
      make("span", { className: "small quiet" }, `${time} · ${formatBytes(size)}`),
    ),
  );
  if (expanded.has(entry)) details.append(body());
  return make("li", {}, details);
};

const save = (/** @type {Json[]} */ entries, /** @type {number} */ began) => {
  const lines = entries
    .filter(({ reloaded }) => !reloaded)
    .map(({ from, message, at }) => JSON.stringify({ at: Math.round(at - began), from, message }));
  download(`${state.selected?.tool.name ?? "connection"}.jsonl`, `${lines.join("\n")}\n`, "application/jsonl");
};
