// @ts-check
/** The cards of the conversation: one for each call, with its View. */
import { $, make } from "./dom.js";
import { makeGrip, layOut } from "./stage.js";

/** @typedef {import("./state.js").Call} Call */

/**
 * The hidden card for the next call: its sandbox proxy is loaded and its socket open before it has a View.
 * @type {{ card: any, app: any, stage: any } | undefined}
 */
let prepared;

const makeCard = () => {
  const app = make("mcp-app");
  const box = make("div", { className: "easel" }, app);
  const stage = make("div", { className: "stage" }, box, makeGrip(box));
  const card = make("article", { className: "prepared", inert: true, tabIndex: -1 }, stage);
  putFirst(card);
  return { card, app, stage };
};

/** Prepare the card for the next call. */
export const prepareCard = () => {
  if (prepared) return;
  prepared = makeCard();
  layOut(prepared.app);
  prepared.app.setAttribute("src", "/apps");
};

const takePrepared = () => {
  const taken = prepared ?? makeCard();
  prepared = undefined;
  return taken;
};

/** Put an element at the top of the conversation, below the prepared card. */
export const putFirst = (/** @type {any} */ element) => {
  if (prepared) prepared.card.after(element);
  else $("conversation").prepend(element);
};

/** @type {any} */
let warmFrame;

/** Let the browser start a process for the View of a tool that may be called next. */
export const warmUp = (/** @type {Record<string, any>} */ { label }) => {
  const { origin, port, protocol } = location;
  const src = label && `${protocol}//${label}.sandbox.localhost:${port}/warm?host=${encodeURIComponent(origin)}`;
  if (warmFrame?.src === src) return;
  warmFrame?.remove();
  warmFrame = src && make("iframe", { hidden: true, sandbox: "allow-same-origin", title: "", src });
  if (warmFrame) document.body.append(warmFrame);
};

/**
 * Show the card of a call.
 * @param {string} server
 * @param {Record<string, any>} tool
 * @param {boolean} replayed
 * @returns {Pick<Call, "card" | "app" | "parts">}
 */
export const openCard = (server, tool, replayed) => {
  const { card, app, stage } = tool.view ? takePrepared() : makeCard();
  card.className = "card";
  card.inert = false;
  card.ariaLabel = `${tool.name} (${server})`;
  const parts = {
    state: make("span", { className: "small quiet" }, "running …"),
    size: make("span", { className: "small quiet size" }),
    mode: make(
      "select",
      { "aria-label": "Display mode", title: "Display mode", hidden: true },
      ...["inline", "fullscreen", "pip"].map((mode) => make("option", {}, mode)),
    ),
    again: make(
      "button",
      { type: "button", className: "plain", title: "Call this tool again with the same arguments" },
      "Again",
    ),
    close: make(
      "button",
      {
        type: "button",
        className: "plain",
        "aria-label": `Close ${tool.name}`,
        title: "Close (Delete). Shift+Delete closes all.",
      },
      "✕",
    ),
    controls: make("div", { className: "controls", hidden: true }),
    problems: make("div", { className: "problems", role: "alert" }),
    stage,
    model: make("pre"),
    seen: make("details", { hidden: true }),
    seenSize: make("span", { className: "small quiet" }),
  };
  parts.seen.append(make("summary", {}, "What the model sees", " ", parts.seenSize), parts.model);
  stage.hidden = !tool.view;
  // Around the stage, which stays where it is: moving a frame would reload it.
  stage.before(
    make(
      "header",
      {},
      make(
        "div",
        { className: "title" },
        make("strong", {}, tool.name),
        make("span", { className: "mark" }, server),
        replayed && make("span", { className: "mark warn" }, "replay"),
        parts.state,
      ),
      make("div", { className: "tools" }, parts.size, parts.mode, parts.again, parts.close),
    ),
    parts.controls,
    parts.problems,
  );
  stage.after(parts.seen);
  return { card, app, parts };
};

/**
 * Label the cards of a result that brings several Views.
 * @param {Call} call
 * @param {string} uri
 * @param {number} number
 * @param {number} total
 */
export const numberCard = ({ card, parts, tool, server }, uri, number, total) => {
  parts.state.before(make("span", { className: "mark" }, `View ${number} of ${total}: ${uri}`));
  card.setAttribute("aria-label", `${tool.name} (${server}), View ${number}`);
};

/** Keep a card in sight while its View grows, until the user scrolls, clicks or types. */
export const follow = (/** @type {Call} */ { app, card }) => {
  const following = new AbortController();
  const { signal } = following;
  app.addEventListener("mcp-size", () => card.scrollIntoView({ block: "nearest" }), { signal });
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    addEventListener(kind, () => following.abort(), { signal });
  }
  return following;
};
