// @ts-check
/** What is tried on the host, and what follows from it for each rule. */

/**
 * @typedef {{
 *   rules: Rule[], version: string, declares: boolean, domain: string, data: Json, key: string,
 * }} Settings
 */

/** So long a host may take where it may have to ask its user. */
const LONG = 60_000;
const SHORT = 3_000;
/** What this View says it can be shown as. The third mode is asked for although it is not declared. */
const DECLARED = ["inline", "fullscreen"];
const ANSWER_AFTER = 1_000;

class Probe {
  /** @type {Json} */
  answer = {};
  /** @type {Json} What the host's context is now. */
  context = {};
  /** @type {string} The name of this run, once its result is here. */
  run = "";
  finished = false;
  askedToClose = false;
  #tired = false;
  /** Whether the View asks for sizes that are not its own. */
  sizing = false;
  /** A word for the model, which nobody can guess. */
  word = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, "0")).join("");

  /** @param {Settings} settings @param {Link} link */
  constructor(settings, link) {
    this.settings = settings;
    this.link = link;
    this.findings = new Findings(settings.rules);
    /** @type {(words: string) => void} */
    this.progress = () => {};
    link.served.set("ping", async () => ({}));
    link.served.set("tools/list", async () => ({ tools: [APP_TOOL] }));
    link.served.set("tools/call", async () => ({ content: [{ type: "text", text: "The View is here." }] }));
    link.served.set("ui/resource-teardown", () => this.#close());
    link.addEventListener("received", () => this.#heard());
  }

  get capabilities() {
    return isObject(this.answer.hostCapabilities) ? this.answer.hostCapabilities : {};
  }

  /** Keep the context up to date. */
  #heard() {
    const { message } = /** @type {Received} */ (this.link.received.at(-1));
    if (message?.method === CHANGED && isObject(message.params)) {
      this.context = { ...this.context, ...message.params };
    }
  }

  /** Try everything, in order. */
  async start() {
    /** @type {[string, () => unknown][]} */
    const steps = [
      ["Looking at the frame", () => this.#sandbox()],
      ["Trying ways out", () => this.#policy()],
      ["Sending what is wrong", () => this.#link()],
      ["Calling tools (the host may ask you)", () => this.#tools()],
      ["Asking for what is refused", () => this.#refusals()],
      ["Changing the size", () => this.#size()],
      ["Changing the display mode", () => this.#modes()],
      ["Waiting for the tool's result", () => this.#outcome()],
      ["Telling the model", () => this.#tellModel()],
      ["Forging messages", () => this.#forge()],
      ["Counting", () => this.#count()],
    ];
    this.progress("Shaking hands");
    // Of a host that does not answer, only what the browser tells can be seen.
    const possible = (await this.#greet()) ? steps : steps.slice(0, 2);
    for (const [words, step] of possible) {
      this.progress(words);
      try {
        await step();
      } catch (error) {
        // A fault of the probe is none of the host's; the rules of this step stay untested.
        console.error(error);
      }
    }
    this.finished = true;
    this.progress("");
    await this.save();
  }

  // The handshake

  /** Whether the host shakes hands. */
  async #greet() {
    const { link, findings } = this;
    const appCapabilities = { availableDisplayModes: DECLARED, tools: { listChanged: false } };
    const appInfo = { name: "fanlight-probe", version: this.settings.version };
    const params = { protocolVersion: "2026-01-26", appInfo, appCapabilities };
    const answer = await link.ask("ui/initialize", params, { id: 0, patience: 10_000 });
    if (!isObject(answer?.result)) {
      const words = answer ? `ui/initialize was answered with ${brief(answer)}.` : "ui/initialize was not answered.";
      findings.fail("INI-03", words);
      findings.fail("INI-02", words);
      return false;
    }
    this.answer = answer?.result;
    const { protocolVersion, hostInfo, hostCapabilities, hostContext } = this.answer;
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
      this.#looks(hostContext);
    }
    const ping = await link.ask("ping", undefined, { id: "before initialized", patience: 5_000 });
    findings.check("INI-06", isObject(ping?.result), "ping was not answered before initialized.");
    await pause(1_200);
    const early = link.received.filter(({ message }) => message?.method !== undefined);
    const names = [...new Set(early.map(({ message }) => message.method))].join(", ");
    findings.check("SBX-09", !early.length, `These came too early: ${names}.`, "Nothing came for a second.");
    link.ready = true;
    link.notify("ui/notifications/initialized");
    return true;
  }

  /** @param {Json} context */
  #looks({ containerDimensions, styles }) {
    const { findings } = this;
    if (isObject(containerDimensions)) {
      const problems = dimensionProblems(containerDimensions);
      findings.check("DIM-02", !problems.length, problems.join(" "), brief(containerDimensions));
    } else findings.note("DIM-02", "The host tells no dimensions, so both axes are unbounded.");
    const variables = isObject(styles) && isObject(styles.variables) ? styles.variables : undefined;
    if (!variables || !Object.keys(variables).length) {
      findings.note("THM-01", "The host sends no variables.");
      findings.note("THM-02", "The host sends no variables.");
    } else {
      const unknown = Object.keys(variables).filter((name) => !VARIABLES.has(name));
      const wrong = Object.keys(variables).filter((name) => !isText(variables[name]));
      findings.check("THM-01", !unknown.length, `Not standard: ${unknown.slice(0, 5).join(", ")}.`);
      findings.check("THM-01", !wrong.length, `Not a text: ${wrong.slice(0, 5).join(", ")}.`);
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
    findings.check("SBX-02", window.top !== window && !reaches(window.top), "The page around the View can be read.");
    if (proxied && reaches(window.parent)) {
      findings.note("SBX-02", "The proxy can be read, so what it keeps from the View rests on its own origin alone.");
    }
    findings.check(
      "SEC-01",
      isSandboxed(),
      "The View is in no sandbox.",
      "The browser treats the document as sandboxed.",
    );
    for (const feature of ["camera", "microphone", "geolocation", "display-capture", "payment", "usb"]) {
      const has = hasFeature(feature);
      if (has !== undefined) findings.check("SEC-01", !has, `${feature} was not asked for, and is granted.`);
    }
    if (window.origin !== "null") findings.pass("SBX-03", `The View's origin is ${window.origin}.`);
    else findings.note("SBX-03", "The View has no origin of its own, so its sandbox cannot be told from here.");
    const granted = hasFeature("clipboard-write");
    const promised = isObject(this.capabilities.sandbox?.permissions?.clipboardWrite);
    if (!this.settings.declares) findings.note("RES-11", "This View asks for nothing. Run probe_host.");
    else if (granted) findings.pass("RES-11", "clipboard-write is granted.");
    else if (promised) {
      findings.fail("RES-11", "hostCapabilities.sandbox grants clipboardWrite, and the frame does not.");
    } else {
      findings.note(
        "RES-11",
        granted === false ? "clipboard-write is not granted, as hosts may decide." : "This browser does not tell.",
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
    if (!declares) return this.#defaults(open);
    for (const rule of ["CSP-02", "SBX-06e"]) findings.note(rule, "This View declares domains. Run probe_host_bare.");
    // A declared origin that is blocked is no failure: hosts may allow less than was declared (CSP-04).
    let opened = 0;
    for (const [rule, way, host] of allowed) {
      const was = blocked(way, host);
      if (was) findings.note(rule, `The declared ${host} is blocked for ${way}, as hosts may decide.`);
      else if (open.length < all.length) findings.pass(rule);
      opened += was ? 0 : 1;
    }
    if (open.length) findings.fail("CSP-01", list(open));
    else if (opened) {
      findings.pass("CSP-01", `${opened} of ${allowed.length} declared origins are let through, and no other.`);
    } else findings.note("CSP-01", "All declared origins are blocked, as hosts may decide.");
    const own = policies().some((policy) => policy.get("connect-src")?.includes("'self'"));
    if (own) findings.pass("CSP-11");
    else {
      findings.note(
        "CSP-11",
        "connect-src does not name the View's own origin; the standard's two recipes differ here.",
      );
    }
    if (canCompile()) {
      findings.note("CSP-01", "Code can be made of text (unsafe-eval), which the standard's recipe does not have.");
    }
  }

  /** @param {string[]} open */
  #defaults(open) {
    const { findings } = this;
    for (const rule of ["CSP-01", "CSP-09", "CSP-10", "CSP-11"]) {
      findings.note(rule, "This View declares no domains. Run probe_host.");
    }
    for (const rule of ["CSP-02", "SBX-06e"]) {
      findings.check(rule, !open.length, `Not blocked: ${open.join(", ")}.`);
      findings.check(rule, !canCompile(), "Code can be made of text (unsafe-eval).");
    }
  }

  // The link

  async #link() {
    const { link, findings } = this;
    const unknown = await link.ask("fanlight-probe/unknown", {});
    const code = unknown?.error?.code;
    findings.check(
      "SBX-12",
      code === -32601,
      `An unknown method was answered with ${brief(unknown)}, expected -32601.`,
    );
    link.notify("fanlight-probe/notifications/unknown", {});
    link.notify("notifications/message", { level: "debug", logger: "fanlight-probe", data: "The probe was here." });
    for (const id of ["a text", 2_147_483_655, "0"]) {
      const answer = await link.ask("ping", undefined, { id });
      findings.check(
        "SBX-12",
        isObject(answer?.result),
        `A ping with the id ${brief(id)} was not answered under that id.`,
      );
    }
    const before = link.received.length;
    const wrong = [
      ...[42, "text", null, true, [], {}, [[]]],
      { id: MALFORMED[0], method: "ping" },
      { jsonrpc: "1.0", id: MALFORMED[1], method: "ping" },
      { jsonrpc: "2.0", id: MALFORMED[2] },
      { jsonrpc: "2.0", id: {}, method: "ping" },
      { jsonrpc: "2.0", method: 7 },
      { jsonrpc: "2.0", id: "no such request", result: {} },
    ];
    for (const message of wrong) link.post(message);
    await this.#stranger();
    const alive = await link.ask("ping");
    findings.check("SEC-02", isObject(alive?.result), "After malformed messages the host does not answer any more.");
    const since = link.received.slice(before);
    const acted = since.filter(({ message }) => MALFORMED.includes(message?.id) && "result" in message);
    findings.check(
      "SEC-02",
      !acted.length,
      `Answered as if well formed: ${acted.map(({ message }) => message.id).join(", ")}.`,
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
      const answer = await link.ask(method, params);
      findings.check("SEC-02", refused(answer), `${method} with ${brief(params)} was answered with ${brief(answer)}.`);
    }
  }

  /** Let another frame speak in the View's place. */
  async #stranger() {
    const { link, findings } = this;
    const id = "from another frame";
    const words = JSON.stringify({ jsonrpc: "2.0", id, method: "ping" });
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.srcdoc = `<!doctype html><script>
      addEventListener("message", ({ data, source }) => {
        if (source === parent.parent) parent.postMessage(["heard", data], "*");
      });
      parent.parent.postMessage(${words}, "*");
      parent.postMessage(["spoke"], "*");
    </scr${"ipt"}>`;
    let spoke = false;
    let heard = false;
    window.addEventListener("message", ({ source, data }) => {
      if (source !== frame.contentWindow || !Array.isArray(data)) return;
      spoke ||= data[0] === "spoke";
      heard ||= data[0] === "heard" && data[1]?.id === id;
    });
    document.body.append(frame);
    await link.until(() => spoke, 2_000);
    await pause(500);
    frame.remove();
    const answered = heard || link.received.some(({ message }) => message?.id === id);
    if (spoke) findings.check("SEC-02", !answered, "What a frame inside the View said was answered.");
    else findings.note("SEC-02", "A frame inside the View could not speak, so it was not tested whether it is heard.");
  }

  // Tools

  async #tools() {
    const { link, findings, capabilities } = this;
    if (!capabilities.serverTools) {
      const why = "The host does not offer serverTools.";
      const rules = ["VIS-01", "VIS-03", "VIS-04", "VIS-05", "SBX-07", "NEG-01", "NEG-02", "DSC-02", "D-STD-01"];
      for (const id of rules) findings.note(id, why);
      return;
    }
    const payload = { ...this.settings.data, long: "0123456789".repeat(20_000) };
    const echoed = await this.#call("probe_echo", { payload });
    const result = echoed?.result;
    findings.check("VIS-01", isObject(result) && !result.isError, `probe_echo was answered with ${brief(echoed)}.`);
    const copies = [result?.structuredContent?.payload, result?._meta?.[this.settings.key]?.payload];
    const whole = copies.every((copy) => same(copy, payload));
    findings.check(
      "SBX-07",
      whole,
      "A call of 200 kB did not come back as it was sent.",
      "200 kB come back as they were sent.",
    );
    const failed = await this.#call("probe_echo", { payload: 1, fail: true });
    findings.check("SBX-07", failed?.result?.isError === true, `A failed call was answered with ${brief(failed)}.`);
    const unknown = await this.#call("probe_no_such_tool", {});
    findings.check(
      "VIS-04",
      refused(unknown),
      `An unknown tool was answered with ${brief(unknown)}.`,
      "An unknown tool is refused; other servers were not tried.",
    );
    const before = await this.#saw();
    const modelOnly = await this.#call("probe_model_only", {});
    const nobody = await this.#call("probe_nobody", {});
    const saw = await this.#saw();
    /** @type {[string, string, Json | undefined][]} */
    const guarded = [
      ["VIS-03", "probe_model_only", modelOnly],
      ["VIS-05", "probe_nobody", nobody],
    ];
    for (const [rule, tool, answer] of guarded) {
      findings.check(rule, refused(answer), `${tool} was answered with ${brief(answer)}.`);
      if (saw && before) {
        findings.check(
          rule,
          same(saw.forbiddenCalls[tool], before.forbiddenCalls[tool]),
          `The server was called for ${tool}.`,
        );
      }
    }
    if (saw) this.#server(saw);
    await this.#progressOf();
    await this.#cancel();
    const tools = await link.ask("tools/list", {});
    const listed = tools?.result?.tools;
    findings.check("D-STD-01", Array.isArray(listed), `tools/list was answered with ${brief(tools)}.`);
    if (capabilities.serverResources) await this.#resources();
    else findings.note("SBX-11", "The host does not offer serverResources.");
  }

  /** @param {string} name @param {Json} args @returns {Promise<Json | undefined>} */
  #call(name, args) {
    return this.#ask("tools/call", { name, arguments: args });
  }

  /**
   * Ask for what the host may have to ask its user about. After one request that nobody answered, the others wait less.
   * @param {string} method
   * @param {Json} params
   */
  async #ask(method, params) {
    const answer = await this.link.ask(method, params, { patience: this.#tired ? SHORT : LONG });
    this.#tired ||= !answer;
    return answer;
  }

  /** What the server saw of the host. @param {Json} [args] @returns {Promise<Json | undefined>} */
  async #saw(args = {}) {
    const seen = (await this.#call("probe_record", args))?.result?.structuredContent;
    return isObject(seen) ? seen : undefined;
  }

  /** @param {Json} saw */
  #server(saw) {
    const { findings } = this;
    const named = saw.extension ?? saw.experimental;
    findings.check("NEG-01", named, "The host does not name the extension to the server.", `MCP ${saw.protocol}`);
    if (saw.experimental && !saw.extension) findings.note("NEG-01", "It is under experimental, not under extensions.");
    const types = named?.mimeTypes;
    const typed = Array.isArray(types) && types.includes("text/html;profile=mcp-app");
    findings.check("NEG-02", typed, `mimeTypes is ${brief(types)}.`);
    findings.check("DSC-02", saw.reads > 0, "The server was not asked for the View.");
  }

  async #progressOf() {
    const { link, findings } = this;
    const progressToken = "a token of the View";
    const params = { name: "probe_wait", arguments: { seconds: 0.4 }, _meta: { progressToken } };
    const answer = await this.#ask("tools/call", params);
    const told = link.told("notifications/progress").map(({ message }) => message.params?.progressToken);
    if (!isObject(answer?.result)) return;
    if (!told.length) findings.note("SBX-12", "Progress is not relayed, so long calls may time out in Views.");
    else {
      findings.check(
        "SBX-12",
        told.every((token) => token === progressToken),
        `Progress came under ${brief(told[0])}.`,
        "Progress is relayed.",
      );
    }
  }

  async #cancel() {
    const { link, findings } = this;
    const id = "to be cancelled";
    const asked = link.ask("tools/call", { name: "probe_wait", arguments: { seconds: 30 } }, { id, patience: 1_500 });
    await pause(400);
    link.notify("notifications/cancelled", { requestId: id, reason: "The probe gives it up." });
    const answer = await asked;
    findings.check("SBX-12", !isObject(answer?.result), "A cancelled call was answered with a result.");
    const alive = await link.ask("ping");
    findings.check("SBX-12", isObject(alive?.result), "After a cancelled call the host does not answer any more.");
  }

  async #resources() {
    const { findings } = this;
    const uri = `ui://fanlight-probe/${this.settings.declares ? "view" : "bare"}`;
    const read = await this.#ask("resources/read", { uri });
    if (Array.isArray(read?.result?.contents)) findings.pass("SBX-11", "resources/read is passed on.");
    else findings.note("SBX-11", `resources/read was answered with ${brief(read)}, as hosts may decide.`);
    const none = await this.#ask("resources/read", { uri: "ui://fanlight-probe/none" });
    findings.check("SBX-12", isObject(none?.error), `A resource that is not there was answered with ${brief(none)}.`);
  }

  // What must be refused

  async #refusals() {
    const { findings } = this;
    for (const url of ["javascript:void(0)", "file:///fanlight-probe", "data:text/html,probe", "not a link"]) {
      const answer = await this.#ask("ui/open-link", { url });
      findings.check("LNK-02", refused(answer), `${url} was answered with ${brief(answer)}.`);
    }
  }

  // Sizes and modes

  async #size() {
    const { link, findings } = this;
    const { height, maxHeight } = this.context.containerDimensions ?? {};
    if (height !== undefined && maxHeight === undefined) {
      return findings.note("DIM-01", "The host fixes the height.");
    }
    const most = maxHeight ?? Infinity;
    const heights = [333, 444].map((wanted) => Math.min(wanted, most));
    if (heights[0] === heights[1]) return findings.note("DIM-01", `The host allows ${most} pixels, too few to tell.`);
    this.sizing = true;
    for (const wanted of heights) {
      link.notify("ui/notifications/size-changed", { width: window.innerWidth, height: wanted });
      const followed = await link.until(() => Math.abs(window.innerHeight - wanted) <= 2, 5_000);
      findings.check("DIM-01", followed, `The View asked for ${wanted} pixels and has ${window.innerHeight}.`);
    }
    this.sizing = false;
    tellSize(link);
  }

  async #modes() {
    const { link, findings } = this;
    const current = this.context.displayMode ?? "inline";
    const offered = this.context.availableDisplayModes;
    const undeclared = "pip";
    const declined = await this.#mode(undeclared);
    if (declined !== undefined) {
      findings.check("DSP-04", declined !== undeclared, "The View was put into pip, which it did not declare.");
      findings.check(
        "DSP-06",
        declined === current,
        `For pip, the answer was ${declined}, and the mode is ${current}.`,
      );
    }
    await pause(300);
    const changed = link.told(CHANGED).some(({ message }) => message.params?.displayMode === undeclared);
    findings.check("DSP-04", !changed, "The View was told that it is in pip, which it did not declare.");
    if (declined === undeclared) await this.#mode(current);
    await this.#mode(current);
    if (current !== "inline" || !offered?.includes("fullscreen")) {
      return findings.note("DSP-08", "The host does not offer fullscreen.");
    }
    for (const mode of ["fullscreen", "inline"]) {
      const result = await this.#mode(mode);
      if (result !== mode) return findings.note("DSP-08", `The host answers ${result} to ${mode}.`);
      const told = await link.until(() => this.context.displayMode === mode, 5_000);
      findings.check("DSP-08", told, `After ${mode} was granted, no host-context-changed told of it.`);
    }
    tellSize(link);
  }

  /** @param {string} mode @returns {Promise<string | undefined>} */
  async #mode(mode) {
    const answer = await this.#ask("ui/request-display-mode", { mode });
    const result = answer?.result?.mode;
    this.findings.check("DSP-05", MODES.includes(result), `${mode} was answered with ${brief(answer)}.`);
    return result;
  }

  // The call

  async #outcome() {
    const { link, findings } = this;
    await link.until(() => link.told(INPUT).length, 5_000);
    const input = link.told(INPUT)[0]?.message.params?.arguments;
    const patience = 10_000 + 1_000 * (Number(input?.seconds) || 0);
    await link.until(() => link.told(RESULT).length || link.told(CANCELLED).length, patience);
    const result = link.told(RESULT)[0]?.message.params;
    const gone = link.told(CANCELLED).length > 0;
    if (isObject(input)) findings.pass("TIN-01");
    else if (gone && !link.told(INPUT).length) {
      findings.note("TIN-01", "The call was cancelled before its arguments were complete.");
    } else findings.fail("TIN-01", `tool-input brought ${brief(input)}.`);
    findings.pass("DSC-05");
    if (result) this.#result(result, input);
    else if (!gone) findings.fail("TRS-01", "No tool-result came.");
    else findings.note("TRS-01", "The call was cancelled.");
    if (gone) {
      const reason = link.told(CANCELLED)[0]?.message.params?.reason;
      findings.check("TCX-01", reason === undefined || isText(reason), `reason is ${brief(reason)}.`);
      findings.check("TCX-01", !result, "Both a result and a cancellation came.");
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
    findings.check("TRS-01", same(data?.data, settings.data), "structuredContent is not what the server sent.");
    findings.check("TRS-01", same(result._meta?.[settings.key], data), "_meta is not what the server sent.");
    if (input?.fail === true) {
      findings.check("TRS-01", result.isError === true, "isError is missing.", "An error comes as a result.");
    }
  }

  /** Compare the arguments with those that the server got. @param {Json} input */
  async #compare(input) {
    const saw = await this.#saw({ run: this.run });
    if (!saw || !isObject(saw.arguments)) return;
    const complete = { note: "", seconds: 0, fail: false, ...input };
    this.findings.check(
      "TIN-01",
      same(complete, saw.arguments),
      `The server got ${brief(saw.arguments)}, the View ${brief(input)}.`,
    );
  }

  // The model

  async #tellModel() {
    const { link, findings } = this;
    if (!this.capabilities.updateModelContext) {
      for (const id of ["MCX-02", "MCX-06"]) findings.note(id, "The host does not offer updateModelContext.");
    }
    await link.ask("ui/update-model-context", {
      content: [text("A first word of the probe, which the next update replaces.")],
    });
    const answer = await link.ask("ui/update-model-context", {
      content: [text(`${this.summary()}\nThe word of the probe is ${this.word}.`)],
    });
    if (answer?.result) {
      const extra = Object.keys(answer.result).filter((key) => key !== "_meta");
      findings.check(
        "SBX-12",
        !extra.length,
        `ui/update-model-context was answered with ${brief(answer.result)}, expected {}.`,
      );
    }
    findings.note("MCX-02", answer?.result ? `The word is ${this.word}.` : `The host answered ${brief(answer)}.`);
    findings.note("MCX-06", answer?.result ? `The word is ${this.word}.` : undefined);
  }

  // What could end the run

  async #forge() {
    const { link, findings } = this;
    const name = "ui/notifications/sandbox-";
    // A View that is loaded anew by this would do it again, without end: the server remembers it.
    const { run } = this;
    const seen = run && this.capabilities.serverTools ? await this.#saw({ run, forge: true }) : undefined;
    if (!seen) return findings.note("SBX-08", "It was not tried to forge any, as the server could not be told of it.");
    if (seen.forged) {
      return findings.fail("SBX-08", "The View was loaded anew after it had forged the sandbox's messages.");
    }
    link.notify(`${name}proxy-ready`, {});
    link.notify(`${name}resource-ready`, {
      html: "<!doctype html><title>forged</title><p>This was forged by the probe.",
    });
    await pause(700);
    const alive = await link.ask("ping");
    findings.check("SBX-08", isObject(alive?.result), "After forged messages the host does not answer any more.");
  }

  /** What only the whole run shows. */
  #count() {
    const { link, findings } = this;
    const all = link.received;
    const inputs = link.told(INPUT);
    findings.check("TIN-02", inputs.length <= 1, `tool-input came ${inputs.length} times.`);
    const at = (/** @type {string} */ method) => all.findIndex(({ message }) => message?.method === method);
    if (at(RESULT) >= 0) findings.check("TIN-03", at(INPUT) >= 0 && at(INPUT) < at(RESULT), "tool-result came first.");
    else findings.note("TIN-03", "No tool-result came.");
    const partials = all.flatMap(({ message }, index) => (message?.method === PARTIAL ? [{ index, message }] : []));
    if (partials.length) {
      findings.pass("TIP-01", `${partials.length} came.`);
      const objects = partials.every(({ message }) => isObject(message.params?.arguments));
      findings.check("TIP-02", objects, "A partial brought no object.");
    } else for (const id of ["TIP-01", "TIP-02"]) findings.note(id, "None came.");
    const late = at(INPUT) >= 0 ? partials.filter(({ index }) => index > at(INPUT)) : [];
    findings.check("TIP-04", !late.length, `${late.length} partials came after tool-input.`);
    const leaked = all.filter(({ message }) => String(message?.method).startsWith("ui/notifications/sandbox-"));
    findings.check("SBX-08", !leaked.length, "A message of the sandbox reached the View.");
    this.#answers();
    const changes = link.told(CHANGED);
    const problems = changes.flatMap(({ message: { params } }) =>
      isObject(params) ? contextProblems(params) : ["It brought no object."],
    );
    if (changes.length) findings.check("HCC-01", !problems.length, problems.join(" "), `${changes.length} came.`);
    else findings.note("HCC-01", "None came.");
    const asked = all.filter(({ message }) => message?.method === "tools/list" && message.id !== undefined);
    if (asked.length) findings.pass("D-STD-01", "The host asks the View for its tools.");
    else findings.note("D-STD-01", "The host does not ask the View for its tools.");
  }

  #answers() {
    const { link, findings } = this;
    const messages = link.received.map(({ message }) => message);
    const answers = messages.filter(isAnswer);
    // An answer to what was malformed has no id, or the id that was sent.
    const known = new Set([null, undefined, ...link.sent, ...MALFORMED]);
    const strange = answers.filter(({ id }) => !known.has(id) && !isObject(id));
    findings.check("SBX-10", !strange.length, `An answer came to ${brief(strange[0]?.id)}, which was not asked.`);
    const twice = [...link.sent].filter((id) => answers.filter((answer) => answer.id === id).length > 1);
    findings.check("SBX-10", !twice.length, `Two answers came to ${brief(twice[0])}.`);
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

  /** The host closes the View: tell the server at once, and once more before the answer. */
  async #close() {
    const { findings } = this;
    const rules = this.askedToClose ? ["TDN-01", "D-TDN-03"] : ["TDN-01"];
    for (const id of rules) findings.pass(id, "ui/resource-teardown came.");
    await Promise.race([this.save(), pause(3_000)]);
    await pause(ANSWER_AFTER);
    for (const id of this.askedToClose ? ["TDN-03", "D-TDN-04"] : ["TDN-03"]) {
      findings.pass(id, `The View was there for ${ANSWER_AFTER / 1_000} s more.`);
    }
    await Promise.race([this.save(), pause(3_000)]);
    return {};
  }

  /** Ask the host to close the View. */
  leave() {
    this.askedToClose = true;
    this.link.notify("ui/notifications/request-teardown", {});
  }

  // The report

  report() {
    const { settings, findings, answer } = this;
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
        info: answer.hostInfo,
        protocolVersion: answer.protocolVersion,
        capabilities: answer.hostCapabilities,
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
    const { hostInfo } = this.answer;
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

  /** Give the report to the server. */
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
/** Ids of messages that are no requests. */
const MALFORMED = ["no jsonrpc", "old jsonrpc", "no method"];
const APP_TOOL = {
  name: "probe_view",
  description: "Says that the probe's View is there.",
  inputSchema: { type: "object", properties: {} },
  annotations: { readOnlyHint: true },
};

/** @param {string} words */
const text = (words) => ({ type: "text", text: words });

/** A value in a few characters. @param {unknown} value */
const brief = (value) => (value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value)).slice(0, 160));

/** Whether a request was answered with no. @param {Json | undefined} answer */
const refused = (answer) => isObject(answer?.error) || answer?.result?.isError === true;

/** Tell the host how high the View is. @param {Link} link */
const tellSize = (link) => {
  const { style } = document.documentElement;
  style.height = "max-content";
  const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
  style.height = "";
  link.notify("ui/notifications/size-changed", { width: window.innerWidth, height });
};
