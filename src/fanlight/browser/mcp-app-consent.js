// @ts-check
/** The part of `<mcp-app>` that asks the user for consent, loaded with the first question. */
import { make } from "./mcp-app.js";

// How long the buttons that allow something are disabled, so that a click that was meant for the page hits none.
const ALLOW_DELAY = 600;

const STYLE = `
.ask {
  position: fixed; inset: 0; margin: auto; box-sizing: border-box; width: min(480px, 100vw - 32px); padding: 20px;
  max-height: calc(100vh - 32px); overflow: auto; color: CanvasText; background: Canvas; border-radius: 12px;
  border: var(--line); font: 15px/1.5 system-ui; text-align: start;
}
.ask::backdrop { background: rgb(0 0 0 / 50%); }
.ask h2 { margin: 0 0 8px; font-size: 18px; }
.ask p { padding: 0; font: inherit; }
.ask .small { margin-top: 16px; padding: 0; font-size: 13px; }
.ask dt { margin-top: 12px; font-size: 12px; opacity: 0.75; }
.ask dd { margin: 0; unicode-bidi: plaintext; overflow-wrap: anywhere; }
.ask footer { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 16px; }
.ask button { flex: auto; width: auto; height: auto; padding: 8px 12px; font-size: 15px; border-color: currentcolor; }
.ask button:disabled { opacity: 0.5; }
`;

/** @type {CSSStyleSheet | undefined} */
let sheet;

/**
 * Show a question in an element's shadow root, and call `answer` once. Returns a function that closes it without an
 * answer. The dialog is above everything in the page: the View can neither cover nor script it.
 * @param {ShadowRoot} root
 * @param {Record<string, any>} question
 */
const showQuestion = (root, { text, app, details, always, answer }) => {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
  }
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
  const rows = details.map((/** @type {[string, string]} */ [label, value]) => {
    const isLong = value.includes("\n") || value.length > 80;
    return [make("dt", {}, label), make("dd", {}, isLong ? make("pre", { tabindex: "0" }, value) : value)];
  });
  const no = make("button", { value: "deny" }, "Don’t allow");
  const yes = [
    make("button", { value: "once", disabled: "" }, "Allow once"),
    make("button", { value: "always", disabled: "", "aria-describedby": "a" }, "Always allow"),
  ];
  const dialog = make(
    "dialog",
    { part: "question", class: "ask", "aria-labelledby": "q", "aria-describedby": "t" },
    make("h2", { id: "q" }, `Allow ${app}?`),
    // The heading names the app already.
    make("p", { id: "t" }, text.startsWith(`${app} `) ? `It${text.slice(app.length)}` : text),
    make("dl", {}, ...rows.flat()),
    make("p", { id: "a", class: "small" }, always),
    make("form", { method: "dialog" }, make("footer", {}, no, ...yes)),
  );
  // A View can take the focus by script. Take it back, so that the View gets no keys while the question is open.
  const refocus = () => setTimeout(() => no.focus());
  window.addEventListener("blur", refocus);
  dialog.addEventListener("close", () => {
    window.removeEventListener("blur", refocus);
    if (dialog.returnValue !== "withdrawn") answer(dialog.returnValue || "deny");
    dialog.remove();
  });
  root.append(dialog);
  dialog.showModal();
  no.focus();
  setTimeout(() => yes.forEach((button) => button.removeAttribute("disabled")), ALLOW_DELAY);
  return () => dialog.close("withdrawn");
};

export { showQuestion };
