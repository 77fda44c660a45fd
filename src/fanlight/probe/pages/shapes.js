// @ts-check
/** Validation of the host context and of the host capabilities. */

const MODES = ["inline", "fullscreen", "pip"];
const KINDS = "primary secondary tertiary inverse ghost info danger success warning disabled".split(" ");

/** The names of all standard style variables. */
const VARIABLES = new Set([
  ...["background", "text", "border"].flatMap((what) => KINDS.map((kind) => `--color-${what}-${kind}`)),
  ..."primary secondary inverse info danger success warning".split(" ").map((kind) => `--color-ring-${kind}`),
  ...["--font-sans", "--font-mono", "--border-width-regular"],
  ..."normal medium semibold bold".split(" ").map((weight) => `--font-weight-${weight}`),
  ...["size", "line-height"].flatMap((what) => [
    ..."xs sm md lg".split(" ").map((size) => `--font-text-${size}-${what}`),
    ..."xs sm md lg xl 2xl 3xl".split(" ").map((size) => `--font-heading-${size}-${what}`),
  ]),
  ..."xs sm md lg xl full".split(" ").map((size) => `--border-radius-${size}`),
  ..."hairline sm md lg".split(" ").map((size) => `--shadow-${size}`),
]);

/** @param {unknown} value */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** @param {unknown} value */
const isText = (value) => typeof value === "string";
/** @param {unknown} value */
const isSize = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;

/** @param {unknown} value */
const isLocale = (value) => {
  try {
    return isText(value) && Intl.getCanonicalLocales(String(value)).length === 1;
  } catch {
    return false;
  }
};

/** @param {unknown} value */
const isZone = (value) => {
  try {
    return isText(value) && Boolean(new Intl.DateTimeFormat("en", { timeZone: String(value) }));
  } catch {
    return false;
  }
};

/** @type {[key: string, expected: string, holds: (value: any) => boolean][]} */
const CONTEXT = [
  ["theme", '"light" or "dark"', (value) => ["light", "dark"].includes(value)],
  ["displayMode", "a display mode", (value) => MODES.includes(value)],
  [
    "availableDisplayModes",
    "a list of display modes",
    (value) => Array.isArray(value) && value.every((mode) => MODES.includes(mode)),
  ],
  ["containerDimensions", "an object of sizes", (value) => isObject(value) && Object.values(value).every(isSize)],
  ["locale", "a BCP 47 language tag", isLocale],
  ["timeZone", "an IANA time zone", isZone],
  ["userAgent", "a string", isText],
  ["platform", '"web", "desktop" or "mobile"', (value) => ["web", "desktop", "mobile"].includes(value)],
  [
    "deviceCapabilities",
    "an object of booleans",
    (value) => isObject(value) && ["touch", "hover"].every((key) => !(key in value) || typeof value[key] === "boolean"),
  ],
  [
    "safeAreaInsets",
    "four sizes",
    (value) => isObject(value) && ["top", "right", "bottom", "left"].every((side) => isSize(value[side])),
  ],
  [
    "toolInfo",
    "the tool, with its name and inputSchema",
    (value) => isObject(value) && isObject(value.tool) && isText(value.tool.name) && isObject(value.tool.inputSchema),
  ],
  [
    "styles",
    "an object with variables and css",
    (value) => isObject(value) && [value.variables, value.css].every((part) => part === undefined || isObject(part)),
  ],
];

/**
 * What is wrong with a context, or with a change of it.
 * @param {Record<string, any>} context
 */
const contextProblems = (context) =>
  CONTEXT.filter(([key, , holds]) => key in context && !holds(context[key])).map(
    ([key, expected]) => `${key} is ${JSON.stringify(context[key])?.slice(0, 100)}, expected ${expected}.`,
  );

/**
 * What is wrong with `containerDimensions`.
 * @param {Record<string, any>} dimensions
 */
const dimensionProblems = (dimensions) =>
  [
    ["width", "maxWidth"],
    ["height", "maxHeight"],
  ]
    .filter(([fixed, most]) => dimensions[String(fixed)] !== undefined && dimensions[String(most)] !== undefined)
    .map(([fixed, most]) => `${fixed} and ${most} are both present.`);

const CAPABILITIES = [
  ..."openLinks downloadFile serverTools serverResources logging sandbox updateModelContext message".split(" "),
  ..."sampling experimental".split(" "),
];

/**
 * What is wrong with the host's capabilities.
 * @param {Record<string, any>} capabilities
 */
const capabilityProblems = (capabilities) =>
  CAPABILITIES.filter((key) => key in capabilities && !isObject(capabilities[key])).map(
    (key) => `hostCapabilities.${key} is ${JSON.stringify(capabilities[key])}, expected an object.`,
  );
