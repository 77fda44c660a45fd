// @ts-check
/** The part of `<mcp-app>` that asks the user for consent, loaded with the first question. */
import { addStyle, make } from "./mcp-app.js";

/**
 * @typedef {{ text: string, warning: string, details: [string, string][], once?: string, always: string,
 *   count: number }} Request
 */

// How long the buttons that allow something are disabled, so that a click that was meant for something else hits none.
const ALLOW_DELAY = 600;

const STYLE = `
.ask[open] { display: flex; flex-direction: column; }
.ask {
  box-sizing: border-box; padding: 20px; color: CanvasText; background: Canvas; border: var(--line);
  border-radius: 12px; font: 15px/1.5 system-ui; text-align: start; overflow-wrap: anywhere;
}
.modal {
  position: fixed; inset: 0; margin: auto; width: min(480px, 100vw - 32px); height: fit-content;
  max-height: calc(100vh - 32px);
}
.modal::backdrop { background: rgb(0 0 0 / 50%); }
/* The answers are always in sight. */
.ask .scroll { flex: 0 1 auto; min-height: 48px; overflow: auto; margin: 4px 0; }
.ask h2 { margin: 0; font-size: 17px; line-height: 1.4; unicode-bidi: plaintext; }
.ask p { padding: 0; font: inherit; }
.ask .warning { margin-top: 8px; padding-inline-start: 10px; border-inline-start: 4px solid #d90; }
.ask .small:not(:empty) { margin-top: 16px; padding: 0; font-size: 13px; }
.ask .small + .small:not(:empty) { margin-top: 4px; }
/* Inside the text before it, because an edge can be cut off by a fraction of a pixel. */
.ask b { display: block; height: 4px; margin-top: -4px; }
/* At the end of what is in view, until the user has seen everything. */
.ask .more:not(:empty) {
  position: sticky; bottom: 0; padding: 4px 0 0; font-size: 13px; font-weight: 600; background: Canvas;
  box-shadow: 0 -8px 8px Canvas;
}
.ask ol { margin: 12px 0 0; padding-inline-start: 24px; }
.ask li + li { margin-top: 12px; }
.ask dl { margin: 0; }
.ask dt { margin-top: 12px; font-size: 12px; opacity: 0.75; }
.ask dd { margin: 0; unicode-bidi: plaintext; }
.ask footer { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 12px; }
.ask button { flex: auto; width: auto; height: auto; padding: 8px 12px; font-size: 15px; border-color: currentcolor; }
.ask button:disabled { opacity: 0.5; }
`;

/** @param {[string, string][]} details */
const listOf = (details) => {
  const rows = details.map(([label, value]) => {
    const isLong = value.includes("\n") || value.length > 80;
    return [make("dt", {}, label), make("dd", {}, isLong ? make("pre", { tabindex: "0" }, value) : value)];
  });
  return make("dl", {}, ...rows.flat());
};

/** @param {Request} request */
const warningOf = ({ warning }) => (warning ? [make("p", { class: "warning" }, warning)] : []);

/** @param {Request} request */
const sentenceOf = ({ text, count }) => (count > 1 ? `${text} (${count} times)` : text);

/**
 * @typedef {{ app: string, server: string, requests: Request[], answer: (choice: string) => void }} Question
 */

/**
 * Make the dialog of a question, which calls `answer` once, when it is closed. It is not in the document yet.
 * @param {ShadowRoot} root
 * @param {Question} question
 */
const makeDialog = (root, { app, server, requests, answer }) => {
  addStyle(root, STYLE);
  const [first] = requests;
  const isOne = first && requests.length === 1;
  const start = `${app} wants to `;
  /** @type {Set<Element>} Places in the question that have not been in view. */
  const unseen = new Set();
  const mark = () => {
    const place = make("b");
    unseen.add(place);
    return place;
  };
  const items = (isOne ? [] : requests).map((request) => {
    const sentence = sentenceOf(request);
    // The heading names the app already.
    const short = sentence.startsWith(start) ? sentence.slice(start.length) : sentence;
    const parts = [...warningOf(request), mark(), listOf(request.details)];
    return make("li", {}, short.charAt(0).toUpperCase() + short.slice(1), ...parts);
  });
  const body = isOne ? [...warningOf(first), listOf(first.details)] : [make("ol", {}, ...items)];
  const heading = isOne ? sentenceOf(first) : `${start}do ${requests.length} things:`;
  const no = make("button", { value: "deny" }, "Don’t allow");
  const yes = [
    make("button", { value: "once", "aria-describedby": "o" }, "Allow once"),
    make("button", { value: "always", "aria-describedby": "a" }, "Always allow"),
  ];
  const scopes = make("div", { id: "a" }, ...requests.map(({ always }) => make("p", { class: "small" }, always)));
  const more = make("p", { class: "more", "aria-live": "polite" });
  const list = make(
    "div",
    { class: "scroll", role: "region", "aria-label": "Requests" },
    make("div", { id: "t" }, ...body, listOf([["Server", server]])),
    make("div", { id: "o" }, ...requests.map(({ once = "" }) => make("p", { class: "small" }, once))),
    mark(),
    scopes,
    more,
    mark(),
  );
  const dialog = make(
    "dialog",
    {
      part: "question",
      class: "ask",
      role: "dialog",
      "aria-labelledby": "q",
      "aria-describedby": "t",
    },
    make("div", {}, make("h2", { id: "q" }, heading), mark()),
    list,
    make("form", { method: "dialog" }, make("footer", {}, no, ...yes)),
  );

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const disable = () => {
    for (const button of yes) button.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(() => yes.forEach((button) => (button.disabled = unseen.size > 0)), ALLOW_DELAY);
  };
  const update = () => {
    if (unseen.size) {
      more.textContent = "↓ Scroll to see all requests";
      list.tabIndex = scopes.tabIndex = 0;
    } else {
      observer.disconnect();
      // Its space is kept, so that the buttons do not move.
      more.style.visibility = "hidden";
      disable();
    }
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) unseen.delete(target);
    update();
  });
  for (const place of unseen) observer.observe(place);
  // The end is reached with the keyboard or a screen reader, too, which need not scroll past each place.
  scopes.addEventListener("focus", () => {
    unseen.clear();
    update();
  });
  dialog.addEventListener("close", () => {
    observer.disconnect();
    if (dialog.returnValue !== "withdrawn") answer(dialog.returnValue || "deny");
    dialog.remove();
  });
  disable();
  return { dialog, no, disable };
};

/**
 * Ask a question in a modal dialog, above everything in the page. The View can neither cover nor script it. Returns a
 * function that closes it without an answer.
 * @param {ShadowRoot} root
 * @param {Question} question
 */
const showQuestion = (root, question) => {
  const { dialog, no } = makeDialog(root, question);
  // A View can take the focus by script. Take it back, so that the View gets no keys while the question is open.
  const refocus = () => setTimeout(() => no.focus());
  dialog.classList.add("modal");
  dialog.addEventListener("close", () => window.removeEventListener("blur", refocus));
  window.addEventListener("blur", refocus);
  root.append(dialog);
  dialog.showModal();
  no.focus();
  return () => dialog.close("withdrawn");
};

export { makeDialog, showQuestion };
