// @ts-check
/** A page of a program with Fanlight's host: an element waits for the next View, as at the end of a conversation. */
import { query, run } from "./click.js";

/** @type {HTMLElement} */
let element;

const place = () => {
  element = document.createElement("mcp-app");
  element.setAttribute("src", "/apps");
  document.body.append(element);
};

await run({
  ready: async () => {
    await customElements.whenDefined("mcp-app");
    place();
  },
  show: async (tool) => {
    const body = JSON.stringify({ server: query.get("server"), tool });
    const { view, token } = await (await fetch("/call", { method: "POST", body })).json();
    element.setAttribute("token", token);
    element.setAttribute("view", view);
  },
  clear: () => {
    element.remove();
    place();
  },
});
