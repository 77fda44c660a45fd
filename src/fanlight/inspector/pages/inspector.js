// @ts-check
/**
 * The page of `fanlight dev`. Everything shown comes from the JSON behind it, and from the events of `<mcp-app>`.
 * The parts: servers.js (left), form.js, stage.js and calls.js (middle), messages.js and panels.js (right).
 */
import { read, write } from "./address.js";
import { call, heard, opened, prepare } from "./calls.js";
import { $, ask, make, pretty, remember, remembered, say } from "./dom.js";
import { formFor } from "./form.js";
import { passed } from "./messages.js";
import { drawPanels, PANELS } from "./panels.js";
import { drawServers, forgetRest } from "./servers.js";
import { applyStage, layOut, paceWords, setStage, stageSettings, startStage, tellStage } from "./stage.js";
import { changed, on, state, toolOf } from "./state.js";

/** @typedef {Record<string, any>} Json */

/** @type {Json | undefined} The arguments of the last call, for the address. */
let called;

const tellAddress = () => {
  const { chosen, panel, preset } = state;
  const settings = { ...(called && { args: JSON.stringify(called) }), panel: panel === "Messages" ? "" : panel, host: preset === "fanlight" ? "" : preset, ...stageSettings() };
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
  const json = make("textarea", { value: pretty(values), spellcheck: false, "aria-label": "Arguments as JSON", hidden: true });
  const asJson = make("input", { type: "checkbox" });
  const problem = make("p", { className: "bad small", role: "alert" });
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
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      const values = asJson.checked ? JSON.parse(json.value || "{}") : form.read();
      remember(`arguments ${server} ${tool.name}`, values);
      called = values;
      tellAddress();
      await call(server, tool, values);
    } catch (error) {
      problem.textContent = /** @type {Error} */ (error).message;
    }
  };
  $("form").replaceChildren(
    make(
      "form",
      { onsubmit: submit, noValidate: true },
      make("h2", {}, tool.title ?? tool.name, " ", make("span", { className: "mark" }, server), tool.view && make("span", { className: "mark view" }, "View")),
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
        tool.view && make("button", { type: "button", className: "plain", onclick: () => navigator.clipboard.writeText(location.href).then(() => say("The link is copied. It works while this runs.")) }, "Copy link"),
      ),
    ),
  );
};

const drawHost = () => {
  const { name, seen, differs = [] } = state.presets[state.preset] ?? {};
  $("host").value = state.preset;
  $("differs").hidden = state.preset === "fanlight";
  $("differs").replaceChildren(make("strong", {}, name ?? "", seen && ` (${seen})`), make("ul", {}, ...differs.map((/** @type {string} */ words) => make("li", {}, words))));
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
  const all = state.servers.flatMap((each) => each.tools.map((/** @type {Json} */ each_) => ({ server: each.name, tool: each_ })));
  const first = all.find((each) => each.tool.view && each.tool.who !== "app") ?? all[0];
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
  } else if (kind === "called") opened(event);
  else if (kind === "passed") return passed(event);
  else if (kind === "wrote") {
    const server = state.servers.find(({ name }) => name === event.server);
    server?.log.push({ at: event.at, line: event.line });
    if (server && server.log.length > 500) server.log.shift();
  }
  else if (kind === "message") {
    heard(event);
    changed("model");
  } else if (kind === "changed") say(`${event.files.join(", ")} changed: ${event.server} is loaded anew.`);
  else if (kind === "preset") {
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
  on(["servers"], () => drawServers(choose));
  const replay = (/** @type {string} */ text) => state.chosen && void call(state.chosen.server, state.chosen.tool, {}, text);
  const chose = (/** @type {string} */ panel) => {
    state.panel = panel;
    tellAddress();
    void drawPanels(chose, replay);
  };
  const panels = () => void drawPanels(chose, replay);
  on(["calls"], panels);
  on(["messages"], () => state.panel === "Messages" && panels());
  on(["model"], () => state.panel === "Model" && panels());
  state.presets = await ask("presets");
  $("host").replaceChildren(...Object.entries(state.presets).map(([id, { name }]) => make("option", { value: id }, name)));
  $("host").onchange = () => setHost($("host").value);
  const events = new EventSource("/api/events");
  events.onmessage = ({ data }) => hear(JSON.parse(data));
  events.onerror = () => say("fanlight dev does not answer. Does it still run?");
  events.onopen = () => say("");
  applyStage();
  prepare();
  if ([...settings.keys()].some((key) => key !== "args" && key !== "panel")) void tellStage();
  if (settings.get("host")) void setHost(/** @type {string} */ (settings.get("host")));
  changed("calls");
};

addEventListener("hashchange", () => fromAddress());
void start();
