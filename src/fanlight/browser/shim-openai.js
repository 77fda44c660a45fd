// @ts-check
/**
 * For documents that were written for ChatGPT: `window.openai`, with all of it that the standard has an equivalent for.
 * The rest is left undefined, so that a document can tell. docs/reference/dialects.md has the table.
 *
 * Such documents read their data as soon as they run. So the host puts what it knows by then behind the # of the
 * document's address, from where it is taken away at once.
 */

import { connect } from "./shim.js";

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Known
 * @property {Json} [context]
 * @property {string[]} [capabilities]
 * @property {Json} [input]
 * @property {Json} [result]
 * @property {unknown} [state]
 */

/**
 * @param {any} window
 * @returns {Known}
 */
const known = (window) => {
  const { location, history } = window;
  const [, text] = location.hash.split("#");
  if (!text) return {};
  history.replaceState(history.state, "", location.pathname);
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return Object(JSON.parse(new window.TextDecoder().decode(bytes)));
  } catch {
    return {};
  }
};

/**
 * The globals that follow from the host's context.
 * @param {Json} context
 * @returns {Json}
 */
const layout = ({ theme, locale, displayMode, containerDimensions, safeAreaInsets, platform, deviceCapabilities }) => ({
  ...(theme && { theme }),
  ...(locale && { locale }),
  ...(displayMode && { displayMode }),
  ...(containerDimensions && { maxHeight: containerDimensions.maxHeight ?? containerDimensions.height }),
  ...(safeAreaInsets && { safeArea: { insets: safeAreaInsets } }),
  ...((platform || deviceCapabilities) && {
    userAgent: {
      device: { type: platform === "mobile" ? "mobile" : "desktop" },
      capabilities: { hover: Boolean(deviceCapabilities?.hover), touch: Boolean(deviceCapabilities?.touch) },
    },
  }),
});

/**
 * @param {Json} result
 * @returns {Json}
 */
const output = ({ structuredContent, _meta }) => ({
  toolOutput: structuredContent ?? null,
  toolResponseMetadata: _meta ?? null,
});

/** @param {any} window */
const start = (window) => {
  const { context = {}, capabilities = [], input, result, state = null } = known(window);
  /** The context as a whole, since what the host says of a change is only what changed. */
  let whole = context;

  /** @param {Json} changes */
  const set = (changes) => {
    const news = Object.entries(changes).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(openai[key]),
    );
    if (!news.length) return;
    const globals = Object.fromEntries(news);
    Object.assign(openai, globals);
    window.dispatchEvent(new window.CustomEvent("openai:set_globals", { detail: { globals } }));
  };

  const link = connect(window, "openai", {
    said: () => false,
    context: (changes) => {
      whole = { ...whole, ...changes };
      set(layout(whole));
    },
    told: (method, params) => {
      if (method.startsWith("ui/notifications/tool-input")) set({ toolInput: params.arguments });
      else if (method === "ui/notifications/tool-result") set(output(params));
    },
  });

  /** @param {Json} message */
  const send = async ({ prompt }) => {
    await link.ask("ui/message", { role: "user", content: [{ type: "text", text: String(prompt) }] });
  };

  /** @type {Json} */
  const openai = {
    theme: "light",
    locale: "en",
    displayMode: "inline",
    maxHeight: undefined,
    safeArea: { insets: { top: 0, right: 0, bottom: 0, left: 0 } },
    toolInput: input ?? null,
    ...output(result ?? {}),
    widgetState: state,
    ...layout(context),
    setWidgetState: async (/** @type {unknown} */ widgetState) => {
      set({ widgetState });
      await link.ask("fanlight/save-state", { state: widgetState });
    },
    requestDisplayMode: (/** @type {Json} */ { mode }) => link.ask("ui/request-display-mode", { mode }),
    notifyIntrinsicHeight: (/** @type {any} */ height) => {
      link.stopFollowing();
      link.tell("ui/notifications/size-changed", { height: Number(height?.height ?? height) });
    },
    requestClose: () => link.tell("ui/notifications/request-teardown", {}),
  };
  if (capabilities.includes("serverTools")) {
    openai.callTool = (/** @type {string} */ name, /** @type {Json} */ args) =>
      link.ask("tools/call", { name, arguments: args ?? {} });
  }
  if (capabilities.includes("message")) Object.assign(openai, { sendFollowUpMessage: send, sendFollowupTurn: send });
  if (capabilities.includes("openLinks")) {
    openai.openExternal = async (/** @type {Json} */ { href }) => {
      await link.ask("ui/open-link", { url: href });
    };
  }
  window.openai = openai;
  link.begin(true);
};

export { start };
