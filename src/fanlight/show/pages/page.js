// The page: follows the host, and shows the result of the tool.
import { app, at, busy, complain, page, redraws, render, textOf } from "./base.js";

/** @param {any} context */
const adapt = ({ locale: language, displayMode, availableDisplayModes, containerDimensions }) => {
  const { style } = document.documentElement;
  const { maxHeight, height } = containerDimensions ?? {};
  if (maxHeight) style.setProperty("--height", `${Math.min(480, Math.max(200, maxHeight - 160))}px`);
  if (availableDisplayModes) at("full").hidden = !availableDisplayModes.includes("fullscreen");
  if (displayMode) at("full").ariaPressed = displayMode === "fullscreen";
  document.body.classList.toggle("full", displayMode === "fullscreen" || !!height);
  try {
    [page.locale] = Intl.getCanonicalLocales(language ?? navigator.language);
  } catch {
    page.locale = undefined;
  }
};

at("full").onclick = async () => {
  const mode = at("full").ariaPressed === "true" ? "inline" : "fullscreen";
  try {
    const changed = await app.requestDisplayMode({ mode });
    adapt({ ...app.getHostContext(), displayMode: changed.mode });
  } catch (error) {
    complain(error.message);
  }
};

/** @param {any} result */
const show = (result) => {
  const { structuredContent: data, isError } = result;
  at("waiting").hidden = true;
  if (isError || !data?.item) return complain(textOf(result) || "The tool returned nothing to show.");
  complain("");
  page.tool = data.tool;
  at("title").textContent = document.title = data.title;
  redraws.clear();
  at("tools").replaceChildren();
  at("main").replaceChildren(render(data.item));
  // The tools of a table that is alone stand beside the title.
  if (data.item.kind === "table") at("tools").append(at("main").querySelector(".tools"));
};

page.show = show;

at("notice").lastElementChild.onclick = async (/** @type {any} */ { target }) => {
  target.disabled = true;
  try {
    const params = { name: page.tool, arguments: page.input };
    show(await busy("Running…", (options) => app.callServerTool(params, options)));
  } catch (error) {
    complain(`The tool could not be run: ${error.message}`, true);
  }
  target.disabled = false;
};

const adaptAll = () => {
  adapt(app.getHostContext() ?? {});
  for (const redraw of redraws) redraw();
};
app.ontoolinput = (/** @type {any} */ params) => (page.input = params.arguments ?? {});
app.ontoolresult = show;
app.ontoolcancelled = () => {
  at("waiting").hidden = true;
  complain("The call was cancelled.");
};
app.onhostcontextchanged = adaptAll;
try {
  await app.connect();
  adaptAll();
} catch (error) {
  complain(error.message);
}
