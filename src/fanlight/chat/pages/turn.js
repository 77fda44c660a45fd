// @ts-check
/** One turn in the page: the message, and the answer in blocks, drawn at most once for each frame of the screen. */
import { announce, attempt, copy, icon, iconButton, make, request } from "./dom.js";
import { highlight } from "./highlight.js";
import { MarkdownView } from "./markdown.js";
import { ViewSlot } from "./views.js";

/** @typedef {import("./dom.js").Json} Json */

const MAX_SHOWN = 20_000;

const STATES = /** @type {Json} */ ({
  writing: "is being written",
  asking: "waits for you to allow it",
  running: "is running",
  done: "is done",
  failed: "has failed",
  denied: "was not allowed by you",
  cancelled: "was cancelled",
});

/** Return a name for people: "draw_chart" is "Draw chart". */
export const readable = (/** @type {string} */ name) => {
  const words = name.replaceAll(/[_-]+/g, " ").trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Return JSON with line breaks. While the model writes, it is not JSON yet, and is shown as it is. */
const pretty = (/** @type {string} */ text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, MAX_SHOWN);
  } catch {
    return text.slice(-MAX_SHOWN);
  }
};

const seconds = (/** @type {number} */ value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;

/** Text that the model writes. */
class TextBlock {
  #markdown = new MarkdownView();
  element = this.#markdown.element;

  update(/** @type {Json} */ block) {
    this.#markdown.update(block.text);
  }
}

/** What the model thinks before it answers, for those models that show it. */
class ThinkingBlock {
  #markdown = new MarkdownView();
  element = make("details", { className: "thinking" }, make("summary", {}, "Thoughts"), this.#markdown.element);

  update(/** @type {Json} */ block) {
    this.#markdown.update(block.text);
    this.element.hidden = !block.text;
  }
}

/** A call of a tool, with its Views. */
class CallBlock {
  #mark = make("span", { className: "mark" });
  #title = make("b");
  #server = make("span", { className: "server" });
  #tail = make("code", { className: "tail" });
  #arguments = make("pre", { tabIndex: 0 });
  #result = make("pre", { tabIndex: 0 });
  #resultPart = make("div", {}, make("h4", {}, "Result"), this.#result);
  #denied = make("span", { className: "denied", hidden: true }, "You did not allow this");
  #summary = make("summary", {}, this.#mark, this.#title, this.#server, this.#tail, this.#denied);
  #details = make(
    "details",
    {},
    this.#summary,
    make("div", { className: "more" }, make("h4", {}, "Arguments"), this.#arguments, this.#resultPart),
  );
  #head = make("div", { className: "head" }, this.#details);
  element = make("div", { className: "call" }, this.#head);
  /** @type {Map<string, ViewSlot>} */
  #views = new Map();
  #conversation;
  #block = /** @type {Json} */ ({});
  /** @type {any} */
  #question;

  constructor(/** @type {string} */ conversation) {
    this.#conversation = conversation;
    this.#details.addEventListener("toggle", () => this.#fill());
  }

  update(/** @type {Json} */ block) {
    const isNew = block.state !== this.#block.state;
    this.#block = { ...block };
    const title = readable(block.title);
    this.#title.textContent = title;
    this.#server.textContent = block.server ?? "";
    // The end of what the model has written, so that one sees it grow.
    this.#tail.textContent = block.state === "writing" ? block.arguments.slice(-200) : "";
    this.#denied.hidden = block.state !== "denied";
    if (isNew) {
      this.element.dataset.state = block.state;
      this.#mark.replaceChildren(
        ...(block.state === "done"
          ? [icon("check")]
          : ["failed", "cancelled", "denied"].includes(block.state)
            ? [icon("x")]
            : []),
      );
      this.#summary.setAttribute(
        "aria-label",
        `${title}, a tool of ${block.server ?? "the model"}, ${STATES[block.state]}`,
      );
    }
    this.#showQuestion(block.state === "asking");
    for (const { view } of block.views) {
      if (this.#views.has(view)) continue;
      const slot = new ViewSlot(this.#conversation, view, title);
      this.#views.set(view, slot);
      this.#head.append(slot.button);
      this.element.append(slot.element);
    }
    this.#fill();
  }

  /** Ask the user whether the call may be made, below it, where its arguments are. */
  #showQuestion(/** @type {boolean} */ isAsked) {
    if (isAsked === Boolean(this.#question)) return;
    // The focus is on the button that was pressed. The call, which has the result, takes its place.
    if (this.#question?.contains(document.activeElement)) this.#summary.focus({ preventScroll: true });
    this.#question?.remove();
    this.#question = undefined;
    if (!isAsked) return;
    const { id, title, server } = this.#block;
    const answer = (/** @type {string} */ choice) =>
      attempt(() => request("allow", { conversation: this.#conversation, call: id, answer: choice }));
    const button = (/** @type {string} */ choice, /** @type {string} */ label) =>
      make("button", { type: "button", onclick: () => answer(choice) }, label);
    this.#question = make(
      "div",
      { className: "question", role: "group", "aria-label": "Allow this call?" },
      make(
        "p",
        {},
        make("b", {}, `Allow “${readable(title)}” of ${server}?`),
        " It says that it may delete or change something.",
      ),
      make("pre", { tabIndex: 0 }, ...highlight(pretty(this.#block.arguments || "{}"), "json")),
      make(
        "div",
        { className: "row" },
        button("deny", "Don’t allow"),
        button("once", "Allow once"),
        button("always", "Always allow"),
      ),
    );
    this.#head.after(this.#question);
    announce(`The model wants to use ${readable(title)}. Allow it?`);
  }

  #fill() {
    if (!this.#details.open) return;
    const { arguments: text, result } = this.#block;
    this.#arguments.replaceChildren(...highlight(pretty(text || "{}"), "json"));
    this.#result.textContent = result === null ? "" : pretty(result);
    this.#resultPart.hidden = result === null;
  }

  remove() {
    for (const slot of this.#views.values()) slot.remove();
  }
}

/** One turn. */
export class TurnView {
  /** @type {Json} */
  #turn;
  /** @type {any[]} */
  #blocks = [];
  /** @type {Set<number>} The blocks that have changed since the last frame. */
  #changed = new Set();
  #frame = 0;
  #conversation;
  #actions;
  #message = make("div", { className: "message" });
  #body = make("div", { className: "blocks" });
  #status = make("div", { className: "status" });
  #footer = make("footer");
  #answer = make("div", { className: "answer" }, this.#body, this.#status, this.#footer);

  /**
   * @param {string} conversation
   * @param {Json} turn
   * @param {{ edit(turn: Json, text: string): void, retry(turn: Json): void }} actions
   */
  constructor(conversation, turn, actions) {
    this.#conversation = conversation;
    this.#actions = actions;
    this.#turn = turn;
    this.element = make("article", { className: "turn" }, this.#message, this.#answer);
    this.#showMessage();
    this.update(turn);
  }

  get isRunning() {
    return this.#turn.state === "running";
  }

  get seq() {
    return this.#turn.seq;
  }

  /** Show a whole turn. */
  update(/** @type {Json} */ turn) {
    const wasRunning = this.#turn.state === "running" && this.#blocks.length > 0;
    this.#turn = turn;
    turn.blocks.forEach((/** @type {Json} */ _, /** @type {number} */ at) => this.#changed.add(at));
    this.#draw();
    this.#answer.ariaBusy = String(this.isRunning);
    // Text without Views may be skipped by the browser while it is out of sight.
    this.element.classList.toggle("light", !turn.blocks.some((/** @type {Json} */ block) => block.views?.length));
    this.#showStatus();
    this.#showFooter();
    if (wasRunning && !this.isRunning) {
      announce(turn.state === "done" ? "The answer is complete." : "The answer ended.");
    }
  }

  /** Show a block that was added or has changed. */
  setBlock(/** @type {Json} */ { seq, block, data }) {
    this.#turn.seq = seq;
    this.#turn.blocks[block] = data;
    this.#change(block);
  }

  /** Add text to a block. */
  append(/** @type {Json} */ { seq, block, field, text }) {
    this.#turn.seq = seq;
    this.#turn.blocks[block][field] += text;
    this.#change(block);
  }

  /** Remove the turn from the page, with its Views. */
  remove() {
    cancelAnimationFrame(this.#frame);
    for (const block of this.#blocks) block.remove?.();
    this.element.remove();
  }

  #change(/** @type {number} */ at) {
    this.#changed.add(at);
    if (!this.#frame) this.#drawChanges();
  }

  /** Draw at once, so that no word waits for a frame; what comes until the next frame is drawn with it. */
  #drawChanges() {
    this.#draw();
    this.#showStatus();
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#changed.size) this.#drawChanges();
    });
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    for (const at of [...this.#changed].sort((a, b) => a - b)) {
      const block = this.#turn.blocks[at];
      if (!this.#blocks[at] || this.#blocks[at].type !== block.type) {
        const added = this.#create(block);
        added.type = block.type;
        if (this.#blocks[at]) this.#blocks[at].element.replaceWith(added.element);
        else this.#body.append(added.element);
        this.#blocks[at] = added;
      }
      this.#blocks[at].update(block);
      if (block.views?.length) this.element.classList.remove("light");
    }
    this.#changed.clear();
  }

  /** @returns {any} */
  #create(/** @type {Json} */ { type }) {
    if (type === "tool") return new CallBlock(this.#conversation);
    return type === "thinking" ? new ThinkingBlock() : new TextBlock();
  }

  #showMessage() {
    const { text, sender, files } = this.#turn;
    const bubble = make("div", { className: "bubble" }, text);
    if (sender) bubble.prepend(make("span", { className: "sender" }, icon("view"), `${sender} wrote for you`));
    const attached = files.map((/** @type {Json} */ file) => shownFile(file));
    const row = make("div", { className: "actions" });
    const copyButton = iconButton("copy", "Copy message", () => copy(copyButton, text));
    row.append(copyButton);
    if (!sender) row.append(iconButton("edit", "Edit message", () => this.startEdit()));
    this.#message.replaceChildren(
      make("h2", { className: "hidden" }, sender ? `A View of ${sender} wrote` : "You wrote"),
      ...attached,
      ...(text ? [bubble] : []),
      row,
    );
    this.#message.classList.toggle("from-view", Boolean(sender));
  }

  /** Let the user change the message, and send it again. */
  startEdit() {
    const field = make("textarea", { value: this.#turn.text, "aria-label": "Edit message" });
    const cancel = () => {
      this.#showMessage();
      this.#message.querySelector("[title='Edit message']")?.focus();
    };
    const send = () => field.value.trim() && this.#actions.edit(this.#turn, field.value);
    const isLast = !this.element.nextElementSibling;
    field.onkeydown = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        cancel();
      }
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        send();
      }
    };
    const note = isLast ? "" : "What follows in this conversation is removed.";
    this.#message.replaceChildren(
      make(
        "form",
        { className: "editor", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
        field,
        make(
          "div",
          { className: "row" },
          make("p", { className: "note" }, note),
          make("button", { type: "button", onclick: cancel }, "Cancel"),
          make("button", { type: "button", className: "main", onclick: send }, "Send"),
        ),
      ),
    );
    field.focus();
  }

  #showStatus() {
    const { state, error, note, blocks } = this.#turn;
    const last = blocks.at(-1);
    const isQuiet = !last || (last.type === "tool" && !["writing", "asking"].includes(last.state));
    const isWaiting = state === "running" && isQuiet;
    const isShown = this.#status.querySelector(".waiting") !== null;
    if (isWaiting) {
      if (!isShown) {
        const label = { className: "waiting", role: "img", "aria-label": "Waiting for the model" };
        this.#status.replaceChildren(make("span", label, make("i"), make("i"), make("i")));
      }
      return;
    }
    const retry = make(
      "button",
      { type: "button", className: "retry", onclick: () => this.#actions.retry(this.#turn) },
      "Try again",
    );
    const say = (/** @type {string} */ text, /** @type {string} */ kind) =>
      make("div", { className: `notice ${kind}`, role: kind === "bad" ? "alert" : "note" }, make("p", {}, text), retry);
    this.#status.replaceChildren(
      ...(state === "failed" ? [say(error || "The answer has failed.", "bad")] : []),
      ...(state === "done" && note ? [say(note, "")] : []),
      ...(state === "stopped" ? [say("You stopped this answer.", "")] : []),
      ...(state === "interrupted" ? [say("fanlight chat ended before this answer was complete.", "")] : []),
    );
  }

  #showFooter() {
    const { state, usage, first, seconds: all, model, blocks } = this.#turn;
    if (state === "running") return this.#footer.replaceChildren();
    const written = blocks.filter((/** @type {Json} */ block) => block.type === "text");
    const text = written.map((/** @type {Json} */ block) => block.text).join("\n\n");
    const copyButton = iconButton("copy", "Copy answer", () => copy(copyButton, text));
    const figures = [
      model,
      // A service counts at the end of an answer, so one that was stopped has no numbers, or zeros.
      usage?.input > 0 &&
        usage.output > 0 &&
        `${usage.input.toLocaleString("en")} → ${usage.output.toLocaleString("en")} tokens`,
      all !== null && seconds(all),
    ].filter(Boolean);
    const retry = iconButton("retry", "Try again", () => this.#actions.retry(this.#turn));
    retry.classList.add("retry");
    const title = first === null ? "" : `The first words came after ${seconds(first)}.`;
    return this.#footer.replaceChildren(
      ...(text ? [copyButton] : []),
      // Where an answer was not finished, the notice above has the button.
      ...(state === "done" ? [retry] : []),
      make("span", { className: "figures", title }, figures.join(" · ")),
    );
  }
}

/** Return what is shown of an attached file. */
export const shownFile = (/** @type {Json} */ { id, name, type, size }) =>
  type.startsWith("image/")
    ? make("img", { className: "attached", src: `/files/${id}`, alt: name, title: name })
    : make(
        "a",
        { className: "attached file", href: `/files/${id}`, download: name },
        icon("file"),
        make("span", {}, name),
        make("small", {}, size < 1_000 ? `${size} B` : `${(size / 1_000).toFixed(size < 10_000 ? 1 : 0)} kB`),
      );
