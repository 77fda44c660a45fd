// @ts-check
/** The part of `<mcp-app consent="inline">` that asks the user above the View, loaded with the first question. */
import { addStyle } from "./mcp-app.js";
import { makeDialog } from "./mcp-app-consent.js";

const STYLE = `
.ask.inline { position: static; width: auto; margin: 8px; padding: 16px; }
.fullscreen > .ask.inline { max-height: 70%; width: min(640px, 100% - 16px); margin: 8px auto; }
/* There is no space for both, so the question covers the View. */
.pip > .ask.inline { flex: 0 1 auto; min-height: 0; margin: 0; padding: 12px; border: 0; border-radius: 0; }
.pip > .ask h2 { font-size: 15px; }
.pip > .ask button { padding: 4px 8px; font-size: 14px; }
:is(.fullscreen, .pip) > .ask div { flex: none; }
:is(.fullscreen, .pip) > .ask .scroll { flex: 0 1 auto; }
.ask [role="alert"] { padding: 0; border: 0; background: none; }
`;

/**
 * Ask a question above the View, in the flow of the page. The View can neither cover nor script it. Returns a function
 * that closes it without an answer.
 * @param {ShadowRoot} root
 * @param {import("./mcp-app-consent.js").Question} question
 */
const showQuestion = (root, question) => {
  const { dialog, no, disable } = makeDialog(root, question);
  addStyle(root, STYLE);
  dialog.classList.add("inline");
  dialog.setAttribute("role", "alertdialog");
  // It does not take the focus, so it is announced.
  dialog.firstElementChild?.setAttribute("role", "alert");
  dialog.addEventListener("keydown", ({ key }) => key === "Escape" && dialog.close("deny"));
  // Before the dialog is removed, and the focus with it.
  const refocus = () => dialog.contains(root.activeElement) && root.querySelector("iframe")?.focus();
  dialog.addEventListener("close", refocus, { capture: true });
  // Another View in the page can change its height, and so move the question under the pointer.
  let place = "";
  const watch = () => {
    if (!dialog.isConnected) return;
    const { top, left } = no.getBoundingClientRect();
    if (place !== `${top} ${left}`) disable();
    place = `${top} ${left}`;
    window.requestAnimationFrame(watch);
  };
  root.querySelector("[part=stage]")?.before(dialog);
  // `show` would move the focus, which belongs to what the user is doing.
  dialog.open = true;
  watch();
  return () => dialog.close("withdrawn");
};

export { showQuestion };
