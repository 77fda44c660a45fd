// @ts-check
/** The simple controls of a form: choices, checkboxes, numbers, texts and JSON. All text is set as textContent. */
import { own, reasonFor } from "./schema.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {{ label: string, input: any, reason: string, control: Control }} FieldError What is wrong, and where. */
/**
 * @typedef {object} Control
 * @property {any} element
 * @property {any} caption The element that has the label as its text.
 * @property {() => any} read Returns undefined for a value that is left out.
 * @property {() => FieldError[]} errors
 * @property {any} input What gets the focus if the value is wrong.
 * @property {(message: string) => void} mark Shows what is wrong, or nothing.
 * @property {(path: (string | number)[]) => Control} find Returns the control of a path below, or the nearest to it.
 */
/**
 * What differs between the forms of a View and of `fanlight dev`.
 * @typedef {object} Options
 * @property {(name: string, schema: Json) => string} label The label of a property.
 * @property {(schema: Json, value: any, required: boolean) => any} start The value that a field starts with.
 * @property {(value: any) => string} text The text of one choice.
 * @property {(variant: Json, index: number) => string} variant The name of one variant of a union.
 * @property {(schema: Json) => string} item What the items of a list are called.
 * @property {number} few Up to how many choices are shown at once.
 * @property {Record<string, (label: string, schema: Json, required: boolean) => Control>} [controls] Further controls,
 *   by the format of the schema or of its items.
 * @property {boolean} clears Whether an empty field clears its default. If not, it leaves the value out.
 */

let serial = 0;

/**
 * @param {string} tag
 * @param {Json} [properties] Properties of the element, or attributes if it has no such property.
 * @param {any[]} children Elements and texts; undefined, null, false and "" are left out.
 * @returns {any}
 */
const build = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) /** @type {any} */ (element)[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(
    ...children.filter((child) => child !== undefined && child !== null && child !== false && child !== ""),
  );
  return element;
};

/** @param {string} label @param {() => void} onclick @param {Json} [properties] */
const textButton = (label, onclick, properties = {}) =>
  build("button", { type: "button", className: "plain", onclick, ...properties }, label);

/**
 * Return the parts around a control: its label, help, the place of its error, and what shows an error there.
 * @param {string} tag The element of the label.
 * @param {string} label
 * @param {Json} schema
 * @param {boolean} required
 * @param {any} input What is described by help and error.
 */
const frame = (tag, label, schema, required, input) => {
  const id = `field-${(serial += 1)}`;
  const caption = build("span", { dir: "auto" }, label);
  const head = build(tag, {}, caption, required && build("span", { className: "required", title: "required" }, " *"));
  const help =
    schema.description && build("p", { className: "help", id: `${id}-help`, dir: "auto" }, schema.description);
  const error = build("p", { className: "error", id: `${id}-error`, dir: "auto", hidden: true });
  const describe = () => {
    const ids = [help && help.id, !error.hidden && error.id].filter(Boolean).join(" ");
    if (ids) input.setAttribute("aria-describedby", ids);
    else input.removeAttribute("aria-describedby");
  };
  const mark = (/** @type {string} */ message) => {
    error.textContent = message;
    error.hidden = !message;
    if (message) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    describe();
  };
  describe();
  return { id, caption, head, help, error, mark };
};

/**
 * Make the control of one value.
 * @param {string} label
 * @param {Json} schema
 * @param {boolean} required
 * @param {any} input
 * @param {() => any} read
 * @param {() => string | undefined} [reason] Returns what is wrong with the value.
 * @param {any} [box] What is around several inputs that belong together.
 * @returns {Control}
 */
const leaf = (label, schema, required, input, read, reason, box) => {
  const { id, caption, head, help, error, mark } = frame(
    box ? "legend" : "label",
    label,
    schema,
    required,
    box ?? input,
  );
  if (box) box.prepend(head);
  else Object.assign(input, { id }) && (head.htmlFor = id);
  const inside = [...(box ? [box] : [head, input]), help, error];
  const element = build("div", { className: box ? "field choice" : `field ${input.type}` }, ...inside);
  element.oninput = () => mark("");
  /** @type {Control} */
  const made = {
    element,
    caption,
    input,
    read,
    mark,
    find: () => made,
    errors: () => {
      const found = reason?.();
      return found ? [{ label: caption.textContent, input, reason: found, control: made }] : [];
    },
  };
  return made;
};

/** @param {any} value */
const asText = (value) =>
  value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** @param {any} one @param {any} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Make inputs to tick, in one box.
 * @param {string} type
 * @param {string[]} names
 * @param {(index: number) => boolean} isTicked
 */
const boxes = (type, names, isTicked) => {
  const name = `choice-${(serial += 1)}`;
  const inputs = names.map((_, index) => build("input", { type, name, checked: isTicked(index) }));
  const labels = names.map((text, index) => build("label", { dir: "auto" }, inputs[index], text));
  const checked = () => /** @type {any[]} */ ([...inputs.keys()]).filter((index) => inputs[index].checked);
  return { box: build("fieldset", { className: "radios" }, ...labels), inputs, checked };
};

/**
 * A choice between values.
 * @param {string} label
 * @param {Json} schema
 * @param {any[]} choices
 * @param {any} start
 * @param {boolean} required
 * @param {Options} options
 * @param {(string | undefined)[]} [titles]
 * @param {string} [unset] The option that leaves the value out.
 * @returns {Control}
 */
const choice = (label, schema, choices, start, required, options, titles = [], unset = "(none)") => {
  const names = choices.map((each, index) => titles[index] ?? options.text(each));
  // Without a choice, the default would be chosen again.
  const canBeUnset = !required && !(options.clears && schema.default != null && !schema.nullable);
  const chosen = choices.findIndex((each) => isSame(each, start));
  if (choices.length <= options.few) {
    const { box, inputs, checked } = boxes("radio", canBeUnset ? [...names, "None"] : names, (index) =>
      chosen < 0 ? index === choices.length : index === chosen,
    );
    const missing = () => (required && !checked().length ? "is required" : undefined);
    return leaf(label, schema, required, inputs[0], () => choices[checked()[0]], missing, box);
  }
  const input = build("select", {});
  // What must be chosen, and is not yet, begins empty in a form that users fill in.
  if (canBeUnset) input.append(build("option", { value: "" }, unset));
  else if (options.clears && chosen < 0) input.append(build("option", { value: "" }, "Choose…"));
  input.append(...names.map((name, index) => build("option", { value: String(index) }, name)));
  if (chosen >= 0) input.value = String(chosen);
  const missing = () => (required && input.value === "" ? "is required" : undefined);
  const read = () => (input.value === "" ? undefined : choices[Number(input.value)]);
  return leaf(label, schema, required, input, read, missing);
};

/**
 * Several of some values.
 * @param {string} label
 * @param {Json} schema
 * @param {any[]} choices
 * @param {any} start
 * @param {boolean} required
 * @param {Options} options
 * @returns {Control}
 */
const several = (label, schema, choices, start, required, options) => {
  const { box, inputs, checked } = boxes("checkbox", choices.map(options.text), (index) =>
    [start].flat().some((each) => isSame(each, choices[index])),
  );
  const read = () => {
    const chosen = checked().map((index) => choices[index]);
    return chosen.length || required || start !== undefined ? chosen : undefined;
  };
  return leaf(label, schema, required, inputs[0], read, () => reasonFor(schema, checked()), box);
};

/**
 * A boolean that is true or false.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
const checkbox = (label, schema, start, required) => {
  const input = build("input", { type: "checkbox", checked: start === true });
  const read = () => (input.checked || required || start !== undefined ? input.checked : undefined);
  return leaf(label, schema, false, input, read);
};

/**
 * A boolean that can also be null or left out.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} unset Whether no value was given.
 * @param {boolean} required
 * @param {boolean} nullable
 * @param {Options} options
 * @returns {Control}
 */
const optionalBoolean = (label, schema, start, unset, required, nullable, options) => {
  const choices = nullable && !options.clears ? [true, false, null] : [true, false];
  const chosen = unset && start === null && !required ? undefined : start;
  const titles = options.clears ? ["Yes", "No"] : [];
  return choice(label, schema, choices, chosen, required, { ...options, few: 0 }, titles, "(not given)");
};

const INPUT_TYPES = {
  date: "date",
  "date-time": "datetime-local",
  email: "email",
  password: "password",
  time: "time",
  uri: "url",
};
const MOST_IN_A_LINE = 120;
const LONG = 200;

/**
 * A number or a text.
 * @param {string} label
 * @param {Json} schema
 * @param {string} type
 * @param {any} start
 * @param {boolean} required
 * @param {Options} options
 * @returns {Control}
 */
const entry = (label, schema, type, start, required, options) => {
  const isNumber = type !== "string";
  const written = asText(start);
  const long = written.length > MOST_IN_A_LINE || written.includes("\n");
  const inputType = isNumber ? "number" : own(INPUT_TYPES, schema.format);
  const isArea = !inputType && (schema.format === "textarea" || schema.maxLength > LONG || long);
  const isMoment = inputType === "datetime-local";
  const input = build(isArea ? "textarea" : "input", {
    ...(!isArea && { type: inputType ?? "text" }),
    ...(isArea && { rows: 4 }),
    ...(inputType === "password" && { autocomplete: "new-password" }),
    placeholder: asText(schema.examples?.[0]),
  });
  if (isNumber) {
    const places = schema.decimalPlaces;
    const fine = places === undefined ? "any" : String(10 ** -places);
    input.step = schema.multipleOf ?? (type === "integer" ? "1" : fine);
    if (schema.minimum !== undefined) input.min = schema.minimum;
    if (schema.maximum !== undefined) input.max = schema.maximum;
  } else if (!inputType) {
    input.dir = "auto";
  }
  // A moment is shown on the user's clock if the server wants its zone, otherwise as it is written.
  const shown = isMoment ? (schema.zoned ? onLocalClock(written) : written.slice(0, 16)) : written;
  input.value = shown;
  // Without a value, an optional field with a default would get that again.
  const hasDefault = options.clears && !required && schema.default !== undefined && schema.default !== null;
  const canBeBlank = type === "string" && !inputType && !schema.minLength && !schema.pattern;
  const read = () => {
    const { value } = input;
    if (value === "") return hasDefault ? (schema.nullable ? null : canBeBlank ? "" : undefined) : undefined;
    if (isMoment) {
      if (value === shown) return start;
      return schema.zoned ? new Date(value).toISOString() : value;
    }
    // A decimal is sent as text, which is exact.
    return isNumber && schema.format !== "decimal" ? Number(value) : value;
  };
  const reason = () => {
    if (input.validity?.badInput) return isNumber ? "is not a number" : "is not complete";
    if (input.value.trim()) return isMoment ? undefined : reasonFor({ ...schema, type }, input.value);
    return required || (hasDefault && !schema.nullable && !canBeBlank) ? "is required" : undefined;
  };
  return leaf(label, schema, required, input, read, reason);
};

/** @param {string} moment @returns {string} The moment as `datetime-local` takes it. */
const onLocalClock = (moment) => {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

/**
 * Any value, as JSON.
 * @param {string} label
 * @param {Json} schema
 * @param {any} start
 * @param {boolean} required
 * @returns {Control}
 */
const json = (label, schema, start, required) => {
  const input = build("textarea", {
    value: start === undefined ? "" : JSON.stringify(start, null, 2),
    placeholder: schema.type === "array" ? "[ … ]" : "JSON",
    spellcheck: false,
    className: "code",
    rows: 3,
  });
  const read = () => (input.value.trim() ? JSON.parse(input.value) : undefined);
  const reason = () => {
    try {
      return read() === undefined && required ? "is required" : undefined;
    } catch (error) {
      return `is not JSON: ${error.message}`;
    }
  };
  return leaf(label, schema, required, input, read, reason);
};

export { build, checkbox, choice, entry, frame, json, leaf, optionalBoolean, several, textButton };
