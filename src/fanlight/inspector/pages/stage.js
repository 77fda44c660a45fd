// @ts-check
/** Where Views are shown: how wide, on what device, in which language, and what they are told of it. */
import { $, ask, make, say } from "./dom.js";
import { state } from "./state.js";

/** @typedef {Record<string, any>} Json */

// Of each kind that the standard names, so that one sees which a View takes up (THM-01).
const VARIABLES = {
  "--color-background-primary": "light-dark(#fbf7ff, #1f1a26)",
  "--color-background-secondary": "light-dark(#f1e8fb, #2b2435)",
  "--color-text-primary": "light-dark(#2a1440, #f4ecff)",
  "--color-text-secondary": "light-dark(#67517f, #bba9d1)",
  "--color-border-primary": "light-dark(#d9c7ef, #4a3d5c)",
  "--color-ring-primary": "light-dark(#7a3fc4, #c39bff)",
  "--font-sans": "Georgia, 'DejaVu Serif', serif",
  "--border-radius-md": "14px",
  "--shadow-md": "0 4px 16px rgb(80 40 120 / 20%)",
};

// Fonts that the system has: a View can show them without reaching out.
const FONTS =
  "@font-face { font-family: 'Stage Font'; src: local('Georgia'), local('DejaVu Serif'), local('Liberation Serif'); }";

const SETTINGS = [
  "width",
  "container",
  "box-width",
  "box-height",
  "locale",
  "zone",
  "areas",
  "device",
  "styles",
  "fonts",
  "theme",
  "columns",
  "pace",
];

const value = (/** @type {string} */ id) => ($(id).type === "checkbox" ? ($(id).checked ? "yes" : "") : $(id).value);

/** What is set, for the address; what is left at its start is empty. @returns {Record<string, string>} */
export const stageSettings = () =>
  Object.fromEntries(SETTINGS.map((id) => [id, value(id) === $(id).dataset.start ? "" : value(id)]));

/** @param {URLSearchParams} settings */
export const setStage = (settings) => {
  for (const id of SETTINGS) {
    const given = settings.get(id);
    if (given === null) continue;
    if ($(id).type === "checkbox") $(id).checked = given === "yes";
    else $(id).value = given;
  }
};

/** The box that a View is given: chosen here, or that of the host that is imitated. @returns {Json | null} */
const container = () => {
  const [width, height] = [Number($("box-width").value) || 640, Number($("box-height").value) || 480];
  const kinds = /** @type {Json} */ ({
    fixed: { width, height },
    flexible: { maxWidth: width, maxHeight: height },
    unbounded: {},
  });
  return kinds[$("container").value] ?? state.presets[state.preset]?.container ?? null;
};

/** Lay out the box of one View. @param {any} app */
export const layOut = (app) => {
  const box = app.parentElement;
  const limits = container();
  const width = $("width").value;
  box.style.width = width ? `${width}px` : limits?.width ? `${limits.width}px` : "";
  box.style.maxWidth = !width && limits?.maxWidth ? `${limits.maxWidth}px` : "";
  app.toggleAttribute("data-fixed", Boolean(limits?.height));
  app.style.setProperty("--stage-height", limits?.height ? `${limits.height}px` : "");
  if (limits?.maxHeight) app.setAttribute("max-height", limits.maxHeight);
  else app.removeAttribute("max-height");
  const theme = $("theme").value;
  if (theme) app.setAttribute("theme", theme);
  else app.removeAttribute("theme");
};

/** What drags the box of a View to any width, by pointer or by arrow keys. @param {any} box */
export const makeGrip = (box) => {
  const grip = make("div", {
    className: "grip",
    role: "separator",
    tabIndex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the View",
    title: "Drag, or use the arrow keys",
  });
  const set = (/** @type {number} */ width) => {
    box.style.maxWidth = "";
    box.style.width = `${Math.max(Math.round(width), 120)}px`;
  };
  grip.onpointerdown = (/** @type {PointerEvent} */ down) => {
    const start = box.clientWidth;
    grip.setPointerCapture(down.pointerId);
    box.style.pointerEvents = "none"; // a frame of another origin would keep what happens over it
    // The box is centred: it grows on both sides.
    grip.onpointermove = (/** @type {PointerEvent} */ { clientX }) => set(start + 2 * (clientX - down.clientX));
    grip.onlostpointercapture = () => {
      grip.onpointermove = null;
      box.style.pointerEvents = "";
    };
  };
  grip.onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    const step = key === "ArrowRight" ? 16 : key === "ArrowLeft" ? -16 : 0;
    if (step) set(box.clientWidth + step);
  };
  return grip;
};

const AREAS = /** @type {Json} */ ({
  phone: { top: 47, right: 0, bottom: 34, left: 0 },
  sideways: { top: 0, right: 47, bottom: 21, left: 47 },
});
const DEVICES = /** @type {Json} */ ({
  touch: { touch: true, hover: false },
  mouse: { touch: false, hover: true },
  both: { touch: true, hover: true },
});

/** Tell the host what is set. */
export const tellStage = async () => {
  const styles = {
    variables: $("styles").checked ? VARIABLES : {},
    ...($("fonts").checked && { css: { fonts: FONTS } }),
  };
  if ($("fonts").checked) styles.variables = { ...styles.variables, "--font-sans": "'Stage Font', serif" };
  const chosen = $("container").value ? container() : null;
  try {
    await ask("stage", {
      styles: $("styles").checked || $("fonts").checked || told ? styles : null,
      locale: $("locale").value || null,
      timeZone: $("zone").value || null,
      safeAreaInsets: AREAS[$("areas").value] ?? null,
      deviceCapabilities: DEVICES[$("device").value] ?? null,
      containerDimensions: chosen,
    });
    told = true;
  } catch (error) {
    say(/** @type {Error} */ (error).message);
  }
};
let told = false;

/** Show the theme of the page itself, and lay out every View. */
export const applyStage = () => {
  document.documentElement.dataset.theme = $("theme").value;
  const sized = $("container").value === "fixed" || $("container").value === "flexible";
  for (const id of ["box-width", "box-height"]) $(id).parentElement.hidden = !sized;
  $("conversation").classList.toggle("columns", $("columns").checked);
  for (const { app } of state.calls) layOut(app);
};

/** @param {() => void} changed */
export const startStage = (changed) => {
  for (const id of SETTINGS) {
    $(id).dataset.start = value(id);
    $(id).addEventListener("change", () => {
      applyStage();
      if (!["width", "theme", "columns", "pace"].includes(id)) void tellStage();
      changed();
    });
  }
};

/** How fast the arguments are written: characters a second, or undefined for at once. */
export const pace = () => {
  const step = Number($("pace").value);
  return step >= PACES.length ? undefined : PACES[step];
};
const PACES = [10, 20, 40, 80, 150, 300, 600, 1_200];

export const paceWords = () => {
  const now = pace();
  return now === undefined ? "at once" : `${now} characters a second`;
};
