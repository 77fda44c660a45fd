// @ts-check
/**
 * The page of `fanlight dev`. Everything shown comes from the JSON behind it, and from the events of `<mcp-app>`.
 * The parts: servers.js (left), form.js, stage.js and calls.js (middle), messages.js and panels.js (right).
 */
import { read, write } from "./address.js";
import { call, closeAll, closeByKey, expect, heard, opened, prepare, retry } from "./calls.js";
import { $, ask, bytes, make, pretty, remember, remembered, say } from "./dom.js";
import { formFor } from "./form.js";
import { passed } from "./messages.js";
import { drawPanels, PANELS } from "./panels.js";
import { drawServers, forgetRest } from "./servers.js";
import { applyStage, layOut, paceWords, setStage, stageSettings, startStage, tellStage } from "./stage.js";
import { changed, on, state, toolOf } from "./state.js";

/** @typedef {Record<string, any>} Json */

/** @type {Json | undefined} The arguments of the last call, for the address. */
let called;

// Longer addresses are cut by what they are pasted into, and make the browser slow.
const MOST_IN_ADDRESS = 8_000;

/** The arguments of the last call as JSON, and whether they fit into an address. */
const argumentsFor = () => {
  const args = called ? JSON.stringify(called) : "";
  return { args, fit: encodeURIComponent(args).length <= MOST_IN_ADDRESS };
};

const tellAddress = () => {
  const { chosen, panel, preset } = state;
  const { args, fit } = argumentsFor();
  const settings = {
    ...(fit && { args }),
    panel: panel === "Messages" ? "" : panel,
    host: preset === "fanlight" ? "" : preset,
    ...stageSettings(),
  };
  history.replaceState(null, "", write(chosen?.server, chosen?.tool.name, settings));
};

/**
 * @param {string} server
 * @param {string} name
 * @param {Json} [given]
 */
const choose = (server, name, given) => {
  const tool = toolOf(server, name);
  if (!tool) return false;
  state.chosen = { server, tool };
  expect(tool);
  called = given;
  drawForm(given ?? remembered(`arguments ${server} ${name}`) ?? {});
  changed("servers");
  tellAddress();
  return true;
};

/** What is written in the form now. @type {() => Json} */
let written = () => ({});

const drawForm = (/** @type {Json} */ values) => {
  if (!state.chosen) return;
  const { server, tool } = state.chosen;
  const form = formFor(tool.inputSchema ?? {}, values);
  written = () => {
    try {
      return asJson.checked ? JSON.parse(json.value || "{}") : form.read();
    } catch {
      return values;
    }
  };
  const json = make("textarea", {
    value: pretty(values),
    spellcheck: false,
    "aria-label": "Arguments as JSON",
    hidden: true,
  });
  const asJson = make("input", { type: "checkbox" });
  const problem = make("p", { className: "bad small", role: "alert", id: "form-problem" });
  asJson.onchange = () => {
    problem.textContent = "";
    try {
      if (asJson.checked) json.value = pretty(form.read());
      else return drawForm(JSON.parse(json.value || "{}"));
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
      asJson.checked = !asJson.checked;
    }
    form.element.hidden = asJson.checked;
    json.hidden = !asJson.checked;
  };
  const send = async (anyway = false) => {
    problem.textContent = "";
    for (const marked of form.element.querySelectorAll("[aria-invalid]")) marked.removeAttribute("aria-invalid");
    try {
      const values = asJson.checked ? JSON.parse(json.value || "{}") : form.read();
      const lacks = anyway ? [] : asJson.checked ? lackingIn(tool.inputSchema ?? {}, values, json) : form.lacks();
      if (lacks.length) return tellLacks(lacks, problem, () => void send(true));
      remember(`arguments ${server} ${tool.name}`, values);
      called = values;
      tellAddress();
      if (!argumentsFor().fit) {
        const size = bytes(JSON.stringify(values).length);
        say(`The arguments are too long for the address (${size}). Copy as JSON has them.`);
      }
      await call(server, tool, values);
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
    }
  };
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void send();
  };
  const copy = (/** @type {string} */ text, /** @type {string} */ words) =>
    navigator.clipboard.writeText(text).then(
      () => say(words),
      () => say("The browser does not let this page copy."),
    );
  const copyLink = () =>
    copy(
      location.href,
      argumentsFor().fit
        ? "The link is copied. It works while this runs."
        : "The link is copied, without the arguments: they are too long. Copy as JSON has them.",
    );
  const copyJson = () => {
    problem.textContent = "";
    try {
      void copy(
        asJson.checked ? json.value || "{}" : pretty(form.read()),
        "The arguments are copied. Tick “as JSON” to paste them.",
      );
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
    }
  };
  $("form").replaceChildren(
    make(
      "form",
      { onsubmit: submit, noValidate: true },
      make(
        "h2",
        {},
        tool.title ?? tool.name,
        " ",
        make("span", { className: "mark" }, server),
        tool.view && make("span", { className: "mark view" }, "View"),
      ),
      tool.description && make("p", { className: "quiet description" }, tool.description),
      tool.problem && make("p", { className: "bad" }, tool.problem),
      form.element,
      json,
      problem,
      make(
        "div",
        { className: "actions" },
        make("button", { className: "main", type: "submit" }, "Call"),
        form.size > 0 && make("label", { className: "small quiet" }, asJson, " as JSON"),
        tool.view && make("button", { type: "button", className: "plain", onclick: copyLink }, "Copy link"),
        form.size > 0 &&
          make(
            "button",
            { type: "button", className: "plain", title: "Copy the arguments as JSON", onclick: copyJson },
            "Copy as JSON",
          ),
      ),
    ),
  );
};

/**
 * What a schema demands at its top and a value written as JSON has not.
 * @param {Json} schema
 * @param {any} values
 * @param {any} input
 */
const lackingIn = (schema, values, input) =>
  (schema.required ?? [])
    .filter((/** @type {string} */ name) => values?.[name] === undefined)
    .map((/** @type {string} */ label) => ({ label, input, words: "is required" }));

/**
 * Say what is missing, go to the first of it, and offer to call all the same.
 * @param {import("./form.js").Lack[]} lacks
 * @param {any} problem
 * @param {() => void} anyway
 */
const tellLacks = (lacks, problem, anyway) => {
  for (const { input } of lacks) {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "form-problem");
    input.addEventListener("input", () => input.removeAttribute("aria-invalid"), { once: true });
  }
  const words = lacks
    .slice(0, 5)
    .map(({ label, words }) => `${label} ${words}`)
    .join("; ");
  problem.replaceChildren(
    `${words}${lacks.length > 5 ? `; and ${lacks.length - 5} more` : ""}. `,
    make(
      "button",
      {
        type: "button",
        className: "plain",
        title: "Send it without them, to see what the server says",
        onclick: anyway,
      },
      "Call anyway",
    ),
  );
  lacks[0]?.input.focus();
};

const toForm = () =>
  $("form").querySelector("input:not([hidden]), select, textarea:not([hidden]), button.main")?.focus();

const drawHost = () => {
  const { name, seen, differs = [] } = state.presets[state.preset] ?? {};
  $("host").value = state.preset;
  $("differs").hidden = state.preset === "fanlight";
  $("differs").replaceChildren(
    make("strong", {}, name ?? "", seen && ` (${seen})`),
    make("ul", {}, ...differs.map((/** @type {string} */ words) => make("li", {}, words))),
  );
};

const fromAddress = () => {
  const { server, tool, settings } = read(location.hash);
  const panel = settings.get("panel");
  if (panel && PANELS.includes(panel)) {
    state.panel = panel;
    changed("calls");
  }
  let given;
  try {
    given = settings.has("args") ? JSON.parse(/** @type {string} */ (settings.get("args"))) : undefined;
  } catch {
    say("The arguments in the address are not JSON.");
  }
  if (server && tool && choose(server, tool, given)) return;
  const all = state.servers.flatMap((each) =>
    each.tools.map((/** @type {Json} */ each_) => ({ server: each.name, tool: each_ })),
  );
  const first = all.find((each) => each.tool.view && each.tool.audience !== "app") ?? all[0];
  if (first && !(server && tool)) choose(first.server, first.tool.name);
};

const setHost = async (/** @type {string} */ preset) => {
  try {
    await ask("host", { preset });
  } catch (error) {
    say(/** @type {Error} */ (error).message);
  }
};

const hear = (/** @type {Json} */ event) => {
  const { kind } = event;
  if (kind === "start") {
    state.servers = event.servers;
    state.preset = event.preset;
    if (event.theme && !read(location.hash).settings.has("theme")) $("theme").value = event.theme;
    applyStage();
    drawHost();
  } else if (kind === "server") {
    state.servers = state.servers.map((server) => (server.name === event.name ? event : server));
    if (event.status.state !== "ready") forgetRest(event.name);
    const { chosen } = state;
    if (chosen && chosen.server === event.name) {
      const before = chosen.tool;
      chosen.tool = toolOf(event.name, before.name) ?? before;
      // A form for what the tool is now, with what was written for what it was.
      if (JSON.stringify(before) !== JSON.stringify(chosen.tool)) drawForm(written());
    }
  } else if (kind === "call") opened(event);
  else if (kind === "server-message") return passed(event);
  else if (kind === "log") {
    const server = state.servers.find(({ name }) => name === event.server);
    server?.log.push({ at: event.at, line: event.line });
    if (server && server.log.length > 500) server.log.shift();
  } else if (kind === "message") {
    heard(event);
    changed("model");
  } else if (kind === "reload") {
    say(`${event.files.join(", ")} changed: ${event.server} is loaded anew.`);
    retry(event.server);
  } else if (kind === "preset") {
    state.preset = event.preset;
    drawHost();
    for (const { app } of state.calls) layOut(app);
    tellAddress();
  }
  changed("servers");
  if (!state.chosen) fromAddress();
};

const start = async () => {
  const { settings } = read(location.hash);
  startStage(tellAddress);
  setStage(settings);
  const tellPace = () => ($("pace-words").textContent = paceWords());
  $("pace").addEventListener("input", tellPace);
  tellPace();
  // Who chooses a tool by key goes on to its form, and need not pass all other tools.
  on(["servers"], () => drawServers((server, tool, byKey) => choose(server, tool) && byKey && toForm()));
  $("skip").onclick = toForm;
  const replay = (/** @type {string} */ text) =>
    state.chosen && void call(state.chosen.server, state.chosen.tool, {}, text);
  const chose = (/** @type {string} */ panel) => {
    state.panel = panel;
    tellAddress();
    void drawPanels(chose, replay);
  };
  const panels = () => void drawPanels(chose, replay);
  on(["calls"], panels);
  on(["calls"], () => ($("close-all").hidden = state.calls.length < 2));
  $("close-all").onclick = () => void closeAll();
  addEventListener("keydown", closeByKey);
  on(["messages"], () => state.panel === "Messages" && panels());
  on(["model"], () => state.panel === "Model" && panels());
  state.presets = await ask("presets");
  $("host").replaceChildren(
    ...Object.entries(state.presets).map(([id, { name }]) => make("option", { value: id }, name)),
  );
  $("host").onchange = () => setHost($("host").value);
  const events = new EventSource("/api/events");
  events.onmessage = ({ data }) => hear(JSON.parse(data));
  events.onerror = () => say("fanlight dev does not answer. Does it still run?", true);
  events.onopen = () => say("");
  applyStage();
  prepare();
  if ([...settings.keys()].some((key) => key !== "args" && key !== "panel")) void tellStage();
  if (settings.get("host")) void setHost(/** @type {string} */ (settings.get("host")));
  changed("calls");
};

addEventListener("hashchange", () => fromAddress());
void start();
