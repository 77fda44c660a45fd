// @ts-check
/**
 * Reads JSON Schemas: references, unions, and why a value does not fit. No part of it needs a page.
 *
 * The files of this folder become one script in the View of a form, so that their names must differ from those in
 * show/pages, comments are on lines of their own, and each file ends with its one export.
 */

/** @typedef {Record<string, any>} Json */

const MAX_REFERENCES = 20;

/**
 * Return a property that an object has itself, not one that it inherits, such as `__proto__`.
 * @param {any} object
 * @param {string} name
 */
const own = (object, name) =>
  object !== null && typeof object === "object" && Object.hasOwn(object, name) ? object[name] : undefined;

/**
 * Follow the references of a schema.
 * @param {any} schema
 * @param {Json} root The schema that the references are relative to.
 * @returns {Json}
 */
const resolve = (schema, root) => {
  let current = schema;
  for (let steps = 0; current?.$ref && steps < MAX_REFERENCES; steps += 1) {
    const { $ref, ...siblings } = current;
    const target = String($ref).startsWith("#/")
      ? String($ref)
          .slice(2)
          .split("/")
          .reduce((parent, key) => own(parent, key.replace(/~1/g, "/").replace(/~0/g, "~")), root)
      : undefined;
    current = { ...target, ...siblings };
  }
  return current === true || current === undefined ? {} : current;
};

/**
 * Return whether a value fits one variant of a union.
 * @param {Json} variant
 * @param {any} value
 * @param {boolean} [partial] Whether the value of an object may be incomplete.
 */
const fitsVariant = (variant, value, partial = false) => {
  if (value === undefined) return false;
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  if (type === "object" && variant.properties) {
    const constants = Object.entries(variant.properties).filter(([, each]) => each.const !== undefined);
    return (
      constants.every(([name, each]) => own(value, name) === each.const) &&
      (partial || (variant.required ?? []).every((/** @type {string} */ name) => Object.hasOwn(value, name)))
    );
  }
  return (
    variant.type === type ||
    (variant.type === "integer" && Number.isInteger(value)) ||
    (variant.enum ?? []).includes(value)
  );
};

/** @param {number} number @param {string} noun */
const countOf = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/**
 * Return the end of a sentence that begins with the name of a field, if its value does not fit the schema.
 * show/forms/reasons.py says the same of the errors of the server; tests/vectors/forms/reasons.json keeps both equal.
 * @param {Json} schema
 * @param {any} value
 * @returns {string | undefined}
 */
const reasonFor = (schema, value) => {
  if (Array.isArray(value)) {
    if (value.length < schema.minItems) return `needs at least ${countOf(schema.minItems, "item")}`;
    if (value.length > schema.maxItems) return `must have at most ${countOf(schema.maxItems, "item")}`;
    return;
  }
  if (schema.type === "string") {
    const { length } = [...String(value)];
    if (length < schema.minLength) return `must have at least ${countOf(schema.minLength, "character")}`;
    if (length > schema.maxLength) return `must have at most ${countOf(schema.maxLength, "character")}`;
    try {
      if (schema.pattern && !new RegExp(schema.pattern, "u").test(value)) return "does not have the expected format";
    } catch {
      // The server knows the syntax of its pattern better.
    }
    return;
  }
  const number = Number(value);
  if (schema.type === "integer" && !Number.isInteger(number)) return "must be a whole number";
  if (number < schema.minimum) return `must be at least ${schema.minimum}`;
  if (number <= schema.exclusiveMinimum) return `must be more than ${schema.exclusiveMinimum}`;
  if (number > schema.maximum) return `must be at most ${schema.maximum}`;
  if (number >= schema.exclusiveMaximum) return `must be less than ${schema.exclusiveMaximum}`;
  const quotient = number / schema.multipleOf;
  if (Math.abs(quotient - Math.round(quotient)) > 1e-9) return `must be a multiple of ${schema.multipleOf}`;
  const [, decimals = ""] = /\.(\d*?)0*$/.exec(String(value)) ?? [];
  if (decimals.length > schema.decimalPlaces) {
    return `must have at most ${countOf(schema.decimalPlaces, "decimal place")}`;
  }
};

export { countOf, fitsVariant, own, reasonFor, resolve };
