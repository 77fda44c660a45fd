/** The types of view.js, of the View SDK. Made from its comments by scripts/view_types.py. */
export type Json = Record<string, any>;
export type RequestOptions = {
    /**
     * The timeout in milliseconds. Default: 60 000.
     */
    timeout?: number;
    /**
     * A timeout that progress does not reset. Default: none.
     */
    maxTotalTimeout?: number;
    /**
     * Whether progress resets `timeout`. Default: true.
     */
    resetTimeoutOnProgress?: boolean;
    /**
     * Cancels the request, here and at the host.
     */
    signal?: AbortSignal;
    onprogress?: (progress: {
        progress: number;
        total?: number;
        message?: string;
    }) => void;
};
export type Transport = {
    start: () => Promise<void>;
    send: (message: any) => Promise<void>;
    close: () => Promise<void>;
    onmessage?: (message: any) => void;
    onclose?: () => void;
    onerror?: (error: any) => void;
};
export type Implementation = {
    name: string;
    version: string;
    [key: string]: any;
};
export type EventName = "toolinput" | "toolinputpartial" | "toolresult" | "toolcancelled" | "hostcontextchanged";
export type Listener = (params: any) => unknown;
export type Handler = (params: any, extra: any) => unknown;
export type Extra = {
    /**
     * Aborted when the host cancels the request or the link closes.
     */
    signal: AbortSignal;
    requestId: string | number;
    /**
     * The same, as in SDK 2.x.
     */
    mcpReq: {
        id: string | number;
        method: string;
        signal: AbortSignal;
    };
};
export type ToolConfig = {
    title?: string;
    description?: string;
    /**
     * A Standard Schema (Zod 4, ArkType, Valibot) or a JSON Schema.
     */
    inputSchema?: any;
    /**
     * The same, for `structuredContent`.
     */
    outputSchema?: any;
    annotations?: Json;
    _meta?: Json;
};
export type RegisteredTool = ToolConfig & {
    enabled: boolean;
    handler: (...args: any[]) => any;
    enable(): void;
    disable(): void;
    update(updates: Partial<ToolConfig & {
        enabled: boolean;
        handler: (...args: any[]) => any;
    }>): void;
    remove(): void;
};
export type ResourceContents = {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
};
export type DownloadContent = {
    type: "resource";
    resource: ResourceContents;
    [key: string]: any;
} | {
    type: "resource_link";
    uri: string;
    name: string;
    mimeType?: string;
    [key: string]: any;
};
export type Pending = {
    settle(error: unknown, result?: Json): void;
    progress(params: Json): void;
};
declare const LATEST_PROTOCOL_VERSION = "2026-01-26";
declare const RESOURCE_MIME_TYPE = "text/html;profile=mcp-app";
declare const RESOURCE_URI_META_KEY = "ui/resourceUri";
/**
 * JSON-RPC over `postMessage` with one other window.
 * @implements {Transport}
 */
declare class PostMessageTransport implements Transport {
    #private;
    /** @type {((message: any) => void) | undefined} */
    onmessage: ((message: any) => void) | undefined;
    /** @type {(() => void) | undefined} */
    onclose: (() => void) | undefined;
    /** @type {((error: any) => void) | undefined} */
    onerror: ((error: any) => void) | undefined;
    /**
     * @param {Window} [eventTarget] The window that messages are sent to.
     * @param {MessageEventSource | null} [eventSource] The window whose messages are read. Others are ignored.
     */
    constructor(eventTarget?: Window, eventSource?: MessageEventSource | null);
    start(): Promise<void>;
    /** @param {any} message */
    send(message: any): Promise<void>;
    close(): Promise<void>;
}
/** The View's end of the link. Set the handlers, then `await app.connect()`. */
declare class App {
    #private;
    /**
     * Called before the View is removed, with `{ reason }` if the host gives one. The host waits for it.
     * @type {((params: Json, extra: Extra) => unknown) | undefined}
     */
    onteardown: ((params: Json, extra: Extra) => unknown) | undefined;
    /**
     * Called for app tools that were not registered with `registerTool`.
     * @type {((params: Json, extra: Extra) => any) | undefined}
     */
    oncalltool: ((params: Json, extra: Extra) => any) | undefined;
    /**
     * Returns app tools in addition to those that were registered with `registerTool`.
     * @type {((params: Json, extra: Extra) => any) | undefined}
     */
    onlisttools: ((params: Json, extra: Extra) => any) | undefined;
    /**
     * Called with errors that have no caller, such as an exception in a listener.
     * @type {((error: any) => void) | undefined}
     */
    onerror: ((error: any) => void) | undefined;
    /** @type {(() => void) | undefined} */
    onclose: (() => void) | undefined;
    /** Vue makes no reactive proxy of objects with this property. A proxy would not have the private fields. */
    __v_skip: boolean;
    /**
     * @param {Implementation} appInfo
     * @param {Json} [capabilities] `tools`, `availableDisplayModes`, `experimental`.
     * @param {{ autoResize?: boolean, [key: string]: any }} [options] `autoResize` is true by default.
     */
    constructor(appInfo: Implementation, capabilities?: Json, { autoResize }?: {
        autoResize?: boolean;
        [key: string]: any;
    });
    /**
     * Do the handshake with the host. Other requests wait until it is done.
     * @param {Transport} [transport] Default: messages to the parent window.
     * @param {RequestOptions} [options]
     * @returns {Promise<void>}
     */
    connect(transport?: Transport, options?: RequestOptions): Promise<void>;
    /** Close the link: pending requests reject, running handlers are aborted, resizing stops. */
    close(): Promise<void>;
    /** @returns {Implementation | undefined} */
    getHostVersion(): Implementation | undefined;
    /** @returns {Json | undefined} The capabilities of the host; undefined if it sent none. */
    getHostCapabilities(): Json | undefined;
    /** @returns {Json | undefined} The current context, with all changes. */
    getHostContext(): Json | undefined;
    /**
     * Send any request, after the handshake.
     * @param {{ method: string, params?: Json }} message
     * @param {...any} rest The options are the last argument. A schema before them is ignored.
     * @returns {Promise<any>}
     */
    request({ method, params }: {
        method: string;
        params?: Json;
    }, ...rest: any[]): Promise<any>;
    /**
     * Send any notification, after the handshake.
     * @param {{ method: string, params?: Json }} message
     */
    notification(message: {
        method: string;
        params?: Json;
    }): Promise<void>;
    /**
     * Call a tool of the server. A tool that fails resolves with `isError`.
     * @param {{ name: string, arguments?: Json, [key: string]: any }} params
     * @param {RequestOptions} [options]
     * @returns {Promise<any>}
     */
    callServerTool(params: {
        name: string;
        arguments?: Json;
        [key: string]: any;
    }, options?: RequestOptions): Promise<any>;
    /**
     * @param {{ uri: string, [key: string]: any }} params
     * @param {RequestOptions} [options]
     */
    readServerResource(params: {
        uri: string;
        [key: string]: any;
    }, options?: RequestOptions): Promise<any>;
    /**
     * @param {{ cursor?: string }} [params]
     * @param {RequestOptions} [options]
     */
    listServerResources(params?: {
        cursor?: string;
    }, options?: RequestOptions): Promise<any>;
    /**
     * Request a completion from the host's model. Needs `sampling` or, with tools, `sampling.tools` (D-SMP-01, D-SMP-02).
     * @param {Json} params
     * @param {RequestOptions} [options]
     */
    createSamplingMessage(params: Json, options?: RequestOptions): Promise<any>;
    /**
     * Add a message to the conversation.
     * @param {{ role: "user", content: Json[] }} params
     * @param {RequestOptions} [options]
     */
    sendMessage(params: {
        role: "user";
        content: Json[];
    }, options?: RequestOptions): Promise<any>;
    /**
     * Set the context for the model's next turn. Each call replaces the previous one (MCX-01).
     * @param {{ content?: Json[], structuredContent?: Json }} params
     * @param {RequestOptions} [options]
     */
    updateModelContext(params: {
        content?: Json[];
        structuredContent?: Json;
    }, options?: RequestOptions): Promise<any>;
    /**
     * @param {{ url: string }} params
     * @param {RequestOptions} [options]
     */
    openLink(params: {
        url: string;
    }, options?: RequestOptions): Promise<any>;
    /** @deprecated Use `openLink`. */
    sendOpenLink: (params: {
        url: string;
    }, options?: RequestOptions) => Promise<any>;
    /**
     * Save files. Each is embedded, or a link that the host downloads.
     * @param {{ contents: DownloadContent[] }} params
     * @param {RequestOptions} [options]
     */
    downloadFile(params: {
        contents: DownloadContent[];
    }, options?: RequestOptions): Promise<any>;
    /**
     * Request another display mode and return the resulting one (DSP-03). A mode that the host does not
     * offer (DSP-02) or that this View did not declare (DSP-01) is not requested.
     * @param {{ mode: string }} params
     * @param {RequestOptions} [options]
     * @returns {Promise<any>}
     */
    requestDisplayMode(params: {
        mode: string;
    }, options?: RequestOptions): Promise<any>;
    /**
     * Send a log message to the host. It is discarded if the host does not accept logs.
     * @param {{ level: string, data: unknown, logger?: string }} params
     */
    sendLog(params: {
        level: string;
        data: unknown;
        logger?: string;
    }): Promise<void>;
    /** @param {{ width?: number, height?: number }} params */
    sendSizeChanged(params: {
        width?: number;
        height?: number;
    }): Promise<void>;
    /**
     * Request that the host removes this View. If it does, `onteardown` is called first.
     * @param {Json} [params]
     */
    requestTeardown(params?: Json): Promise<void>;
    /** @param {Json} [params] */
    sendToolListChanged(params?: Json): Promise<void>;
    get ontoolinput(): Listener | undefined;
    set ontoolinput(listener: Listener | undefined);
    get ontoolinputpartial(): Listener | undefined;
    set ontoolinputpartial(listener: Listener | undefined);
    get ontoolresult(): Listener | undefined;
    set ontoolresult(listener: Listener | undefined);
    get ontoolcancelled(): Listener | undefined;
    set ontoolcancelled(listener: Listener | undefined);
    get onhostcontextchanged(): Listener | undefined;
    set onhostcontextchanged(listener: Listener | undefined);
    /**
     * Add a listener. It also gets events that arrived before there was any listener for them.
     * @param {EventName} event
     * @param {Listener} listener
     */
    addEventListener(event: EventName, listener: Listener): void;
    /**
     * @param {EventName} event
     * @param {Listener} listener
     */
    removeEventListener(event: EventName, listener: Listener): void;
    /**
     * Handle a request of the host: `(method, handler)`, called with `{ method, params }`, or
     * `(method, schemas, handler)`, called with the parameters. The schemas are ignored.
     * @param {string} method
     * @param {...(Handler | object)} rest
     */
    setRequestHandler(method: string, ...rest: (Handler | object)[]): void;
    /** Handle a notification of the host, in addition to this class. Same arguments as `setRequestHandler`. */
    setNotificationHandler: (method: string, ...rest: (Handler | object)[]) => void;
    /**
     * Offer a tool to the host and its model.
     * @param {string} name
     * @param {ToolConfig} config
     * @param {(...args: any[]) => any} handler Called with `(args, extra)`, or with `(extra)` alone if
     *   there is no input schema.
     * @returns {RegisteredTool}
     */
    registerTool(name: string, config: ToolConfig, handler: (...args: any[]) => any): RegisteredTool;
    /**
     * Report the size of the content to the host whenever it changes, until the link closes.
     * @returns {() => void} Stops the reports.
     */
    setupSizeChangedNotifications(): () => void;
}
/** @returns {"light" | "dark"} */
declare const getDocumentTheme: () => "light" | "dark";
/** @param {string} theme */
declare const applyDocumentTheme: (theme: string) => void;
/**
 * @param {Record<string, string | null | undefined>} variables
 * @param {HTMLElement} [root]
 */
declare const applyHostStyleVariables: (variables: Record<string, string | null | undefined>, root?: HTMLElement) => void;
/** @param {string} css */
declare const applyHostFonts: (css: string) => void;
export { App, PostMessageTransport, applyDocumentTheme, applyHostFonts, applyHostStyleVariables, getDocumentTheme, LATEST_PROTOCOL_VERSION, RESOURCE_MIME_TYPE, RESOURCE_URI_META_KEY, };
