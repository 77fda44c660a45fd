// @ts-check
/** The servers, how they are, and what they have. */
import { $, ask, make, pretty, redraw, say } from "./dom.js";
import { changed, state } from "./state.js";

/** @typedef {Record<string, any>} Json */

const MARKS = /** @type {Json} */ ({ app: "app only", model: "model only", none: "nobody" });
const STATES = /** @type {Json} */ ({
  connecting: "connecting …",
  retrying: "trying again …",
  failed: "failed",
  closed: "closed",
});
const MODERN = "2026-07-28";

/** @type {Record<string, boolean>} Which parts are folded, so that drawing anew keeps them. */
const open = {};
/** @type {Json} */
const rest = {};
let filter = "";

/** @param {(server: string, tool: string, byKey: boolean) => void} choose */
export const drawServers = (choose) => {
  const many = state.servers.reduce((sum, { tools }) => sum + tools.length, 0) > 15;
  const search =
    $("servers").querySelector("input[type=search]") ??
    make("input", { type: "search", placeholder: "Find a tool", "aria-label": "Find a tool", value: filter });
  search.oninput = () => {
    filter = search.value.toLowerCase();
    changed("servers");
  };
  const drawn = state.servers.map((server) => drawServer(server, choose));
  const none = make("p", { className: "quiet" }, "No servers.");
  redraw($("servers"), drawn.length ? [...(many ? [search] : []), ...drawn] : [none]);
};

const folded = (/** @type {string} */ key, /** @type {boolean} */ start) => ({
  open: open[key] ?? start,
  ontoggle: (/** @type {any} */ { target }) => {
    if ((open[key] ?? start) === target.open) return;
    open[key] = target.open;
    changed("servers");
  },
});

/** Why a server is not there, with its last words as it wrote them. */
const whyNot = (/** @type {string} */ reason) => {
  const [what, words] = reason.split(" It last wrote: ");
  return make(
    "div",
    { className: "small bad reason", role: "alert" },
    make("p", {}, what),
    words && make("pre", {}, words.split(" | ").join("\n")),
  );
};

const drawServer = (
  /** @type {Json} */ server,
  /** @type {(server: string, tool: string, byKey: boolean) => void} */ choose,
) => {
  const { name, status, tools, protocol, target, info } = server;
  const ready = status.state === "ready";
  const era = protocol && (protocol >= MODERN ? "stateless" : "handshake");
  const shown = tools.filter(
    (/** @type {Json} */ tool) => !filter || `${tool.name} ${tool.title ?? ""}`.toLowerCase().includes(filter),
  );
  const views = tools.filter((/** @type {Json} */ tool) => tool.view).length;
  const faults = Object.entries(server.faults)
    .filter(([, value]) => value)
    .map(([key]) => key);
  return make(
    "details",
    folded(name, true),
    make(
      "summary",
      {},
      make("span", { className: `dot ${ready ? "ready" : status.state}`, "aria-hidden": "true" }),
      name,
      make(
        "span",
        { className: `small ${ready || status.state === "connecting" ? "quiet" : "bad"}` },
        ready ? protocol : STATES[status.state],
      ),
      faults.map((word) => make("span", { className: "mark warn" }, word)),
    ),
    !ready && status.reason && whyNot(status.reason),
    ready && !tools.length && make("p", { className: "small quiet" }, "This server has no tools."),
    ready &&
      tools.length > 0 &&
      !views &&
      make(
        "p",
        { className: "small quiet" },
        state.preset === "none"
          ? "A host without Views: tools are called, and answer in text."
          : "No tool of this server has a View. They can be called all the same, and a result may bring one.",
      ),
    make("ul", {}, ...shown.map((/** @type {Json} */ tool) => drawTool(server, tool, choose))),
    make(
      "details",
      { className: "more", ...folded(`${name} more`, false) },
      make("summary", { className: "small quiet" }, "More of this server"),
      drawConnection(server, info, target, era),
      drawRest(server, ready),
      server.log.length > 0 && [
        make("h3", {}, "What it wrote"),
        make(
          "pre",
          { className: "log" },
          server.log
            .slice(-100)
            .map((/** @type {Json} */ { line }) => line)
            .join("\n"),
        ),
      ],
    ),
  );
};

const drawTool = (
  /** @type {Json} */ server,
  /** @type {Json} */ tool,
  /** @type {(server: string, tool: string, byKey: boolean) => void} */ choose,
) => {
  const current = state.chosen?.server === server.name && state.chosen?.tool.name === tool.name;
  const marks = [tool.view && "View", MARKS[tool.audience]].filter(Boolean);
  return make(
    "li",
    {},
    make(
      "button",
      {
        type: "button",
        "aria-current": String(current),
        title: tool.description ?? "",
        onclick: (/** @type {MouseEvent} */ { detail }) => choose(server.name, tool.name, detail === 0),
      },
      make("span", { className: "name" }, tool.name),
      marks.map((mark) => make("span", { className: `mark ${mark === "View" ? "view" : ""}` }, mark)),
    ),
  );
};

const drawConnection = (
  /** @type {Json} */ server,
  /** @type {Json} */ info,
  /** @type {string} */ target,
  /** @type {string | undefined} */ era,
) => {
  const set = (/** @type {Json} */ change) =>
    ask("faults", { server: server.name, ...change }).catch((error) => say(error.message));
  const tick = (/** @type {string} */ key, /** @type {string} */ words) =>
    make(
      "label",
      { className: "small" },
      make("input", {
        type: "checkbox",
        checked: Boolean(server.faults[key]),
        onchange: (/** @type {any} */ { target }) => set({ [key]: target.checked }),
      }),
      ` ${words}`,
    );
  const slow = make(
    "select",
    {
      "aria-label": `Slow ${server.name}`,
      onchange: (/** @type {any} */ { target }) => set({ slow: Number(target.value) }),
    },
    ...[0, 1, 3, 10].map((delay) =>
      make(
        "option",
        { value: String(delay), selected: server.faults.slow === delay },
        delay ? `${delay} s late` : "as it is",
      ),
    ),
  );
  return make(
    "div",
    { className: "facts" },
    make(
      "dl",
      { className: "small" },
      make("dt", {}, "Target"),
      make("dd", {}, target),
      info?.name && [make("dt", {}, "Name"), make("dd", {}, `${info.name} ${info.version ?? ""}`)],
      era && [make("dt", {}, "MCP"), make("dd", {}, `${server.protocol}, ${era} era`)],
    ),
    server.instructions && make("p", { className: "small quiet" }, server.instructions),
    make("p", { className: "small quiet" }, "Make this server misbehave:"),
    make(
      "div",
      { className: "trials" },
      make("label", { className: "small" }, "Answers ", slow),
      tick("failing", "failing"),
      tick("lost", "lost"),
    ),
    make(
      "button",
      { type: "button", className: "plain", onclick: () => ask("reconnect", { server: server.name }) },
      "Connect again",
    ),
  );
};

const drawRest = (/** @type {Json} */ server, /** @type {boolean} */ ready) => {
  const { name } = server;
  const found = rest[name];
  if (!found) {
    if (ready && open[`${name} more`]) {
      rest[name] = { waiting: true };
      void ask(`resources?server=${encodeURIComponent(name)}`)
        .catch((error) => ({ problem: error.message }))
        .then((answer) => {
          rest[name] = answer;
          changed("servers");
        });
    }
    return undefined;
  }
  if (found.waiting) return make("p", { className: "small quiet" }, "Asking …");
  if (found.problem) return make("p", { className: "small bad" }, found.problem);
  const read = async (/** @type {string} */ uri, /** @type {any} */ place) => {
    if (place.children.length > 1) return;
    try {
      const { contents } = await ask(`resource?server=${encodeURIComponent(name)}&uri=${encodeURIComponent(uri)}`);
      place.append(
        make(
          "pre",
          {},
          contents
            .map(
              (/** @type {Json} */ each) =>
                each.text ?? `${each.mimeType ?? "binary"}, ${Math.round((each.blob?.length ?? 0) * 0.75)} bytes`,
            )
            .join("\n")
            .slice(0, 20_000),
        ),
      );
    } catch (error) {
      place.append(make("p", { className: "small bad" }, /** @type {Error} */ (error).message));
    }
  };
  const lists = [
    [
      "Resources",
      found.resources,
      (/** @type {Json} */ each) =>
        make(
          "details",
          { ontoggle: (/** @type {any} */ { target }) => target.open && read(each.uri, target) },
          make("summary", { className: "small" }, each.uri),
        ),
    ],
    [
      "Resource templates",
      found.resourceTemplates,
      (/** @type {Json} */ each) => make("p", { className: "small" }, each.uriTemplate),
    ],
    [
      "Prompts",
      found.prompts,
      (/** @type {Json} */ each) =>
        make("details", {}, make("summary", { className: "small" }, each.name), make("pre", {}, pretty(each))),
    ],
  ];
  return make(
    "div",
    { className: "facts" },
    lists.map(([title, entries, draw]) => entries.length > 0 && [make("h3", {}, title), entries.map(draw)]),
    !found.resources.length &&
      !found.resourceTemplates.length &&
      !found.prompts.length &&
      make("p", { className: "small quiet" }, "No resources or prompts are listed."),
  );
};

/** Forget what a server listed, as when it was connected anew. @param {string} server */
export const forgetRest = (server) => delete rest[server];
