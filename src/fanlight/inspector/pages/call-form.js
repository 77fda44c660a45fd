// @ts-check
/** The form of the chosen tool: its arguments, as fields or as JSON, and the button that calls it. */
import { formFor } from "../../browser/form/form.js";
import { OPTIONS } from "./argument-fields.js";
import { startCall } from "./calls.js";
import { $, copy, formatBytes, make, notify, plainButton, pretty, savedValue, saveValue } from "./dom.js";
import { state } from "./state.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {{ label: string, input: any, reason: string }} ArgumentError */

// Longer addresses are cut off where they are pasted, and slow down the browser.
const MAX_IN_ADDRESS = 8_000;
const MAX_ERRORS_SHOWN = 5;

/** @type {Json | undefined} The arguments of the last call, for the address. */
let calledWith;
/** @type {() => Json} */
let readForm = () => ({});
/** @type {() => void} */
let addressChanged = () => {};

/** Call a function whenever the address must change, because a tool is called. */
export const onAddressChange = (/** @type {() => void} */ listener) => (addressChanged = listener);

const isShort = (/** @type {string} */ args) => encodeURIComponent(args).length <= MAX_IN_ADDRESS;

/** Return the arguments of the last call for the address, if they are short enough. */
export const argumentsForAddress = () => {
  const args = calledWith ? JSON.stringify(calledWith) : "";
  return isShort(args) ? args : "";
};

/** Return what is written in the form now. */
export const writtenValues = () => readForm();

const savedKey = () => `arguments ${state.chosen?.server} ${state.chosen?.tool.name}`;

/**
 * Show the form of the chosen tool.
 * @param {Json} [values] The arguments to start with. Default: those of the last call of this tool.
 */
export const showForm = (values) => {
  calledWith = values;
  drawForm(values ?? savedValue(savedKey()) ?? {});
};

/** Draw the form of a tool that has changed, with what was written. */
export const drawForm = (/** @type {Json} */ values) => {
  if (!state.chosen) return;
  const { server, tool } = state.chosen;
  const schema = tool.inputSchema ?? {};
  const form = formFor(schema, values, OPTIONS);
  const jsonInput = make("textarea", {
    value: pretty(values),
    spellcheck: false,
    "aria-label": "Arguments as JSON",
    hidden: true,
  });
  const asJson = make("input", { type: "checkbox" });
  const alert = make("p", { className: "bad small", role: "alert", id: "form-problem" });
  const read = () => (asJson.checked ? JSON.parse(jsonInput.value || "{}") : form.read());
  readForm = () => {
    try {
      return read();
    } catch {
      return values;
    }
  };
  const showing = (/** @type {() => void} */ action) => {
    alert.textContent = "";
    try {
      action();
    } catch (error) {
      alert.textContent = /** @type {Error} */ (error).message;
      return false;
    }
    return true;
  };
  asJson.onchange = () => {
    const done = showing(() => {
      if (asJson.checked) jsonInput.value = pretty(form.read());
      else drawForm(JSON.parse(jsonInput.value || "{}"));
    });
    if (!done) asJson.checked = !asJson.checked;
    form.element.hidden = asJson.checked;
    jsonInput.hidden = !asJson.checked;
  };
  const send = (anyway = false) => {
    for (const input of form.element.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    showing(() => {
      const errors = asJson.checked ? missingIn(schema, read(), jsonInput) : form.errors();
      if (errors.length && !anyway) return showErrors(errors, alert, () => send(true));
      const written = read();
      saveValue(savedKey(), written);
      calledWith = written;
      addressChanged();
      if (!isShort(JSON.stringify(written))) {
        const size = formatBytes(JSON.stringify(written).length);
        notify(`The arguments are too long for the address (${size}). Use Copy as JSON to share them.`);
      }
      void startCall(server, tool, written);
    });
  };
  const copyLink = () =>
    copy(
      location.href,
      argumentsForAddress() || !calledWith
        ? "The link is copied. It works while fanlight dev runs."
        : "The link is copied without the arguments, which are too long. Use Copy as JSON to share them.",
    );
  const copyJson = () =>
    showing(
      () =>
        void copy(
          asJson.checked ? jsonInput.value || "{}" : pretty(form.read()),
          "The arguments are copied. Tick “as JSON” to paste them.",
        ),
    );
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    send();
  };
  $("form").replaceChildren(
    make(
      "form",
      { onsubmit: submit, noValidate: true },
      make(
        "h2",
        {},
        tool.title ?? tool.name,
        " ",
        make("span", { className: "mark" }, server),
        tool.view && make("span", { className: "mark view" }, "View"),
      ),
      tool.description && make("p", { className: "quiet description" }, tool.description),
      tool.problem && make("p", { className: "bad" }, tool.problem),
      form.element,
      jsonInput,
      alert,
      make(
        "div",
        { className: "actions" },
        make("button", { className: "main", type: "submit" }, "Call"),
        form.size > 0 && make("label", { className: "small quiet" }, asJson, " as JSON"),
        tool.view && plainButton("Copy link", copyLink),
        form.size > 0 && plainButton("Copy as JSON", copyJson, { title: "Copy the arguments as JSON" }),
      ),
    ),
  );
};

/**
 * Return the required properties that are missing in arguments that were written as JSON.
 * @param {Json} schema
 * @param {any} values
 * @param {any} input
 * @returns {ArgumentError[]}
 */
const missingIn = (schema, values, input) =>
  (schema.required ?? [])
    .filter((/** @type {string} */ name) => values?.[name] === undefined)
    .map((/** @type {string} */ label) => ({ label, input, reason: "is required" }));

/**
 * Show what is missing, move the focus there, and offer to call the tool anyway.
 * @param {ArgumentError[]} errors
 * @param {any} alert
 * @param {() => void} callAnyway
 */
const showErrors = (errors, alert, callAnyway) => {
  for (const { input } of errors) {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", "form-problem");
    input.addEventListener("input", () => input.removeAttribute("aria-invalid"), { once: true });
  }
  const shown = errors.slice(0, MAX_ERRORS_SHOWN).map(({ label, reason }) => `${label} ${reason}`);
  const more = errors.length - shown.length;
  alert.replaceChildren(
    `${shown.join("; ")}${more > 0 ? `; and ${more} more` : ""}. `,
    plainButton("Call anyway", callAnyway, { title: "Send it as it is, to see how the server responds" }),
  );
  errors[0]?.input.focus();
};

/** Move the focus to the form. */
export const focusForm = () =>
  $("form").querySelector("input:not([hidden]), select, textarea:not([hidden]), button.main")?.focus();

/** Replace the form by a message: its tool is gone. */
export const clearForm = (/** @type {string} */ message) => {
  readForm = () => ({});
  $("form").replaceChildren(make("p", { className: "quiet" }, message));
};
