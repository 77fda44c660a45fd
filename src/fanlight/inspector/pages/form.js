// @ts-check
/**
 * A form for a JSON Schema: groups, lists and unions of the controls in fields.js. A schema that has no control of
 * its own is edited as JSON.
 */
import { make, plainButton } from "./dom.js";
import { checkbox, choice, json, number, optionalBoolean, text, withoutMark } from "./fields.js";
import { fitsVariant, labelOf, resolve, startValue, variantName } from "./schema.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./fields.js").Control} Control */
/** @typedef {{ root: Json, depth: number }} Context Where a schema is: its root, and how deep it is nested. */

const MAX_DEPTH = 6;
const MAX_INITIAL_ITEMS = 10;

/**
 * Make a form for the arguments of a tool.
 * @param {Json} schema
 * @param {Json} values
 */
export const formFor = (schema, values) => {
  const parts = properties(schema, values, { root: schema, depth: 0 });
  return {
    element: make("div", {}, ...parts.map((part) => part.element)),
    read: () => readAll(parts),
    errors: () => errorsOf(parts),
    size: parts.length,
  };
};

const properties = (/** @type {Json} */ schema, /** @type {Json} */ values, /** @type {Context} */ context) =>
  Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    ...control(labelOf(name, property), property, values?.[name], (schema.required ?? []).includes(name), context),
  }));

const readAll = (/** @type {any[]} */ parts) =>
  Object.fromEntries(parts.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));

const errorsOf = (/** @type {Control[]} */ parts) => parts.flatMap(({ errors }) => errors?.() ?? []);

/**
 * Make the control of a schema.
 * @param {string} label
 * @param {any} reference The schema, or a reference to it.
 * @param {any} value
 * @param {boolean} required
 * @param {Context} context
 * @returns {Control}
 */
const control = (label, reference, value, required, context) => {
  const schema = resolve(reference, context.root);
  const start = startValue(schema, value, required);
  const union = schema.oneOf ?? schema.anyOf;
  const deeper = { ...context, depth: context.depth + 1 };
  const shown = required ? `${label} *` : label;
  if (context.depth >= MAX_DEPTH) return json(shown, schema, start, required);
  if (Array.isArray(union)) {
    const variants = union.map((each) => resolve(each, context.root)).filter((each) => each.type !== "null");
    const nullable = variants.length < union.length;
    const [only] = variants;
    if (variants.length === 1 && only) {
      if (nullable && only.type === "boolean") {
        return optionalBoolean(shown, schema, start, value === undefined, required, true);
      }
      // A value or null is an optional value; where it cannot be left out, an empty field is null.
      const described = { ...only, description: schema.description ?? only.description };
      const inner = control(nullable ? shown : label, described, start ?? only.default, required && !nullable, context);
      return nullable && required ? { ...inner, read: () => inner.read() ?? null } : inner;
    }
    if (variants.every((each) => each.const !== undefined)) {
      const constants = variants.map((each) => each.const);
      const titles = variants.map((each) => each.title);
      return choice(shown, schema, constants, start, required, titles);
    }
    return oneOf(shown, schema, variants, start, required, deeper);
  }
  const nullable = Array.isArray(schema.type);
  const type = nullable ? schema.type.find((/** @type {string} */ each) => each !== "null") : schema.type;
  if (schema.const !== undefined) return { element: make("span"), read: () => schema.const };
  if (Array.isArray(schema.enum)) return choice(shown, schema, schema.enum, start, required);
  if (type === "boolean" && (nullable || (!required && schema.default === undefined))) {
    return optionalBoolean(shown, schema, start, value === undefined, required, nullable);
  }
  if (type === "boolean") return checkbox(shown, schema, start, required);
  if (type === "number" || type === "integer") return number(shown, schema, type, start, required);
  if (type === "string") return text(shown, schema, start, required);
  if (type === "array" && schema.items) return list(shown, schema, start, required, deeper);
  if (type === "object" && schema.properties) return group(shown, schema, start, required, deeper);
  return json(shown, schema, start, required);
};

const fieldset = (/** @type {string} */ label, /** @type {Json} */ schema, /** @type {any[]} */ ...children) =>
  make(
    "fieldset",
    {},
    make("legend", {}, label),
    schema.description && make("p", { className: "small quiet" }, schema.description),
    ...children,
  );

/**
 * An object with known properties.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @param {Context} context
 * @returns {Control}
 */
const group = (label, schema, start, required, context) => {
  /** @type {any[] | undefined} Made only when the object is given, because a schema may contain itself. */
  let parts;
  const inside = make("div", { className: "group" });
  const give = (/** @type {any} */ values, focus = false) => {
    parts = properties(schema, values, context);
    const leave = plainButton("Leave out", omit, { "aria-label": `Leave ${label} out` });
    inside.replaceChildren(...parts.map((part) => part.element), ...(required ? [] : [leave]));
    if (focus) inside.querySelector("input, select, textarea")?.focus();
  };
  const omit = () => {
    parts = undefined;
    inside.replaceChildren(plainButton("+ Add", () => give({}, true), { "aria-label": `+ Add ${label}` }));
  };
  if (required || (start !== undefined && start !== null)) give(start ?? {});
  else omit();
  return {
    element: fieldset(label, schema, inside),
    read: () => parts && readAll(parts),
    errors: () => errorsOf(parts ?? []),
  };
};

/**
 * A list of items.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @param {Context} context
 * @returns {Control}
 */
const list = (label, schema, start, required, context) => {
  /** @type {{ row: any, item: Control }[]} */
  const rows = [];
  const items = make("div");
  const add = (/** @type {any} */ value, focus = false) => {
    const item = control(`Item ${rows.length + 1}`, schema.items, value, true, context);
    const row = make("div", { className: "row" }, item.element);
    const remove = () => {
      rows.splice(
        rows.findIndex((each) => each.row === row),
        1,
      );
      row.remove();
      more.focus();
    };
    row.append(plainButton("✕", remove, { "aria-label": `Remove an item of ${label}` }));
    rows.push({ row, item });
    items.append(row);
    if (focus) row.querySelector("input, select, textarea")?.focus();
  };
  const more = plainButton("+ Add", () => add(undefined, true));
  const minimum = required ? (schema.minItems ?? 0) : 0;
  const initial = Array.isArray(start) ? start : Array(Math.min(minimum, MAX_INITIAL_ITEMS)).fill(undefined);
  for (const each of initial) add(each);
  // An empty text is an item like any other.
  const texts = resolve(schema.items, context.root).type === "string";
  const tooFew = () => ({
    label: withoutMark(label),
    input: more,
    reason: `needs at least ${minimum} ${minimum === 1 ? "item" : "items"}`,
  });
  const itemErrors = () =>
    rows.flatMap(({ item }, index) =>
      (item.errors?.() ?? []).map((error) => ({
        ...error,
        label: `${withoutMark(label)}, item ${index + 1}, ${error.label}`,
      })),
    );
  return {
    element: fieldset(label, schema, items, more),
    read: () =>
      rows.length || required || start !== undefined
        ? rows.map(({ item }) => item.read() ?? (texts ? "" : null))
        : undefined,
    errors: () => [...(rows.length < minimum ? [tooFew()] : []), ...(texts ? [] : itemErrors())],
  };
};

/**
 * A union: a choice of the variant, and the control of the chosen one.
 * @param {string} label
 * @param {Json} schema
 * @param {Json[]} variants
 * @param {any} start
 * @param {boolean} required
 * @param {Context} context
 * @returns {Control}
 */
const oneOf = (label, schema, variants, start, required, context) => {
  const inside = make("div");
  /** @type {Control} */
  let current;
  const names = variants.map(variantName);
  const select = make(
    "select",
    { "aria-label": `${label}: which kind` },
    ...(required ? [] : [make("option", { value: "" }, "(none)")]),
    ...names.map((name, index) => make("option", { value: String(index) }, name)),
  );
  const found = variants.findIndex((variant) => fitsVariant(variant, start));
  select.value = found >= 0 ? String(found) : required ? "0" : "";
  const draw = (/** @type {any} */ value) => {
    current =
      select.value === ""
        ? { element: make("span"), read: () => undefined }
        : control(names[Number(select.value)] ?? label, variants[Number(select.value)], value, true, context);
    inside.replaceChildren(current.element);
  };
  select.onchange = () => draw(undefined);
  draw(start);
  return {
    element: fieldset(label, schema, select, inside),
    read: () => current.read(),
    errors: () => current.errors?.() ?? [],
  };
};
