// @ts-check
/**
 * An addition to view.js for pages that have `window.openai` and no MCP Apps host: a transport that answers
 * the View from `window.openai`. The bundler adds it to Views with `also=["openai"]`. It follows the
 * conventions at the top of view.js.
 *
 * If a host answers `ui/initialize`, the View uses the standard, which offers more; ChatGPT has both today.
 * Only without an answer does the View use `window.openai`.
 */

/** @typedef {Record<string, any>} Json */

/**
 * The timeout of `ui/initialize` in milliseconds, where there is `window.openai` to fall back to.
 */
const TIMEOUT = 500;

/**
 * @param {number} code
 * @param {string} message
 */
const errorOf = (code, message) => Object.assign(new Error(message), { code });

/**
 * @param {any} value
 * @returns {Json}
 */
const asObject = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** @param {unknown} text */
const textBlocks = (text) => (typeof text === "string" && text ? [{ type: "text", text }] : []);

/**
 * Return the text of content blocks; `window.openai` accepts only text.
 * @param {any} content One block, or an array of them.
 * @param {string} method
 */
const textOf = (content, method) => {
  const blocks = [content ?? []].flat();
  if (blocks.some(({ type, text }) => type !== "text" || typeof text !== "string")) {
    throw errorOf(-32602, `${method}: window.openai accepts only text`);
  }
  return blocks.map(({ text }) => text).join("\n");
};

/**
 * Return a tool result from any form that `callTool` has returned: with text or JSON in `result`, with `meta`
 * instead of `_meta`, or as in MCP.
 * @param {any} response
 */
const toToolResult = (response) => {
  if (typeof response === "string") response = { result: response };
  const { result, meta, ...rest } = asObject(response);
  let parsed;
  try {
    parsed = JSON.parse(result);
  } catch {
    parsed = undefined;
  }
  const content = Array.isArray(rest.content) ? rest.content : textBlocks(result);
  const structuredContent = rest.structuredContent ?? (Object.keys(asObject(parsed)).length ? parsed : undefined);
  const found = { ...rest, content, structuredContent, _meta: rest._meta ?? meta };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value != null));
};

/**
 * Return the host context that `window.openai` describes.
 * @param {any} openai
 * @returns {Json}
 */
const contextOf = (openai) => {
  const { device, capabilities } = asObject(openai.userAgent);
  const known = {
    theme: openai.theme,
    locale: openai.locale,
    displayMode: openai.displayMode,
    availableDisplayModes: openai.requestDisplayMode && ["inline", "fullscreen", "pip"],
    containerDimensions: Number.isFinite(openai.maxHeight) ? { maxHeight: openai.maxHeight } : undefined,
    safeAreaInsets: openai.safeArea?.insets,
    platform: device?.type && (["mobile", "tablet"].includes(device.type) ? "mobile" : "web"),
    deviceCapabilities: capabilities,
  };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value != null));
};

/**
 * Return the tool result in `window.openai`. `toolOutput` is its structured content; ChatGPT may put the
 * complete result into `toolResponseMetadata`.
 * @param {any} openai
 */
const toolResultOf = ({ toolOutput, toolResponseMetadata }) => {
  if (toolOutput == null && toolResponseMetadata == null) return undefined;
  const { mcp_tool_result: whole } = asObject(toolResponseMetadata);
  if (Array.isArray(whole?.content)) return whole;
  const output = typeof toolOutput === "string" ? { text: toolOutput } : toolOutput;
  const content = Object.keys(asObject(output)).join() === "text" ? textBlocks(output.text) : [];
  return { content, structuredContent: output ?? undefined, _meta: toolResponseMetadata ?? undefined };
};

/**
 * The handlers of requests, by method.
 * @type {Record<string, (openai: any, params: Json, method: string) => any>}
 */
const HANDLERS = {
  "ui/initialize": (openai, { protocolVersion }) => ({
    protocolVersion,
    hostInfo: { name: "window.openai", version: "1" },
    hostCapabilities: {
      ...(openai.callTool && { serverTools: {} }),
      ...(openai.openExternal && { openLinks: {} }),
      ...(openai.sendFollowUpMessage && { message: { text: {} } }),
      ...(openai.setWidgetState && { updateModelContext: { text: {}, structuredContent: {} } }),
    },
    hostContext: contextOf(openai),
  }),
  ping: () => ({}),
  "tools/call": async (openai, { name, arguments: args = {} }, method) =>
    toToolResult(await member(openai, "callTool", method)(name, args)),
  "ui/message": async (openai, { content }, method) => {
    await member(openai, "sendFollowUpMessage", method)({ prompt: textOf(content, method) });
  },
  "ui/open-link": async (openai, { url }, method) => {
    await member(openai, "openExternal", method)({ href: url });
  },
  "ui/request-display-mode": async (openai, { mode }, method) => {
    const granted = await member(openai, "requestDisplayMode", method)({ mode });
    return { mode: granted?.mode ?? openai.displayMode ?? mode };
  },
  // The model reads the widget state: `modelContent`, if there is one.
  "ui/update-model-context": async (openai, { content, structuredContent }, method) => {
    const text = textOf(content, method);
    const modelContent = structuredContent && text ? { text, ...structuredContent } : (structuredContent ?? text);
    await member(openai, "setWidgetState", method)({ ...asObject(openai.widgetState), modelContent });
  },
};

/**
 * @param {any} openai
 * @param {string} name
 * @param {string} method The method that needs it.
 * @returns {(...args: any[]) => any}
 */
const member = (openai, name, method) => {
  if (typeof openai[name] !== "function") {
    throw errorOf(-32601, `${method} needs window.openai.${name}, which does not exist`);
  }
  return openai[name].bind(openai);
};

/** A transport to `window.openai`, or to a host if one answers. */
class OpenAITransport {
  /** @type {((message: any) => void) | undefined} */
  onmessage;
  /** @type {(() => void) | undefined} */
  onclose;
  /** @type {((error: any) => void) | undefined} */
  onerror;
  #openai;
  /** @type {any} */
  #standard;
  /** @type {any} */
  #timer;
  #initialized = false;
  /**
   * The values that were sent to the View, as JSON, by notification or key of the context.
   * @type {Map<string, string>}
   */
  #sent = new Map();

  #listener = () => {
    if (this.#initialized) this.#update();
  };

  /**
   * @param {any} openai
   * @param {any} [standard] The transport to a host that may answer.
   */
  constructor(openai, standard) {
    this.#openai = openai;
    this.#standard = standard;
  }

  async start() {
    const standard = this.#standard;
    if (!standard) return this.#useOpenAI();
    /** @param {any} message */
    standard.onmessage = (message) => {
      clearTimeout(this.#timer);
      this.onmessage?.(message);
    };
    standard.onclose = () => this.onclose?.();
    /** @param {any} error */
    standard.onerror = (error) => this.onerror?.(error);
    await standard.start();
  }

  /** @param {any} message */
  async send(message) {
    if (!this.#standard) return this.#process(message);
    if (message.method === "ui/initialize") {
      this.#timer = setTimeout(async () => {
        const silent = this.#standard;
        this.#standard = silent.onclose = undefined;
        await silent.close();
        this.#useOpenAI();
        this.#process(message);
      }, TIMEOUT);
    }
    await this.#standard.send(message);
  }

  async close() {
    clearTimeout(this.#timer);
    if (this.#standard) return this.#standard.close();
    window.removeEventListener("openai:set_globals", this.#listener);
    this.onclose?.();
  }

  #useOpenAI() {
    window.addEventListener("openai:set_globals", this.#listener);
  }

  /**
   * Process a message of the View. Responses are asynchronous, as with any host.
   * @param {any} message
   */
  async #process({ id, method, params }) {
    if (id === undefined) return this.#notified(method, asObject(params));
    const handler = HANDLERS[method];
    try {
      if (!handler) throw errorOf(-32601, `${method} has no equivalent in window.openai`);
      const result = (await handler(this.#openai, asObject(params), method)) ?? {};
      this.#emit({ id, result });
    } catch (error) {
      this.#emit({ id, error: { code: error?.code ?? -32000, message: String(error?.message ?? error) } });
    }
  }

  /**
   * @param {string} method
   * @param {Json} params
   */
  #notified(method, params) {
    if (method === "ui/notifications/initialized") {
      this.#initialized = true;
      for (const [key, value] of Object.entries(contextOf(this.#openai))) this.#isNew(key, value);
      queueMicrotask(() => this.#update());
    }
    if (method === "ui/notifications/size-changed" && params.height) {
      this.#openai.notifyIntrinsicHeight?.(params.height);
    }
    if (method === "ui/notifications/request-teardown") this.#openai.requestClose?.();
  }

  /** Notify the View of what changed in `window.openai`. */
  #update() {
    const { toolInput } = this.#openai;
    const result = toolResultOf(this.#openai);
    const changes = Object.entries(contextOf(this.#openai)).filter(([key, value]) => this.#isNew(key, value));
    if (changes.length) {
      this.#emit({ method: "ui/notifications/host-context-changed", params: Object.fromEntries(changes) });
    }
    if (toolInput != null && this.#isNew("tool-input", toolInput)) {
      this.#emit({ method: "ui/notifications/tool-input", params: { arguments: toolInput } });
    }
    if (result && this.#isNew("tool-result", result)) {
      this.#emit({ method: "ui/notifications/tool-result", params: result });
    }
  }

  /**
   * @param {string} name
   * @param {unknown} value
   */
  #isNew(name, value) {
    const text = JSON.stringify(value);
    if (this.#sent.get(name) === text) return false;
    this.#sent.set(name, text);
    return true;
  }

  /** @param {Json} message */
  #emit(message) {
    this.onmessage?.({ jsonrpc: "2.0", ...message });
  }
}

/**
 * Return the SDK with an `App` that falls back to `window.openai` where there is no MCP Apps host.
 * @template {{ App: any, PostMessageTransport: any }} Sdk
 * @param {Sdk} sdk
 * @returns {Sdk}
 */
const withOpenAI = (sdk) => {
  const { App, PostMessageTransport } = sdk;
  class OpenAIApp extends App {
    /**
     * @param {any} [transport]
     * @param {any} [options]
     */
    async connect(transport, options) {
      /** @type {any} */
      const { openai } = window;
      if (openai && (!transport || transport instanceof PostMessageTransport)) {
        const standard = window.parent === window ? undefined : (transport ?? new PostMessageTransport());
        transport = new OpenAITransport(openai, standard);
      }
      return super.connect(transport, options);
    }
  }
  return { ...sdk, App: OpenAIApp };
};

export { OpenAITransport, withOpenAI };
