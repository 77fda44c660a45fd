// @ts-check
/** A page of a program with Fanlight's host: an element waits for the next View, as in a conversation. */
import { query, run } from "./click.js";

/** @type {HTMLElement} */
let element;

await run({
  ready: async () => {
    await customElements.whenDefined("mcp-app");
    element = document.createElement("mcp-app");
    element.setAttribute("src", "/apps");
    document.body.prepend(element);
  },
  show: async (tool) => {
    const body = JSON.stringify({ server: query.get("server"), tool });
    const { view, token } = await (await fetch("/call", { method: "POST", body })).json();
    element.setAttribute("token", token);
    element.setAttribute("view", view);
  },
});
