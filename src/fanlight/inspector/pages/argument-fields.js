// @ts-check
/** How the form names the arguments of a tool, and what they start with: as a developer wants to see them. */
/** @typedef {Record<string, any>} Json */

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

/** @type {import("../../browser/form/fields.js").Options} */
export const OPTIONS = {
  label: labelOf,
  start: startValue,
  text: String,
  variant: variantName,
  item: () => "Item",
  few: 0,
  clears: false,
};
