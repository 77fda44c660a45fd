// @ts-check
/**
 * A form for a JSON Schema: groups, lists and unions of the controls in fields.js. A schema that has no control of
 * its own is edited as JSON. The Views of `Apps.form` and `fanlight dev` use it.
 */
import { build, checkbox, choice, entry, frame, json, leaf, optionalBoolean, several, textButton } from "./fields.js";
import { fitsVariant, own, reasonFor, resolve } from "./schema.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./fields.js").Control} Control */
/** @typedef {import("./fields.js").Options} Options */
/** @typedef {{ root: Json, depth: number, options: Options }} Context Where a schema is, and how it is shown. */

const MAX_DEPTH = 6;
const MAX_INITIAL_ITEMS = 10;
const FOCUSABLE = "input, select, textarea";

/**
 * Make a form for an object.
 * @param {Json} schema
 * @param {Json} values
 * @param {Options} options
 */
const formFor = (schema, values, options) => {
  const parts = partsOf(schema, values, { root: schema, depth: 0, options });
  return {
    element: build("div", { className: "fields" }, ...parts.map((part) => part.element)),
    read: () => readParts(parts),
    errors: () => errorsOf(parts),
    find: (/** @type {(string | number)[]} */ path) => findIn(parts, path),
    size: parts.length,
  };
};

/** @typedef {Control & { name: string }} Part */

/** @param {Json} schema @param {any} values @param {Context} context @returns {Part[]} */
const partsOf = (schema, values, context) =>
  Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const isRequired = (schema.required ?? []).includes(name);
    const label = context.options.label(name, property);
    return { ...control(label, property, own(values, name), isRequired, context), name };
  });

const readParts = (/** @type {Part[]} */ parts) =>
  Object.fromEntries(parts.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));

const errorsOf = (/** @type {Control[]} */ parts) => parts.flatMap(({ errors }) => errors());

/** @param {Part[]} parts @param {(string | number)[]} path */
const findIn = (parts, [first, ...rest]) => parts.find(({ name }) => name === first)?.find(rest);

/**
 * Make the control of a schema.
 * @param {string} label
 * @param {any} reference The schema, or a reference to it.
 * @param {any} value
 * @param {boolean} required
 * @param {Context} context
 * @param {boolean} [bare] Whether an object is shown without a frame of its own.
 * @returns {Control}
 */
const control = (label, reference, value, required, context, bare = false) => {
  const { options } = context;
  const schema = resolve(reference, context.root);
  const start = options.start(schema, value, required);
  const union = schema.oneOf ?? schema.anyOf;
  const deeper = { ...context, depth: context.depth + 1 };
  if (context.depth >= MAX_DEPTH) return json(label, schema, start, required);
  if (Array.isArray(union)) {
    const variants = union.map((each) => resolve(each, context.root)).filter((each) => each.type !== "null");
    const nullable = variants.length < union.length;
    const [only] = variants;
    if (variants.length === 1 && only) {
      if (nullable && only.type === "boolean") {
        return optionalBoolean(label, schema, start, value === undefined, required, true, options);
      }
      // A value or null is an optional value; where it cannot be left out, an empty field is null.
      const { anyOf: _anyOf, oneOf: _oneOf, ...about } = schema;
      const described = { ...only, ...about, nullable };
      const inner = control(label, described, start ?? undefined, required && !nullable, context);
      return nullable && required ? { ...inner, read: () => inner.read() ?? null } : inner;
    }
    if (variants.every((each) => each.const !== undefined)) {
      const constants = variants.map((each) => each.const);
      const titles = variants.map((each) => each.title);
      return choice(label, schema, constants, start, required, options, titles);
    }
    return oneOf(label, schema, variants, start, required && !nullable, deeper);
  }
  const nullable = schema.nullable ?? Array.isArray(schema.type);
  const type = Array.isArray(schema.type)
    ? schema.type.find((/** @type {string} */ each) => each !== "null")
    : schema.type;
  const { format } = schema.items ? resolve(schema.items, context.root) : schema;
  const special = own(options.controls, format);
  if (special) return special(label, schema, required);
  if (schema.const !== undefined) return constant(schema.const);
  if (Array.isArray(schema.enum)) return choice(label, schema, schema.enum, start, required, options);
  if (type === "boolean" && (nullable || (!required && schema.default === undefined))) {
    return optionalBoolean(label, schema, start, value === undefined, required, nullable, options);
  }
  if (type === "boolean") return checkbox(label, schema, start, required);
  if (type === "number" || type === "integer" || type === "string") {
    return entry(label, schema, type, start, required, options);
  }
  if (type === "array" && schema.items) {
    const items = resolve(schema.items, context.root);
    return Array.isArray(items.enum) && options.few
      ? several(label, schema, items.enum, start, required, options)
      : list(label, schema, start, required, deeper);
  }
  if (type === "object" && schema.properties) return group(label, schema, start, required, deeper, bare);
  return json(label, schema, start, required);
};

/** @param {any} value @returns {Control} */
const constant = (value) => {
  const made = leaf("", {}, false, build("input"), () => value);
  made.element.hidden = true;
  return made;
};

/**
 * Put controls into a frame with a legend.
 * @param {string} label
 * @param {Json} schema
 * @param {any[]} children
 */
const framed = (label, schema, ...children) => {
  const element = build("fieldset", {});
  const { caption, head, help, error, mark } = frame("legend", label, schema, false, element);
  element.append(head, ...(help ? [help] : []), error, ...children);
  return { element, caption, mark };
};

/**
 * An object with known properties.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @param {Context} context
 * @param {boolean} bare
 * @returns {Control}
 */
const group = (label, schema, start, required, context, bare) => {
  /** @type {Part[] | undefined} Made only when the object is given, because a schema may contain itself. */
  let parts;
  const inside = build("div", { className: "group" });
  const focusable = () => inside.querySelector(`${FOCUSABLE}, button`);
  const give = (/** @type {any} */ values, focus = false) => {
    parts = partsOf(schema, values, context);
    const leave = textButton("Leave out", omit, { "aria-label": `Leave ${label} out` });
    inside.replaceChildren(...parts.map((part) => part.element), ...(required ? [] : [leave]));
    if (focus) focusable()?.focus();
  };
  const omit = () => {
    parts = undefined;
    inside.replaceChildren(textButton("+ Add", () => give({}, true), { "aria-label": `+ Add ${label}` }));
  };
  const around = bare ? { element: inside, caption: inside, mark: () => {} } : framed(label, schema, inside);
  if (required || (start !== undefined && start !== null)) give(start ?? {});
  else omit();
  /** @type {Control} */
  const made = {
    ...around,
    get input() {
      return focusable();
    },
    read: () => parts && readParts(parts),
    errors: () => errorsOf(parts ?? []),
    find: (path) => (parts && findIn(parts, path)) ?? made,
  };
  return made;
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
  const items = build("div", { className: "items" });
  const kind = context.options.item(resolve(schema.items, context.root));
  const renumber = () => {
    rows.forEach(({ row, item }, index) => {
      item.caption.textContent = `${kind} ${index + 1}`;
      row.querySelector(".up").hidden = !index;
    });
  };
  const placeOf = (/** @type {any} */ row) => rows.findIndex((each) => each.row === row);
  const add = (/** @type {any} */ value, focus = false) => {
    const item = control(`${kind} ${rows.length + 1}`, schema.items, value, true, context);
    const row = build("div", { className: "row" }, item.element);
    const remove = () => {
      rows.splice(placeOf(row), 1);
      row.remove();
      renumber();
      more.focus();
    };
    const raise = (/** @type {any} */ event) => {
      const place = placeOf(row);
      rows.splice(place - 1, 0, ...rows.splice(place, 1));
      row.previousElementSibling.before(row);
      renumber();
      event.target.focus();
    };
    const buttons = [
      textButton("↑", () => {}, { "aria-label": `Move up, ${label}`, className: "plain up", onclick: raise }),
      textButton("✕", remove, { "aria-label": `Remove an item of ${label}` }),
    ];
    row.append(build("span", { className: "moves" }, ...buttons));
    rows.push({ row, item });
    items.append(row);
    renumber();
    if (focus) row.querySelector(FOCUSABLE)?.focus();
  };
  const more = textButton(kind === "Item" ? "+ Add" : `+ Add ${kind.toLowerCase()}`, () => add(undefined, true), {
    "aria-label": `+ Add to ${label}`,
  });
  const { element, caption, mark } = framed(label, schema, items, more);
  element.addEventListener("click", () => mark(""));
  const minimum = required ? (schema.minItems ?? 0) : 0;
  const initial = Array.isArray(start) ? start : Array(Math.min(minimum, MAX_INITIAL_ITEMS)).fill(undefined);
  for (const each of initial) add(each);
  // An empty text is an item like any other.
  const texts = resolve(schema.items, context.root).type === "string";
  const itemErrors = () =>
    rows.flatMap(({ item }, index) =>
      item.errors().map((error) => ({
        ...error,
        label: `${caption.textContent}, item ${index + 1}, ${error.label}`,
      })),
    );
  /** @type {Control} */
  const made = {
    element,
    caption,
    mark,
    input: more,
    read: () =>
      rows.length || required || start !== undefined
        ? rows.map(({ item }) => item.read() ?? (texts ? "" : null))
        : undefined,
    errors: () => {
      const reason =
        required || rows.length ? reasonFor({ ...schema, minItems: schema.minItems ?? minimum }, rows) : "";
      return [
        ...(reason ? [{ label: caption.textContent, input: more, reason, control: made }] : []),
        ...(texts ? [] : itemErrors()),
      ];
    },
    find: ([index, ...rest]) => rows[Number(index)]?.item.find(rest) ?? made,
  };
  return made;
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
  const inside = build("div", {});
  /** @type {Control | undefined} */
  let current;
  /** @type {Map<number, Control>} Those that were shown, so that going back to one keeps what was written. */
  const drawn = new Map();
  const names = variants.map(context.options.variant);
  const select = build(
    "select",
    { "aria-label": `${label}: which kind` },
    ...(required ? [] : [build("option", { value: "" }, "(none)")]),
    ...names.map((name, index) => build("option", { value: String(index) }, name)),
  );
  const exact = variants.findIndex((variant) => fitsVariant(variant, start));
  const found = exact < 0 ? variants.findIndex((variant) => fitsVariant(variant, start, true)) : exact;
  select.value = found >= 0 ? String(found) : required ? "0" : "";
  const draw = (/** @type {any} */ value) => {
    const index = Number(select.value);
    current = undefined;
    if (select.value !== "") {
      current = drawn.get(index) ?? control(names[index] ?? label, variants[index], value, true, context, true);
      drawn.set(index, current);
    }
    inside.replaceChildren(...(current ? [current.element] : []));
  };
  select.onchange = () => draw(undefined);
  draw(start);
  const { element, caption, mark } = framed(label, schema, select, inside);
  /** @type {Control} */
  const made = {
    element,
    caption,
    mark,
    input: select,
    read: () => current?.read(),
    errors: () => current?.errors() ?? [],
    find: (path) => {
      const found = path.length ? current?.find(path) : undefined;
      return found && found !== current ? found : made;
    },
  };
  return made;
};

export { formFor };
