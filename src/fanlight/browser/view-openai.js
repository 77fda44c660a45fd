// @ts-check
/**
 * What view.js needs besides to run on a page that has `window.openai` and no MCP Apps host: a transport
 * that answers the View as a host would, from what `window.openai` offers. The bundler adds it to view.js
 * for Views that speak "openai"; it keeps to the conventions that view.js states at its top.
 *
 * A host that answers `ui/initialize` is spoken to as always, also one that has `window.openai` besides, as
 * ChatGPT today: the standard carries more. Only when nobody answers does `window.openai` take over.
 */

/** @typedef {Record<string, any>} Json */

/**
 * How long a host has to answer `ui/initialize`, in milliseconds, where there is `window.openai` to go on with.
 */
const PATIENCE = 500;

/**
 * @param {number} code
 * @param {string} message
 */
const refusal = (code, message) => Object.assign(new Error(message), { code });

/**
 * @param {any} value
 * @returns {Json}
 */
const asObject = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** @param {unknown} text */
const textBlocks = (text) => (typeof text === "string" && text ? [{ type: "text", text }] : []);

/**
 * The text of content blocks, which is all that `window.openai` takes.
 * @param {any} content One block, or an array of them.
 * @param {string} method
 */
const textOf = (content, method) => {
  const blocks = [content ?? []].flat();
  if (blocks.some(({ type, text }) => type !== "text" || typeof text !== "string")) {
    throw refusal(-32602, `${method}: window.openai takes text and no other content`);
  }
  return blocks.map(({ text }) => text).join("\n");
};

/**
 * A tool result, from any of the forms that `callTool` has had: with the result as text or JSON in `result`,
 * with `meta` for `_meta`, or as MCP has it.
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
 * What `window.openai` says of the host, as a host context.
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
 * The tool result that `window.openai` holds. `toolOutput` is its structured content; ChatGPT puts the rest of
 * it, if anywhere, into an envelope in `toolResponseMetadata`.
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
 * What answers a request, by its method.
 * @type {Record<string, (openai: any, params: Json, method: string) => any>}
 */
const ANSWERS = {
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
  // The model reads the widget's state, and of a state that has it, what is under this name.
  "ui/update-model-context": async (openai, { content, structuredContent }, method) => {
    const text = textOf(content, method);
    const modelContent = structuredContent && text ? { text, ...structuredContent } : (structuredContent ?? text);
    await member(openai, "setWidgetState", method)({ ...asObject(openai.widgetState), modelContent });
  },
};

/**
 * @param {any} openai
 * @param {string} name
 * @param {string} method What needs it.
 * @returns {(...args: any[]) => any}
 */
const member = (openai, name, method) => {
  if (typeof openai[name] !== "function") {
    throw refusal(-32601, `${method} needs window.openai.${name}, which is not there`);
  }
  return openai[name].bind(openai);
};

/** The host's end of the link, played by `window.openai` unless a host answers. */
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
  #waiting;
  #initialized = false;
  /**
   * What the View was told, as JSON, by the name of the notification or of the part of the context.
   * @type {Map<string, string>}
   */
  #told = new Map();

  #listener = () => {
    if (this.#initialized) this.#tell();
  };

  /**
   * @param {any} openai
   * @param {any} [standard] The transport to the host that may answer instead.
   */
  constructor(openai, standard) {
    this.#openai = openai;
    this.#standard = standard;
  }

  async start() {
    const standard = this.#standard;
    if (!standard) return this.#takeOver();
    /** @param {any} message */
    standard.onmessage = (message) => {
      clearTimeout(this.#waiting);
      this.onmessage?.(message);
    };
    standard.onclose = () => this.onclose?.();
    /** @param {any} error */
    standard.onerror = (error) => this.onerror?.(error);
    await standard.start();
  }

  /** @param {any} message */
  async send(message) {
    if (!this.#standard) return this.#hear(message);
    if (message.method === "ui/initialize") {
      this.#waiting = setTimeout(async () => {
        const unanswered = this.#standard;
        this.#standard = unanswered.onclose = undefined;
        await unanswered.close();
        this.#takeOver();
        this.#hear(message);
      }, PATIENCE);
    }
    await this.#standard.send(message);
  }

  async close() {
    clearTimeout(this.#waiting);
    if (this.#standard) return this.#standard.close();
    window.removeEventListener("openai:set_globals", this.#listener);
    this.onclose?.();
  }

  #takeOver() {
    window.addEventListener("openai:set_globals", this.#listener);
  }

  /**
   * Do what the View asks or says. An answer comes later than the question, as from any host.
   * @param {any} message
   */
  async #hear({ id, method, params }) {
    if (id === undefined) return this.#notified(method, asObject(params));
    const answer = ANSWERS[method];
    try {
      if (!answer) throw refusal(-32601, `${method} has no equivalent in window.openai`);
      const result = (await answer(this.#openai, asObject(params), method)) ?? {};
      this.#say({ id, result });
    } catch (error) {
      this.#say({ id, error: { code: error?.code ?? -32000, message: String(error?.message ?? error) } });
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
      queueMicrotask(() => this.#tell());
    }
    if (method === "ui/notifications/size-changed" && params.height) {
      this.#openai.notifyIntrinsicHeight?.(params.height);
    }
    if (method === "ui/notifications/request-teardown") this.#openai.requestClose?.();
  }

  /** Tell the View what `window.openai` holds now and did not hold before. */
  #tell() {
    const { toolInput } = this.#openai;
    const result = toolResultOf(this.#openai);
    const changes = Object.entries(contextOf(this.#openai)).filter(([key, value]) => this.#isNew(key, value));
    if (changes.length) {
      this.#say({ method: "ui/notifications/host-context-changed", params: Object.fromEntries(changes) });
    }
    if (toolInput != null && this.#isNew("tool-input", toolInput)) {
      this.#say({ method: "ui/notifications/tool-input", params: { arguments: toolInput } });
    }
    if (result && this.#isNew("tool-result", result)) {
      this.#say({ method: "ui/notifications/tool-result", params: result });
    }
  }

  /**
   * @param {string} name
   * @param {unknown} value
   */
  #isNew(name, value) {
    const text = JSON.stringify(value);
    if (this.#told.get(name) === text) return false;
    this.#told.set(name, text);
    return true;
  }

  /** @param {Json} message */
  #say(message) {
    this.onmessage?.({ jsonrpc: "2.0", ...message });
  }
}

/**
 * Return the SDK with an `App` that also connects where there is `window.openai` and no MCP Apps host.
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
