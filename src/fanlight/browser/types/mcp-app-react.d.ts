/**
 * `<McpApp>`, a component of React 18 and 19, and `<mcp-app>` and `<mcp-grants>` in the JSX of React 19, with events as
 * properties such as `onmcp-error`.
 */
import type { DetailedHTMLProps, ForwardRefExoticComponent, HTMLAttributes, RefAttributes } from "react";
import type { McpAppAttributes, McpAppEventMap, McpApp as McpAppElement, McpGrants } from "./mcp-app";

type McpAppListeners = { [Name in keyof McpAppEventMap as `on${Name}`]?: (event: McpAppEventMap[Name]) => void };

/** `mcp-display-mode` is `DisplayMode`. */
type Name<Event> = Event extends `mcp-${infer First}-${infer Second}`
  ? `${Capitalize<First>}${Capitalize<Second>}`
  : Event extends `mcp-${infer Only}`
    ? Capitalize<Only>
    : never;
type Callbacks = { [Event in keyof McpAppEventMap as `on${Name<Event>}`]?: (event: McpAppEventMap[Event]) => void };

/** The attributes and the events of the element: `maxHeight` is `max-height`, and `onReady` gets `mcp-ready`. */
export interface McpAppProps
  extends
    Omit<HTMLAttributes<McpAppElement>, keyof Callbacks | "children" | "dangerouslySetInnerHTML">,
    Omit<McpAppAttributes, "max-height">,
    Callbacks {
  maxHeight?: McpAppAttributes["max-height"];
}

/** One View. The script of the element is loaded from `src`, `/apps` by default. A ref gets the element. */
export const McpApp: ForwardRefExoticComponent<McpAppProps & RefAttributes<McpAppElement>>;

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "mcp-app": DetailedHTMLProps<HTMLAttributes<McpAppElement>, McpAppElement> & McpAppAttributes & McpAppListeners;
      "mcp-grants": DetailedHTMLProps<HTMLAttributes<McpGrants>, McpGrants> & { src?: string };
    }
  }
}
