// A form: the user completes what the model filled in, and submits it to the server.
import { build } from "../../browser/form/fields.js";
import { formFor } from "../../browser/form/form.js";
import { app, render, renderers, textOf } from "./base.js";

const SUBMIT_TOOL = "fanlight_submit";
const FEW = 4;

/** @param {string} name */
const sentenceCase = (name) => {
  const words = name.replaceAll("_", " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** @param {any} value */
const choiceText = (value) =>
  typeof value === "string" && /^[a-z0-9]+([_-][a-z0-9]+)*$/.test(value)
    ? sentenceCase(value.replaceAll("-", " "))
    : value === null
      ? "None"
      : String(value);

/** Return the name of a class as words. @param {string} name */
const wordsOf = (name) => sentenceCase(name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase());

/** What form-files.js adds: it sends files before a form is read, and learns what the server answered. */
const formFiles = {
  send: async () => {},
  answered: (/** @type {any} */ _result) => {},
};

const FORM_OPTIONS = {
  // A title that pydantic made of the name says no more than the name.
  label: (/** @type {string} */ name, /** @type {any} */ { title }) =>
    title && title.toLowerCase() !== name.replaceAll("_", " ").toLowerCase() ? title : sentenceCase(name),
  start: (/** @type {any} */ schema, /** @type {any} */ value) =>
    schema.format === "password" ? undefined : value === undefined ? schema.default : value,
  text: choiceText,
  variant: (/** @type {any} */ variant, /** @type {number} */ index) => {
    const constant = Object.values(variant.properties ?? {}).find(
      (/** @type {any} */ each) => each.const !== undefined,
    );
    return constant ? choiceText(constant.const) : (variant.title ?? choiceText(variant.type ?? `${index + 1}`));
  },
  item: (/** @type {any} */ { title, properties }) => (properties && title ? wordsOf(title) : "Item"),
  few: FEW,
  controls: {},
  clears: true,
};

/** @param {any} item */
renderers.form = (item) => {
  const form = formFor(item.schema, item.values, FORM_OPTIONS);
  const summary = build("div", { className: "summary", role: "alert", tabIndex: -1, hidden: true });
  const button = build("button", { className: "main", textContent: item.submit });
  const status = build("span", { className: "status", role: "status" });
  const about = build("p", { className: "about", dir: "auto", textContent: item.about });
  const element = build("form", { noValidate: true }, about, summary, form.element);
  element.append(build("div", { className: "actions" }, button, status));
  // What was said is said again only if something is still wrong.
  element.oninput = () => (summary.hidden = true);
  const outcome = build("section", { className: "outcome", hidden: true, tabIndex: -1 });
  const whole = build("div", { className: "form" }, element, outcome);
  let isBusy = false;
  let edits = 0;

  /**
   * Show errors at their fields, those of no field at the top, and move the focus to the first.
   * @param {any[]} errors
   * @param {boolean} [focus]
   */
  const showErrors = (errors, focus = true) => {
    /** @type {string[]} */
    const above = [];
    /** @type {any[]} */
    const inputs = [];
    for (const { path, message, reason, control = form.find(path) } of errors) {
      const text = message ?? `${control?.caption.textContent ?? path.join(".")} ${reason}.`;
      control?.mark(text);
      if (control?.input) inputs.push(control.input);
      else above.push(text);
    }
    if (inputs.length > 1) above.push(`${inputs.length} fields need your attention.`);
    summary.replaceChildren(...above.map((textContent) => build("p", { textContent, dir: "auto" })));
    summary.hidden = !above.length;
    if (!focus || !errors.length) return;
    (inputs[0] ?? summary).focus();
  };

  const submit = async () => {
    if (isBusy) return;
    const problems = form.errors();
    showErrors(problems);
    if (problems.length) return;
    isBusy = true;
    button.disabled = true;
    element.ariaBusy = "true";
    status.textContent = "Sending…";
    try {
      await formFiles.send();
      const sent = { form: item.form, values: form.read(), submission: `${item.submission}.${edits}` };
      const result = await app.callServerTool({ name: SUBMIT_TOOL, arguments: sent });
      const { structuredContent, isError } = result;
      formFiles.answered(result);
      if (isError) showErrors(structuredContent?.errors ?? [{ path: [], message: textOf(result) }]);
      else await showOutcome(result);
    } catch (error) {
      const { control, message } = error;
      showErrors([control ? error : { path: [], message: `The form could not be submitted: ${message}` }]);
    }
    isBusy = false;
    button.disabled = false;
    element.ariaBusy = "false";
    status.textContent = "";
  };

  /** @param {any} result */
  const showOutcome = async (result) => {
    const text = textOf(result);
    const shown = result.structuredContent?.item;
    const note = build("p", { className: "note" });
    const tools = build("div", { className: "actions" });
    const head = build("h2", { textContent: "Submitted" });
    outcome.replaceChildren(head, ...(shown ? [render(shown)] : []), note, tools);
    const again = build("button", { textContent: "Edit again", type: "button" });
    again.onclick = () => {
      edits += 1;
      outcome.hidden = true;
      element.hidden = false;
      element.querySelector("input, select, textarea")?.focus();
    };
    tools.append(again);
    element.hidden = true;
    outcome.hidden = false;
    outcome.focus();
    const content = [{ type: "text", text }];
    try {
      await app.updateModelContext({ content });
    } catch {
      // The host does not take context. A message is the user's own, so it is the user who sends it.
      if (!app.getHostCapabilities()?.message) return;
      note.textContent = "The assistant does not know of this yet.";
      const tell = build("button", { textContent: "Tell the assistant", type: "button" });
      tell.onclick = async () => {
        try {
          await app.sendMessage({ role: "user", content });
          note.textContent = "";
          tell.remove();
        } catch (error) {
          note.textContent = error.message;
        }
      };
      tools.append(tell);
    }
  };

  element.onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    void submit();
  };
  // The page puts the form into the document first.
  queueMicrotask(() => showErrors(item.errors, false));
  return whole;
};

/** The fields of one object. @param {any} item */
renderers.record = ({ rows }) => {
  const list = build("dl", { className: "record" });
  for (const [name, value] of rows) {
    list.append(build("dt", { textContent: sentenceCase(name), dir: "auto" }));
    list.append(build("dd", { textContent: value === "" ? "–" : value, dir: "auto" }));
  }
  return list;
};

renderers.text ??= ({ data }) => build("p", { className: "said", textContent: data, dir: "auto" });

export { FORM_OPTIONS, formFiles };
