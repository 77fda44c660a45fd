// @ts-check
/** The list of conversations, and the search. */
import { $, attempt, make, request } from "./dom.js";

/** @typedef {import("./dom.js").Json} Json */

const DAY = 86_400_000;

/** Return the group of a time. */
const groupOf = (/** @type {number} */ seconds) => {
  const today = new Date().setHours(0, 0, 0, 0);
  const time = seconds * 1_000;
  if (time >= today) return "Today";
  if (time >= today - DAY) return "Yesterday";
  return time >= today - 7 * DAY ? "Last 7 days" : "Older";
};

export class Sidebar {
  #list = $("conversations");
  #search = $("search");
  #open;
  /** @type {string | null} */
  #current = null;
  /** @type {Json[]} */
  #shown = [];
  /** @type {Set<string>} */
  #running = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #asked = 0;

  /** @param {(id: string) => void} open */
  constructor(open) {
    this.#open = open;
    this.#search.addEventListener("input", () => this.refresh());
    this.#search.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape" && this.#search.value) {
        event.stopPropagation();
        this.#search.value = "";
        this.refresh();
      } else if (event.key === "ArrowDown" || event.key === "Enter") {
        event.preventDefault();
        const first = this.#list.querySelector("a");
        if (event.key === "Enter") first?.click();
        else first?.focus();
      }
    });
    this.#list.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const links = [...this.#list.querySelectorAll("a")];
      const at = links.indexOf(/** @type {any} */ (document.activeElement));
      if (event.key === "ArrowDown") links[at + 1]?.focus();
      else if (event.key === "ArrowUp") (links[at - 1] ?? this.#search).focus();
      else return;
      event.preventDefault();
    });
  }

  focusSearch() {
    this.#search.focus();
    this.#search.select();
  }

  /** Show all conversations again. */
  clearSearch() {
    if (!this.#search.value) return;
    this.#search.value = "";
    this.refresh();
  }

  setCurrent(/** @type {string | null} */ id) {
    this.#current = id;
    this.#draw();
  }

  setRunning(/** @type {Set<string>} */ running) {
    this.#running = running;
    this.#draw();
  }

  /** Load the list again, at most a few times in a second. */
  refresh() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => attempt(() => this.#load()), 80);
  }

  async #load() {
    this.#asked += 1;
    const number = this.#asked;
    const words = this.#search.value.trim();
    const found = await request(`conversations?q=${encodeURIComponent(words)}`);
    if (number !== this.#asked) return;
    this.#shown = found;
    this.#draw();
  }

  #draw() {
    const focused = /** @type {any} */ (document.activeElement)?.dataset?.conversation;
    const words = this.#search.value.trim();
    /** @type {Map<string, any[]>} */
    const groups = new Map();
    for (const each of this.#shown) {
      const group = words ? "Found" : groupOf(each.updated);
      groups.set(group, [...(groups.get(group) ?? []), this.#item(each)]);
    }
    this.#list.replaceChildren(
      ...[...groups].map(([name, items]) =>
        make("section", { "aria-label": name }, make("h2", {}, name), make("ul", {}, ...items)),
      ),
    );
    if (!this.#shown.length) {
      const text = words ? `No conversation contains “${words}”.` : "Your conversations appear here.";
      this.#list.append(make("p", { className: "empty" }, text));
    }
    if (focused) this.#list.querySelector(`[data-conversation="${CSS.escape(focused)}"]`)?.focus();
  }

  #item(/** @type {Json} */ { id, title, excerpt }) {
    const link = make(
      "a",
      {
        href: `#${id}`,
        onclick: (/** @type {Event} */ event) => {
          event.preventDefault();
          this.#open(id);
        },
      },
      make("span", { className: "title" }, title),
      excerpt && make("small", {}, excerpt),
    );
    link.dataset.conversation = id;
    if (id === this.#current) link.setAttribute("aria-current", "page");
    if (this.#running.has(id)) link.append(make("i", { className: "busy", role: "img", "aria-label": "Answering" }));
    return make("li", {}, link);
  }
}
