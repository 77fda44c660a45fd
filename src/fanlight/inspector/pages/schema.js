// @ts-check
/** Reads JSON Schemas: references, unions and starting values. No part of it needs a page. */

/** @typedef {Record<string, any>} Json */

const MAX_REFERENCES = 20;

/**
 * Follow the references of a schema.
 * @param {any} schema
 * @param {Json} root The schema that the references are relative to.
 * @returns {Json}
 */
export const resolve = (schema, root) => {
  let current = schema;
  for (let steps = 0; current?.$ref && steps < MAX_REFERENCES; steps += 1) {
    const { $ref, ...siblings } = current;
    const target = String($ref).startsWith("#/")
      ? String($ref)
          .slice(2)
          .split("/")
          .reduce((/** @type {any} */ parent, key) => parent?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], root)
      : undefined;
    current = { ...target, ...siblings };
  }
  return current === true || current === undefined ? {} : current;
};

/**
 * Return the value that a field starts with: the given one, the default, or an example if the field is required.
 * @param {Json} schema
 * @param {any} value
 * @param {boolean} required
 */
export const startValue = (schema, value, required) => {
  if (value !== undefined) return value;
  if (schema.default !== undefined) return schema.default;
  return required ? schema.examples?.[0] : undefined;
};

/**
 * Return the label of a property: its name, and its title if that says more.
 * @param {string} name
 * @param {Json} schema
 */
export const labelOf = (name, { title }) =>
  title && title.toLowerCase() !== name.replaceAll("_", " ").toLowerCase() ? `${name} (${title})` : name;

/**
 * Return the name of one variant of a union.
 * @param {Json} variant
 * @param {number} index
 */
export const variantName = (variant, index) =>
  variant.title ??
  variant.properties?.kind?.const ??
  variant.properties?.type?.const ??
  variant.type ??
  `variant ${index + 1}`;

/**
 * Return whether a value fits one variant of a union.
 * @param {Json} variant
 * @param {any} value
 */
export const fitsVariant = (variant, value) => {
  if (value === undefined) return false;
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  if (type === "object" && variant.properties) {
    const constants = Object.entries(variant.properties).filter(([, each]) => each.const !== undefined);
    return (
      constants.every(([name, each]) => value[name] === each.const) &&
      (variant.required ?? []).every((/** @type {string} */ name) => name in value)
    );
  }
  return (
    variant.type === type ||
    (variant.type === "integer" && Number.isInteger(value)) ||
    (variant.enum ?? []).includes(value)
  );
};
