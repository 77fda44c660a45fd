// @ts-check
/** `<McpApp>`: the element `<mcp-app>` as a component of React 18 and 19. mcp-app-react.d.ts has its types. */
import { createElement, forwardRef, useCallback, useEffect, useRef, useState } from "react";

/** The events of the element, by the property of the component: `onReady` gets `mcp-ready`. */
const EVENTS = {
  onLoad: "mcp-load",
  onReady: "mcp-ready",
  onMessage: "mcp-message",
  onSize: "mcp-size",
  onDisplayMode: "mcp-display-mode",
  onLink: "mcp-link",
  onQuestion: "mcp-question",
  onContext: "mcp-context",
  onError: "mcp-error",
  onElsewhere: "mcp-elsewhere",
  onClosed: "mcp-closed",
};

/**
 * Load the script that defines the element, unless the page does.
 * @param {string} src
 */
const loadElement = (src) => {
  const url = new URL(`${src.replace(/\/+$/, "")}/mcp-app.js`, document.baseURI).href;
  if (customElements.get("mcp-app") || [...document.scripts].some((script) => script.src === url)) return;
  document.head.append(Object.assign(document.createElement("script"), { type: "module", src: url }));
};

export const McpApp = forwardRef((/** @type {Record<string, any>} */ props, /** @type {any} */ ref) => {
  const { src = "/apps", className, maxHeight, ...rest } = props;
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => loadElement(src), [src]);

  const [listeners] = useState(() =>
    Object.entries(EVENTS).map(([name, type]) => ({
      type,
      listener: (/** @type {Event} */ event) => latest.current[name]?.(event),
    })),
  );
  // React 18 does not listen to events of custom elements. The element is new here: nothing has happened yet.
  // StrictMode passes the same element twice, and the same listener is added once.
  const attach = useCallback(
    (/** @type {HTMLElement | null} */ element) => {
      for (const { type, listener } of listeners) element?.addEventListener(type, listener);
      if (typeof ref === "function") return ref(element);
      if (ref) ref.current = element;
    },
    [listeners, ref],
  );

  const attributes = Object.entries({ ...rest, src, class: className, "max-height": maxHeight });
  const passed = attributes.filter(([name, value]) => !(name in EVENTS) && value !== undefined);
  return createElement("mcp-app", { ...Object.fromEntries(passed), ref: attach });
});
McpApp.displayName = "McpApp";
