// @ts-check
/** The settings: the model, the look, the servers, and what Views are allowed to do. */
import { $, attempt, icon, make, request } from "./dom.js";
import { readable } from "./turn.js";
import { setTheme } from "./views.js";

/** @typedef {import("./dom.js").Json} Json */

const dark = window.matchMedia("(prefers-color-scheme: dark)");

/** Use the theme that the user chose, or that of the system. */
const applyTheme = () => {
  const chosen = localStorage.getItem("fanlight-chat-theme") ?? "";
  const theme = chosen || (dark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  setTheme(theme);
  for (const radio of /** @type {any} */ (document.querySelectorAll("[name=theme]"))) {
    radio.checked = radio.value === chosen;
  }
};

const STATES = /** @type {Json} */ ({
  idle: "not connected",
  connecting: "connecting…",
  ready: "connected",
  retrying: "not connected, trying again",
  lost: "connection lost, trying again",
  failed: "failed",
  closed: "closed",
});

/** Where the notice about the model that the user has closed is kept. */
const DISMISSED = "fanlight-chat-dismissed";

export class Settings {
  #dialog = $("settings");
  #model = $("model");
  #baseUrl = $("base-url");
  #instructions = $("instructions");
  #error = $("settings-error");
  /** @type {Map<string, Json>} */
  #servers = new Map();
  /** @type {Json} */
  #settings = {};
  /** What the banners of servers show. */
  #banners = "";

  constructor() {
    applyTheme();
    dark.addEventListener("change", applyTheme);
    for (const radio of /** @type {any} */ (document.querySelectorAll("[name=theme]"))) {
      radio.onchange = () => {
        localStorage.setItem("fanlight-chat-theme", radio.value);
        applyTheme();
      };
    }
    for (const id of ["open-settings", "model-button"]) $(id).onclick = () => this.open();
    $("settings-form").onsubmit = (/** @type {Event} */ event) => {
      event.preventDefault();
      void this.#save();
    };
    $("close-settings").onclick = () => this.#dialog.close();
    this.#dialog.addEventListener("click", (/** @type {Event} */ event) => {
      if (event.target === this.#dialog) this.#dialog.close();
    });
  }

  /** The tools that the model has, with their servers. */
  get tools() {
    const on = [...this.#servers.values()].filter((server) => server.on);
    return on.flatMap((server) => server.tools.map((/** @type {Json} */ tool) => ({ ...tool, server: server.name })));
  }

  open() {
    this.#fill();
    this.#error.textContent = "";
    this.#dialog.showModal();
    $("grants").refresh?.();
  }

  setSettings(/** @type {Json} */ settings) {
    this.#settings = settings;
    $("model-name").textContent = settings.model;
    const showNotice = () => {
      $("model-notice").hidden = !settings.notice || sessionStorage.getItem(DISMISSED) === settings.notice;
    };
    showNotice();
    $("model-notice-text").textContent = settings.notice ?? "";
    $("dismiss-notice").onclick = () => {
      sessionStorage.setItem(DISMISSED, settings.notice);
      showNotice();
    };
    $("choose-model").onclick = () => {
      this.open();
      this.#model.select();
    };
    const tools = settings.allowed.map((/** @type {string} */ name) => {
      const revoke = () =>
        this.#send({ ...settings, allowed: settings.allowed.filter((/** @type {string} */ each) => each !== name) });
      return make(
        "li",
        { className: "row" },
        make("span", { className: "about" }, `The model may always use ${name}`),
        make("button", { type: "button", onclick: () => attempt(revoke) }, "Revoke"),
      );
    });
    $("allowed").replaceChildren(...tools);
    if (!this.#dialog.open) this.#fill();
  }

  #send(/** @type {Json} */ { model, base_url: address, instructions, allowed }) {
    return request("settings", { model, base_url: address ?? "", instructions, allowed });
  }

  setServers(/** @type {Json[]} */ servers) {
    this.#servers = new Map(servers.map((server) => [server.name, server]));
    this.#drawServers();
  }

  setServer(/** @type {Json} */ server) {
    this.#servers.set(server.name, server);
    this.#drawServers();
  }

  #fill() {
    this.#model.value = this.#settings.model ?? "";
    this.#baseUrl.value = this.#settings.base_url ?? "";
    this.#instructions.value = this.#settings.instructions ?? "";
  }

  async #save() {
    try {
      const body = { model: this.#model.value, base_url: this.#baseUrl.value, instructions: this.#instructions.value };
      await request("settings", body);
      this.#dialog.close();
    } catch (error) {
      this.#error.textContent = error.message;
      this.#model.focus();
    }
  }

  #drawServers() {
    const servers = [...this.#servers.values()];
    $("servers").replaceChildren(...servers.map((server) => this.#server(server)));
    this.#drawBanners(servers.filter((server) => server.sign_in || isBroken(server)));
    document.dispatchEvent(new CustomEvent("tools-changed"));
  }

  /** Show what needs the user. It is drawn again only if it has changed, so that the focus stays on its buttons. */
  #drawBanners(/** @type {Json[]} */ servers) {
    const shown = JSON.stringify(servers.map(({ name, status, sign_in: link }) => [name, status.reason, link]));
    if (shown === this.#banners) return;
    this.#banners = shown;
    $("server-banners").replaceChildren(...servers.map((server) => (server.sign_in ? signIn : broken)(server)));
  }

  #server(/** @type {Json} */ server) {
    const { name, target, status, on, tools, sign_in: link } = server;
    const change = (/** @type {Json} */ body) => attempt(() => request("server", { server: name, ...body }));
    const toggle = make("input", {
      type: "checkbox",
      role: "switch",
      checked: on,
      "aria-label": `Use ${name}`,
      onchange: () => change({ on: toggle.checked }),
    });
    const isLost = status.state === "retrying" && server.was_connected;
    const state = link ? "waits for you to sign in" : (STATES[isLost ? "lost" : status.state] ?? status.state);
    const listed = tools.map((/** @type {Json} */ tool) =>
      make(
        "li",
        {},
        make("b", {}, readable(tool.title)),
        tool.view && make("span", { className: "badge" }, "View"),
        make("small", {}, tool.description),
      ),
    );
    const item = make(
      "li",
      { className: "server-row" },
      make(
        "div",
        { className: "row" },
        make("i", { className: `dot ${link ? "retrying" : status.state}`, "aria-hidden": "true" }),
        make("div", { className: "about" }, make("b", {}, name), make("small", {}, `${state} · ${target}`)),
        link && make("a", { className: "button main", href: link, target: "_blank", rel: "noopener" }, "Sign in"),
        ["failed", "retrying"].includes(status.state) &&
          make("button", { type: "button", onclick: () => change({ reconnect: true }) }, "Reconnect"),
        toggle,
      ),
      status.reason && make("p", { className: "bad" }, status.reason),
      listed.length > 0 &&
        make(
          "details",
          {},
          make("summary", {}, `${listed.length} ${listed.length === 1 ? "tool" : "tools"}`),
          make("ul", { className: "tools" }, ...listed),
        ),
    );
    return item;
  }
}

/** Return the notice that asks the user to sign in to a server. */
const signIn = (/** @type {Json} */ { name, sign_in: href }) =>
  make(
    "p",
    { className: "banner", role: "status" },
    icon("lock"),
    make("span", {}, make("b", {}, name), " wants you to sign in before its tools can be used."),
    make("a", { className: "button main", href, target: "_blank", rel: "noopener" }, "Sign in"),
  );

/** Return whether the tools of a server are missing because it is not connected, and not for the first time. */
const isBroken = (/** @type {Json} */ { on, sign_in: link, status: { state, reason, attempt: number } }) =>
  on && !link && reason && (["failed", "retrying", "closed"].includes(state) || (state === "connecting" && number > 1));

/** Return the notice that a server is not connected, with the reason, and the button that tries again. */
const broken = (/** @type {Json} */ { name, status, was_connected: wasConnected }) =>
  make(
    "p",
    { className: "banner bad", role: "status" },
    make(
      "span",
      {},
      make("b", {}, name),
      wasConnected ? " has lost its connection. " : " could not be connected. ",
      status.reason,
      " Its tools cannot be used until it is connected.",
    ),
    make(
      "button",
      { type: "button", onclick: () => attempt(() => request("server", { server: name, reconnect: true })) },
      "Reconnect",
    ),
  );
