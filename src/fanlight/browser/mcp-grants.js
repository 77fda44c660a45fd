// @ts-check
/**
 * `<mcp-grants src="/apps">`: shows a user what they allowed with "Always allow", and lets them revoke it.
 * docs/reference/mcp-app.md describes its attributes and events.
 */
import { fillShadow, make } from "./mcp-app.js";

/**
 * @typedef {{ server: string, uri: string, kind: string, key: string, app: string, place: string,
 *   text: string }} Grant
 */

const STYLE = `
:host { display: block; font: 15px/1.5 system-ui; }
:host([hidden]) { display: none; }
:host { --line: 1px solid color-mix(in srgb, currentcolor 30%, transparent); }
ul, p { max-width: 720px; }
ul { margin: 0; padding: 0; list-style: none; }
li { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 12px; padding: 10px 0; border-bottom: var(--line); }
div { flex: 1 1 220px; min-width: 0; overflow-wrap: anywhere; unicode-bidi: plaintext; }
small { display: block; font-size: 13px; opacity: 0.75; }
button {
  font: inherit; padding: 4px 12px; cursor: pointer; color: inherit; background: none; border: var(--line);
  border-radius: 8px;
}
button:hover:enabled { background: color-mix(in srgb, currentcolor 12%, transparent); }
p { margin: 0; padding: 8px 0; }
p:empty { display: none; }
[role="alert"]:not(:empty) { padding-inline-start: 10px; border-inline-start: 4px solid #d33; }
`;

class McpGrants extends HTMLElement {
  static observedAttributes = ["src"];

  #list = make("ul", { part: "list" });
  #status = make("p", { part: "status", role: "status", tabindex: "-1" });
  #alert = make("p", { part: "error", role: "alert" });

  constructor() {
    super();
    fillShadow(this, STYLE, this.#alert, this.#list, this.#status);
  }

  connectedCallback() {
    void this.refresh();
  }

  attributeChangedCallback() {
    if (this.isConnected) void this.refresh();
  }

  /** Load the list again. */
  async refresh() {
    try {
      const response = await this.#request("grants");
      const { grants } = await response.json();
      this.#list.replaceChildren(...grants.map((/** @type {Grant} */ grant) => this.#row(grant)));
      this.#status.textContent = grants.length ? "" : "No app may do anything without asking you.";
      this.#alert.textContent = "";
    } catch (error) {
      this.#list.replaceChildren();
      this.#fail(error.message);
    }
  }

  /** @param {Grant} grant */
  #row(grant) {
    const sentence = `${grant.app} may ${grant.text} without asking.`;
    const button = make("button", { type: "button", part: "revoke", "aria-label": `Revoke: ${sentence}` }, "Revoke");
    button.addEventListener("click", () => this.#revoke(grant, button));
    return make("li", {}, make("div", {}, sentence, make("small", {}, grant.place)), button);
  }

  /**
   * @param {Grant} grant
   * @param {HTMLButtonElement} button
   */
  async #revoke({ server, uri, kind, key, app, text }, button) {
    button.disabled = true;
    try {
      const body = JSON.stringify({ server, uri, kind, key });
      await this.#request("grants/revoke", { method: "POST", body, headers: { "content-type": "application/json" } });
      await this.refresh();
      this.#status.textContent = `Revoked. ${app} has to ask before it may ${text}.`;
      // The button that had the focus is gone.
      this.#status.focus();
      this.dispatchEvent(
        new CustomEvent("mcp-revoked", { detail: { server, uri, kind, key }, bubbles: true, composed: true }),
      );
    } catch (error) {
      button.disabled = false;
      this.#fail(error.message);
    }
  }

  /**
   * @param {string} route
   * @param {RequestInit} [options]
   */
  async #request(route, options) {
    const base = new URL(`${this.getAttribute("src") ?? "/apps"}`.replace(/\/*$/, "/"), document.baseURI);
    const response = await fetch(new URL(route, base), { credentials: "include", ...options });
    if (!response.ok) throw new Error((await response.text()).slice(0, 300) || `The host answered ${response.status}.`);
    return response;
  }

  /** @param {string} reason */
  #fail(reason) {
    this.#status.textContent = "";
    this.#alert.textContent = reason;
    this.dispatchEvent(new CustomEvent("mcp-error", { detail: { reason }, bubbles: true, composed: true }));
  }
}

if (!customElements.get("mcp-grants")) customElements.define("mcp-grants", McpGrants);

export { McpGrants };
