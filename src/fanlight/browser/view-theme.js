// @ts-check
/**
 * An addition to view.js for Views that import from "fanlight": an `App` that follows the theme, the fonts, the
 * colours and the safe areas of the host without code in the View. It follows the conventions at the top of view.js.
 */

/** @typedef {Record<string, any>} Json */

/**
 * Text in the host's font and colour, where the View says nothing: no specificity, and before the View's own styles.
 */
const STYLE =
  ":where(:root){font-family:var(--font-sans,system-ui,sans-serif);color:var(--color-text-primary,CanvasText)}";

/**
 * Return the SDK with an `App` that follows the look of the host.
 * @template {{ App: any, applyDocumentTheme: any, applyHostFonts: any, applyHostStyleVariables: any }} Sdk
 * @param {Sdk} sdk
 * @returns {Sdk}
 */
const withTheme = (sdk) => {
  const { App, applyDocumentTheme, applyHostFonts, applyHostStyleVariables } = sdk;
  document.head.prepend(Object.assign(document.createElement("style"), { textContent: STYLE }));

  /** @param {Json | undefined} context */
  const follow = (context) => {
    const { theme, styles, safeAreaInsets } = context ?? {};
    if (theme) applyDocumentTheme(theme);
    if (styles?.variables) applyHostStyleVariables(styles.variables);
    if (styles?.css?.fonts) applyHostFonts(styles.css.fonts);
    for (const [side, inset] of Object.entries(safeAreaInsets ?? {})) {
      applyHostStyleVariables({ [`--safe-${side}`]: `${inset}px` });
    }
  };

  class ThemedApp extends App {
    /** @type {((params: any) => unknown) | undefined} */
    #listener;

    /** @param {Json} params */
    #changed = (params) => {
      follow(this.getHostContext());
      return this.#listener?.(params);
    };

    /** @param {...any} args */
    constructor(...args) {
      super(...args);
      // The look comes first, so that a listener that draws again finds it.
      super.onhostcontextchanged = this.#changed;
    }

    get onhostcontextchanged() {
      return this.#listener;
    }
    set onhostcontextchanged(listener) {
      this.#listener = listener;
    }

    /** @param {...any} args */
    async connect(...args) {
      await super.connect(...args);
      follow(this.getHostContext());
    }
  }
  return { ...sdk, App: ThemedApp };
};

export { withTheme };
