// @ts-check
/**
 * The page of `fanlight dev`: starts it, follows the events of the program, and keeps the address up to date.
 *
 * Left: servers.js. Middle: call-form.js, stage.js and calls.js. Right: panels.js.
 */
import { readAddress, writeAddress } from "./address.js";
import { drawBuilds, onBuild } from "./builds.js";
import {
  argumentsForAddress,
  clearForm,
  drawForm,
  focusForm,
  onAddressChange,
  showForm,
  writtenValues,
} from "./call-form.js";
import { closeAll, closeByKey, onBegun, onMessage, retryViews, startCall } from "./calls.js";
import { prepareCard, warmUp } from "./card.js";
import { $, copy, make, notify, notifyError, request } from "./dom.js";
import { onServerMessage } from "./messages.js";
import { drawPanels, PANELS } from "./panels.js";
import { onViolation } from "./problems.js";
import { drawServers, forgetResources } from "./servers.js";
import { applySettings, layOut, loadSettings, sendSettings, stageSettings, watchSettings } from "./stage.js";
import { changed, findServer, findTool, onChange, state } from "./state.js";

/** @typedef {Record<string, any>} Json */

const MAX_LOG_LINES = 500;

const updateAddress = () => {
  const { chosen, panel, preset } = state;
  const settings = {
    args: argumentsForAddress(),
    panel: panel === "Messages" ? "" : panel,
    host: preset === "fanlight" ? "" : preset,
    ...stageSettings(),
  };
  history.replaceState(null, "", writeAddress(chosen?.server, chosen?.tool.name, settings));
};

/**
 * Choose a tool, and show its form.
 * @param {string} server
 * @param {string} name
 * @param {Json} [values] The arguments to start with.
 */
const chooseTool = (server, name, values) => {
  const tool = findTool(server, name);
  if (!tool) return false;
  state.chosen = { server, tool };
  warmUp(tool);
  showForm(values);
  changed("servers");
  updateAddress();
  return true;
};

/** Choose the tool of the address, or the first one that has a View. */
const chooseFromAddress = () => {
  const { server, tool, settings } = readAddress(location.hash);
  const panel = settings.get("panel");
  if (panel && PANELS.includes(panel)) {
    state.panel = panel;
    changed("calls");
  }
  let values;
  try {
    values = settings.has("args") ? JSON.parse(/** @type {string} */ (settings.get("args"))) : undefined;
  } catch {
    notify("The arguments in the address are not JSON.");
  }
  if (server && tool) {
    chooseTool(server, tool, values);
    return;
  }
  const all = state.servers.flatMap(({ name, tools }) =>
    tools.map((/** @type {Json} */ each) => ({ name, tool: each })),
  );
  const first = all.find((each) => each.tool.view && each.tool.audience !== "app") ?? all[0];
  if (first) chooseTool(first.name, first.tool.name);
};

/**
 * Update the form after a server was restarted: its tool may have changed, have another name, or be gone.
 * @param {Json} before The server before.
 * @param {Json} server
 */
const updateChosenTool = (before, server) => {
  const { chosen } = state;
  if (!chosen || chosen.server !== server.name) return;
  const tool = findTool(server.name, chosen.tool.name);
  if (tool) {
    const same = JSON.stringify(tool) === JSON.stringify(chosen.tool);
    chosen.tool = tool;
    if (!same) drawForm(writtenValues());
    return;
  }
  // The last known tools are shown until the server is ready.
  if (server.status.state !== "ready") return;
  const known = new Set(before.tools.map((/** @type {Json} */ { name }) => name));
  const added = server.tools.filter((/** @type {Json} */ { name }) => !known.has(name));
  const schemaOf = (/** @type {Json} */ { inputSchema }) => JSON.stringify(inputSchema?.properties);
  const renamed =
    added.find((/** @type {Json} */ each) => schemaOf(each) === schemaOf(chosen.tool)) ??
    added.find((/** @type {Json} */ each) => each.view && each.view === chosen.tool.view);
  if (renamed) {
    chooseTool(server.name, renamed.name, writtenValues());
    notify(`${chosen.tool.name} is now ${renamed.name}.`);
    return;
  }
  clearForm(`The server ${server.name} has no tool ${chosen.tool.name} any more. Choose another one.`);
  state.chosen = undefined;
  updateAddress();
};

const drawHost = () => {
  const { name, observed, differences = [] } = state.presets[state.preset] ?? {};
  $("host").value = state.preset;
  $("differences").hidden = state.preset === "fanlight";
  $("differences").replaceChildren(
    make("strong", {}, name ?? "", observed && ` (${observed})`),
    make("ul", {}, ...differences.map((/** @type {string} */ each) => make("li", {}, each))),
  );
};

const changeHost = (/** @type {string} */ preset) => request("host", { preset }).catch(notifyError);

/** Handlers of the program's events, by kind. @type {Record<string, (event: Json) => void>} */
const HANDLERS = {
  start: ({ servers, preset, theme, chat, builds }) => {
    $("try-button").hidden = !chat;
    $("try-command").textContent = chat ?? "";
    state.servers = servers;
    state.builds = builds;
    drawBuilds();
    state.preset = preset;
    if (theme && !readAddress(location.hash).settings.has("theme")) $("theme").value = theme;
    applySettings();
    drawHost();
    if (!state.chosen) chooseFromAddress();
  },
  server: (server) => {
    const before = findServer(server.name) ?? server;
    state.servers = state.servers.map((each) => (each.name === server.name ? server : each));
    if (server.status.state !== "ready") forgetResources(server.name);
    if (!state.chosen && !$("form").hasChildNodes()) chooseFromAddress();
    updateChosenTool(before, server);
  },
  call: onBegun,
  log: ({ server, ...entry }) => {
    const log = findServer(server)?.log;
    log?.push(entry);
    if (log?.length > MAX_LOG_LINES) log.shift();
  },
  message: (message) => {
    onMessage(message);
    changed("model");
  },
  violation: onViolation,
  build: onBuild,
  reload: ({ server, files }) => {
    notify(`${files.join(", ")} changed; reloading ${server}.`);
    retryViews(server);
  },
  preset: ({ preset }) => {
    state.preset = preset;
    drawHost();
    for (const { app } of state.calls) layOut(app);
    updateAddress();
  },
};

const onEvent = (/** @type {Json} */ { kind, ...event }) => {
  if (kind === "server-message") {
    onServerMessage(event);
    return;
  }
  HANDLERS[kind]?.(event);
  changed("servers");
};

const start = async () => {
  const { settings } = readAddress(location.hash);
  watchSettings(updateAddress);
  loadSettings(settings);
  onAddressChange(updateAddress);
  // After a choice by keyboard, the focus moves on to the form, past all other tools.
  onChange(["servers"], () =>
    drawServers((server, tool, byKeyboard) => chooseTool(server, tool) && byKeyboard && focusForm()),
  );
  $("skip").onclick = focusForm;
  $("try-copy").onclick = () => void copy($("try-command").textContent, "Copied the command.");
  const replay = (/** @type {string} */ recording) =>
    state.chosen && void startCall(state.chosen.server, state.chosen.tool, {}, recording);
  const selectPanel = (/** @type {string} */ panel) => {
    state.panel = panel;
    updateAddress();
    redrawPanels();
  };
  const redrawPanels = () => void drawPanels(selectPanel, replay);
  onChange(["calls"], redrawPanels);
  onChange(["calls"], () => ($("close-all").hidden = state.calls.length < 2));
  onChange(["messages"], () => state.panel === "Messages" && redrawPanels());
  onChange(["model"], () => state.panel === "Model" && redrawPanels());
  $("close-all").onclick = () => void closeAll();
  addEventListener("keydown", closeByKey);
  addEventListener("hashchange", chooseFromAddress);
  state.presets = await request("presets");
  $("host").replaceChildren(
    ...Object.entries(state.presets).map(([id, { name }]) => make("option", { value: id }, name)),
  );
  $("host").onchange = () => changeHost($("host").value);
  const events = new EventSource("/api/events");
  events.onmessage = ({ data }) => onEvent(JSON.parse(data));
  events.onerror = () => notify("fanlight dev does not respond. Is it still running?", true);
  events.onopen = () => notify("");
  applySettings();
  prepareCard();
  if ([...settings.keys()].some((key) => key !== "args" && key !== "panel")) void sendSettings();
  if (settings.get("host")) void changeHost(/** @type {string} */ (settings.get("host")));
  changed("calls");
};

void start();
