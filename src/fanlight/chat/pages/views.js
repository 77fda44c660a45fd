// @ts-check
/**
 * The places of Views in the conversation.
 *
 * A View is a frame with a program in it, so only those near the part of the page that is in sight are alive, and some
 * that were before. The host keeps the others, with their data, and they are loaded again when the user scrolls there.
 */
import { $, attempt, iconButton, make, request } from "./dom.js";

// How many Views are alive at once, apart from those in sight.
const MAX_ALIVE = 12;

/** @type {Map<string, string>} Tokens that came with the event that a View was opened. */
const tokens = new Map();

/** @type {Set<ViewSlot>} The slots with a View that is alive, the one that was in sight longest ago first. */
const alive = new Set();

/** @type {WeakMap<Element, ViewSlot>} */
const slots = new WeakMap();

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) slots.get(target)?.see(isIntersecting);
  },
  { root: $("scroller"), rootMargin: "600px 0px" },
);

/** Remember the token of a View that was opened just now. */
export const keepToken = (/** @type {string} */ view, /** @type {string} */ token) => void tokens.set(view, token);

/** Use another theme in all Views. */
export const setTheme = (/** @type {string} */ theme) => {
  for (const slot of alive) slot.app?.setAttribute("theme", theme);
};

const currentTheme = () => document.documentElement.dataset.theme ?? "";

/** Close the oldest Views that are not in sight. */
const makeRoom = () => {
  for (const slot of [...alive]) {
    if (alive.size <= MAX_ALIVE) return;
    if (!slot.isSeen && slot.app?.displayMode === "inline") slot.release();
  }
};

/** The place of one View. */
export class ViewSlot {
  /** @type {any} The `<mcp-app>` element while the View is alive. */
  app;
  isSeen = false;
  #conversation;
  #view;

  /**
   * @param {string} conversation
   * @param {string} view
   * @param {string} title
   */
  constructor(conversation, view, title) {
    this.#conversation = conversation;
    this.#view = view;
    this.place = make("div", { className: "place" });
    this.element = make("section", { className: "view", "aria-label": `View: ${title}` }, this.place);
    this.button = iconButton("expand", `Full screen: ${title}`, () =>
      attempt(() => request("fullscreen", { view: this.#view })),
    );
    slots.set(this.element, this);
    observer.observe(this.element);
  }

  /** Show the View if it is near the part of the page in sight. */
  see(/** @type {boolean} */ isSeen) {
    this.isSeen = isSeen;
    if (!isSeen) return;
    alive.delete(this);
    alive.add(this);
    if (!this.app) void this.#show();
    makeRoom();
  }

  async #show() {
    // The element is added first: it opens its connection while the token is on its way.
    this.app = make("mcp-app", {});
    this.app.setAttribute("theme", currentTheme());
    this.app.setAttribute("src", "/apps");
    const app = this.app;
    this.place.replaceChildren(app);
    app.addEventListener("mcp-size", () => (this.place.style.minHeight = ""));
    try {
      const token = tokens.get(this.#view) ?? (await this.#requestToken());
      tokens.delete(this.#view);
      app.setAttribute("token", token);
      app.setAttribute("view", this.#view);
    } catch (error) {
      this.place.replaceChildren(make("p", { className: "gone" }, `This View is no longer there. ${error.message}`));
    }
  }

  async #requestToken() {
    return (await request("view", { conversation: this.#conversation, view: this.#view })).token;
  }

  /** Let the View go, and keep its place. */
  release() {
    alive.delete(this);
    this.place.style.minHeight = `${this.place.offsetHeight}px`;
    this.place.replaceChildren();
    this.app = undefined;
  }

  /** Remove the View from the page. */
  remove() {
    observer.unobserve(this.element);
    alive.delete(this);
    this.element.remove();
    this.button.remove();
  }
}
