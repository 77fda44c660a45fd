// @ts-check
/** Every message between a View and the host, and between the host and the server, in order. */
import { $, bytes, download, make, pretty, say, seconds, shortened } from "./dom.js";
import { changed, state } from "./state.js";

/** @typedef {Record<string, any>} Json */

const MOST_SHOWN = 400;
const ARROWS = /** @type {Json} */ ({ view: "→", host: "←", client: "⇒", server: "⇐" });
const FROM = /** @type {Json} */ ({
  view: "from the View",
  host: "from the host to the View",
  client: "from the host to the server",
  server: "from the server",
});

let filter = "";
const shown = { link: true, connection: false };
/** @type {WeakSet<Json>} Which are unfolded, so that drawing anew keeps them. */
const open = new WeakSet();

/** Keep what passed between the host and a server. @param {Json} event */
export const passed = ({ server, at, direction, message }) => {
  const log = (state.passed[server] ??= []);
  const entry = /** @type {Json} */ ({
    from: direction === "sent" ? "client" : "server",
    message,
    at: at * 1_000,
    size: JSON.stringify(message).length,
  });
  if (message.method === undefined && message.id !== undefined) {
    entry.of = log.findLast(
      (each) => each.message.id === message.id && each.message.method && each.from !== entry.from,
    );
    if (entry.of) entry.took = entry.at - entry.of.at;
  }
  log.push(entry);
  if (log.length > 2_000) log.shift();
  changed("messages");
};

const entries = () => {
  const { shown: made } = state;
  const server = made?.server ?? state.chosen?.server;
  const link = shown.link && made ? made.messages : [];
  const connection = shown.connection && server ? (state.passed[server] ?? []) : [];
  return [...link, ...connection].sort((a, b) => a.at - b.at);
};

/** @param {(text: string) => void} replay */
export const drawMessages = (replay) => {
  const panel = $("panel");
  const search =
    panel.querySelector("#filter") ??
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
  const tick = (/** @type {"link" | "connection"} */ key, /** @type {string} */ words) =>
    make(
      "label",
      { className: "small" },
      make("input", {
        type: "checkbox",
        checked: shown[key],
        onchange: (/** @type {any} */ { target }) => ((shown[key] = target.checked), changed("messages")),
      }),
      ` ${words}`,
    );
  const all = entries();
  const found = all.filter(({ message, from, again }) =>
    again ? !filter : !filter || `${from} ${JSON.stringify(message)}`.toLowerCase().includes(filter),
  );
  const began = state.shown?.began ?? found[0]?.at ?? 0;
  const rows = found.slice(-MOST_SHOWN).map((entry) => drawEntry(entry, began));
  const pick = make("input", {
    type: "file",
    accept: ".jsonl,.json,.txt",
    hidden: true,
    onchange: async () => pick.files[0] && replay(await pick.files[0].text()),
  });
  return [
    make(
      "div",
      { className: "actions tight" },
      search,
      tick("link", "View"),
      tick("connection", "server"),
      make(
        "button",
        { type: "button", className: "plain", disabled: !found.length, onclick: () => save(found, began) },
        "Export",
      ),
      make(
        "button",
        {
          type: "button",
          className: "plain",
          title: "Play an exported conversation against the chosen tool's View",
          disabled: !state.chosen,
          onclick: () => pick.click(),
        },
        "Replay …",
      ),
      pick,
    ),
    found.length > MOST_SHOWN &&
      make("p", { className: "small quiet" }, `The last ${MOST_SHOWN} of ${found.length}. Export has them all.`),
    rows.length
      ? make("ol", {}, ...rows)
      : make("p", { className: "empty" }, all.length ? "No message fits the filter." : "No messages yet."),
  ];
};

/** When something was, from the call on. @param {number} at @param {number} began */
const since = (at, began) => (at < began ? `${seconds(began - at)} before` : seconds(at - began));

const drawEntry = (/** @type {Json} */ entry, /** @type {number} */ began) => {
  const { from, message, at, size, of, took, again } = entry;
  if (again) return make("li", { className: "again small quiet" }, `loaded again · ${since(at, began)}`);
  const name = message.method ?? `answer to ${of?.message.method ?? message.id}`;
  const time = took === undefined ? since(at, began) : `+${took < 1_000 ? `${Math.round(took)} ms` : seconds(took)}`;
  const body = () => {
    const copy = make(
      "button",
      {
        type: "button",
        className: "plain copy",
        onclick: () =>
          navigator.clipboard.writeText(pretty(message)).then(
            () => say("Copied."),
            () => say("The browser does not let this page copy."),
          ),
      },
      "Copy",
    );
    return make("div", { className: "body" }, copy, make("pre", {}, shortened(pretty(message))));
  };
  const details = make(
    "details",
    {
      open: open.has(entry),
      ontoggle: () => {
        if (details.open) open.add(entry);
        else open.delete(entry);
        if (details.open && !details.children[1]) details.append(body());
      },
    },
    make(
      "summary",
      { className: message.error || message.result?.isError ? "bad" : "" },
      make("span", { title: FROM[from], className: `arrow ${from}` }, ARROWS[from]),
      make("span", {}, name, message.params?.name && make("span", { className: "quiet" }, ` ${message.params.name}`)),
      make("span", { className: "small quiet" }, `${time} · ${bytes(size)}`),
    ),
  );
  if (open.has(entry)) details.append(body());
  return make("li", {}, details);
};

const save = (/** @type {Json[]} */ found, /** @type {number} */ began) => {
  const lines = found
    .filter(({ again }) => !again)
    .map(({ from, message, at }) => JSON.stringify({ at: Math.round(at - began), from, message }));
  download(`${state.shown?.tool.name ?? "connection"}.jsonl`, `${lines.join("\n")}\n`, "application/jsonl");
};
