// @ts-check
/**
 * The page of `fanlight dev`: servers and their tools, a form for a call, the Views of the calls, and what passed.
 * Everything shown comes from the JSON behind it, and from the events of `<mcp-app>`.
 */

/** @typedef {Record<string, any>} Json */

const $ = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {Json} [properties]
 * @param {any[]} children
 * @returns {any}
 */
const make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return element;
};

/**
 * @param {string} path
 * @param {Json} [body]
 */
const ask = async (path, body) => {
  const headers = { "content-type": "application/json" };
  const response = await fetch(path, body && { method: "POST", headers, body: JSON.stringify(body) });
  return response.json();
};

const pretty = (/** @type {unknown} */ value) => JSON.stringify(value, null, 2);
const bytes = (/** @type {number} */ size) => (size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} kB`);
const say = (/** @type {string} */ words) => ($("news").textContent = words);

/** @type {Json[]} */
let servers = [];
/** @type {Json | undefined} */
let chosen;
/** @type {Json[]} Calls, each with its View's messages. */
const calls = [];
/** @type {Json | undefined} The call whose details are shown. */
let shown;

// Servers and tools

const MARKS = /** @type {Json} */ ({ app: "app only", model: "model only", none: "nobody" });
const STATES = /** @type {Json} */ ({ ready: "", connecting: "connecting …", retrying: "trying again …", failed: "failed", closed: "closed" });

const drawServers = () => {
  $("servers").replaceChildren(
    ...servers.map((server) => {
      const { name, status, tools, protocol, target } = server;
      const state = STATES[status.state];
      const reason = status.state === "ready" ? "" : status.reason;
      const withViews = tools.filter((/** @type {Json} */ tool) => tool.view).length;
      return make(
        "details",
        { open: true },
        make("summary", {}, name, " ", make("span", { className: `state small ${state ? "bad" : "quiet"}` }, state || protocol || "")),
        make("p", { className: "small quiet" }, target),
        reason && make("p", { className: "small bad", role: "alert" }, reason),
        status.state === "ready" && !withViews ? make("p", { className: "small quiet" }, "No tool of this server has a View. They can be called all the same.") : "",
        make("ul", {}, ...tools.map((/** @type {Json} */ tool) => drawTool(server, tool))),
      );
    }),
  );
  if (!servers.length) $("servers").replaceChildren(make("p", { className: "quiet" }, "No servers."));
};

const drawTool = (/** @type {Json} */ server, /** @type {Json} */ tool) => {
  const current = chosen?.server === server.name && chosen?.tool.name === tool.name;
  const marks = [tool.view && "View", MARKS[tool.who]].filter(Boolean);
  return make(
    "li",
    {},
    make(
      "button",
      { type: "button", "aria-current": String(current), onclick: () => choose(server.name, tool.name) },
      tool.name,
      ...marks.map((mark) => make("span", { className: "mark" }, mark)),
    ),
  );
};

/**
 * @param {string} server
 * @param {string} name
 * @param {Json} [given]
 */
const choose = (server, name, given) => {
  const tool = servers.find((each) => each.name === server)?.tools.find((/** @type {Json} */ each) => each.name === name);
  if (!tool) return;
  chosen = { server, tool };
  const remembered = JSON.parse(localStorage.getItem(`arguments ${server} ${name}`) ?? "null");
  drawForm(given ?? remembered ?? {});
  drawServers();
  history.replaceState(null, "", `#${encodeURIComponent(server)}/${encodeURIComponent(name)}`);
};

// The form

/**
 * A control for a schema, as an element and a function that reads it.
 * @param {string} label
 * @param {any} schema
 * @param {any} value
 * @param {boolean} required
 * @returns {{ element: any, read: () => any }}
 */
const control = (label, schema, value, required) => {
  const plain = schema?.anyOf?.find((/** @type {Json} */ each) => each.type !== "null") ?? schema ?? {};
  const start = value === undefined ? schema?.default : value;
  const hint = schema?.description ?? plain.description;
  const named = (/** @type {any} */ input) =>
    make("label", { className: "field" }, make("span", {}, label, required ? " *" : ""), input, hint && make("span", { className: "small quiet" }, hint));
  const choices = plain.enum ?? (plain.const === undefined ? undefined : [plain.const]);
  if (choices) {
    const input = make("select", {}, ...(required ? [] : [make("option", { value: "" }, "(none)")]), ...choices.map((/** @type {any} */ choice, /** @type {number} */ i) => make("option", { value: String(i), selected: choice === start }, String(choice))));
    return { element: named(input), read: () => (input.value === "" ? undefined : choices[Number(input.value)]) };
  }
  if (plain.type === "boolean") {
    const input = make("input", { type: "checkbox", checked: start === true });
    return { element: named(input), read: () => (input.checked || required || start !== undefined ? input.checked : undefined) };
  }
  if (plain.type === "number" || plain.type === "integer") {
    const input = make("input", { type: "number", step: plain.type === "integer" ? "1" : "any", value: start ?? "" });
    return { element: named(input), read: () => (input.value === "" ? undefined : Number(input.value)) };
  }
  if (plain.type === "string") {
    const input = make(plain.maxLength > 200 || String(start ?? "").includes("\n") ? "textarea" : "input", { value: start ?? "" });
    return { element: named(input), read: () => (input.value === "" && !required ? undefined : input.value) };
  }
  if (plain.type === "object" && plain.properties) {
    const parts = controls(plain, start ?? {});
    const element = make("fieldset", {}, make("legend", {}, label, required ? " *" : ""), ...parts.map((part) => part.element));
    return {
      element,
      read: () => {
        const made = read(parts);
        return Object.keys(made).length || required ? made : undefined;
      },
    };
  }
  const input = make("textarea", { value: start === undefined ? "" : pretty(start), placeholder: plain.type === "array" ? "[ … ]" : "JSON", spellcheck: false });
  return {
    element: named(input),
    read: () => {
      if (!input.value.trim()) return undefined;
      try {
        return JSON.parse(input.value);
      } catch (error) {
        input.focus();
        throw new Error(`${label} is not JSON: ${error.message}`, { cause: error });
      }
    },
  };
};

const resolved = (/** @type {any} */ schema, /** @type {any} */ root) =>
  schema?.$ref?.startsWith("#/") ? schema.$ref.slice(2).split("/").reduce((/** @type {any} */ at, /** @type {string} */ key) => at?.[key], root) : schema;

/**
 * @param {Json} schema
 * @param {Json} values
 * @param {Json} [root]
 */
const controls = (schema, values, root = schema) =>
  Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    ...control(name, { ...resolved(property, root), ...(root.$defs && { $defs: root.$defs }) }, values[name], (schema.required ?? []).includes(name)),
  }));

const read = (/** @type {any[]} */ parts) =>
  Object.fromEntries(parts.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));

const drawForm = (/** @type {Json} */ values) => {
  if (!chosen) return;
  const { server, tool } = chosen;
  const schema = tool.inputSchema ?? {};
  const parts = controls(schema, values);
  const json = make("textarea", { value: pretty(values), spellcheck: false, "aria-label": "Arguments as JSON" });
  const asJson = make("input", { type: "checkbox", checked: !parts.length && Object.keys(schema.properties ?? {}).length > 0 });
  const fields = make("div", {}, ...parts.map((part) => part.element));
  const swap = () => {
    fields.hidden = asJson.checked;
    json.hidden = !asJson.checked;
  };
  asJson.onchange = () => {
    if (asJson.checked) json.value = pretty(read(parts));
    swap();
  };
  swap();
  const problem = make("p", { className: "bad small", role: "alert" });
  const form = make(
    "form",
    {
      onsubmit: async (/** @type {Event} */ event) => {
        event.preventDefault();
        problem.textContent = "";
        try {
          const values = asJson.checked ? JSON.parse(json.value || "{}") : read(parts);
          localStorage.setItem(`arguments ${server} ${tool.name}`, JSON.stringify(values));
          history.replaceState(null, "", `#${encodeURIComponent(server)}/${encodeURIComponent(tool.name)}?${encodeURIComponent(JSON.stringify(values))}`);
          await call(server, tool, values);
        } catch (error) {
          problem.textContent = /** @type {Error} */ (error).message;
        }
      },
    },
    make("h2", {}, tool.title ?? tool.name, " ", make("span", { className: "mark" }, server)),
    tool.description && make("p", { className: "quiet" }, tool.description),
    tool.problem && make("p", { className: "bad" }, tool.problem),
    fields,
    json,
    problem,
    make(
      "div",
      { className: "actions" },
      make("button", { className: "main", type: "submit" }, "Call"),
      make("label", { className: "small quiet" }, asJson, " as JSON"),
    ),
  );
  $("form").replaceChildren(form);
};

// Calls and their Views

const call = async (/** @type {string} */ server, /** @type {Json} */ tool, /** @type {Json} */ values) => {
  const app = make("mcp-app");
  const size = make("span", { className: "small quiet" });
  const state = make("span", { className: "small quiet" }, "running …");
  const stop = make("button", { type: "button" }, "Cancel");
  const stage = make("div", { className: "stage", hidden: !tool.view }, app);
  const model = make("pre");
  const card = make(
    "article",
    { className: "card", "aria-label": `${tool.name} (${server})` },
    make("header", {}, make("strong", {}, tool.name), make("span", { className: "mark" }, server), state, size, stop),
    stage,
    make("details", {}, make("summary", {}, "What the model sees"), model),
  );
  /** @type {Json} */
  const made = { server, tool, values, app, card, messages: [], began: performance.now(), problems: [] };
  calls.unshift(made);
  $("conversation").prepend(card);
  card.onfocusin = card.onclick = () => show(made);
  watch(made, size);
  applyStage(app);
  if (tool.view) app.setAttribute("src", "/apps");
  show(made);
  const pace = $("pace").value;
  const body = { server, tool: tool.name, arguments: values, ...(pace && { pace: Number(pace) }) };
  made.waiting = true;
  stop.onclick = () => made.id && ask("/api/cancel", { id: made.id });
  const answer = await ask("/api/call", body);
  made.waiting = false;
  stop.remove();
  if (answer.error) {
    state.textContent = answer.error;
    state.className = "bad";
    return;
  }
  open(made, answer);
  const failed = answer.result?.isError;
  state.textContent = answer.cancelled ? "cancelled" : failed ? "the tool failed" : "";
  state.className = answer.cancelled || failed ? "small bad" : "small quiet";
  model.textContent = answer.cancelled ?? (answer.model ?? []).map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n\n");
  made.result = answer.result;
  if (shown === made) drawPanel();
};

const open = (/** @type {Json} */ made, /** @type {Json} */ { id, view }) => {
  made.id = id;
  if (!view || made.view) return;
  made.view = view;
  made.app.setAttribute("view", view);
  made.timer = setTimeout(() => diagnose(made), 6_000);
};

const watch = (/** @type {Json} */ made, /** @type {any} */ size) => {
  const { app } = made;
  app.addEventListener("mcp-message", (/** @type {CustomEvent} */ { detail }) => {
    const { from, message } = detail;
    const entry = /** @type {Json} */ ({ from, message, at: performance.now() - made.began, size: JSON.stringify(message).length });
    if (message.method === undefined && message.id !== undefined) {
      entry.of = made.messages.findLast((/** @type {Json} */ each) => each.message.id === message.id && each.message.method && each.from !== from);
      if (entry.of) entry.took = entry.at - entry.of.at;
    }
    made.messages.push(entry);
    if (made.messages.length > 2_000) made.messages.shift();
    if (shown === made && tab === "Messages") drawSoon();
  });
  app.addEventListener("mcp-size", (/** @type {CustomEvent} */ { detail }) => (size.textContent = `${app.clientWidth} × ${detail.height}`));
  app.addEventListener("mcp-ready", () => clearTimeout(made.timer));
  app.addEventListener("mcp-error", (/** @type {CustomEvent} */ { detail }) => {
    made.problems.push(detail.reason);
    if (shown === made) drawPanel();
  });
  app.addEventListener("mcp-context", () => shown === made && drawPanel());
};

/** Say which step is missing when a View stays blank. */
const diagnose = async (/** @type {Json} */ made) => {
  const said = (/** @type {string} */ method) => made.messages.some((/** @type {Json} */ { message }) => message.method === method);
  if (said("ui/notifications/initialized")) return;
  const blocked = (await ask(`/api/audit?view=${made.view}`)).filter((/** @type {Json} */ record) => record.kind === "violation" && record.outcome === "blocked");
  made.problems.push(
    said("ui/initialize")
      ? "The View sent ui/initialize and was answered, but never ui/notifications/initialized. Is there an error in its script after connect()?"
      : blocked.length
        ? `The View never sent ui/initialize. Its policy blocked ${blocked[0].data.blocked} (${blocked[0].name}): see Security.`
        : "The View never sent ui/initialize. Does its script call app.connect()? An error before that shows in the browser's console.",
  );
  say(`${made.tool.name}: the View does not answer. See Problems.`);
  if (shown === made) drawPanel();
};

const show = (/** @type {Json} */ made) => {
  if (shown === made) return;
  shown?.card.removeAttribute("data-chosen");
  shown = made;
  made.card.setAttribute("data-chosen", "");
  drawPanel();
};

// The stage

const applyStage = (/** @type {any} */ app) => {
  const [width, height, theme] = [$("width").value, $("max-height").value, $("theme").value];
  app.style.width = width ? `${width}px` : "";
  if (height) app.setAttribute("max-height", height);
  else app.removeAttribute("max-height");
  if (theme) app.setAttribute("theme", theme);
  else app.removeAttribute("theme");
};

const VARIABLES = {
  "--color-background-primary": "light-dark(#ffffff, #1e1f23)",
  "--color-text-primary": "light-dark(#1b1c1f, #eff0f2)",
  "--color-border-primary": "light-dark(#dadad6, #36383e)",
  "--font-sans": "system-ui, sans-serif",
  "--border-radius-md": "8px",
};

const tellContext = () => {
  const variables = $("styles").checked ? VARIABLES : {};
  const [locale, timeZone] = [$("locale").value, $("zone").value];
  void ask("/api/context", { styles: { variables }, ...(locale && { locale }), ...(timeZone && { timeZone }) });
};

for (const id of ["width", "max-height", "theme"]) {
  $(id).onchange = () => {
    document.documentElement.dataset.theme = $("theme").value;
    for (const { app } of calls) applyStage(app);
  };
}
for (const id of ["locale", "zone", "styles"]) $(id).onchange = tellContext;

// Details

const TABS = ["Messages", "Problems", "Security", "Model", "Result"];
let tab = "Messages";
let filter = "";
let drawing = 0;

const drawSoon = () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(drawPanel);
};

const drawTabs = () => {
  const choose = (/** @type {string} */ name) => {
    tab = name;
    drawPanel();
    $("tabs").querySelector("[aria-selected=true]").focus();
  };
  $("tabs").replaceChildren(
    ...TABS.map((name) => {
      const count = name === "Problems" && shown?.problems.length ? ` (${shown.problems.length})` : "";
      return make("button", { type: "button", role: "tab", "aria-selected": String(tab === name), tabIndex: tab === name ? 0 : -1, onclick: () => choose(name) }, name + count);
    }),
  );
  $("tabs").onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    if (step) choose(TABS[(TABS.indexOf(tab) + step + TABS.length) % TABS.length] ?? tab);
  };
};

const drawPanel = async () => {
  drawTabs();
  if (!shown) {
    $("panel").replaceChildren(make("p", { className: "empty" }, "Choose a tool and call it. What passes between the View and the host shows up here."));
    return;
  }
  const made = shown;
  const panels = /** @type {Json} */ ({ Messages: drawMessages, Problems: drawProblems, Security: drawSecurity, Model: drawModel, Result: drawResult });
  const content = await panels[tab](made);
  if (shown === made && content) $("panel").replaceChildren(...content);
};

const drawMessages = (/** @type {Json} */ made) => {
  const search = $("panel").querySelector("#filter") ?? make("input", { id: "filter", type: "search", placeholder: "Filter", "aria-label": "Filter messages" });
  search.oninput = () => {
    filter = search.value.toLowerCase();
    drawSoon();
  };
  const save = make("button", { type: "button", onclick: () => saveLines(made) }, "Export");
  const found = made.messages.filter((/** @type {Json} */ { message }) => !filter || JSON.stringify(message).toLowerCase().includes(filter));
  const rows = found.slice(-300).map((/** @type {Json} */ { from, message, at, size, of, took }) => {
    const name = message.method ?? `answer to ${of?.message.method ?? message.id}`;
    const time = took === undefined ? `${(at / 1000).toFixed(2)} s` : `+${took.toFixed(1)} ms`;
    return make(
      "li",
      {},
      make(
        "details",
        { ontoggle: (/** @type {any} */ { target }) => target.open && !target.children[1] && target.append(make("pre", {}, pretty(message))) },
        make("summary", { className: message.error ? "bad" : "" }, make("span", { title: `from the ${from}` }, from === "view" ? "→" : "←"), name, make("span", { className: "small quiet" }, `${time} · ${bytes(size)}`)),
      ),
    );
  });
  const focused = document.activeElement === search;
  if (focused) queueMicrotask(() => search.focus());
  return [make("div", { className: "actions" }, search, save), rows.length ? make("ol", {}, ...rows) : make("p", { className: "empty" }, "No messages yet.")];
};

const saveLines = (/** @type {Json} */ made) => {
  const lines = made.messages.map((/** @type {Json} */ { from, message, at }) => JSON.stringify({ at: Math.round(at), from, message }));
  const url = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "application/jsonl" }));
  make("a", { href: url, download: `${made.tool.name}.jsonl` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

const drawProblems = (/** @type {Json} */ made) =>
  made.problems.length ? made.problems.map((/** @type {string} */ words) => make("p", { className: "bad" }, words)) : [make("p", { className: "empty" }, "None that we know of.")];

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

const drawSecurity = async (/** @type {Json} */ made) => {
  if (!made.view) return [make("p", { className: "empty" }, "This call has no View.")];
  /** @type {Json[]} */
  const records = await ask(`/api/audit?view=${made.view}`);
  const document_ = records.findLast((record) => record.kind === "document" && record.data?.csp);
  const violations = records.filter((record) => record.kind === "violation");
  const decisions = records.filter((record) => record.kind === "decision");
  const parts = [];
  if (document_) {
    const { data } = document_;
    parts.push(
      make("h3", {}, "Document"),
      make("dl", {}, make("dt", {}, "URI"), make("dd", {}, data.uri), make("dt", {}, "SHA-256"), make("dd", {}, data.sha256), make("dt", {}, "Permissions"), make("dd", {}, data.permissions.join(", ") || "none")),
      make("h3", {}, "Content-Security-Policy in force"),
      make("pre", {}, data.csp.split("; ").join("\n")),
    );
    if (data.denied.length) parts.push(make("p", { className: "bad" }, `Declared and not allowed: ${data.denied.join(", ")}`));
  }
  parts.push(make("h3", {}, "Blocked by the browser"));
  const real = violations.filter(({ outcome }) => outcome === "blocked");
  for (const { name, data } of real) {
    const field = FIELDS[name];
    const origin = URL.canParse(data.blocked) ? new URL(data.blocked).origin : "";
    parts.push(
      make("p", {}, make("strong", { className: "bad" }, name), ` ${data.blocked}${data.line ? `, line ${data.line}` : ""}`),
      field && origin ? make("pre", {}, `csp=Csp(${field}=["${origin}"])`) : "",
    );
  }
  if (!real.length) parts.push(make("p", { className: "quiet" }, "Nothing."));
  if (violations.length > real.length) parts.push(make("p", { className: "small quiet" }, "A schema library asked whether it may compile code, and may not. That is harmless."));
  parts.push(make("h3", {}, "Decisions"));
  parts.push(...decisions.map(({ name, outcome, by, data }) => make("p", { className: "small" }, make("span", { className: outcome === "allowed" ? "good" : "bad" }, outcome), ` ${name} ${String(data?.key ?? "").slice(0, 60)}, by ${by}${data?.reason ? `: ${data.reason}` : ""}`)));
  return parts.filter(Boolean);
};

const drawModel = async (/** @type {Json} */ made) => {
  const { context, messages } = await ask("/api/model");
  const own = context.filter((/** @type {Json} */ entry) => entry.view === made.view);
  return [
    make("h3", {}, "What this View told the model"),
    own.length ? make("pre", {}, pretty(own)) : make("p", { className: "quiet" }, "Nothing."),
    make("h3", {}, "Messages that Views sent"),
    messages.length ? make("pre", {}, pretty(messages)) : make("p", { className: "quiet" }, "None."),
  ];
};

const drawResult = (/** @type {Json} */ made) => [make("h3", {}, "Arguments"), make("pre", {}, pretty(made.values)), make("h3", {}, "Result, as the View gets it"), make("pre", {}, made.result ? pretty(made.result) : "None yet.")];

// The start

const events = new EventSource("/api/events");
events.onmessage = ({ data }) => {
  const event = JSON.parse(data);
  if (event.kind === "servers") {
    servers = event.servers;
    drawServers();
    if (!chosen) fromAddress();
  } else if (event.kind === "server") {
    servers = servers.map((server) => (server.name === event.name ? event : server));
    drawServers();
    if (!chosen) fromAddress();
  } else if (event.kind === "called") {
    const made = calls.find((each) => each.waiting && !each.id && each.server === event.server && each.tool.name === event.tool);
    if (made) open(made, event);
  } else if (event.kind === "changed") {
    say(`${event.files.join(", ")} changed; ${event.server} is loaded anew.`);
  } else if (event.kind === "message" && tab === "Model") drawSoon();
};

const fromAddress = () => {
  const [path, query] = location.hash.slice(1).split("?");
  const [server, tool] = (path ?? "").split("/").map(decodeURIComponent);
  let given;
  try {
    given = query ? JSON.parse(decodeURIComponent(query)) : undefined;
  } catch {
    say("The arguments in the address are not JSON.");
  }
  if (server && tool) return choose(server, tool, given);
  const first = servers.flatMap((each) => each.tools.map((/** @type {Json} */ tool) => ({ server: each.name, tool }))).find(({ tool }) => tool.view && tool.who !== "app");
  if (first) choose(first.server, first.tool.name);
};

void drawPanel();
if (!calls.length) $("conversation").append(make("p", { className: "empty" }, "Call a tool, and its View shows here."));
new MutationObserver(() => $("conversation").querySelector(".empty")?.remove()).observe($("conversation"), { childList: true, subtree: false });
