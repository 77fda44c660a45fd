// @ts-check
/** The part of `<mcp-app>` that shows what a View has shared with the model, loaded when there is something. */
import { addStyle, make } from "./mcp-app.js";

const STYLE = `
details { margin: 0; padding: 8px 12px; font: 14px/1.5 system-ui; overflow-wrap: anywhere; }
`;

const MAX_SHOWN = 4_000;

/**
 * Show content and data in a place of an element, instead of what was shown there before.
 * @param {ShadowRoot} root
 * @param {HTMLElement} place
 * @param {Record<string, any>[]} content
 * @param {unknown} data
 */
const showShared = (root, place, content, data) => {
  const texts = content.map((block) => block.text ?? `(${block.type})`);
  if (data) texts.push(JSON.stringify(data, null, 1));
  const text = texts.filter(Boolean).join("\n\n").slice(0, MAX_SHOWN);
  const before = /** @type {HTMLDetailsElement | undefined} */ (place.children[0]);
  const attributes = { part: "context", class: "small", ...(before?.open && { open: "" }) };
  addStyle(root, STYLE);
  place.replaceChildren(
    ...(text ? [make("details", attributes, make("summary", {}, "Shared with the model"), make("pre", {}, text))] : []),
  );
};

export { showShared };
