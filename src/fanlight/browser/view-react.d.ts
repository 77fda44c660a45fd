/** The types of view-react.js, of the View SDK. Made from its comments by scripts/view_types.py. */
import { App, applyDocumentTheme, applyHostFonts, applyHostStyleVariables, getDocumentTheme, LATEST_PROTOCOL_VERSION, PostMessageTransport, RESOURCE_MIME_TYPE, RESOURCE_URI_META_KEY } from "./view.js";
export type UseAppOptions = {
    appInfo: import("./view.js").Implementation;
    capabilities?: Record<string, any>;
    /**
     * Called before `connect()`: set the handlers here.
     */
    onAppCreated?: (app: App) => void;
    /**
     * Whether to report the size of the content to the host. Default: true.
     */
    autoResize?: boolean;
    /**
     * Accepted, and ignored.
     */
    strict?: boolean;
};
export type AppState = {
    /**
     * Null until it is connected.
     */
    app: App | null;
    isConnected: boolean;
    /**
     * Why `connect()` failed.
     */
    error: Error | null;
};
export type HostContext = Record<string, any>;
/**
 * Create an `App` and connect it when the component is mounted. It is closed when the component is unmounted.
 * @param {UseAppOptions} options
 * @returns {AppState}
 */
declare const useApp: ({ appInfo, capabilities, onAppCreated, autoResize }: UseAppOptions) => AppState;
/**
 * Report the size of the content to the host, for an `App` that was created with `autoResize: false`.
 * @param {App | null} app
 * @param {import("react").RefObject<HTMLElement | null>} [elementRef] Ignored: the size is that of the document.
 */
declare const useAutoResize: (app: App | null, elementRef?: import("react").RefObject<HTMLElement | null>) => void;
/**
 * Return the theme of the document, and render again when it changes.
 * @returns {"light" | "dark"}
 */
declare const useDocumentTheme: () => "light" | "dark";
/**
 * Apply the theme and the style variables of the host to the document.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
declare const useHostStyleVariables: (app: App | null, initialContext?: HostContext | null) => void;
/**
 * Load the fonts of the host.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
declare const useHostFonts: (app: App | null, initialContext?: HostContext | null) => void;
/**
 * Apply the theme, the style variables and the fonts of the host to the document.
 * @param {App | null} app
 * @param {HostContext | null} [initialContext] The context that is applied at once: `app?.getHostContext()`.
 */
declare const useHostStyles: (app: App | null, initialContext?: HostContext | null) => void;
export { App, applyDocumentTheme, applyHostFonts, applyHostStyleVariables, getDocumentTheme, LATEST_PROTOCOL_VERSION, PostMessageTransport, RESOURCE_MIME_TYPE, RESOURCE_URI_META_KEY, useApp, useAutoResize, useDocumentTheme, useHostFonts, useHostStyles, useHostStyleVariables, };
