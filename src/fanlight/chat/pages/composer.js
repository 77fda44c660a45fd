// @ts-check
/** Where the user writes: the text, attached files, and the button that sends or stops. */
import { $, attempt, icon, iconButton, make, request } from "./dom.js";
import { shownFile } from "./turn.js";

/** @typedef {import("./dom.js").Json} Json */

export class Composer {
  #field = $("text");
  #button = $("send");
  #list = $("attached");
  /** @type {Json[]} */
  #files = [];
  #uploads = 0;
  #isRunning = false;
  #actions;

  /** @param {{ send(text: string, files: string[]): Promise<void>, stop(): void, editLast(): void }} actions */
  constructor(actions) {
    this.#actions = actions;
    const picker = $("picker");
    $("composer").addEventListener("submit", (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#submit();
    });
    $("attach").onclick = () => picker.click();
    picker.onchange = () => {
      this.#attach(picker.files);
      picker.value = "";
    };
    this.#field.addEventListener("input", () => this.#update());
    this.#field.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        if (!this.#isRunning) this.#submit();
      }
      if (event.key === "ArrowUp" && !this.#field.value) {
        event.preventDefault();
        this.#actions.editLast();
      }
    });
    this.#field.addEventListener("paste", (/** @type {ClipboardEvent} */ event) => {
      if (event.clipboardData?.files.length) {
        event.preventDefault();
        this.#attach(event.clipboardData.files);
      }
    });
    const drop = $("drop");
    document.addEventListener("dragenter", (event) => {
      if (event.dataTransfer?.types.includes("Files")) drop.hidden = false;
    });
    drop.addEventListener("dragover", (/** @type {Event} */ event) => event.preventDefault());
    drop.addEventListener("dragleave", () => (drop.hidden = true));
    drop.addEventListener("drop", (/** @type {DragEvent} */ event) => {
      event.preventDefault();
      drop.hidden = true;
      if (event.dataTransfer) this.#attach(event.dataTransfer.files);
    });
    this.#update();
  }

  focus() {
    this.#field.focus();
  }

  /** Put a text into the field. */
  fill(/** @type {string} */ text) {
    this.#field.value = text;
    this.#update();
    this.focus();
  }

  /** Show the button that sends, or the one that stops. */
  setRunning(/** @type {boolean} */ isRunning) {
    this.#isRunning = isRunning;
    this.#update();
  }

  #update() {
    const label = this.#isRunning ? "Stop" : "Send";
    if (this.#button.title !== label) {
      this.#button.replaceChildren(icon(this.#isRunning ? "stop" : "send"));
      this.#button.title = label;
      this.#button.ariaLabel = label;
    }
    const isEmpty = !this.#field.value.trim() && !this.#files.length;
    this.#button.disabled = !this.#isRunning && (isEmpty || this.#uploads > 0);
    this.#field.style.height = "auto";
    this.#field.style.height = `${Math.min(this.#field.scrollHeight, 240)}px`;
  }

  #submit() {
    if (this.#isRunning) return this.#actions.stop();
    const text = this.#field.value;
    if (this.#button.disabled) return undefined;
    const files = this.#files;
    this.#field.value = "";
    this.#files = [];
    this.#showFiles();
    return attempt(async () => {
      try {
        await this.#actions.send(
          text,
          files.map(({ id }) => id),
        );
      } catch (error) {
        // Nothing that the user wrote is lost.
        this.#files = files;
        this.#showFiles();
        this.fill(text);
        throw error;
      }
    });
  }

  async #attach(/** @type {FileList} */ files) {
    // A copy: the list of the picker is emptied, so that the same file can be chosen again.
    for (const file of [...files]) {
      this.#uploads += 1;
      this.#update();
      await attempt(async () =>
        this.#files.push(await request(`files?name=${encodeURIComponent(file.name || "file")}`, file)),
      );
      this.#uploads -= 1;
      this.#showFiles();
    }
    this.focus();
  }

  #showFiles() {
    this.#list.replaceChildren(
      ...this.#files.map((file) => {
        const remove = iconButton("x", `Remove ${file.name}`, () => {
          this.#files = this.#files.filter((each) => each !== file);
          this.#showFiles();
          this.focus();
        });
        return make("li", {}, shownFile(file), remove);
      }),
    );
    this.#update();
  }
}
