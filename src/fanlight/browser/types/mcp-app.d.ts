/**
 * The types of `<mcp-app>` and `<mcp-grants>`, for pages in TypeScript. docs/reference/mcp-app.md describes them.
 * `mcp-app-react.d.ts` adds the element to the JSX of React.
 */

export type DisplayMode = "inline" | "fullscreen" | "pip";

/** The attributes of the element. */
export interface McpAppAttributes {
  /** The View's id. */
  view?: string;
  /** Where the host is mounted, such as `/apps`. */
  src?: string;
  /** The View's token. */
  token?: string;
  theme?: "light" | "dark";
  /** The greatest height in pixels. */
  "max-height"?: number | string;
  /** How the user is asked: in a modal dialog by default, or above the View. */
  consent?: "inline";
  /** How long to wait for the sandbox proxy, in milliseconds. */
  timeout?: number | string;
}

/** What a View wants to do, in a question for the user. */
export interface McpAppRequest {
  text: string;
  warning: string;
  details: [label: string, value: string][];
  /** What the answer "once" allows, if that is more than this one request. */
  once?: string;
  always: string;
  count: number;
}

/** The events of the element. All of them bubble. */
export interface McpAppEventMap {
  "mcp-load": CustomEvent<Record<string, never>>;
  "mcp-ready": CustomEvent<Record<string, never>>;
  "mcp-message": CustomEvent<{ from: "view" | "host"; message: unknown }>;
  "mcp-size": CustomEvent<{ height: number }>;
  "mcp-display-mode": CustomEvent<{ mode: DisplayMode }>;
  /** Cancelable. */
  "mcp-link": CustomEvent<{ url: string }>;
  /** Cancelable. */
  "mcp-question": CustomEvent<{
    app: string;
    server: string;
    requests: McpAppRequest[];
    answer: (choice: "once" | "always" | "deny") => void;
  }>;
  "mcp-context": CustomEvent<{ content: Record<string, unknown>[]; structuredContent?: Record<string, unknown> }>;
  "mcp-error": CustomEvent<{ reason: string }>;
  "mcp-elsewhere": CustomEvent<Record<string, never>>;
  "mcp-closed": CustomEvent<Record<string, never>>;
}

export interface McpApp extends HTMLElement {
  /** The attributes of these names. */
  view: string;
  src: string;
  token: string;
  readonly displayMode: DisplayMode;
  /** Close the View for good, wait up to five seconds for it to finish, and remove the element. */
  close(): Promise<void>;
  /** Show the View here again: after an error, or if it is open in another window. */
  reopen(): void;
}

/** The element that lists what a user allowed with "Always allow". */
export interface McpGrants extends HTMLElement {
  /** Load the list again. */
  refresh(): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    "mcp-app": McpApp;
    "mcp-grants": McpGrants;
  }
  interface GlobalEventHandlersEventMap extends McpAppEventMap {}
}
