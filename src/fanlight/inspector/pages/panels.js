// @ts-check
/** The tabs on the right, and the panel that each one shows. */
import { $, make, pretty, redraw, shortened } from "./dom.js";
import { drawMessagesPanel } from "./messages.js";
import { drawModelPanel } from "./model.js";
import { drawProblemsPanel } from "./problems.js";
import { drawSecurityPanel } from "./security.js";
import { state } from "./state.js";

/** @typedef {import("./state.js").Call} Call */

export const PANELS = ["Messages", "Problems", "Security", "Model", "Result"];

/**
 * Draw the tabs and the selected panel.
 * @param {(panel: string) => void} onSelect
 * @param {(recording: string) => void} replay
 */
export const drawPanels = async (onSelect, replay) => {
  drawTabs(onSelect);
  const { selected, panel } = state;
  const content = await drawPanel(panel, selected, replay);
  // Another panel may have been selected while this one was loading.
  if (state.selected !== selected || state.panel !== panel) return;
  const top = $("panel").scrollTop;
  redraw($("panel"), content.flat().filter(Boolean));
  $("panel").scrollTop = top;
};

/**
 * @param {string} name
 * @param {Call | undefined} call
 * @param {(recording: string) => void} replay
 * @returns {Promise<any[]>}
 */
const drawPanel = async (name, call, replay) => {
  if (name === "Messages") return drawMessagesPanel(replay);
  if (!call) return [make("p", { className: "empty" }, "Call a tool to see its details here.")];
  try {
    if (name === "Problems") return drawProblemsPanel();
    if (name === "Security") return await drawSecurityPanel(call);
    if (name === "Model") return await drawModelPanel(call);
    return drawResultPanel(call);
  } catch (error) {
    return [make("p", { className: "bad" }, /** @type {Error} */ (error).message)];
  }
};

const drawResultPanel = (/** @type {Call} */ { values, result }) => [
  make("h3", {}, "Arguments"),
  make("pre", {}, shortened(pretty(values))),
  make("h3", {}, "Result, as the View gets it"),
  make("pre", {}, result ? shortened(pretty(result)) : "None yet."),
];

/** Return the number that is shown on a tab. */
const badgeOf = (/** @type {string} */ name) => {
  if (name === "Problems") return state.calls.reduce((sum, { problems }) => sum + problems.length, 0);
  if (name === "Security") return state.selected?.problems.filter(({ scope }) => scope === "blocked").length ?? 0;
  return 0;
};
const BADGE_TITLES = /** @type {Record<string, string>} */ ({
  Problems: "problems of all open calls",
  Security: "blocked by the View's policy",
});

const drawTabs = (/** @type {(panel: string) => void} */ onSelect) => {
  const focusSelected = () => $("tabs").querySelector("[aria-selected=true]")?.focus();
  const select = (/** @type {string} */ name) => {
    onSelect(name);
    focusSelected();
  };
  const focused = $("tabs").contains(document.activeElement);
  $("tabs").replaceChildren(
    ...PANELS.map((name) => {
      const badge = badgeOf(name);
      return make(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": "panel",
          "aria-selected": String(state.panel === name),
          tabIndex: state.panel === name ? 0 : -1,
          onclick: () => select(name),
        },
        name,
        badge > 0 && make("span", { className: "count", title: BADGE_TITLES[name] }, badge > 99 ? "99+" : `${badge}`),
      );
    }),
  );
  $("panel").setAttribute("aria-labelledby", `tab-${state.panel}`);
  if (focused) focusSelected();
  $("tabs").onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    const at = PANELS.indexOf(state.panel);
    const target = /** @type {Record<string, number>} */ ({ ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 })[
      key
    ];
    if (target !== undefined) select(PANELS.at(target % PANELS.length) ?? state.panel);
  };
};
