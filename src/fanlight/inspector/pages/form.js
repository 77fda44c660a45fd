// @ts-check
/**
 * A form for a JSON Schema. Objects, lists, choices, unions and plain values get controls; anything else is
 * written as JSON. Each control is an element and a function that reads it; `undefined` means left out.
 */
import { make, pretty } from "./dom.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {{ label: string, input: any, words: string }} Lack What is demanded and not there. */
/** @typedef {{ element: any, read: () => any, lacks?: () => Lack[] }} Control */

const DEEPEST = 6;

/**
 * A form for the arguments of a tool.
 * @param {Json} schema
 * @param {Json} values
 */
export const formFor = (schema, values) => {
  const parts = properties(schema, values, { root: schema, depth: 0 });
  return {
    element: make("div", {}, ...parts.map((part) => part.element)),
    read: () => readAll(parts),
    lacks: () => lacksOf(parts),
    size: parts.length,
  };
};

/**
 * A schema that makes no difference between what it is and what it points to.
 * @param {any} schema
 * @param {Json} root
 */
const resolved = (schema, root) => {
  let at = schema;
  for (let steps = 0; at?.$ref && steps < 20; steps += 1) {
    const { $ref, ...beside } = at;
    const found = String($ref).startsWith("#/")
      ? String($ref)
          .slice(2)
          .split("/")
          .reduce((/** @type {any} */ in_, key) => in_?.[key.replace(/~1/g, "/").replace(/~0/g, "~")], root)
      : undefined;
    at = { ...found, ...beside };
  }
  return at === true || at === undefined ? {} : at;
};

/** @param {Json} schema @param {Json} values @param {{ root: Json, depth: number }} where */
const properties = (schema, values, where) =>
  Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    ...control(
      property.title && property.title.toLowerCase() !== name.replaceAll("_", " ").toLowerCase()
        ? `${name} (${property.title})`
        : name,
      property,
      values?.[name],
      (schema.required ?? []).includes(name),
      where,
    ),
  }));

const readAll = (/** @type {any[]} */ parts) =>
  Object.fromEntries(parts.map(({ name, read }) => [name, read()]).filter(([, value]) => value !== undefined));

const lacksOf = (/** @type {Control[]} */ parts) => parts.flatMap(({ lacks }) => lacks?.() ?? []);

/** A label without the mark of what is required. */
const bare = (/** @type {string} */ label) => label.replace(/ \*$/, "");

/**
 * What a control lacks that must not be empty.
 * @param {boolean} required
 * @param {string} label
 * @param {any} input
 * @returns {() => Lack[]}
 */
const unlessFilled = (required, label, input) => () => {
  if (input.validity?.badInput) return [{ label: bare(label), input, words: "is no number" }];
  return required && !input.value.trim() ? [{ label: bare(label), input, words: "is required" }] : [];
};

/**
 * @param {string} label
 * @param {any} given
 * @param {any} value
 * @param {boolean} required
 * @param {{ root: Json, depth: number }} where
 * @returns {Control}
 */
const control = (label, given, value, required, where) => {
  const schema = resolved(given, where.root);
  const start =
    value !== undefined
      ? value
      : schema.default !== undefined
        ? schema.default
        : required
          ? schema.examples?.[0]
          : undefined;
  const union = schema.oneOf ?? schema.anyOf;
  const deeper = { ...where, depth: where.depth + 1 };
  const shown = required ? `${label} *` : label;
  if (where.depth >= DEEPEST) return asJson(shown, schema, start, required);
  if (Array.isArray(union)) {
    const kinds = union.map((each) => resolved(each, where.root)).filter((each) => each.type !== "null");
    const nullable = kinds.length < union.length;
    if (kinds.length === 1) {
      const only = { ...kinds[0], description: schema.description ?? kinds[0].description };
      if (nullable && only.type === "boolean") return triple(shown, schema, start, value === undefined, required, true);
      // A value or nothing: an optional value, or null where it cannot be left out.
      const inner = control(nullable ? shown : label, only, start ?? kinds[0].default, required && !nullable, where);
      return nullable && required ? { ...inner, read: () => inner.read() ?? null } : inner;
    }
    if (kinds.every((kind) => kind.const !== undefined)) {
      return choice(
        shown,
        schema,
        kinds.map((kind) => kind.const),
        start,
        required,
        kinds.map((kind) => kind.title),
      );
    }
    return oneOf(shown, schema, kinds, start, required, deeper);
  }
  const type = Array.isArray(schema.type)
    ? schema.type.find((/** @type {string} */ each) => each !== "null")
    : schema.type;
  if (schema.const !== undefined) return { element: make("span"), read: () => schema.const };
  if (Array.isArray(schema.enum)) return choice(shown, schema, schema.enum, start, required);
  if (type === "boolean" && (Array.isArray(schema.type) || (!required && schema.default === undefined))) {
    return triple(shown, schema, start, value === undefined, required, Array.isArray(schema.type));
  }
  if (type === "boolean") return tick(shown, schema, start, required);
  if (type === "number" || type === "integer") return number(shown, schema, type, start, required);
  if (type === "string") return text(shown, schema, start, required);
  if (type === "array" && schema.items) return list(shown, schema, start, required, deeper);
  if (type === "object" && schema.properties) return group(shown, schema, start, required, deeper);
  return asJson(shown, schema, start, required);
};

/** @param {string} label @param {Json} schema @param {any} input */
const named = (label, schema, input) =>
  make(
    "label",
    { className: "field" },
    make("span", {}, label),
    input,
    schema.description && make("span", { className: "small quiet" }, schema.description),
  );

/**
 * @param {string} label
 * @param {Json} schema
 * @param {any[]} choices
 * @param {any} start
 * @param {boolean} required
 * @param {(string | undefined)[]} [titles]
 * @param {string} [without]
 * @returns {Control}
 */
const choice = (label, schema, choices, start, required, titles = [], without = "(none)") => {
  const options = choices.map((each, index) =>
    make("option", { value: String(index), selected: pretty(each) === pretty(start) }, titles[index] ?? String(each)),
  );
  const none = required ? [] : [make("option", { value: "" }, without)];
  const input = make("select", {}, ...none, ...options);
  return {
    element: named(label, schema, input),
    read: () => (input.value === "" ? undefined : choices[Number(input.value)]),
  };
};

/** @param {string} label @param {Json} schema @param {any} start @param {boolean} required @returns {Control} */
const tick = (label, schema, start, required) => {
  const input = make("input", { type: "checkbox", checked: start === true });
  return {
    element: named(label, schema, input),
    read: () => (input.checked || required || start !== undefined ? input.checked : undefined),
  };
};

/**
 * What is true, false, perhaps null, or not given.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} unset
 * @param {boolean} required
 * @param {boolean} nullable
 * @returns {Control}
 */
const triple = (label, schema, start, unset, required, nullable) =>
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
const number = (label, schema, type, start, required) => {
  const bounds = {
    ...(schema.minimum !== undefined && { min: schema.minimum }),
    ...(schema.maximum !== undefined && { max: schema.maximum }),
  };
  const input = make("input", {
    type: "number",
    step: type === "integer" ? "1" : "any",
    value: start ?? "",
    ...bounds,
  });
  return {
    element: named(label, schema, input),
    read: () => (input.value === "" ? undefined : Number(input.value)),
    lacks: unlessFilled(required, label, input),
  };
};

const KINDS = /** @type {Json} */ ({ date: "date", email: "email", uri: "url", time: "time" });

/** @param {string} label @param {Json} schema @param {any} start @param {boolean} required @returns {Control} */
const text = (label, schema, start, required) => {
  const long = schema.maxLength > 200 || String(start ?? "").length > 120 || String(start ?? "").includes("\n");
  const input = long
    ? make("textarea", { value: start ?? "" })
    : make("input", {
        type: KINDS[schema.format] ?? "text",
        value: start ?? "",
        placeholder: schema.examples?.[0] ?? "",
      });
  return {
    element: named(label, schema, input),
    read: () => (input.value === "" ? undefined : input.value),
    lacks: unlessFilled(required, label, input),
  };
};

/**
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @param {{ root: Json, depth: number }} where
 * @returns {Control}
 */
const group = (label, schema, start, required, where) => {
  /** @type {any[] | undefined} What is not given has no parts: a schema may hold itself. */
  let parts;
  const inside = make("div", { className: "group" });
  const element = make(
    "fieldset",
    {},
    make("legend", {}, label),
    schema.description && make("p", { className: "small quiet" }, schema.description),
    inside,
  );
  const give = (/** @type {any} */ values, focus = false) => {
    parts = properties(schema, values, where);
    const leave = make(
      "button",
      { type: "button", className: "plain", "aria-label": `Leave ${label} out`, onclick: omit },
      "Leave out",
    );
    inside.replaceChildren(...parts.map((part) => part.element), ...(required ? [] : [leave]));
    if (focus) inside.querySelector("input, select, textarea")?.focus();
  };
  const omit = () => {
    parts = undefined;
    inside.replaceChildren(
      make("button", { type: "button", className: "plain", onclick: () => give({}, true) }, "+ Give it"),
    );
  };
  if (required || (start !== undefined && start !== null)) give(start ?? {});
  else omit();
  return { element, read: () => parts && readAll(parts), lacks: () => lacksOf(parts ?? []) };
};

/**
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @param {{ root: Json, depth: number }} where
 * @returns {Control}
 */
const list = (label, schema, start, required, where) => {
  /** @type {{ row: any, item: Control }[]} */
  const rows = [];
  const items = make("div");
  const add = (/** @type {any} */ value, focus = false) => {
    const item = control(`Item ${rows.length + 1}`, schema.items, value, true, where);
    const row = make("div", { className: "row" }, item.element);
    const remove = make(
      "button",
      { type: "button", className: "plain", "aria-label": `Remove an item of ${label}` },
      "✕",
    );
    remove.onclick = () => {
      rows.splice(
        rows.findIndex((each) => each.row === row),
        1,
      );
      row.remove();
      more.focus();
    };
    row.append(remove);
    rows.push({ row, item });
    items.append(row);
    if (focus) row.querySelector("input, select, textarea")?.focus();
  };
  const more = make("button", { type: "button", className: "plain", onclick: () => add(undefined, true) }, "+ Add");
  for (const each of Array.isArray(start)
    ? start
    : Array(required ? Math.min(schema.minItems ?? 0, 10) : 0).fill(undefined)) {
    add(each);
  }
  const element = make(
    "fieldset",
    {},
    make("legend", {}, label),
    schema.description && make("p", { className: "small quiet" }, schema.description),
    items,
    more,
  );
  // An empty text is an item like any other.
  const texts = resolved(schema.items, where.root).type === "string";
  const least = required ? (schema.minItems ?? 0) : 0;
  return {
    element,
    read: () =>
      rows.length || required || start !== undefined
        ? rows.map(({ item }) => item.read() ?? (texts ? "" : null))
        : undefined,
    lacks: () => [
      ...(rows.length < least
        ? [{ label: bare(label), input: more, words: `needs at least ${least} ${least === 1 ? "item" : "items"}` }]
        : []),
      ...(texts
        ? []
        : rows.flatMap(({ item }, index) =>
            (item.lacks?.() ?? []).map((lack) => ({
              ...lack,
              label: `${bare(label)}, item ${index + 1}, ${lack.label}`,
            })),
          )),
    ],
  };
};

/** @param {Json} kind @param {number} index */
const kindName = (kind, index) =>
  kind.title ?? kind.properties?.kind?.const ?? kind.properties?.type?.const ?? kind.type ?? `kind ${index + 1}`;

/** @param {Json} kind @param {any} value */
const fits = (kind, value) => {
  if (value === undefined) return false;
  const type = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  if (type === "object" && kind.properties) {
    const fixed = Object.entries(kind.properties).filter(([, each]) => each.const !== undefined);
    return (
      fixed.every(([name, each]) => value[name] === each.const) &&
      (kind.required ?? []).every((/** @type {string} */ name) => name in value)
    );
  }
  return (
    kind.type === type || (kind.type === "integer" && Number.isInteger(value)) || (kind.enum ?? []).includes(value)
  );
};

/**
 * @param {string} label
 * @param {Json} schema
 * @param {Json[]} kinds
 * @param {any} start
 * @param {boolean} required
 * @param {{ root: Json, depth: number }} where
 * @returns {Control}
 */
const oneOf = (label, schema, kinds, start, required, where) => {
  const place = make("div");
  /** @type {Control} */
  let current;
  const names = kinds.map(kindName);
  const pick = make(
    "select",
    { "aria-label": `${label}: which kind` },
    ...(required ? [] : [make("option", { value: "" }, "(none)")]),
    ...names.map((name, index) => make("option", { value: String(index) }, name)),
  );
  const found = kinds.findIndex((kind) => fits(kind, start));
  pick.value = found >= 0 ? String(found) : required ? "0" : "";
  const draw = (/** @type {any} */ value) => {
    current =
      pick.value === ""
        ? { element: make("span"), read: () => undefined }
        : control(names[Number(pick.value)] ?? label, kinds[Number(pick.value)], value, true, where);
    place.replaceChildren(current.element);
  };
  pick.onchange = () => draw(undefined);
  draw(start);
  return {
    element: make(
      "fieldset",
      {},
      make("legend", {}, label),
      schema.description && make("p", { className: "small quiet" }, schema.description),
      pick,
      place,
    ),
    read: () => current.read(),
    lacks: () => current.lacks?.() ?? [],
  };
};

/** @param {string} label @param {Json} schema @param {any} start @param {boolean} [required] @returns {Control} */
const asJson = (label, schema, start, required = false) => {
  const input = make("textarea", {
    value: start === undefined ? "" : pretty(start),
    placeholder: schema.type === "array" ? "[ … ]" : "JSON",
    spellcheck: false,
  });
  return {
    element: named(label, schema, input),
    lacks: unlessFilled(required, label, input),
    read: () => {
      if (!input.value.trim()) return undefined;
      try {
        return JSON.parse(input.value);
      } catch (error) {
        input.focus();
        throw new Error(`${bare(label)} is not JSON: ${/** @type {Error} */ (error).message}`, { cause: error });
      }
    },
  };
};
