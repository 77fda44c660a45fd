// @ts-check
/** What the probe tries on the host, and what follows from it for each rule. */

/**
 * @typedef {{
 *   rules: Rule[], version: string, declares: boolean, domain: string, data: Json, key: string,
 * }} Settings
 */

/** The timeout for a request about which the host may ask its user, in milliseconds. */
const LONG = 60_000;
const SHORT = 3_000;
/** The display modes that this View declares. It requests the third mode although it does not declare it. */
const DECLARED = ["inline", "fullscreen"];
const TEARDOWN_DELAY = 1_000;

class Probe {
  /** @type {Json} The result of `ui/initialize`. */
  initializeResult = {};
  /** @type {Json} The current context of the host. */
  context = {};
  /** @type {string} The id of this run, once its result has arrived. */
  run = "";
  finished = false;
  teardownRequested = false;
  #timedOut = false;
  /** Whether the View currently requests sizes that are not its own. */
  sizing = false;
  /** A word for the model that cannot be guessed. */
  word = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");

  /** @param {Settings} settings @param {Connection} connection */
  constructor(settings, connection) {
    this.settings = settings;
    this.connection = connection;
    this.findings = new Findings(settings.rules);
    /** @type {(step: string) => void} */
    this.progress = () => {};
    connection.handlers.set("ping", async () => ({}));
    connection.handlers.set("tools/list", async () => ({ tools: [APP_TOOL] }));
    connection.handlers.set("tools/call", async () => ({ content: [{ type: "text", text: "The View is open." }] }));
    connection.handlers.set("ui/resource-teardown", () => this.#teardown());
    connection.addEventListener("received", () => this.#updateContext());
  }

  get capabilities() {
    return isObject(this.initializeResult.hostCapabilities) ? this.initializeResult.hostCapabilities : {};
  }

  /** Keep the context up to date. */
  #updateContext() {
    const { message } = /** @type {Received} */ (this.connection.received.at(-1));
    if (message?.method === CHANGED && isObject(message.params)) {
      this.context = { ...this.context, ...message.params };
    }
  }

  /** Try everything, in order. */
  async start() {
    /** @type {[string, () => unknown][]} */
    const steps = [
      ["Examining the frame", () => this.#sandbox()],
      ["Trying to reach other origins", () => this.#policy()],
      ["Sending malformed messages", () => this.#messages()],
      ["Calling tools (the host may ask you)", () => this.#tools()],
      ["Requesting what must be denied", () => this.#refusals()],
      ["Changing the size", () => this.#size()],
      ["Changing the display mode", () => this.#modes()],
      ["Waiting for the tool's result", () => this.#outcome()],
      ["Updating the model's context", () => this.#modelContext()],
      ["Forging messages", () => this.#forge()],
      ["Evaluating", () => this.#count()],
    ];
    this.progress("Starting the handshake");
    // If the host does not respond, only the frame and its policy can be tested.
    const possible = (await this.#initialize()) ? steps : steps.slice(0, 2);
    for (const [name, step] of possible) {
      this.progress(name);
      try {
        await step();
      } catch (error) {
        // A bug of the probe is not the host's fault; the rules of this step stay untested.
        console.error(error);
      }
    }
    this.finished = true;
    this.progress("");
    await this.save();
  }

  // The handshake

  /** Start the handshake, and return whether the host responds. */
  async #initialize() {
    const { connection, findings } = this;
    const appCapabilities = { availableDisplayModes: DECLARED, tools: { listChanged: false } };
    const appInfo = { name: "fanlight-probe", version: this.settings.version };
    const params = { protocolVersion: "2026-01-26", appInfo, appCapabilities };
    const answer = await connection.request("ui/initialize", params, { id: 0, timeout: 10_000 });
    if (!isObject(answer?.result)) {
      const failure = `ui/initialize got ${answer ? `the response ${brief(answer)}` : "no response"}.`;
      findings.fail("INI-03", failure);
      findings.fail("INI-02", failure);
      return false;
    }
    this.initializeResult = answer?.result;
    const { protocolVersion, hostInfo, hostCapabilities, hostContext } = this.initializeResult;
    findings.check(
      "INI-03",
      isText(protocolVersion),
      "protocolVersion is missing.",
      `protocolVersion is ${protocolVersion}.`,
    );
    const named = isObject(hostInfo) && isText(hostInfo.name) && isText(hostInfo.version);
    findings.check("INI-03", named, `hostInfo is ${brief(hostInfo)}, expected name and version.`);
    findings.check("INI-03", isObject(hostCapabilities), "hostCapabilities is missing.");
    for (const problem of capabilityProblems(this.capabilities)) findings.fail("INI-03", problem);
    findings.check("INI-02", isObject(hostContext), "hostContext is missing.");
    if (isObject(hostContext)) {
      this.context = hostContext;
      for (const problem of contextProblems(hostContext)) findings.fail("INI-02", problem);
      this.#appearance(hostContext);
    }
    const ping = await connection.request("ping", undefined, { id: "before initialized", timeout: 5_000 });
    findings.check("INI-06", isObject(ping?.result), "ping got no response before initialized.");
    await pause(1_200);
    const early = connection.received.filter(({ message }) => message?.method !== undefined);
    const names = [...new Set(early.map(({ message }) => message.method))].join(", ");
    findings.check(
      "SBX-09",
      !early.length,
      `These messages came too early: ${names}.`,
      "No message came within a second.",
    );
    connection.ready = true;
    connection.notify("ui/notifications/initialized");
    return true;
  }

  /** @param {Json} context */
  #appearance({ containerDimensions, styles }) {
    const { findings } = this;
    if (isObject(containerDimensions)) {
      const problems = dimensionProblems(containerDimensions);
      findings.check("DIM-02", !problems.length, problems.join(" "), brief(containerDimensions));
    } else findings.note("DIM-02", "The host sends no dimensions, so both axes are unbounded.");
    const variables = isObject(styles) && isObject(styles.variables) ? styles.variables : undefined;
    if (!variables || !Object.keys(variables).length) {
      findings.note("THM-01", "The host sends no variables.");
      findings.note("THM-02", "The host sends no variables.");
    } else {
      const unknown = Object.keys(variables).filter((name) => !VARIABLES.has(name));
      const wrong = Object.keys(variables).filter((name) => !isText(variables[name]));
      findings.check("THM-01", !unknown.length, `Not standard: ${unknown.slice(0, 5).join(", ")}.`);
      findings.check("THM-01", !wrong.length, `Not a string: ${wrong.slice(0, 5).join(", ")}.`);
      const colours = Object.entries(variables).filter(([name]) => name.startsWith("--color-"));
      if (colours.length) {
        const dual = colours.some(([, value]) => String(value).includes("light-dark("));
        findings.check("THM-02", dual, "No colour uses light-dark().");
      } else findings.note("THM-02", "The host sends no colours.");
    }
    if (isText(styles?.css?.fonts)) this.#fonts(styles.css.fonts);
    else findings.note("THM-04", "The host sends no fonts.");
  }

  /** @param {string} css */
  #fonts(css) {
    const sheet = document.createElement("style");
    sheet.textContent = css;
    document.head.append(sheet);
    const faces = [...document.fonts];
    Promise.all(faces.map((face) => face.load())).then(
      () => this.findings.pass("THM-04", `${faces.length} fonts load.`),
      () => this.findings.fail("THM-04", "A font cannot be loaded."),
    );
  }

  // The frame

  #sandbox() {
    const { findings } = this;
    const proxied = window.parent !== window && window.parent !== window.top;
    findings.check("SBX-01", proxied, "There is no frame between the View and the page.");
    findings.check("SBX-02", window.top !== window && !canRead(window.top), "The View can read the host's page.");
    if (proxied && canRead(window.parent)) {
      findings.note("SBX-02", "The View can read the sandbox proxy, because both have the same origin.");
    }
    findings.check(
      "SEC-01",
      isSandboxed(),
      "The View is not in a sandbox.",
      "The browser treats the document as sandboxed.",
    );
    for (const feature of ["camera", "microphone", "geolocation", "display-capture", "payment", "usb"]) {
      const has = hasFeature(feature);
      if (has !== undefined) {
        findings.check("SEC-01", !has, `${feature} is granted, although the View did not request it.`);
      }
    }
    if (window.origin !== "null") findings.pass("SBX-03", `The View's origin is ${window.origin}.`);
    else findings.note("SBX-03", "The View has an opaque origin, so it cannot examine its sandbox.");
    const granted = hasFeature("clipboard-write");
    const promised = isObject(this.capabilities.sandbox?.permissions?.clipboardWrite);
    if (!this.settings.declares) findings.note("RES-11", "This View requests no permission. Run probe_host.");
    else if (granted) findings.pass("RES-11", "clipboard-write is granted.");
    else if (promised) {
      findings.fail("RES-11", "hostCapabilities.sandbox lists clipboardWrite, but the frame does not allow it.");
    } else {
      findings.note(
        "RES-11",
        granted === false
          ? "clipboard-write is not granted, which is the host's choice."
          : "This browser does not say.",
      );
    }
    findings.note("RES-10", `This View's origin is ${window.origin}.`);
  }

  // The policy

  async #policy() {
    const { findings } = this;
    const { domain, declares } = this.settings;
    /** @type {[rule: string, way: string, host: string][]} */
    const allowed = [
      ["CSP-09", "fetch", `connect.${domain}`],
      ["CSP-09", "img", `resource.${domain}`],
      ["CSP-09", "script", `resource.${domain}`],
      ["CSP-09", "style", `resource.${domain}`],
      ["CSP-09", "font", `resource.${domain}`],
      ["CSP-09", "media", `resource.${domain}`],
      ["SBX-06b", "frame", `frame.${domain}`],
      ["SBX-06c", "base", `base.${domain}`],
      ["CSP-10", "img", `any.wild.${domain}`],
    ];
    if (declares) for (const [, way, host] of allowed) attempt(way, host);
    const open = await openWays(domain);
    const connections = ["fetch", "websocket", "eventsource", "beacon"];
    const list = (/** @type {string[]} */ ways) => `Not blocked: ${ways.join(", ")}.`;
    const among = (/** @type {string[]} */ ways) => open.filter((way) => ways.includes(way));
    const all = Object.keys(WAYS);
    /** @type {[string, string[]][]} */
    const closed = [
      ["CSP-03", all],
      ["CSP-06", connections],
      ["SBX-06b", ["frame"]],
      ["SBX-06c", ["base"]],
      ["SBX-06d", ["object"]],
    ];
    for (const [rule, ways] of closed) findings.check(rule, !among(ways).length, list(among(ways)));
    findings.check("SBX-06a", open.length < all.length, "The browser blocked nothing: no policy is in force.");
    if (!declares) return this.#defaultPolicy(open);
    for (const rule of ["CSP-02", "SBX-06e"]) findings.note(rule, "This View declares domains. Run probe_host_bare.");
    // A blocked origin is not a failure even if it was declared: hosts may allow less than declared (CSP-04).
    let opened = 0;
    for (const [rule, way, host] of allowed) {
      const was = blocked(way, host);
      if (was) findings.note(rule, `The declared ${host} is blocked for ${way}, which is the host's choice.`);
      else if (open.length < all.length) findings.pass(rule);
      opened += was ? 0 : 1;
    }
    if (open.length) findings.fail("CSP-01", list(open));
    else if (opened) {
      findings.pass("CSP-01", `${opened} of ${allowed.length} declared origins are allowed, and no others.`);
    } else findings.note("CSP-01", "All declared origins are blocked, which is the host's choice.");
    const own = policies().some((policy) => policy.get("connect-src")?.includes("'self'"));
    if (own) findings.pass("CSP-11");
    else {
      findings.note(
        "CSP-11",
        "connect-src does not include the View's own origin; the standard's two recipes differ here.",
      );
    }
    if (canEval()) {
      findings.note("CSP-01", "The policy allows eval (unsafe-eval), which is not in the standard's recipe.");
    }
  }

  /** @param {string[]} open */
  #defaultPolicy(open) {
    const { findings } = this;
    for (const rule of ["CSP-01", "CSP-09", "CSP-10", "CSP-11"]) {
      findings.note(rule, "This View declares no domains. Run probe_host.");
    }
    for (const rule of ["CSP-02", "SBX-06e"]) {
      findings.check(rule, !open.length, `Not blocked: ${open.join(", ")}.`);
      findings.check(rule, !canEval(), "The policy allows eval (unsafe-eval).");
    }
  }

  // Messages

  async #messages() {
    const { connection, findings } = this;
    const unknown = await connection.request("fanlight-probe/unknown", {});
    const code = unknown?.error?.code;
    findings.check("SBX-12", code === -32601, `An unknown method got the response ${brief(unknown)}, expected -32601.`);
    connection.notify("fanlight-probe/notifications/unknown", {});
    connection.notify("notifications/message", {
      level: "debug",
      logger: "fanlight-probe",
      data: "A log message of the probe.",
    });
    for (const id of ["a text", 2_147_483_655, "0"]) {
      const answer = await connection.request("ping", undefined, { id });
      findings.check(
        "SBX-12",
        isObject(answer?.result),
        `A ping with the id ${brief(id)} got no response with that id.`,
      );
    }
    const before = connection.received.length;
    const wrong = [
      ...[42, "text", null, true, [], {}, [[]]],
      { id: MALFORMED[0], method: "ping" },
      { jsonrpc: "1.0", id: MALFORMED[1], method: "ping" },
      { jsonrpc: "2.0", id: MALFORMED[2] },
      { jsonrpc: "2.0", id: {}, method: "ping" },
      { jsonrpc: "2.0", method: 7 },
      { jsonrpc: "2.0", id: "no such request", result: {} },
    ];
    for (const message of wrong) connection.post(message);
    await this.#otherFrame();
    const alive = await connection.request("ping");
    findings.check("SEC-02", isObject(alive?.result), "The host stops responding after malformed messages.");
    const since = connection.received.slice(before);
    const acted = since.filter(({ message }) => MALFORMED.includes(message?.id) && "result" in message);
    findings.check(
      "SEC-02",
      !acted.length,
      `The host responded as if they were well formed: ${acted.map(({ message }) => message.id).join(", ")}.`,
    );
    /** @type {[string, Json][]} */
    const requests = [
      ["tools/call", { arguments: {} }],
      ["ui/open-link", { url: 7 }],
      ["ui/message", { role: "user", content: 7 }],
      ["ui/download-file", { contents: 7 }],
      ["sampling/createMessage", {}],
    ];
    for (const [method, params] of requests) {
      const answer = await connection.request(method, params);
      findings.check("SEC-02", refused(answer), `${method} with ${brief(params)} got the response ${brief(answer)}.`);
    }
  }

  /** Send a request from another frame, as if it were the View. */
  async #otherFrame() {
    const { connection, findings } = this;
    const id = "from another frame";
    const request = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.srcdoc = `<!doctype html><script>
      addEventListener("message", ({ data, source }) => {
        if (source === parent.parent) parent.postMessage(["received", data], "*");
      });
      parent.parent.postMessage(${request}, "*");
      parent.postMessage(["sent"], "*");
    </scr${"ipt"}>`;
    let sent = false;
    let received = false;
    window.addEventListener("message", ({ source, data }) => {
      if (source !== frame.contentWindow || !Array.isArray(data)) return;
      sent ||= data[0] === "sent";
      received ||= data[0] === "received" && data[1]?.id === id;
    });
    document.body.append(frame);
    await connection.waitFor(() => sent, 2_000);
    await pause(500);
    frame.remove();
    const answered = received || connection.received.some(({ message }) => message?.id === id);
    if (sent) findings.check("SEC-02", !answered, "The host responded to a frame inside the View.");
    else findings.note("SEC-02", "A frame inside the View could not send messages, so this was not tested.");
  }

  // Tools

  async #tools() {
    const { connection, findings, capabilities } = this;
    if (!capabilities.serverTools) {
      const why = "The host does not offer serverTools.";
      const rules = ["VIS-01", "VIS-03", "VIS-04", "VIS-05", "SBX-07", "NEG-01", "NEG-02", "DSC-02", "D-STD-01"];
      for (const id of rules) findings.note(id, why);
      return;
    }
    const payload = { ...this.settings.data, long: "0123456789".repeat(20_000) };
    const echoed = await this.#call("probe_echo", { payload });
    const result = echoed?.result;
    findings.check("VIS-01", isObject(result) && !result.isError, `probe_echo got the response ${brief(echoed)}.`);
    const copies = [result?.structuredContent?.payload, result?._meta?.[this.settings.key]?.payload];
    const whole = copies.every((copy) => isEqual(copy, payload));
    findings.check(
      "SBX-07",
      whole,
      "A call with 200 kB did not come back unchanged.",
      "A call with 200 kB comes back unchanged.",
    );
    const failed = await this.#call("probe_echo", { payload: 1, fail: true });
    findings.check("SBX-07", failed?.result?.isError === true, `A failed call got the response ${brief(failed)}.`);
    const unknown = await this.#call("probe_no_such_tool", {});
    findings.check(
      "VIS-04",
      refused(unknown),
      `An unknown tool got the response ${brief(unknown)}.`,
      "An unknown tool is rejected; tools of other servers were not tried.",
    );
    const before = await this.#record();
    const modelOnly = await this.#call("probe_model_only", {});
    const nobody = await this.#call("probe_nobody", {});
    const record = await this.#record();
    /** @type {[string, string, Json | undefined][]} */
    const guarded = [
      ["VIS-03", "probe_model_only", modelOnly],
      ["VIS-05", "probe_nobody", nobody],
    ];
    for (const [rule, tool, answer] of guarded) {
      findings.check(rule, refused(answer), `${tool} got the response ${brief(answer)}.`);
      if (record && before) {
        findings.check(
          rule,
          isEqual(record.forbiddenCalls[tool], before.forbiddenCalls[tool]),
          `The server received the call of ${tool}.`,
        );
      }
    }
    if (record) this.#serverRecord(record);
    await this.#progressNotifications();
    await this.#cancel();
    const tools = await connection.request("tools/list", {});
    const listed = tools?.result?.tools;
    findings.check("D-STD-01", Array.isArray(listed), `tools/list got the response ${brief(tools)}.`);
    if (capabilities.serverResources) await this.#resources();
    else findings.note("SBX-11", "The host does not offer serverResources.");
  }

  /** @param {string} name @param {Json} args @returns {Promise<Json | undefined>} */
  #call(name, args) {
    return this.#request("tools/call", { name, arguments: args });
  }

  /**
   * Send a request about which the host may ask its user. After a first timeout, later requests wait less.
   * @param {string} method
   * @param {Json} params
   */
  async #request(method, params) {
    const answer = await this.connection.request(method, params, { timeout: this.#timedOut ? SHORT : LONG });
    this.#timedOut ||= !answer;
    return answer;
  }

  /** What the server recorded of the host. @param {Json} [args] @returns {Promise<Json | undefined>} */
  async #record(args = {}) {
    const seen = (await this.#call("probe_record", args))?.result?.structuredContent;
    return isObject(seen) ? seen : undefined;
  }

  /** @param {Json} record */
  #serverRecord(record) {
    const { findings } = this;
    const named = record.extension ?? record.experimental;
    findings.check(
      "NEG-01",
      named,
      "The host does not advertise the extension to the server.",
      `MCP ${record.protocol}`,
    );
    if (record.experimental && !record.extension) {
      findings.note("NEG-01", "It is advertised under experimental, not under extensions.");
    }
    const types = named?.mimeTypes;
    const typed = Array.isArray(types) && types.includes("text/html;profile=mcp-app");
    findings.check("NEG-02", typed, `mimeTypes is ${brief(types)}.`);
    findings.check("DSC-02", record.reads > 0, "The host did not read the View from the server.");
  }

  async #progressNotifications() {
    const { connection, findings } = this;
    const progressToken = "a token of the View";
    const params = { name: "probe_wait", arguments: { seconds: 0.4 }, _meta: { progressToken } };
    const answer = await this.#request("tools/call", params);
    const tokens = connection
      .notifications("notifications/progress")
      .map(({ message }) => message.params?.progressToken);
    if (!isObject(answer?.result)) return;
    if (!tokens.length) findings.note("SBX-12", "Progress is not relayed, so long calls may time out in Views.");
    else {
      findings.check(
        "SBX-12",
        tokens.every((token) => token === progressToken),
        `Progress came with the token ${brief(tokens[0])}.`,
        "Progress is relayed.",
      );
    }
  }

  async #cancel() {
    const { connection, findings } = this;
    const id = "to be cancelled";
    const pending = connection.request(
      "tools/call",
      { name: "probe_wait", arguments: { seconds: 30 } },
      { id, timeout: 1_500 },
    );
    await pause(400);
    connection.notify("notifications/cancelled", { requestId: id, reason: "The probe cancels it." });
    const answer = await pending;
    findings.check("SBX-12", !isObject(answer?.result), "A cancelled call got a result.");
    const alive = await connection.request("ping");
    findings.check("SBX-12", isObject(alive?.result), "The host stops responding after a cancelled call.");
  }

  async #resources() {
    const { findings } = this;
    const uri = `ui://fanlight-probe/${this.settings.declares ? "view" : "bare"}`;
    const read = await this.#request("resources/read", { uri });
    if (Array.isArray(read?.result?.contents)) findings.pass("SBX-11", "resources/read is forwarded.");
    else findings.note("SBX-11", `resources/read got the response ${brief(read)}, which is the host's choice.`);
    const none = await this.#request("resources/read", { uri: "ui://fanlight-probe/none" });
    findings.check("SBX-12", isObject(none?.error), `A resource that does not exist got the response ${brief(none)}.`);
  }

  // What must be denied

  async #refusals() {
    const { findings } = this;
    for (const url of ["javascript:void(0)", "file:///fanlight-probe", "data:text/html,probe", "not a link"]) {
      const answer = await this.#request("ui/open-link", { url });
      findings.check("LNK-02", refused(answer), `${url} got the response ${brief(answer)}.`);
    }
  }

  // Sizes and modes

  async #size() {
    const { connection, findings } = this;
    const { height, maxHeight } = this.context.containerDimensions ?? {};
    if (height !== undefined && maxHeight === undefined) {
      return findings.note("DIM-01", "The host fixes the height.");
    }
    const most = maxHeight ?? Infinity;
    const heights = [333, 444].map((wanted) => Math.min(wanted, most));
    if (heights[0] === heights[1]) {
      return findings.note("DIM-01", `The host allows ${most} pixels, too few for a test.`);
    }
    this.sizing = true;
    for (const wanted of heights) {
      connection.notify("ui/notifications/size-changed", { width: window.innerWidth, height: wanted });
      const followed = await connection.waitFor(() => Math.abs(window.innerHeight - wanted) <= 2, 5_000);
      findings.check("DIM-01", followed, `The View requested ${wanted} pixels and has ${window.innerHeight}.`);
    }
    this.sizing = false;
    reportSize(connection);
  }

  async #modes() {
    const { connection, findings } = this;
    const current = this.context.displayMode ?? "inline";
    const offered = this.context.availableDisplayModes;
    const undeclared = "pip";
    const declined = await this.#mode(undeclared);
    if (declined !== undefined) {
      findings.check("DSP-04", declined !== undeclared, "The host switched the View to pip, which it did not declare.");
      findings.check(
        "DSP-06",
        declined === current,
        `The response to a request for pip was ${declined}, and the mode is ${current}.`,
      );
    }
    await pause(300);
    const changed = connection.notifications(CHANGED).some(({ message }) => message.params?.displayMode === undeclared);
    findings.check("DSP-04", !changed, "host-context-changed says pip, which the View did not declare.");
    if (declined === undeclared) await this.#mode(current);
    await this.#mode(current);
    if (current !== "inline" || !offered?.includes("fullscreen")) {
      return findings.note("DSP-08", "The host does not offer fullscreen.");
    }
    for (const mode of ["fullscreen", "inline"]) {
      const result = await this.#mode(mode);
      if (result !== mode) return findings.note("DSP-08", `The host responds with ${result} to a request for ${mode}.`);
      const changedTo = await connection.waitFor(() => this.context.displayMode === mode, 5_000);
      findings.check("DSP-08", changedTo, `No host-context-changed came after ${mode} was granted.`);
    }
    reportSize(connection);
  }

  /** @param {string} mode @returns {Promise<string | undefined>} */
  async #mode(mode) {
    const answer = await this.#request("ui/request-display-mode", { mode });
    const result = answer?.result?.mode;
    this.findings.check("DSP-05", MODES.includes(result), `${mode} got the response ${brief(answer)}.`);
    return result;
  }

  // The call

  async #outcome() {
    const { connection, findings } = this;
    await connection.waitFor(() => connection.notifications(INPUT).length, 5_000);
    const input = connection.notifications(INPUT)[0]?.message.params?.arguments;
    const timeout = 10_000 + 1_000 * (Number(input?.seconds) || 0);
    await connection.waitFor(
      () => connection.notifications(RESULT).length || connection.notifications(CANCELLED).length,
      timeout,
    );
    const result = connection.notifications(RESULT)[0]?.message.params;
    const cancelled = connection.notifications(CANCELLED).length > 0;
    if (isObject(input)) findings.pass("TIN-01");
    else if (cancelled && !connection.notifications(INPUT).length) {
      findings.note("TIN-01", "The call was cancelled before its arguments were complete.");
    } else findings.fail("TIN-01", `tool-input has the arguments ${brief(input)}.`);
    findings.pass("DSC-05");
    if (result) this.#result(result, input);
    else if (!cancelled) findings.fail("TRS-01", "No tool-result came.");
    else findings.note("TRS-01", "The call was cancelled.");
    if (cancelled) {
      const reason = connection.notifications(CANCELLED)[0]?.message.params?.reason;
      findings.check("TCX-01", reason === undefined || isText(reason), `reason is ${brief(reason)}.`);
      findings.check("TCX-01", !result, "Both tool-result and tool-cancelled came.");
    } else findings.note("TCX-01", "Call probe_host with seconds: 60, and cancel it.");
    if (this.run && this.capabilities.serverTools) await this.#compare(input);
  }

  /** @param {Json} result @param {Json} input */
  #result(result, input) {
    const { findings, settings } = this;
    const data = result.structuredContent;
    this.run = isText(data?.run) ? data.run : "";
    const content = Array.isArray(result.content) && isText(result.content[0]?.text);
    findings.check("TRS-01", content, `content is ${brief(result.content)}.`);
    findings.check("TRS-01", isEqual(data?.data, settings.data), "structuredContent is not what the server sent.");
    findings.check("TRS-01", isEqual(result._meta?.[settings.key], data), "_meta is not what the server sent.");
    if (input?.fail === true) {
      findings.check("TRS-01", result.isError === true, "isError is missing.", "An error arrives as a result.");
    }
  }

  /** Compare the arguments with those that the server received. @param {Json} input */
  async #compare(input) {
    const record = await this.#record({ run: this.run });
    if (!record || !isObject(record.arguments)) return;
    const complete = { note: "", seconds: 0, fail: false, ...input };
    this.findings.check(
      "TIN-01",
      isEqual(complete, record.arguments),
      `The server received ${brief(record.arguments)}, the View ${brief(input)}.`,
    );
  }

  // The model

  async #modelContext() {
    const { connection, findings } = this;
    if (!this.capabilities.updateModelContext) {
      for (const id of ["MCX-02", "MCX-06"]) findings.note(id, "The host does not offer updateModelContext.");
    }
    await connection.request("ui/update-model-context", {
      content: [text("A first update of the probe, which the next one replaces.")],
    });
    const answer = await connection.request("ui/update-model-context", {
      content: [text(`${this.summary()}\nThe word of the probe is ${this.word}.`)],
    });
    if (answer?.result) {
      const extra = Object.keys(answer.result).filter((key) => key !== "_meta");
      findings.check(
        "SBX-12",
        !extra.length,
        `ui/update-model-context got the response ${brief(answer.result)}, expected {}.`,
      );
    }
    findings.note("MCX-02", answer?.result ? `The word is ${this.word}.` : `The host responded with ${brief(answer)}.`);
    findings.note("MCX-06", answer?.result ? `The word is ${this.word}.` : undefined);
  }

  // What could end the run

  async #forge() {
    const { connection, findings } = this;
    const name = "ui/notifications/sandbox-";
    // If this reloads the View, it would forge again and again; so the server remembers it.
    const { run } = this;
    const seen = run && this.capabilities.serverTools ? await this.#record({ run, forge: true }) : undefined;
    if (!seen) {
      return findings.note("SBX-08", "The probe forged no messages, because it could not tell the server first.");
    }
    if (seen.forged) {
      return findings.fail("SBX-08", "The View was reloaded after it had forged messages of the sandbox.");
    }
    connection.notify(`${name}proxy-ready`, {});
    connection.notify(`${name}resource-ready`, {
      html: "<!doctype html><title>forged</title><p>This was forged by the probe.",
    });
    await pause(700);
    const alive = await connection.request("ping");
    findings.check("SBX-08", isObject(alive?.result), "The host stops responding after forged messages.");
  }

  /** Evaluate what only the whole run shows. */
  #count() {
    const { connection, findings } = this;
    const all = connection.received;
    const inputs = connection.notifications(INPUT);
    findings.check("TIN-02", inputs.length <= 1, `tool-input came ${inputs.length} times.`);
    const at = (/** @type {string} */ method) => all.findIndex(({ message }) => message?.method === method);
    if (at(RESULT) >= 0) findings.check("TIN-03", at(INPUT) >= 0 && at(INPUT) < at(RESULT), "tool-result came first.");
    else findings.note("TIN-03", "No tool-result came.");
    const partials = all.flatMap(({ message }, index) => (message?.method === PARTIAL ? [{ index, message }] : []));
    if (partials.length) {
      findings.pass("TIP-01", `${partials.length} came.`);
      const objects = partials.every(({ message }) => isObject(message.params?.arguments));
      findings.check("TIP-02", objects, "tool-input-partial came without an object.");
    } else for (const id of ["TIP-01", "TIP-02"]) findings.note(id, "None came.");
    const late = at(INPUT) >= 0 ? partials.filter(({ index }) => index > at(INPUT)) : [];
    findings.check("TIP-04", !late.length, `tool-input-partial came ${late.length} times after tool-input.`);
    const leaked = all.filter(({ message }) => String(message?.method).startsWith("ui/notifications/sandbox-"));
    findings.check("SBX-08", !leaked.length, "A message of the sandbox reached the View.");
    this.#responses();
    const changes = connection.notifications(CHANGED);
    const problems = changes.flatMap(({ message: { params } }) =>
      isObject(params) ? contextProblems(params) : ["host-context-changed came without an object."],
    );
    if (changes.length) findings.check("HCC-01", !problems.length, problems.join(" "), `${changes.length} came.`);
    else findings.note("HCC-01", "None came.");
    const listed = all.filter(({ message }) => message?.method === "tools/list" && message.id !== undefined);
    if (listed.length) findings.pass("D-STD-01", "The host requests the View's tools.");
    else findings.note("D-STD-01", "The host does not request the View's tools.");
  }

  #responses() {
    const { connection, findings } = this;
    const messages = connection.received.map(({ message }) => message);
    const answers = messages.filter(isResponse);
    // A response to a malformed message has no id, or the id that was sent.
    const known = new Set([null, undefined, ...connection.sent, ...MALFORMED]);
    const strange = answers.filter(({ id }) => !known.has(id) && !isObject(id));
    findings.check(
      "SBX-10",
      !strange.length,
      `A response came with the id ${brief(strange[0]?.id)}, which was not requested.`,
    );
    const twice = [...connection.sent].filter((id) => answers.filter((answer) => answer.id === id).length > 1);
    findings.check("SBX-10", !twice.length, `Two responses came with the id ${brief(twice[0])}.`);
    const wrong = messages.filter(
      (message) => !isObject(message) || message.jsonrpc !== "2.0" || ("result" in message && "error" in message),
    );
    findings.check("SBX-12", !wrong.length, `Not JSON-RPC: ${brief(wrong[0])}.`);
    const coded = answers.every(
      ({ error }) => error === undefined || (Number.isInteger(error?.code) && isText(error?.message)),
    );
    findings.check("SBX-12", coded, "An error has no code or no message.");
  }

  // Closing

  /** Respond to the teardown: report to the server at once, and again before the response. */
  async #teardown() {
    const { findings } = this;
    const rules = this.teardownRequested ? ["TDN-01", "D-TDN-03"] : ["TDN-01"];
    for (const id of rules) findings.pass(id, "ui/resource-teardown came.");
    await Promise.race([this.save(), pause(3_000)]);
    await pause(TEARDOWN_DELAY);
    for (const id of this.teardownRequested ? ["TDN-03", "D-TDN-04"] : ["TDN-03"]) {
      findings.pass(id, `The View stayed open for ${TEARDOWN_DELAY / 1_000} s after ui/resource-teardown.`);
    }
    await Promise.race([this.save(), pause(3_000)]);
    return {};
  }

  /** Ask the host to close the View. */
  requestTeardown() {
    this.teardownRequested = true;
    this.connection.notify("ui/notifications/request-teardown", {});
  }

  // The report

  report() {
    const { settings, findings, initializeResult } = this;
    const rules = settings.rules.map((rule) => ({
      id: rule.id,
      strength: rule.strength,
      section: rule.section,
      sentence: rule.sentence,
      aliases: rule.aliases,
      status: findings.status(rule),
      notes: findings.notes(rule.id),
    }));
    return {
      probe: { name: "fanlight-probe", version: settings.version },
      host: {
        info: initializeResult.hostInfo,
        protocolVersion: initializeResult.protocolVersion,
        capabilities: initializeResult.hostCapabilities,
        userAgent: navigator.userAgent,
        platform: this.context.platform,
      },
      view: { origin: window.origin, declares: settings.declares, run: this.run },
      finished: this.finished,
      at: new Date().toISOString(),
      counts: this.counts(),
      rules,
    };
  }

  counts() {
    /** @type {Record<Status, number>} */
    const counts = { pass: 0, fail: 0, untested: 0, person: 0 };
    for (const rule of this.settings.rules) counts[this.findings.status(rule)] += 1;
    return counts;
  }

  /** The report in a few lines. */
  summary() {
    const { hostInfo } = this.initializeResult;
    const { pass, fail, untested, person } = this.counts();
    const name = [hostInfo?.name, hostInfo?.version].filter(Boolean).join(" ") || "a host without a name";
    const failed = this.settings.rules.filter((rule) => this.findings.status(rule) === "fail");
    return [
      `Host probe of ${name}: ${pass} rules pass, ${fail} fail, ${untested} were not tested, ${person} need a person.`,
      ...failed.map(({ id, strength, sentence }) => {
        return `FAIL ${id} (${strength}): ${sentence} ${this.findings.notes(id).join(" ")}`;
      }),
    ].join("\n");
  }

  /** Send the report to the server. */
  async save() {
    if (!this.capabilities.serverTools) return;
    await this.#call("probe_report", { found: this.report() });
  }
}

const INPUT = "ui/notifications/tool-input";
const PARTIAL = "ui/notifications/tool-input-partial";
const RESULT = "ui/notifications/tool-result";
const CHANGED = "ui/notifications/host-context-changed";
const CANCELLED = "ui/notifications/tool-cancelled";
/** Ids of messages that are not requests. */
const MALFORMED = ["no jsonrpc", "old jsonrpc", "no method"];
const APP_TOOL = {
  name: "probe_view",
  description: "Returns a text if the probe's View is open.",
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
};

/** @param {string} value */
const text = (value) => ({ type: "text", text: value });

/** A value in a few characters. @param {unknown} value */
const brief = (value) => (value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value)).slice(0, 160));

/** Whether a request was denied. @param {Json | undefined} answer */
const refused = (answer) => isObject(answer?.error) || answer?.result?.isError === true;

/** Report the size of the View to the host. @param {Connection} connection */
const reportSize = (connection) => {
  const { style } = document.documentElement;
  style.height = "max-content";
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
  style.height = "";
  connection.notify("ui/notifications/size-changed", { width: window.innerWidth, height });
};
