// @ts-check
/** The simple controls of a form: choices, checkboxes, numbers, texts and JSON. */
import { make, pretty } from "./dom.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {{ label: string, input: any, reason: string }} FieldError What is missing or wrong, and where. */
/** @typedef {{ element: any, read: () => any, errors?: () => FieldError[] }} Control `read` returns undefined for a
 * value that is left out. */

/** Remove the mark of a required field from its label. */
export const withoutMark = (/** @type {string} */ label) => label.replace(/ \*$/, "");

/**
 * Return a function that reports a field that is required and empty, or is not a number.
 * @param {boolean} required
 * @param {string} label
 * @param {any} input
 * @returns {() => FieldError[]}
 */
const checkInput = (required, label, input) => () => {
  if (input.validity?.badInput) return [{ label: withoutMark(label), input, reason: "is not a number" }];
  return required && !input.value.trim() ? [{ label: withoutMark(label), input, reason: "is required" }] : [];
};

const labelled = (/** @type {string} */ label, /** @type {Json} */ schema, /** @type {any} */ input) =>
  make(
    "label",
    { className: "field" },
    make("span", {}, label),
    input,
    schema.description && make("span", { className: "small quiet" }, schema.description),
  );

/**
 * A choice between values.
 * @param {string} label
 * @param {Json} schema
 * @param {any[]} choices
 * @param {any} start
 * @param {boolean} required
 * @param {(string | undefined)[]} [titles]
 * @param {string} [unset] The option that leaves the value out.
 * @returns {Control}
 */
export const choice = (label, schema, choices, start, required, titles = [], unset = "(none)") => {
  const options = choices.map((each, index) =>
    make("option", { value: String(index), selected: pretty(each) === pretty(start) }, titles[index] ?? String(each)),
  );
  const input = make("select", {}, ...(required ? [] : [make("option", { value: "" }, unset)]), ...options);
  return {
    element: labelled(label, schema, input),
    read: () => (input.value === "" ? undefined : choices[Number(input.value)]),
  };
};

/**
 * A boolean that is true or false.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
export const checkbox = (label, schema, start, required) => {
  const input = make("input", { type: "checkbox", checked: start === true });
  return {
    element: labelled(label, schema, input),
    read: () => (input.checked || required || start !== undefined ? input.checked : undefined),
  };
};

/**
 * A boolean that can also be null or left out.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} unset Whether no value was given.
 * @param {boolean} required
 * @param {boolean} nullable
 * @returns {Control}
 */
export const optionalBoolean = (label, schema, start, unset, required, nullable) =>
  choice(
    label,
    schema,
    nullable ? [true, false, null] : [true, false],
    unset && start === null && !required ? undefined : start,
    required,
    [],
    "(not given)",
  );

/**
 * @param {string} label
 * @param {Json} schema
 * @param {string} type
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
export const number = (label, schema, type, start, required) => {
  const input = make("input", {
    type: "number",
    step: type === "integer" ? "1" : "any",
    value: start ?? "",
    ...(schema.minimum !== undefined && { min: schema.minimum }),
    ...(schema.maximum !== undefined && { max: schema.maximum }),
  });
  return {
    element: labelled(label, schema, input),
    read: () => (input.value === "" ? undefined : Number(input.value)),
    errors: checkInput(required, label, input),
  };
};

const INPUT_TYPES = /** @type {Json} */ ({ date: "date", email: "email", uri: "url", time: "time" });

/**
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
export const text = (label, schema, start, required) => {
  const long = schema.maxLength > 200 || String(start ?? "").length > 120 || String(start ?? "").includes("\n");
  const input = long
    ? make("textarea", { value: start ?? "" })
    : make("input", {
        type: INPUT_TYPES[schema.format] ?? "text",
        value: start ?? "",
        placeholder: schema.examples?.[0] ?? "",
      });
  return {
    element: labelled(label, schema, input),
    read: () => (input.value === "" ? undefined : input.value),
    errors: checkInput(required, label, input),
  };
};

/**
 * Any value, as JSON.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
export const json = (label, schema, start, required) => {
  const input = make("textarea", {
    value: start === undefined ? "" : pretty(start),
    placeholder: schema.type === "array" ? "[ … ]" : "JSON",
    spellcheck: false,
  });
  return {
    element: labelled(label, schema, input),
    errors: checkInput(required, label, input),
    read: () => {
      if (!input.value.trim()) return undefined;
      try {
        return JSON.parse(input.value);
      } catch (error) {
        input.focus();
        throw new Error(`${withoutMark(label)} is not JSON: ${/** @type {Error} */ (error).message}`, { cause: error });
      }
    },
  };
};
