// @ts-check
/**
 * The shim for ChatGPT: `window.openai`, with those members that the standard has an equivalent for. The others are
 * undefined, so that a document can detect it. docs/reference/dialects.md has the table.
 *
 * Such documents read their data as soon as they run. So the host puts the initial state into the fragment of the
 * document's URL, and the shim removes it from there at once.
 */

import { connect } from "./shim.js";

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} InitialState
 * @property {Json} [context]
 * @property {string[]} [capabilities]
 * @property {Json} [input]
 * @property {Json} [result]
 * @property {unknown} [state]
 */

/**
 * @param {any} window
 * @returns {InitialState}
 */
const initialState = (window) => {
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
 * Return the globals that follow from the host context.
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
  const { context = {}, capabilities = [], input, result, state = null } = initialState(window);
  /** The complete context: the host sends only changes. */
  let merged = context;

  /** @param {Json} changes */
  const set = (changes) => {
    const changed = Object.entries(changes).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(openai[key]),
    );
    if (!changed.length) return;
    const globals = Object.fromEntries(changed);
    Object.assign(openai, globals);
    window.dispatchEvent(new window.CustomEvent("openai:set_globals", { detail: { globals } }));
  };

  const link = connect(window, "openai", {
    onDocumentMessage: () => false,
    onContext: (changes) => {
      merged = { ...merged, ...changes };
      set(layout(merged));
    },
    onHostMessage: (method, params) => {
      if (method.startsWith("ui/notifications/tool-input")) set({ toolInput: params.arguments });
      else if (method === "ui/notifications/tool-result") set(output(params));
    },
  });

  /** @param {Json} message */
  const send = async ({ prompt }) => {
    await link.request("ui/message", { role: "user", content: [{ type: "text", text: String(prompt) }] });
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
      await link.request("fanlight/save-state", { state: widgetState });
    },
    requestDisplayMode: (/** @type {Json} */ { mode }) => link.request("ui/request-display-mode", { mode }),
    notifyIntrinsicHeight: (/** @type {any} */ height) => {
      link.stopReporting();
      link.notify("ui/notifications/size-changed", { height: Number(height?.height ?? height) });
    },
    requestClose: () => link.notify("ui/notifications/request-teardown", {}),
  };
  if (capabilities.includes("serverTools")) {
    openai.callTool = (/** @type {string} */ name, /** @type {Json} */ args) =>
      link.request("tools/call", { name, arguments: args ?? {} });
  }
  if (capabilities.includes("message")) Object.assign(openai, { sendFollowUpMessage: send, sendFollowupTurn: send });
  if (capabilities.includes("openLinks")) {
    openai.openExternal = async (/** @type {Json} */ { href }) => {
      await link.request("ui/open-link", { url: href });
    };
  }
  window.openai = openai;
  link.start(true);
};

export { start };
