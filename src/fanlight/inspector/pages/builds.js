// @ts-check
/** The builds of Views that need Node: what is wrong with them, above the form, until it is fixed. */
import { $, make } from "./dom.js";
import { state } from "./state.js";

/** @typedef {Record<string, any>} Json */

/** Take over the state of a build. */
export const onBuild = (/** @type {Json} */ build) => {
  const others = state.builds.filter(({ folder }) => folder !== build.folder);
  state.builds = [...others, build];
  drawBuilds();
};

/** Draw the builds that failed, and those that cannot start. */
export const drawBuilds = () => {
  const drawn = state.builds.flatMap((build) => (build.advice ? [drawAdvice(build)] : drawErrors(build)));
  $("builds").hidden = !drawn.length;
  $("builds").replaceChildren(...drawn);
};

const drawAdvice = (/** @type {Json} */ { name, advice }) =>
  make("div", { className: "problem" }, make("p", {}, make("strong", {}, `${name} is not built.`), " ", advice));

const drawErrors = (/** @type {Json} */ { name, state: now, served, errors }) => {
  if (!errors.length) return [];
  return [
    make(
      "div",
      { className: "problem" },
      make(
        "p",
        {},
        make("strong", {}, `The build of ${name} failed.`),
        now === "building" ? " Building again …" : served && " Its View is still that of the last good build.",
      ),
      errors.map(drawError),
    ),
  ];
};

const drawError = (/** @type {Json} */ { place, message, frame }) => [
  make("p", {}, place && [make("span", { className: "mono" }, place), " "], message),
  frame && make("pre", { tabIndex: 0 }, frame),
];
