// @ts-check
/** The servers on the left: their status, their tools, and their details. */
import { $, make, notifyError, plainButton, pretty, redraw, request } from "./dom.js";
import { changed, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {(server: string, tool: string, byKeyboard: boolean) => void} Choose */

const AUDIENCES = /** @type {Json} */ ({ app: "app only", model: "model only", none: "hidden" });
const STATES = /** @type {Json} */ ({
  connecting: "connecting …",
  retrying: "reconnecting …",
  failed: "failed",
  closed: "closed",
});
const STATELESS_VERSION = "2026-07-28";
const SEARCH_FROM = 15;
const MAX_LOG_LINES = 100;
const MAX_RESOURCE_CHARACTERS = 20_000;
const DELAYS = [0, 1, 3, 10];

/** @type {Record<string, boolean>} Which parts the user opened or closed. */
const opened = {};
/** @type {Json} The resources and prompts of each server, once its details were opened. */
const listed = {};
let filter = "";

/** Forget the resources and prompts of a server that was restarted. */
export const forgetResources = (/** @type {string} */ server) => delete listed[server];

/** Draw the list of servers; `choose` is called when the user chooses a tool. */
export const drawServers = (/** @type {Choose} */ choose) => {
  const tools = state.servers.reduce((sum, server) => sum + server.tools.length, 0);
  // Reused, so that typing in it is not interrupted.
  const search =
    $("servers").querySelector("input[type=search]") ??
    make("input", { type: "search", placeholder: "Find a tool", "aria-label": "Find a tool", value: filter });
  search.oninput = () => {
    filter = search.value.toLowerCase();
    changed("servers");
  };
  const drawn = state.servers.map((server) => drawServer(server, choose));
  redraw(
    $("servers"),
    drawn.length
      ? [...(tools > SEARCH_FROM ? [search] : []), ...drawn]
      : [make("p", { className: "quiet" }, "No servers.")],
  );
};

/** Return the properties of a `<details>` whose state survives a redraw. */
const foldable = (/** @type {string} */ key, /** @type {boolean} */ open) => ({
  open: opened[key] ?? open,
  ontoggle: (/** @type {any} */ { target }) => {
    if ((opened[key] ?? open) === target.open) return;
    opened[key] = target.open;
    changed("servers");
  },
});

const drawServer = (/** @type {Json} */ server, /** @type {Choose} */ choose) => {
  const { name, status, tools, protocol } = server;
  const ready = status.state === "ready";
  const paused = status.state === "retrying" && status.delay === null;
  const matching = tools.filter(
    (/** @type {Json} */ tool) => !filter || `${tool.name} ${tool.title ?? ""}`.toLowerCase().includes(filter),
  );
  const faults = Object.entries(server.faults)
    .filter(([, value]) => value)
    .map(([key]) => key);
  return make(
    "details",
    foldable(name, true),
    make(
      "summary",
      {},
      make("span", { className: `dot ${status.state}`, "aria-hidden": "true" }),
      name,
      make(
        "span",
        { className: `small ${ready || status.state === "connecting" ? "quiet" : "bad"}` },
        ready ? protocol : paused ? "stopped; waiting for a change" : STATES[status.state],
      ),
      faults.map((fault) => make("span", { className: "mark warn" }, fault)),
    ),
    !ready && status.reason && drawReason(status.reason),
    ready && !tools.length && make("p", { className: "small quiet" }, "This server has no tools."),
    ready && tools.length > 0 && !tools.some((/** @type {Json} */ tool) => tool.view) && drawNoViews(),
    make("ul", {}, ...matching.map((/** @type {Json} */ tool) => drawTool(server, tool, choose))),
    make(
      "details",
      { className: "more", ...foldable(`${name} details`, false) },
      make("summary", { className: "small quiet" }, "Server details"),
      drawConnection(server),
      drawResources(server, ready),
      server.log.length > 0 && drawLog(server.log),
    ),
  );
};

/** Draw why a server is not ready, with the last lines of its log. */
const drawReason = (/** @type {string} */ reason) => {
  const [message, log] = reason.split(" It last wrote: ");
  return make(
    "div",
    { className: "small bad reason", role: "alert" },
    make("p", {}, message),
    log && make("pre", {}, log.split(" | ").join("\n")),
  );
};

const drawNoViews = () =>
  make(
    "p",
    { className: "small quiet" },
    state.preset === "none"
      ? "This host shows no Views, so tools respond with text."
      : "No tool of this server has a View. You can still call them; a result may bring a View.",
  );

const drawTool = (/** @type {Json} */ server, /** @type {Json} */ tool, /** @type {Choose} */ choose) => {
  const current = state.chosen?.server === server.name && state.chosen?.tool.name === tool.name;
  const marks = [tool.view && "View", AUDIENCES[tool.audience]].filter(Boolean);
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

const drawLog = (/** @type {Json[]} */ log) => [
  make("h3", {}, "Log"),
  make(
    "pre",
    { className: "log" },
    log
      .slice(-MAX_LOG_LINES)
      .map(({ line }) => line)
      .join("\n"),
  ),
];

const drawConnection = (/** @type {Json} */ { name, target, info, protocol, instructions, faults }) => {
  const era = protocol && (protocol >= STATELESS_VERSION ? "stateless" : "handshake");
  const setFault = (/** @type {Json} */ change) => request("faults", { server: name, ...change }).catch(notifyError);
  const toggle = (/** @type {string} */ key, /** @type {string} */ label) =>
    make(
      "label",
      { className: "small" },
      make("input", {
        type: "checkbox",
        checked: Boolean(faults[key]),
        onchange: (/** @type {any} */ event) => setFault({ [key]: event.target.checked }),
      }),
      ` ${label}`,
    );
  const delay = make(
    "select",
    { "aria-label": `Delay of ${name}`, onchange: () => setFault({ slow: Number(delay.value) }) },
    ...DELAYS.map((seconds) =>
      make("option", { value: String(seconds), selected: faults.slow === seconds }, seconds ? `${seconds} s` : "none"),
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
      era && [make("dt", {}, "MCP"), make("dd", {}, `${protocol}, ${era}`)],
    ),
    instructions && make("p", { className: "small quiet" }, instructions),
    make("p", { className: "small quiet" }, "Simulate faults:"),
    make(
      "div",
      { className: "faults" },
      make("label", { className: "small" }, "Delay ", delay),
      toggle("failing", "fail requests"),
      toggle("lost", "lose connection"),
    ),
    plainButton("Reconnect", () => void request("reconnect", { server: name }).catch(notifyError)),
  );
};

const drawResources = (/** @type {Json} */ { name }, /** @type {boolean} */ ready) => {
  const found = listed[name];
  if (!found) {
    if (ready && opened[`${name} details`]) {
      listed[name] = { loading: true };
      void request(`resources?server=${encodeURIComponent(name)}`)
        .catch((error) => ({ problem: error.message }))
        .then((lists) => {
          listed[name] = lists;
          changed("servers");
        });
    }
    return undefined;
  }
  if (found.loading) return make("p", { className: "small quiet" }, "Loading …");
  if (found.problem) return make("p", { className: "small bad" }, found.problem);
  const { resources, resourceTemplates, prompts } = found;
  const section = (
    /** @type {string} */ title,
    /** @type {Json[]} */ entries,
    /** @type {(entry: Json) => any} */ row,
  ) => entries.length > 0 && [make("h3", {}, title), entries.map(row)];
  return make(
    "div",
    { className: "facts" },
    section("Resources", resources, ({ uri }) => drawResource(name, uri)),
    section("Resource templates", resourceTemplates, ({ uriTemplate }) =>
      make("p", { className: "small" }, uriTemplate),
    ),
    section("Prompts", prompts, (prompt) =>
      make("details", {}, make("summary", { className: "small" }, prompt.name), make("pre", {}, pretty(prompt))),
    ),
    ![...resources, ...resourceTemplates, ...prompts].length &&
      make("p", { className: "small quiet" }, "This server lists no resources or prompts."),
  );
};

const drawResource = (/** @type {string} */ server, /** @type {string} */ uri) => {
  const read = async () => {
    if (!details.open || details.children.length > 1) return;
    try {
      const path = `resource?server=${encodeURIComponent(server)}&uri=${encodeURIComponent(uri)}`;
      const { contents } = await request(path);
      const texts = contents.map(
        (/** @type {Json} */ { text, mimeType, blob }) =>
          text ?? `${mimeType ?? "binary"}, ${Math.round((blob?.length ?? 0) * 0.75)} bytes`,
      );
      details.append(make("pre", {}, texts.join("\n").slice(0, MAX_RESOURCE_CHARACTERS)));
    } catch (error) {
      details.append(make("p", { className: "small bad" }, /** @type {Error} */ (error).message));
    }
  };
  const details = make("details", { ontoggle: () => void read() }, make("summary", { className: "small" }, uri));
  return details;
};
