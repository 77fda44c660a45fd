// @ts-check
/**
 * The View's end of the link to an MCP Apps host (SEP-1865), as one file without dependencies.
 *
 * `App` has the API of the class of the same name in `@modelcontextprotocol/ext-apps` 2.x, so that
 * Views written for that package run unchanged. docs/reference/view-js.md documents it and lists the
 * differences. Rule ids such as DSP-02 are explained in docs/reference/rules.md.
 *
 * This file is inlined into Views without comments, unneeded white space and unneeded semicolons
 * (`view_sdk()` in __init__.py). The minifier is simple because this file follows conventions, which a test
 * checks: a comment is on lines of its own; strings have double quotes or backticks and end on
 * the line where they begin; there are no imports, and one export statement at the end.
 */

/** @typedef {Record<string, any>} Json A JSON object. */

/**
 * @typedef {object} RequestOptions
 * @property {number} [timeout] The timeout in milliseconds. Default: 60 000.
 * @property {number} [maxTotalTimeout] A timeout that progress does not reset. Default: none.
 * @property {boolean} [resetTimeoutOnProgress] Whether progress resets `timeout`. Default: true.
 * @property {AbortSignal} [signal] Cancels the request, here and at the host.
 * @property {(progress: { progress: number, total?: number, message?: string }) => void} [onprogress]
 */

/**
 * @typedef {object} Transport Sends and receives messages. `connect()` sets the three callbacks.
 * @property {() => Promise<void>} start
 * @property {(message: any) => Promise<void>} send
 * @property {() => Promise<void>} close
 * @property {(message: any) => void} [onmessage]
 * @property {() => void} [onclose]
 * @property {(error: any) => void} [onerror]
 */

/** @typedef {{ name: string, version: string, [key: string]: any }} Implementation */
/** @typedef {"toolinput" | "toolinputpartial" | "toolresult" | "toolcancelled" | "hostcontextchanged"} EventName */
/** @typedef {(params: any) => unknown} Listener */
/** @typedef {(params: any, extra: any) => unknown} Handler */

/**
 * @typedef {object} Extra The second argument of a request handler.
 * @property {AbortSignal} signal Aborted when the host cancels the request or the link closes.
 * @property {string | number} requestId
 * @property {{ id: string | number, method: string, signal: AbortSignal }} mcpReq The same, as in SDK 2.x.
 */

/**
 * @typedef {object} ToolConfig
 * @property {string} [title]
 * @property {string} [description]
 * @property {any} [inputSchema] A Standard Schema (Zod 4, ArkType, Valibot) or a JSON Schema.
 * @property {any} [outputSchema] The same, for `structuredContent`.
 * @property {Json} [annotations]
 * @property {Json} [_meta]
 */

/**
 * @typedef {ToolConfig & {
 *   enabled: boolean,
 *   handler: (...args: any[]) => any,
 *   enable(): void,
 *   disable(): void,
 *   update(updates: Partial<ToolConfig & { enabled: boolean, handler: (...args: any[]) => any }>): void,
 *   remove(): void,
 * }} RegisteredTool
 */

/**
 * @typedef {object} ResourceContents The `text` or, in base64, the `blob` of a file.
 * @property {string} uri
 * @property {string} [mimeType]
 * @property {string} [text]
 * @property {string} [blob]
 */

/**
 * @typedef {{ type: "resource", resource: ResourceContents, [key: string]: any }
 *   | { type: "resource_link", uri: string, name: string, mimeType?: string, [key: string]: any }} DownloadContent
 */

/** @typedef {{ settle(error: unknown, result?: Json): void, progress(params: Json): void }} Pending */

const LATEST_PROTOCOL_VERSION = "2026-01-26";
const RESOURCE_MIME_TYPE = "text/html;profile=mcp-app";
const RESOURCE_URI_META_KEY = "ui/resourceUri";

/**
 * The event of each notification. After the standard names come those of early drafts and guides,
 * which some hosts still send.
 * @type {Map<string, EventName>}
 */
const EVENTS = new Map([
  ["ui/notifications/tool-input", "toolinput"],
  ["ui/notifications/tool-input-partial", "toolinputpartial"],
  ["ui/notifications/tool-result", "toolresult"],
  ["ui/notifications/tool-cancelled", "toolcancelled"],
  ["ui/notifications/host-context-changed", "hostcontextchanged"],
  ["ui/notifications/host-context-change", "hostcontextchanged"],
  ["ui/host-context-change", "hostcontextchanged"],
  ["ui/tool-cancelled", "toolcancelled"],
  ["ui/toolResult", "toolresult"],
  ["ui/toolInput", "toolinput"],
]);

/**
 * Return the type of a value in JSON Schema: "object", "array", "null", "integer" and so on.
 * @param {unknown} value
 */
const typeOf = (value) => {
  if (Number.isInteger(value)) return "integer";
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
};

/**
 * @param {any} value
 * @returns {value is Json}
 */
const isObject = (value) => typeOf(value) === "object";

/**
 * @param {unknown} value
 * @returns {Json}
 */
const objectOf = (value) => (isObject(value) ? value : {});

/** @param {any} error */
const messageOf = (error) => String(error?.message ?? error);

/**
 * Create an error with a JSON-RPC code.
 * @param {any} code
 * @param {string} message
 * @param {unknown} [data]
 */
const fault = (code, message, data) => Object.assign(new Error(message), { code, data });

/**
 * Return a tool result that always has `content`.
 * @param {any} result
 * @returns {Json}
 */
const withContent = (result) => ({ ...result, content: result?.content ?? [] });

/**
 * Merge an update into the host context. Values are replaced, except that a partial `styles` keeps
 * earlier variables and css.
 * @param {any} old
 * @param {any} update
 * @returns {any}
 */
const merge = (old, update) => {
  const merged = { ...old, ...update };
  for (const key of ["styles", "variables", "css"]) {
    if (isObject(old?.[key]) && isObject(update[key])) merged[key] = merge(old[key], update[key]);
  }
  return merged;
};

/**
 * Validate a value and return it as the schema parses it, or throw. A Standard Schema validates
 * everything; of a JSON Schema, only the required properties and the types at the top level are validated.
 * @param {any} schema
 * @param {any} value
 * @param {string} what The start of the error message.
 * @param {number} [code]
 */
const check = async (schema, value, what, code = -32602) => {
  const { "~standard": standard, required = [], properties = {} } = schema ?? {};
  const issues = [];
  if (standard) {
    const result = await standard.validate(value);
    value = result.value;
    for (const { path, message } of result.issues ?? []) issues.push(`${path ?? what}: ${message}`);
  } else if (schema && !isObject(value)) issues.push("not an object");
  else {
    for (const key of required) if (!Object.hasOwn(value, key)) issues.push(`${key}: missing`);
    for (const [key, { type }] of Object.entries(properties)) {
      const found = typeOf(value[key]);
      // An integer is also a number. `type` is one name or an array; String() covers both.
      const fits = String(type ?? found)
        .replace("number", "number integer")
        .includes(found);
      if (!fits && Object.hasOwn(value, key)) issues.push(`${key}: not ${type}`);
    }
  }
  if (issues.length) throw fault(code, `${what}: ${issues}`);
  return value;
};

/**
 * @param {any} schema
 * @param {"input" | "output"} key
 */
const toJsonSchema = (schema, key) => {
  const standard = schema?.["~standard"];
  return standard ? standard.jsonSchema?.[key]({ target: "draft-2020-12" }) : schema;
};

/**
 * JSON-RPC over `postMessage` with one other window.
 * @implements {Transport}
 */
class PostMessageTransport {
  /** @type {((message: any) => void) | undefined} */
  onmessage;
  /** @type {(() => void) | undefined} */
  onclose;
  /** @type {((error: any) => void) | undefined} */
  onerror;
  #target;
  #source;

  /** @param {MessageEvent} event */
  #listener = ({ source, data }) => {
    if (source === this.#source && data?.jsonrpc === "2.0") this.onmessage?.(data);
  };

  /**
   * @param {Window} [eventTarget] The window that messages are sent to.
   * @param {MessageEventSource | null} [eventSource] The window whose messages are read. Others are ignored.
   */
  constructor(eventTarget = window.parent, eventSource = eventTarget) {
    this.#target = eventTarget;
    this.#source = eventSource;
  }

  async start() {
    window.addEventListener("message", this.#listener);
  }

  /** @param {any} message */
  async send(message) {
    this.#target.postMessage(message, "*");
  }

  async close() {
    window.removeEventListener("message", this.#listener);
    this.onclose?.();
  }
}

/** The View's end of the link. Set the handlers, then `await app.connect()`. */
class App {
  /**
   * Called before the View is removed, with `{ reason }` if the host gives one. The host waits for it.
   * @type {((params: Json, extra: Extra) => unknown) | undefined}
   */
  onteardown;
  /**
   * Called for app tools that were not registered with `registerTool`.
   * @type {((params: Json, extra: Extra) => any) | undefined}
   */
  oncalltool;
  /**
   * Returns app tools in addition to those that were registered with `registerTool`.
   * @type {((params: Json, extra: Extra) => any) | undefined}
   */
  onlisttools;
  /**
   * Called with errors that have no caller, such as an exception in a listener.
   * @type {((error: any) => void) | undefined}
   */
  onerror = console.error;
  /** @type {(() => void) | undefined} */
  onclose;

  /** @type {Json} */
  #capabilities;
  #hello;
  #autoResize;

  /** @type {any} */
  #transport;
  /**
   * The handshake, from `connect()` on. Requests wait for it.
   * @type {Promise<void> | undefined}
   */
  #ready;
  /** @type {any} */
  #hostInfo;
  /** @type {any} */
  #hostCapabilities;
  /** @type {any} */
  #hostContext;

  #lastId = 0;
  /**
   * Requests that the host has not answered yet, by id.
   * @type {Map<unknown, Pending>}
   */
  #pending = new Map();
  /**
   * Requests of the host that have not been answered yet, by id.
   * @type {Map<unknown, AbortController>}
   */
  #running = new Map();
  /**
   * The arguments of `setRequestHandler` and `setNotificationHandler`, by method.
   * @type {Map<string, any[]>}
   */
  #handlers = new Map();

  /**
   * The listeners of each event: first the `on*` handler or undefined, then those of `addEventListener`.
   * @type {Record<EventName, (Listener | undefined)[]>}
   */
  #listeners = {
    toolinput: [undefined],
    toolinputpartial: [undefined],
    toolresult: [undefined],
    toolcancelled: [undefined],
    hostcontextchanged: [undefined],
  };
  /**
   * Events that had no listener yet, in order of arrival.
   * @type {[EventName, Json][]}
   */
  #kept = [];
  #complete = false;

  /** @type {Map<string, RegisteredTool>} */
  #tools = new Map();
  #stopResizing = () => {};

  /** Vue makes no reactive proxy of objects with this property. A proxy would not have the private fields. */
  __v_skip = true;

  /**
   * @param {Implementation} appInfo
   * @param {Json} [capabilities] `tools`, `availableDisplayModes`, `experimental`.
   * @param {{ autoResize?: boolean, [key: string]: any }} [options] `autoResize` is true by default.
   */
  constructor(appInfo, capabilities, { autoResize = true } = {}) {
    this.#capabilities = { ...capabilities };
    this.#hello = { protocolVersion: LATEST_PROTOCOL_VERSION, appInfo, appCapabilities: this.#capabilities };
    this.#autoResize = autoResize;
  }

  // The link

  /**
   * Do the handshake with the host. Other requests wait until it is done.
   * @param {Transport} [transport] Default: messages to the parent window.
   * @param {RequestOptions} [options]
   * @returns {Promise<void>}
   */
  async connect(transport, options) {
    if (this.#ready) throw new Error("Already connected");
    return (this.#ready = this.#handshake(transport, options));
  }

  /**
   * @param {Transport | undefined} transport
   * @param {RequestOptions} [options]
   */
  async #handshake(transport, options) {
    try {
      if (!transport && window.parent === window) throw new Error("Not in a host");
      this.#transport = transport ??= new PostMessageTransport();
      transport.onmessage = (message) => this.#receive(message);
      transport.onclose = () => this.#closed();
      transport.onerror = (error) => this.onerror?.(error);
      await transport.start();
      const result = await this.#ask("ui/initialize", this.#hello, options);
      // Accept incomplete responses and older names, so that the View starts in any host.
      this.#hostInfo = result.hostInfo ?? result.host;
      this.#hostCapabilities = result.hostCapabilities ?? result.capabilities;
      this.#updateContext(objectOf(result.hostContext));
      await this.#post({ method: "ui/notifications/initialized" });
      if (this.#autoResize) this.setupSizeChangedNotifications();
    } catch (error) {
      if (transport === this.#transport) {
        await this.close();
        this.#ready = undefined;
      }
      throw error;
    }
  }

  /** Close the link: pending requests reject, running handlers are aborted, resizing stops. */
  async close() {
    const transport = this.#transport;
    this.#closed();
    await transport?.close();
  }

  #closed() {
    if (!this.#transport) return;
    this.#transport = this.#ready = undefined;
    this.#stopResizing();
    this.#pending.forEach(({ settle }) => settle(fault(-32000, "Connection closed")));
    this.#running.forEach((controller) => controller.abort());
    this.onclose?.();
  }

  /** @returns {Implementation | undefined} */
  getHostVersion() {
    return this.#hostInfo;
  }

  /** @returns {Json | undefined} The capabilities of the host; undefined if it sent none. */
  getHostCapabilities() {
    return this.#hostCapabilities;
  }

  /** @returns {Json | undefined} The current context, with all changes. */
  getHostContext() {
    return this.#hostContext;
  }

  // Requests

  /**
   * Send any request, after the handshake.
   * @param {{ method: string, params?: Json }} message
   * @param {...any} rest The options are the last argument. A schema before them is ignored.
   * @returns {Promise<any>}
   */
  request({ method, params }, ...rest) {
    return this.#request(method, params, rest.at(-1));
  }

  /**
   * Send any notification, after the handshake.
   * @param {{ method: string, params?: Json }} message
   */
  async notification(message) {
    await this.#connected();
    await this.#post(message);
  }

  /**
   * Call a tool of the server. A tool that fails resolves with `isError`.
   * @param {{ name: string, arguments?: Json, [key: string]: any }} params
   * @param {RequestOptions} [options]
   * @returns {Promise<any>}
   */
  async callServerTool(params, options) {
    if (!isObject(params)) throw new Error("callServerTool takes { name, arguments }");
    return withContent(await this.#request("tools/call", params, options, "serverTools"));
  }

  /**
   * @param {{ uri: string, [key: string]: any }} params
   * @param {RequestOptions} [options]
   */
  readServerResource(params, options) {
    return this.#request("resources/read", params, options, "serverResources");
  }

  /**
   * @param {{ cursor?: string }} [params]
   * @param {RequestOptions} [options]
   */
  listServerResources(params, options) {
    return this.#request("resources/list", params, options, "serverResources");
  }

  /**
   * Request a completion from the host's model. Needs `sampling` or, with tools, `sampling.tools` (D-SMP-01, D-SMP-02).
   * @param {Json} params
   * @param {RequestOptions} [options]
   */
  createSamplingMessage(params, options) {
    return this.#request("sampling/createMessage", params, options, "sampling");
  }

  /**
   * Add a message to the conversation.
   * @param {{ role: "user", content: Json[] }} params
   * @param {RequestOptions} [options]
   */
  sendMessage(params, options) {
    return this.#request("ui/message", params, options);
  }

  /**
   * Set the context for the model's next turn. Each call replaces the previous one (MCX-01).
   * @param {{ content?: Json[], structuredContent?: Json }} params
   * @param {RequestOptions} [options]
   */
  updateModelContext(params, options) {
    return this.#request("ui/update-model-context", params, options);
  }

  /**
   * @param {{ url: string }} params
   * @param {RequestOptions} [options]
   */
  openLink(params, options) {
    return this.#request("ui/open-link", params, options, "openLinks");
  }

  /** @deprecated Use `openLink`. */
  sendOpenLink = this.openLink;

  /**
   * Save files. Each is embedded, or a link that the host downloads.
   * @param {{ contents: DownloadContent[] }} params
   * @param {RequestOptions} [options]
   */
  downloadFile(params, options) {
    return this.#request("ui/download-file", params, options, "downloadFile");
  }

  /**
   * Request another display mode and return the resulting one (DSP-03). A mode that the host does not
   * offer (DSP-02) or that this View did not declare (DSP-01) is not requested.
   * @param {{ mode: string }} params
   * @param {RequestOptions} [options]
   * @returns {Promise<any>}
   */
  async requestDisplayMode(params, options) {
    await this.#connected();
    const result = { mode: this.#hostContext.displayMode ?? "inline" };
    for (const { availableDisplayModes: modes } of [this.#hostContext, this.#capabilities]) {
      if (modes && !modes.includes?.(params.mode)) return result;
    }
    return { ...result, ...(await this.#request("ui/request-display-mode", params, options)) };
  }

  // Notifications

  /**
   * Send a log message to the host. It is discarded if the host does not accept logs.
   * @param {{ level: string, data: unknown, logger?: string }} params
   */
  async sendLog(params) {
    await this.#connected();
    const host = this.#hostCapabilities;
    if (!host || host.logging) await this.#post({ method: "notifications/message", params });
  }

  /** @param {{ width?: number, height?: number }} params */
  sendSizeChanged(params) {
    return this.notification({ method: "ui/notifications/size-changed", params });
  }

  /**
   * Request that the host removes this View. If it does, `onteardown` is called first.
   * @param {Json} [params]
   */
  requestTeardown(params) {
    return this.notification({ method: "ui/notifications/request-teardown", params });
  }

  /** @param {Json} [params] */
  sendToolListChanged(params) {
    return this.notification({ method: "notifications/tools/list_changed", params });
  }

  // Events

  get ontoolinput() {
    return this.#listeners.toolinput[0];
  }
  set ontoolinput(listener) {
    this.#listen("toolinput", listener);
  }
  get ontoolinputpartial() {
    return this.#listeners.toolinputpartial[0];
  }
  set ontoolinputpartial(listener) {
    this.#listen("toolinputpartial", listener);
  }
  get ontoolresult() {
    return this.#listeners.toolresult[0];
  }
  set ontoolresult(listener) {
    this.#listen("toolresult", listener);
  }
  get ontoolcancelled() {
    return this.#listeners.toolcancelled[0];
  }
  set ontoolcancelled(listener) {
    this.#listen("toolcancelled", listener);
  }
  get onhostcontextchanged() {
    return this.#listeners.hostcontextchanged[0];
  }
  set onhostcontextchanged(listener) {
    this.#listen("hostcontextchanged", listener);
  }

  /**
   * Add a listener. It also gets events that arrived before there was any listener for them.
   * @param {EventName} event
   * @param {Listener} listener
   */
  addEventListener(event, listener) {
    this.removeEventListener(event, listener);
    this.#listen(event, listener, this.#listeners[event].length);
  }

  /**
   * @param {EventName} event
   * @param {Listener} listener
   */
  removeEventListener(event, listener) {
    const index = this.#listeners[event].indexOf(listener, 1);
    if (index > 0) this.#listeners[event].splice(index, 1);
  }

  /**
   * @param {EventName} event
   * @param {Listener | undefined} listener
   * @param {number} [index]
   */
  #listen(event, listener, index = 0) {
    this.#listeners[event][index] = listener;
    // In a microtask, so that handlers that are set one after the other get queued events in order.
    queueMicrotask(() => this.#deliver());
  }

  /**
   * @param {EventName} event
   * @param {Json} params
   */
  #emit(event, params) {
    if (event === "toolinput") this.#complete = true;
    // Only the latest partial arguments are kept, and none after the complete ones.
    if (event === "toolinputpartial") this.#kept = this.#kept.filter(([kept]) => kept !== event);
    this.#kept.push([event, params]);
    this.#deliver();
  }

  #deliver() {
    this.#kept = this.#kept.filter(([event, params]) => {
      if (event === "toolinputpartial" && this.#complete) return false;
      const listeners = this.#listeners[event].filter(Boolean);
      for (const listener of listeners) this.#run(listener, params);
      // Changes of the context are not queued: getHostContext() has them.
      return !listeners.length && event !== "hostcontextchanged";
    });
  }

  /**
   * Call a callback of the author, and pass its exception to `onerror`.
   * @param {((...args: any[]) => unknown) | undefined} callback
   * @param {...any} args
   */
  async #run(callback, ...args) {
    try {
      await callback?.(...args);
    } catch (error) {
      this.onerror?.(error);
    }
  }

  /**
   * Handle a request of the host: `(method, handler)`, called with `{ method, params }`, or
   * `(method, schemas, handler)`, called with the parameters. The schemas are ignored.
   * @param {string} method
   * @param {...(Handler | object)} rest
   */
  setRequestHandler(method, ...rest) {
    this.#handlers.set(method, rest);
  }

  /** Handle a notification of the host, in addition to this class. Same arguments as `setRequestHandler`. */
  setNotificationHandler = this.setRequestHandler;

  // App tools

  /**
   * Offer a tool to the host and its model.
   * @param {string} name
   * @param {ToolConfig} config
   * @param {(...args: any[]) => any} handler Called with `(args, extra)`, or with `(extra)` alone if
   *   there is no input schema.
   * @returns {RegisteredTool}
   */
  registerTool(name, config, handler) {
    if (this.#tools.has(name)) throw new Error(`Tool "${name}" exists`);
    if (this.#ready && !this.#capabilities.tools) throw new Error("Declare tools in new App() first");
    this.#capabilities.tools ??= { listChanged: true };
    const changed = () => {
      if (this.#ready && this.#capabilities.tools.listChanged) this.#run(() => this.sendToolListChanged());
    };
    /** @type {RegisteredTool} */
    const tool = {
      ...config,
      handler,
      enabled: true,
      enable: () => tool.update({ enabled: true }),
      disable: () => tool.update({ enabled: false }),
      update: (updates) => {
        Object.assign(tool, updates);
        changed();
      },
      remove: () => {
        this.#tools.delete(name);
        changed();
      },
    };
    this.#tools.set(name, tool);
    changed();
    return tool;
  }

  /**
   * @param {Json} params
   * @param {Extra} extra
   */
  async #listTools(params, extra) {
    const others = await this.onlisttools?.(params, extra);
    const tools = [...(others?.tools ?? [])];
    for (const [name, tool] of this.#tools) {
      if (!tool.enabled) continue;
      const inputSchema = toJsonSchema(tool.inputSchema, "input") ?? { type: "object" };
      const outputSchema = toJsonSchema(tool.outputSchema, "output");
      // JSON omits the functions.
      tools.push(JSON.parse(JSON.stringify({ name, ...tool, inputSchema, outputSchema, enabled: undefined })));
    }
    return { ...others, tools };
  }

  /**
   * @param {Json} params
   * @param {Extra} extra
   */
  async #callTool(params, extra) {
    const { name } = params;
    const tool = this.#tools.get(name);
    if (!tool && this.oncalltool) return this.oncalltool(params, extra);
    if (!tool?.enabled) throw fault(-32602, `Tool "${name}" is ${tool ? "disabled" : "unknown"}`);
    const args = await check(tool.inputSchema, params.arguments ?? {}, `Tool "${name}"`);
    let result;
    try {
      result = withContent(await (tool.inputSchema ? tool.handler(args, extra) : tool.handler(extra)));
    } catch (error) {
      // D-APT-04: an exception in a tool is a result, not an error response.
      return { content: [{ type: "text", text: messageOf(error) }], isError: true };
    }
    if (!result.isError) await check(tool.outputSchema, result.structuredContent, `Tool "${name}" output`, -32603);
    return result;
  }

  // Size

  /**
   * Report the size of the content to the host whenever it changes, until the link closes.
   * @returns {() => void} Stops the reports.
   */
  setupSizeChangedNotifications() {
    this.#stopResizing();
    if (!globalThis.ResizeObserver) return this.#stopResizing;
    const root = document.documentElement;
    /** @type {Json} */
    let last = {};
    let echoes = 0;
    let resized = false;
    addEventListener("resize", () => {
      resized = true;
      // After the ResizeObserver callbacks of this frame.
      setTimeout(() => (resized = false));
    });
    const sizes = new ResizeObserver(() => {
      const before = root.style.height;
      root.style.height = "max-content";
      const height = Math.ceil(root.getBoundingClientRect().height);
      root.style.height = before;
      const width = innerWidth;
      // Content such as 110vh grows with the frame, and a host that applies the height makes the frame grow
      // again, without end. So a height that changes during a resize of the frame, with the same text and
      // width, is reported at most twice in a row, which is enough for a content change at the same time.
      const rest = `${width} ${root.textContent?.length}`;
      echoes = resized && rest === last.rest ? echoes + 1 : 0;
      const changed = width !== last.width || height !== last.height;
      last = { width, height, rest };
      if (height && changed && echoes < 3) this.#run(() => this.sendSizeChanged({ width, height }));
    });
    sizes.observe(root);
    if (document.body) sizes.observe(document.body);
    return (this.#stopResizing = () => sizes.disconnect());
  }

  // Messages

  async #connected() {
    if (!this.#ready) throw new Error("Not connected");
    await this.#ready;
  }

  /**
   * Send a request, or throw if the host lacks the capability for it. If the host sent no capabilities, or
   * none about its server, send the request anyway: some hosts (Goose, through mcp-ui) call tools and read
   * resources without advertising it. If such a request times out, the error names the missing capability.
   * @param {string} method
   * @param {Json} [params] With `tools`, the capability needs `tools`, too.
   * @param {RequestOptions} [options]
   * @param {string} [capability] The capability that the host needs, if any.
   * @returns {Promise<any>}
   */
  async #request(method, params = {}, options, capability = "") {
    await this.#connected();
    const host = this.#hostCapabilities;
    const offer = capability ? host?.[capability] : {};
    let lack;
    if (!(params.tools ? offer?.tools : offer)) {
      lack = `${method} needs "${capability}", which getHostCapabilities() lacks`;
      if (host && (host.serverTools || host.serverResources || !capability.startsWith("server"))) {
        throw fault(-32601, lack);
      }
    }
    return this.#ask(method, params, options, lack);
  }

  /**
   * @param {string} method
   * @param {Json} params
   * @param {RequestOptions} [options]
   * @param {string} [lack] The start of the message of a timeout.
   * @returns {Promise<Json>}
   */
  #ask(
    method,
    params,
    { timeout = 60000, maxTotalTimeout, resetTimeoutOnProgress, signal, onprogress } = {},
    lack = method,
  ) {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const id = ++this.#lastId;
      /** @type {Pending["settle"]} */
      const settle = (error, result) => {
        this.#pending.delete(id);
        timers.map(clearTimeout);
        if (result) resolve(result);
        else reject(error);
      };
      /** @param {unknown} reason */
      const cancel = (reason) => {
        const params = { requestId: id, reason: messageOf(reason) };
        if (this.#pending.has(id)) this.#run(() => this.#post({ method: "notifications/cancelled", params }));
        settle(reason);
      };
      // Browsers treat a longer delay as 0.
      /**
       * @param {any} delay
       * @returns {any}
       */
      const start = (delay) => delay < 2 ** 31 && setTimeout(() => cancel(fault(-32001, lack + ": timed out")), delay);
      const timers = [start(timeout), start(maxTotalTimeout)];
      signal?.addEventListener("abort", () => cancel(signal.reason));
      /** @type {Pending["progress"]} */
      const progress = (params) => {
        this.#run(onprogress, params);
        if (resetTimeoutOnProgress === false) return;
        clearTimeout(timers[0]);
        timers[0] = start(timeout);
      };
      this.#pending.set(id, { settle, progress });
      if (onprogress || method === "tools/call") params = { ...params, _meta: { ...params._meta, progressToken: id } };
      this.#post({ id, method, params }).catch(settle);
    });
  }

  /** @param {Json} message */
  async #post(message) {
    await this.#transport.send({ jsonrpc: "2.0", ...message });
  }

  /**
   * Dispatch an incoming message. Anything that is not JSON-RPC is ignored.
   * @param {any} message
   */
  #receive(message) {
    if (!isObject(message)) return;
    const { id, method, result, error } = message;
    const params = objectOf(message.params);
    if (typeof method === "string") {
      if (id === undefined) this.#notified(method, params);
      else if (typeof id === "string" || typeof id === "number") this.#requested(id, method, params);
      return;
    }
    // Our ids are numbers, but some hosts return them as strings.
    const pending = this.#pending.get(+id);
    if (error) pending?.settle(fault(error.code, messageOf(error), error.data));
    else if (result !== undefined) pending?.settle(null, objectOf(result));
  }

  /**
   * @param {string} method
   * @param {Json} params
   */
  #notified(method, params) {
    const event = EVENTS.get(method);
    if (event === "hostcontextchanged") params = this.#updateContext(params);
    if (event === "toolresult") params = withContent(params);
    if (event) this.#emit(event, params);
    if (method === "notifications/progress") this.#pending.get(params.progressToken)?.progress(params);
    if (method === "notifications/cancelled") this.#running.get(params.requestId)?.abort(params.reason);
    this.#run(() => this.#handle(method, params));
  }

  /**
   * Call the handler that the author set for a method, if any.
   * @param {string} method
   * @param {Json} params
   * @param {Extra} [extra]
   */
  #handle(method, params, extra) {
    const [first, handler] = this.#handlers.get(method) ?? [];
    return handler ? handler(params, extra) : first?.({ method, params }, extra);
  }

  /**
   * @param {Json} update
   * @returns {Json} The update, with current names.
   */
  #updateContext(update) {
    if (update.viewport) update = { containerDimensions: update.viewport, ...update };
    this.#hostContext = merge(this.#hostContext, update);
    return update;
  }

  /**
   * @param {string | number} id
   * @param {string} method
   * @param {Json} params
   */
  async #requested(id, method, params) {
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(id, controller);
    /** @param {Json} message */
    const answer = async (message) => {
      // A cancelled request gets no response.
      if (!signal.aborted) await this.#post({ id, ...message });
    };
    try {
      const result = await this.#respond(method, params, { signal, requestId: id, mcpReq: { id, method, signal } });
      await answer({ result: objectOf(result) });
    } catch (error) {
      // `| 0` turns anything but an integer into 0.
      await this.#run(answer, { error: { code: error?.code | 0 || -32603, message: messageOf(error) } });
    }
    this.#running.delete(id);
    if (method.endsWith("teardown")) this.#stopResizing();
  }

  /**
   * @param {string} method
   * @param {Json} params
   * @param {Extra} extra
   */
  async #respond(method, params, extra) {
    const { tools } = this.#capabilities;
    if (this.#handlers.has(method)) return this.#handle(method, params, extra);
    if (method === "ping") return {};
    // ui/resource-teardown, or ui/teardown in a guide.
    if (method.endsWith("teardown")) return this.onteardown?.(params, extra);
    if (method === "tools/list" && (tools || this.onlisttools)) return this.#listTools(params, extra);
    if (method === "tools/call" && (tools || this.oncalltool)) return this.#callTool(params, extra);
    throw fault(-32601, `Method not found: ${method}`);
  }
}

// The host's theme

/** @returns {"light" | "dark"} */
const getDocumentTheme = () => {
  const { dataset, className } = document.documentElement;
  return /\bdark\b/.test(dataset.theme ?? className) ? "dark" : "light";
};

/** @param {string} theme */
const applyDocumentTheme = (theme) => {
  const { dataset, style } = document.documentElement;
  dataset.theme = style.colorScheme = theme;
};

/**
 * @param {Record<string, string | null | undefined>} variables
 * @param {HTMLElement} [root]
 */
const applyHostStyleVariables = (variables, root = document.documentElement) => {
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith("--") && value != null) root.style.setProperty(name, value);
  }
};

/** @param {string} css */
const applyHostFonts = (css) => {
  const id = "host-fonts";
  const style =
    document.getElementById(id) ?? document.head.appendChild(Object.assign(document.createElement("style"), { id }));
  style.textContent = css;
};

export {
  App,
  PostMessageTransport,
  applyDocumentTheme,
  applyHostFonts,
  applyHostStyleVariables,
  getDocumentTheme,
  LATEST_PROTOCOL_VERSION,
  RESOURCE_MIME_TYPE,
  RESOURCE_URI_META_KEY,
};
