// @ts-check
/** The model panel: what Views send to the model, and the tools that they offer to it. */
import { make, pretty, request } from "./dom.js";
import { page } from "./state.js";

/** @typedef {Record<string, any>} Json */

const none = () => make("p", { className: "quiet" }, "None.");

/** Return the content of the panel. */
export const drawModelPanel = async (/** @type {import("./state.js").Call} */ { view }) => {
  const { context, messages, appTools } = await request(`model?page=${page}`);
  const own = context.find((/** @type {Json} */ entry) => entry.view === view);
  const tools = appTools.filter((/** @type {Json} */ tool) => tool.view === view);
  return [
    make("h3", {}, "Context from this View"),
    own ? make("pre", {}, pretty({ content: own.content, structuredContent: own.structuredContent })) : none(),
    make("h3", {}, "Tools of this View"),
    ...(tools.length ? tools.map(drawAppTool) : [none()]),
    make("h3", {}, "Messages from Views"),
    ...(messages.length ? messages.map(drawMessage) : [none()]),
  ];
};

const drawMessage = (/** @type {Json} */ { role, content }) =>
  make("pre", {}, `${role}: ${content.map((/** @type {Json} */ block) => block.text ?? pretty(block)).join("\n")}`);

const drawAppTool = (/** @type {Json} */ { tool, view, description, input_schema: schema }) => {
  const input = make("textarea", { value: "{}", spellcheck: false, "aria-label": `Arguments of ${tool} as JSON` });
  const output = make("pre");
  const run = async () => {
    try {
      const values = JSON.parse(input.value || "{}");
      output.textContent = pretty(await request("app-tool", { view, name: tool, arguments: values }));
    } catch (error) {
      output.textContent = /** @type {Error} */ (error).message;
    }
  };
  return make(
    "details",
    {},
    make("summary", {}, tool, " ", make("span", { className: "small quiet" }, description)),
    make("pre", {}, pretty(schema)),
    input,
    make("button", { type: "button", onclick: run }, "Call as the model"),
    output,
  );
};
