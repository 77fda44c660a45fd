// @ts-check
/** The details of one call: its problems, its security, what the model learned, and its result. */
import { $, ask, make, pretty, redraw, say, shortened } from "./dom.js";
import { placeOf } from "./diagnose.js";
import { drawMessages } from "./messages.js";
import { changed, page, state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./state.js").Call} Call */

export const PANELS = ["Messages", "Problems", "Security", "Model", "Result"];

/** @param {(panel: string) => void} chose @param {(text: string) => void} replay */
export const drawPanels = async (chose, replay) => {
  drawTabs(chose);
  const made = state.shown;
  const name = state.panel;
  const content = name === "Messages" ? drawMessages(replay) : await drawDetails(name, made);
  if (state.shown === made && state.panel === name) {
    const top = $("panel").scrollTop;
    redraw($("panel"), content.flat().filter(Boolean));
    $("panel").scrollTop = top;
  }
};

/** @param {string} name @param {Call | undefined} made @returns {Promise<any[]>} */
const drawDetails = async (name, made) => {
  if (!made) return [make("p", { className: "empty" }, "Call a tool, and this shows what came of it.")];
  try {
    return (await draws[name]?.(made)) ?? [];
  } catch (error) {
    return [make("p", { className: "bad" }, /** @type {Error} */ (error).message)];
  }
};

const drawTabs = (/** @type {(panel: string) => void} */ chose) => {
  const choose = (/** @type {string} */ name) => {
    chose(name);
    $("tabs").querySelector("[aria-selected=true]")?.focus();
  };
  const count = state.shown?.problems.length;
  const blocked = state.shown?.blocked;
  const focused = $("tabs").contains(document.activeElement);
  $("tabs").replaceChildren(
    ...PANELS.map((name) =>
      make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": "panel",
          "aria-selected": String(state.panel === name),
          tabIndex: state.panel === name ? 0 : -1,
          onclick: () => choose(name),
        },
        name,
        name === "Problems" && count ? make("span", { className: "count" }, String(count)) : "",
        name === "Security" && blocked
          ? make("span", { className: "count", title: "blocked by the View's policy" }, String(blocked))
          : "",
      ),
    ),
  );
  $("panel").setAttribute("aria-labelledby", `tab-${state.panel}`);
  if (focused) $("tabs").querySelector("[aria-selected=true]")?.focus();
  $("tabs").onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    const at = PANELS.indexOf(state.panel);
    const to = /** @type {Json} */ ({ ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 })[key];
    if (to !== undefined) choose(PANELS.at(to % PANELS.length) ?? state.panel);
  };
};

const problems = async (/** @type {Call} */ made) =>
  made.problems.length
    ? made.problems.map(({ what, code, todo }) =>
        make(
          "div",
          { className: "finding" },
          make("p", { className: "bad" }, what),
          code && make("pre", {}, code),
          todo && make("p", {}, todo),
        ),
      )
    : [make("p", { className: "empty" }, "None that we know of.")];

const FIELDS = /** @type {Json} */ ({
  "connect-src": "connect_domains",
  "frame-src": "frame_domains",
  "base-uri": "base_uri_domains",
  "script-src": "resource_domains",
  "script-src-elem": "resource_domains",
  "style-src": "resource_domains",
  "style-src-elem": "resource_domains",
  "img-src": "resource_domains",
  "font-src": "resource_domains",
  "media-src": "resource_domains",
});

// Where each part of a policy comes from.
const ORIGINS = /** @type {Json} */ ({
  "connect-src": "csp.connectDomains",
  "frame-src": "csp.frameDomains",
  "base-uri": "csp.baseUriDomains",
  "script-src": "csp.resourceDomains",
  "style-src": "csp.resourceDomains",
  "img-src": "csp.resourceDomains",
  "font-src": "csp.resourceDomains",
  "media-src": "csp.resourceDomains",
});

const policy = (/** @type {string} */ csp) =>
  make(
    "table",
    { className: "policy small" },
    make("thead", {}, make("tr", {}, make("th", {}, "Directive"), make("th", {}, "Allows"), make("th", {}, "From"))),
    make(
      "tbody",
      {},
      ...csp.split("; ").map((part) => {
        const [name = "", ...values] = part.split(" ");
        const declared = values.some((value) => /[.:]\/\/|\*\./.test(value) && !value.startsWith("data:"));
        const from =
          name === "frame-ancestors" || name === "report-uri" || name === "report-to"
            ? "this host"
            : declared
              ? (ORIGINS[name] ?? "the host")
              : "the standard";
        return make(
          "tr",
          {},
          make("td", {}, name),
          make("td", {}, values.join(" ")),
          make("td", { className: declared ? "" : "quiet" }, from),
        );
      }),
    ),
  );

const security = async (/** @type {Call} */ made) => {
  if (!made.view) return [make("p", { className: "empty" }, "This call has no View.")];
  /** @type {Json[]} */
  const records = await ask(`audit?view=${made.view}`);
  const shown = records.findLast((record) => record.kind === "document" && record.data?.csp);
  const violations = records.filter((record) => record.kind === "violation");
  const blocked = violations.filter(({ outcome }) => outcome === "blocked");
  const decisions = records.filter((record) => record.kind === "decision");
  const older = records.filter((record) => record.kind === "dialect");
  const grants = (await ask("grants")).filter((/** @type {Json} */ grant) => grant.server === made.server);
  const parts = [];
  if (shown) {
    const { uri, sha256, permissions, asked = [], denied, problems: declared = [] } = shown.data;
    parts.push(
      make("h3", {}, "Document"),
      make(
        "dl",
        {},
        make("dt", {}, "URI"),
        make("dd", {}, uri),
        make("dt", {}, "SHA-256"),
        make("dd", { className: "mono" }, sha256),
        make("dt", {}, "Permissions"),
        make(
          "dd",
          {},
          asked.length ? `asked: ${asked.join(", ")}; granted: ${permissions.join(", ") || "none"}` : "none asked",
        ),
      ),
      denied.length && make("p", { className: "bad" }, `Declared and not allowed: ${denied.join(", ")}`),
      ...declared.map((/** @type {string} */ problem) => make("p", { className: "small" }, problem)),
    );
  }
  parts.push(make("h3", {}, "Blocked by the browser"));
  for (const { name, data } of blocked) {
    const origin = URL.canParse(data.blocked) ? new URL(data.blocked).origin : "";
    parts.push(
      make("p", {}, make("strong", { className: "bad" }, name), ` ${data.blocked}${placeOf(data)}`),
      FIELDS[name] &&
        origin &&
        origin !== "null" &&
        make(
          "p",
          { className: "small" },
          "To allow it, declare ",
          make("code", {}, `csp=Csp(${FIELDS[name]}=["${origin}"])`),
        ),
    );
  }
  if (!blocked.length) parts.push(make("p", { className: "quiet" }, "Nothing."));
  if (violations.length > blocked.length) {
    parts.push(
      make(
        "p",
        { className: "small quiet" },
        "A schema library asked whether it may compile code, and may not. That is harmless.",
      ),
    );
  }
  parts.push(make("h3", {}, "Consent and policy"));
  for (const { name, outcome, by, data } of decisions) {
    const key = String(data?.key ?? "").slice(0, name === "document" ? 12 : 60);
    const decided = make("span", { className: outcome === "allowed" ? "good" : "bad" }, outcome);
    const reason = data?.reason ? `: ${data.reason}` : "";
    parts.push(make("p", { className: "small" }, decided, ` ${name} ${key}, by ${by}${reason}`));
  }
  if (!decisions.length) parts.push(make("p", { className: "quiet" }, "Nothing had to be decided."));
  for (const grant of grants) {
    const forget = make(
      "button",
      {
        type: "button",
        className: "plain",
        onclick: () =>
          ask("revoke", { grant }).then(
            () => changed("calls"),
            (error) => say(error.message),
          ),
      },
      "Take back",
    );
    parts.push(make("p", { className: "small" }, `Allowed for good: ${grant.kind} ${grant.key} `, forget));
  }
  if (older.length) {
    const uses = older.map(({ name, outcome, data }) => {
      const today = outcome === "refused" ? `refused: ${data?.reason}` : `now ${data?.today}`;
      return `older dialect: ${name}, ${today}`;
    });
    parts.push(make("h3", {}, "Older dialects"));
    for (const use of new Set(uses)) parts.push(make("p", { className: "small" }, use));
  }
  if (shown) parts.push(make("h3", {}, "Content-Security-Policy in force"), policy(shown.data.csp));
  parts.push(
    make("h3", {}, "Audit"),
    make(
      "details",
      {},
      make("summary", { className: "small" }, `${records.length} records`),
      make("pre", {}, records.map((record) => JSON.stringify(record)).join("\n")),
    ),
  );
  return parts;
};

const model = async (/** @type {Call} */ made) => {
  const { context, messages, appTools } = await ask(`model?page=${page}`);
  const own = context.find((/** @type {Json} */ entry) => entry.view === made.view);
  const tools = appTools.filter((/** @type {Json} */ tool) => tool.view === made.view);
  return [
    make("h3", {}, "Context that this View gave the model"),
    own
      ? make("pre", {}, pretty({ content: own.content, structuredContent: own.structuredContent }))
      : make("p", { className: "quiet" }, "None."),
    make("h3", {}, "Tools that this View offers the model"),
    ...(tools.length ? tools.map(drawAppTool) : [make("p", { className: "quiet" }, "None.")]),
    make("h3", {}, "Messages that Views put into the conversation"),
    ...(messages.length
      ? messages.map((/** @type {Json} */ { role, content }) =>
          make(
            "pre",
            {},
            `${role}: ${content.map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n")}`,
          ),
        )
      : [make("p", { className: "quiet" }, "None.")]),
  ];
};

const drawAppTool = (/** @type {Json} */ tool) => {
  const input = make("textarea", { value: "{}", spellcheck: false, "aria-label": `Arguments of ${tool.tool} as JSON` });
  const answer = make("pre");
  const run = async () => {
    try {
      answer.textContent = pretty(
        await ask("app-tool", { view: tool.view, name: tool.tool, arguments: JSON.parse(input.value || "{}") }),
      );
    } catch (error) {
      answer.textContent = /** @type {Error} */ (error).message;
    }
  };
  return make(
    "details",
    {},
    make("summary", {}, tool.tool, " ", make("span", { className: "small quiet" }, tool.description)),
    make("pre", {}, pretty(tool.input_schema)),
    input,
    make("button", { type: "button", onclick: run }, "Call as the model"),
    answer,
  );
};

const result = async (/** @type {Call} */ made) => [
  make("h3", {}, "Arguments"),
  make("pre", {}, shortened(pretty(made.values))),
  make("h3", {}, "Result, as the View gets it"),
  make("pre", {}, made.result ? shortened(pretty(made.result)) : "None yet."),
];

const draws = /** @type {Record<string, (made: Call) => Promise<any[]>>} */ ({
  Problems: problems,
  Security: security,
  Model: model,
  Result: result,
});
