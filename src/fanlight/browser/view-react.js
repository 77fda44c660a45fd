// @ts-check
/**
 * The hooks of `@modelcontextprotocol/ext-apps/react` 2.x for Views that are written with React, on view.js.
 *
 * Nothing here is inlined by itself: esbuild bundles this module with the author's own React. A View that imports
 * "fanlight/react" gets the `App` that follows the look of the host, and "@modelcontextprotocol/ext-apps/react" the
 * one of view.js. docs/how-to/write-a-view-with-react.md shows both.
 */
import { useEffect, useRef, useState } from "react";
import {
  App,
  applyDocumentTheme,
  applyHostFonts,
  applyHostStyleVariables,
  getDocumentTheme,
  LATEST_PROTOCOL_VERSION,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
  RESOURCE_URI_META_KEY,
} from "./view.js";

/**
 * @typedef {object} UseAppOptions Only the options of the first render are used.
 * @property {import("./view.js").Implementation} appInfo
 * @property {Record<string, any>} [capabilities]
 * @property {(app: App) => void} [onAppCreated] Called before `connect()`: set the handlers here.
 * @property {boolean} [autoResize] Whether to report the size of the content to the host. Default: true.
 * @property {boolean} [strict] Accepted, and ignored.
 */

/**
 * @typedef {object} AppState
 * @property {App | null} app Null until it is connected.
 * @property {boolean} isConnected
 * @property {Error | null} error Why `connect()` failed.
 */

/** @typedef {Record<string, any>} HostContext */

/**
 * Create an `App` and connect it when the component is mounted. It is closed when the component is unmounted.
 * @param {UseAppOptions} options
 * @returns {AppState}
 */
const useApp = ({ appInfo, capabilities, onAppCreated, autoResize }) => {
  const [state, setState] = useState(/** @type {AppState} */ ({ app: null, isConnected: false, error: null }));
  useEffect(() => {
    let isMounted = true;
    /** @type {App | undefined} */
    let app;
    /** @param {Partial<AppState>} update */
    const settle = (update) => {
      if (isMounted) setState({ app: null, isConnected: false, error: null, ...update });
    };
    const connect = async () => {
      try {
        app = new App(appInfo, capabilities, { autoResize });
        onAppCreated?.(app);
        await app.connect();
        settle({ app, isConnected: true });
      } catch (error) {
        settle({ error: error instanceof Error ? error : new Error("Failed to connect") });
      }
    };
    connect();
    return () => {
      isMounted = false;
      app?.close();
    };
  }, []);
  return state;
};

/**
 * Report the size of the content to the host, for an `App` that was created with `autoResize: false`.
 * @param {App | null} app
 * @param {import("react").RefObject<HTMLElement | null>} [elementRef] Ignored: the size is that of the document.
 */
const useAutoResize = (app, elementRef) => {
  useEffect(() => app?.setupSizeChangedNotifications(), [app, elementRef]);
};

/**
 * Return the theme of the document, and render again when it changes.
 * @returns {"light" | "dark"}
 */
const useDocumentTheme = () => {
  const [theme, setTheme] = useState(getDocumentTheme);
  useEffect(() => {
    const update = () => setTheme(getDocumentTheme());
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributeFilter: ["data-theme", "class"] });
    // An effect that ran earlier may have changed it since this component was rendered.
    update();
    return () => observer.disconnect();
  }, []);
  return theme;
};

/**
 * Apply the first context that has something to apply, and each change of the context.
 * @param {App | null} app
 * @param {HostContext | null | undefined} initialContext
 * @param {(context: HostContext | null | undefined) => unknown} apply Returns whether there was something to apply.
 */
const useContext = (app, initialContext, apply) => {
  const isApplied = useRef(false);
  useEffect(() => {
    if (!isApplied.current) isApplied.current = Boolean(apply(initialContext));
  }, [initialContext]);
  useEffect(() => {
    // A function of its own: other components may pass the same `apply`, and one of them is unmounted first.
    const listener = (/** @type {HostContext} */ context) => void apply(context);
    app?.addEventListener("hostcontextchanged", listener);
    return () => app?.removeEventListener("hostcontextchanged", listener);
  }, [app]);
};

/** @param {HostContext | null | undefined} context */
const applyStyle = (context) => {
  const variables = context?.styles?.variables;
  if (context?.theme) applyDocumentTheme(context.theme);
  if (variables) applyHostStyleVariables(variables);
  return context?.theme || variables;
};

/** @param {HostContext | null | undefined} context */
const applyFonts = (context) => {
  const fonts = context?.styles?.css?.fonts;
  if (fonts) applyHostFonts(fonts);
  return fonts;
};

/**
 * Apply the theme and the style variables of the host to the document.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
const useHostStyleVariables = (app, initialContext) => useContext(app, initialContext, applyStyle);

/**
 * Load the fonts of the host.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
const useHostFonts = (app, initialContext) => useContext(app, initialContext, applyFonts);

/**
 * Apply the theme, the style variables and the fonts of the host to the document.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
const useHostStyles = (app, initialContext) => {
  useHostStyleVariables(app, initialContext);
  useHostFonts(app, initialContext);
};

export {
  App,
  applyDocumentTheme,
  applyHostFonts,
  applyHostStyleVariables,
  getDocumentTheme,
  LATEST_PROTOCOL_VERSION,
  PostMessageTransport,
  RESOURCE_MIME_TYPE,
  RESOURCE_URI_META_KEY,
  useApp,
  useAutoResize,
  useDocumentTheme,
  useHostFonts,
  useHostStyles,
  useHostStyleVariables,
};
