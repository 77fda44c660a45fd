// @ts-check
/** The stage that Views are shown on: its width, device and locale, and the host context that describes them. */
import { $, make, notifyError, request } from "./dom.js";
import { state } from "./state.js";

/** @typedef {Record<string, any>} Json */

/** The settings of index.html, by id. */
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
  "theme",
  "columns",
  "speed",
];
/** Settings that change the page alone, or that `<mcp-app>` itself reports to Views. */
const LOCAL_SETTINGS = ["width", "theme", "columns", "speed"];

const SPEEDS = [10, 20, 40, 80, 150, 300, 600, 1_200];
const SAFE_AREAS = /** @type {Json} */ ({
  portrait: { top: 47, right: 0, bottom: 34, left: 0 },
  landscape: { top: 0, right: 47, bottom: 21, left: 47 },
});
const DEVICES = /** @type {Json} */ ({
  touch: { touch: true, hover: false },
  mouse: { touch: false, hover: true },
  both: { touch: true, hover: true },
});
const MIN_WIDTH = 120;

const valueOf = (/** @type {string} */ id) => ($(id).type === "checkbox" ? ($(id).checked ? "yes" : "") : $(id).value);

/** Return the settings for the address; those that have their default value are empty. */
export const stageSettings = () =>
  /** @type {Record<string, string>} */ (
    Object.fromEntries(SETTINGS.map((id) => [id, valueOf(id) === $(id).dataset.start ? "" : valueOf(id)]))
  );

/** Apply the settings of an address. */
export const loadSettings = (/** @type {URLSearchParams} */ settings) => {
  for (const id of SETTINGS) {
    const value = settings.get(id);
    if (value === null) continue;
    if ($(id).type === "checkbox") $(id).checked = value === "yes";
    else $(id).value = value;
  }
};

/** Return the dimensions that a View gets: chosen here, or those of the host that is imitated. */
const containerDimensions = () => {
  const [width, height] = [Number($("box-width").value) || 640, Number($("box-height").value) || 480];
  const kinds = /** @type {Json} */ ({
    fixed: { width, height },
    flexible: { maxWidth: width, maxHeight: height },
    unbounded: {},
  });
  return /** @type {Json | null} */ (kinds[$("container").value] ?? state.presets[state.preset]?.container ?? null);
};

/** Lay out the box of one View. */
export const layOut = (/** @type {any} */ app) => {
  const box = app.parentElement;
  const limits = containerDimensions();
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

/** Make the handle that changes the width of a View's box, by pointer or by arrow keys. */
export const makeGrip = (/** @type {any} */ box) => {
  const grip = make("div", {
    className: "grip",
    role: "separator",
    tabIndex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the View",
    title: "Drag, or use the arrow keys",
  });
  const resize = (/** @type {number} */ width) => {
    box.style.maxWidth = "";
    box.style.width = `${Math.max(Math.round(width), MIN_WIDTH)}px`;
  };
  grip.onpointerdown = (/** @type {PointerEvent} */ down) => {
    const start = box.clientWidth;
    grip.setPointerCapture(down.pointerId);
    box.style.pointerEvents = "none"; // a frame of another origin would swallow the pointer events
    // The box is centred, so it grows on both sides.
    grip.onpointermove = (/** @type {PointerEvent} */ { clientX }) => resize(start + 2 * (clientX - down.clientX));
    grip.onlostpointercapture = () => {
      grip.onpointermove = null;
      box.style.pointerEvents = "";
    };
  };
  grip.onkeydown = (/** @type {KeyboardEvent} */ { key }) => {
    const step = key === "ArrowRight" ? 16 : key === "ArrowLeft" ? -16 : 0;
    if (step) resize(box.clientWidth + step);
  };
  return grip;
};

/** Send the settings to the program, which gives them to all Views. */
export const sendSettings = () =>
  request("stage", {
    styles: $("styles").value,
    locale: $("locale").value || null,
    timeZone: $("zone").value || null,
    safeAreaInsets: SAFE_AREAS[$("areas").value] ?? null,
    deviceCapabilities: DEVICES[$("device").value] ?? null,
    containerDimensions: $("container").value ? containerDimensions() : null,
  }).catch(notifyError);

/** Apply the settings to the page and to every View on it. */
export const applySettings = () => {
  document.documentElement.dataset.theme = $("theme").value;
  const sized = $("container").value === "fixed" || $("container").value === "flexible";
  for (const id of ["box-width", "box-height"]) $(id).parentElement.hidden = !sized;
  $("conversation").classList.toggle("columns", $("columns").checked);
  $("speed-value").textContent = speed() === undefined ? "all at once" : `${speed()} characters per second`;
  for (const { app } of state.calls) layOut(app);
};

/** Follow the settings; `onChange` is called after each change. */
export const watchSettings = (/** @type {() => void} */ onChange) => {
  for (const id of SETTINGS) {
    $(id).dataset.start = valueOf(id);
    $(id).addEventListener("change", () => {
      applySettings();
      if (!LOCAL_SETTINGS.includes(id)) void sendSettings();
      onChange();
    });
  }
  $("speed").addEventListener("input", applySettings);
};

/** Return how many characters of the arguments are sent per second; undefined for all at once. */
export const speed = () => SPEEDS[Number($("speed").value)];
