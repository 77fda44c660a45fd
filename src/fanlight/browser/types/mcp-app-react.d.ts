/** `<mcp-app>` and `<mcp-grants>` in the JSX of React 19, with events as properties such as `onmcp-error`. */
import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { McpApp, McpAppAttributes, McpAppEventMap, McpGrants } from "./mcp-app";

type McpAppListeners = { [Name in keyof McpAppEventMap as `on${Name}`]?: (event: McpAppEventMap[Name]) => void };

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "mcp-app": DetailedHTMLProps<HTMLAttributes<McpApp>, McpApp> & McpAppAttributes & McpAppListeners;
      "mcp-grants": DetailedHTMLProps<HTMLAttributes<McpGrants>, McpGrants> & { src?: string };
    }
  }
}
