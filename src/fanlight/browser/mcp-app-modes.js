// @ts-check
/** The part of `<mcp-app>` for full screen and picture in picture, loaded when the View first leaves its place. */
import { addStyle, make } from "./mcp-app.js";

const STYLE = `
header {
  display: none; align-items: center; gap: 8px; padding: 6px 12px; font: 600 14px/1.4 system-ui;
  border-bottom: var(--line);
}
header span { flex: 1; min-width: 0; overflow-wrap: anywhere; unicode-bidi: plaintext; }
:is(.fullscreen, .pip) > [role="status"]:not(:empty) { top: 52px; }
.fullscreen, .pip { position: fixed; background: var(--mcp-app-background, Canvas); color: CanvasText; }
.fullscreen { inset: 0; width: 100%; height: 100%; border-radius: 0; padding-top: env(safe-area-inset-top); }
.pip {
  inset: auto 16px 16px auto; z-index: 2147483000; width: var(--mcp-app-pip-width, 360px);
  height: var(--mcp-app-pip-height, 270px); max-width: calc(100vw - 32px); max-height: calc(100vh - 32px);
  border: 0; outline: var(--line); box-shadow: 0 4px 24px rgb(0 0 0 / 35%);
}
:is(.fullscreen, .pip) header { display: flex; }
:is(.fullscreen, .pip) div { flex: 1; min-height: 0; }
:is(.fullscreen, .pip) iframe { height: 100% !important; }
i {
  position: absolute; visibility: hidden; padding: 0 env(safe-area-inset-right) env(safe-area-inset-bottom)
  env(safe-area-inset-left);
}
`;

/** The box of one View in the display modes. It is a modal dialog in full screen, which makes the page inert. */
class DisplayModes {
  #name = make("span", { part: "title" });
  #button = make("button", { part: "close", type: "button" }, "✕");
  #insets = make("i", { "aria-hidden": "true" });
  #box;
  /** @type {string} */
  #mode = "inline";

  /**
   * @param {ShadowRoot} root
   * @param {HTMLDialogElement} box
   * @param {() => void} onLeave Is called when the user wants the View back in its place.
   */
  constructor(root, box, onLeave) {
    this.#box = box;
    addStyle(root, STYLE);
    box.prepend(make("header", { part: "bar" }, this.#name, this.#button));
    box.append(this.#insets);
    this.#button.addEventListener("click", onLeave);
    // The Escape key. A browser may also close the dialog without this event.
    box.addEventListener("cancel", (event) => {
      event.preventDefault();
      onLeave();
    });
    box.addEventListener("close", () => {
      if (this.#mode === "fullscreen" && !box.open) onLeave();
    });
  }

  /** @param {string} mode */
  change(mode) {
    const box = this.#box;
    const was = this.#mode;
    const title = box.getAttribute("aria-label") ?? "";
    this.#mode = mode;
    this.#name.textContent = title;
    this.#button.setAttribute("aria-label", `Close ${title}`);
    box.classList.replace(was, mode);
    if (mode === "fullscreen" && box.isConnected) {
      box.open = false;
      box.setAttribute("role", "dialog");
      box.showModal();
      // Not the View, whose keys are its own: from here, Escape leaves, and Tab leads into the View.
      this.#button.focus();
    } else if (was === "fullscreen") {
      // Returns the focus to where it was.
      box.close();
      box.setAttribute("role", "group");
      box.open = true;
    }
  }

  /** Return the insets of the screen. Inline, the View touches no edge of it. In full screen, the bar is at the top. */
  insets() {
    const style = window.getComputedStyle(this.#insets);
    const inset = (/** @type {string} */ side) =>
      this.#mode === "fullscreen" ? parseFloat(style.getPropertyValue(`padding-${side}`)) || 0 : 0;
    return { top: 0, right: inset("right"), bottom: inset("bottom"), left: inset("left") };
  }
}

export { DisplayModes };
