// @ts-check
/** What the View shows, and what its buttons do. */

/** The timeout of the clipboard, in milliseconds. The fallback has to copy within 5 s of the click. */
const COPY_TIMEOUT = 2_000;

/** @type {Record<Status, { label: string, mark: string }>} */
const STATUSES = {
  fail: { label: "Fail", mark: "✗" },
  pass: { label: "Pass", mark: "✓" },
  person: { label: "Needs you", mark: "?" },
  untested: { label: "Not tested", mark: "–" },
};

/**
 * Make an element.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

/** The parts of a sentence, with the ones between backticks as code. @param {string} sentence */
const inlineCode = (sentence) => sentence.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));

/** @param {string} label @param {() => unknown} act @param {string} [name] */
const button = (label, act, name) => {
  const made = make("button", { type: "button", ...(name && { "aria-label": name }) }, label);
  made.addEventListener("click", act);
  return made;
};

/** @param {string} id */
const place = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Page {
  /** @type {Status | "all"} */
  #filter = "all";
  /** @type {Map<string, Record<"row" | "mark" | "notes" | "vote", HTMLElement> & { shown: string }>} */
  #rows = new Map();
  /** @type {{ section: HTMLDetailsElement, count: HTMLElement, rules: Rule[], touched: boolean }[]} */
  #sections = [];
  #drawing = false;

  /** @param {Probe} probe */
  constructor(probe) {
    this.probe = probe;
    for (const name of new Set(probe.settings.rules.map(({ section }) => section))) this.#addSection(name);
    place("actions").append(
      button("Copy report", () => this.#copy()),
      button("Send to the chat", () => this.#send()),
      button("Save as a file", () => this.#save("file:///fanlight-probe.json")),
    );
    probe.findings.addEventListener("change", () => this.#drawSoon());
    probe.progress = (step) => this.#progress(step);
    new ResizeObserver(() => probe.connection.ready && !probe.sizing && reportSize(probe.connection)).observe(
      document.body,
    );
    this.draw();
  }

  /** @param {string} name */
  #addSection(name) {
    const rules = this.probe.settings.rules.filter(({ section }) => section === name);
    const count = make("span", { class: "count" });
    const list = make("ul", {}, ...rules.map((rule) => this.#addRow(rule)));
    const head = make("summary", {}, make("h2", {}, name), count);
    const section = /** @type {HTMLDetailsElement} */ (make("details", {}, head, list));
    const entry = { section, count, rules, touched: false };
    head.addEventListener("click", () => (entry.touched = true));
    this.#sections.push(entry);
    place("sections").append(section);
  }

  /** @param {Rule} rule */
  #addRow(rule) {
    const mark = make("span", { class: "mark" });
    const notes = make("div", { class: "notes" });
    const vote = make("div", { class: "vote" });
    const id = make("span", { class: "id", title: rule.aliases.join("\n") }, rule.id);
    const head = make("div", { class: "head" }, mark, id, make("span", { class: "strength" }, rule.strength));
    const row = make("li", {}, head, make("p", {}, ...inlineCode(rule.sentence)), notes, vote);
    this.#rows.set(rule.id, { row, mark, notes, vote, shown: "" });
    return row;
  }

  #drawSoon() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => ((this.#drawing = false), this.draw()));
  }

  /** @param {string} step */
  #progress(step) {
    place("progress").textContent = step && `${step} …`;
    document.body.classList.toggle("running", Boolean(step));
    if (!step) this.#drawSoon();
  }

  /** Show the current findings. */
  draw() {
    const { probe } = this;
    const { hostInfo, protocolVersion } = probe.initializeResult;
    const standard = protocolVersion && `MCP Apps ${protocolVersion}`;
    const about = [hostInfo?.title ?? hostInfo?.name, hostInfo?.version, standard];
    place("host").textContent = about.filter(Boolean).join(" · ") || "The host has not identified itself.";
    this.#applyTheme();
    const counts = probe.counts();
    this.#drawCounts(counts);
    for (const rule of probe.settings.rules) this.#drawRow(rule);
    for (const entry of this.#sections) this.#drawSection(entry);
    place("verdict").textContent = !probe.finished
      ? ""
      : counts.fail
        ? `${counts.fail} of ${counts.pass + counts.fail} tested rules fail.`
        : `All ${counts.pass} tested rules pass.`;
    document.body.dataset.state = probe.finished ? (counts.fail ? "failed" : "passed") : "running";
  }

  /** Apply the theme and the style variables of the host. */
  #applyTheme() {
    const { theme, styles } = this.probe.context;
    const { style } = document.documentElement;
    if (theme === "light" || theme === "dark") style.colorScheme = theme;
    for (const [name, value] of Object.entries(styles?.variables ?? {})) {
      if (VARIABLES.has(name)) style.setProperty(name, value);
    }
  }

  /** @param {Record<Status, number>} counts */
  #drawCounts(counts) {
    const statuses = /** @type {Status[]} */ (Object.keys(STATUSES));
    place("bar").replaceChildren(
      ...statuses
        .filter((status) => counts[status])
        .map((status) => make("span", { class: status, style: `flex-grow: ${counts[status]}` })),
    );
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    /** @type {[Status | "all", string, number][]} */
    const filters = [["all", "All", all]];
    for (const status of statuses) filters.push([status, STATUSES[status].label, counts[status]]);
    const group = place("filters");
    if (!group.children.length) {
      for (const [status] of filters) {
        group.append(button("", () => ((this.#filter = status), this.draw())));
      }
    }
    filters.forEach(([status, label, count], index) => {
      const made = /** @type {HTMLElement} */ (group.children[index]);
      made.className = count ? status : "";
      made.setAttribute("aria-pressed", String(this.#filter === status));
      const text = `${label} ${count}`;
      if (made.textContent !== text) made.textContent = text;
    });
  }

  /** @param {Rule} rule */
  #drawRow(rule) {
    const { probe } = this;
    const entry = this.#rows.get(rule.id);
    if (!entry) return;
    const status = probe.findings.status(rule);
    const notes = probe.findings.notes(rule.id);
    entry.row.hidden = this.#filter !== "all" && this.#filter !== status;
    const now = JSON.stringify([status, notes]);
    if (entry.shown === now) return;
    entry.shown = now;
    entry.row.className = status;
    entry.mark.textContent = STATUSES[status].mark;
    entry.mark.setAttribute("aria-label", STATUSES[status].label);
    entry.mark.setAttribute("role", "img");
    entry.notes.replaceChildren(...notes.map((note) => make("p", {}, note)));
    if (rule.test === "person") this.#drawVote(rule, entry.vote);
  }

  /** @param {Rule} rule @param {HTMLElement} vote */
  #drawVote({ id, text: task }, vote) {
    const action = this.#actions()[id];
    vote.replaceChildren(
      make("p", {}, task),
      make(
        "div",
        { class: "row" },
        ...(action ? [button(action[0], action[1], `${action[0]}: ${id}`)] : []),
        button("Pass", () => this.#vote(id, true), `Pass: ${id}`),
        button("Fail", () => this.#vote(id, false), `Fail: ${id}`),
      ),
    );
  }

  /** @returns {Record<string, [string, () => unknown]>} The buttons for the rules that a person tests. */
  #actions() {
    const url = "https://modelcontextprotocol.io";
    return {
      "LNK-01": ["Open the link", () => this.#request("LNK-01", "ui/open-link", { url })],
      "MSG-01": ["Send to the chat", () => this.#send()],
      "D-DL-01": ["Save the report", () => this.#save("file:///fanlight-probe.json", "D-DL-01")],
      "D-DL-02": ["Save the report", () => this.#save("file:///reports/fanlight-probe.json", "D-DL-02")],
      "D-DL-04": ["Save the report", () => this.#save("file:///reports/..%2F..%2Foutside.json", "D-DL-04")],
      "D-TDN-03": ["Close the View", () => this.probe.requestTeardown()],
    };
  }

  /** @param {{ section: HTMLDetailsElement, count: HTMLElement, rules: Rule[], touched: boolean }} entry */
  #drawSection({ section, count, rules, touched }) {
    const statuses = rules.map((rule) => this.probe.findings.status(rule));
    const those = (/** @type {Status} */ status) => statuses.filter((one) => one === status).length;
    const [pass, fail] = [those("pass"), those("fail")];
    const rest = rules.length - pass;
    const parts = fail ? [`${fail} failed`] : [pass && `${pass} passed`, rest && `${rest} open`];
    count.textContent = parts.filter(Boolean).join(" · ");
    section.classList.toggle("failed", fail > 0);
    section.hidden = this.#filter !== "all" && !statuses.includes(this.#filter);
    if (this.#filter !== "all") section.open = true;
    else if (!touched) section.open = fail > 0;
  }

  // What the buttons do

  /** @param {string} id @param {boolean} holds */
  #vote(id, holds) {
    this.probe.findings.judge(id, holds);
    this.probe.save();
  }

  /** @param {string} id @param {string} method @param {Json} params */
  async #request(id, method, params) {
    const answer = await this.probe.connection.request(method, params, { timeout: LONG });
    this.probe.findings.note(
      id,
      answer?.result ? "The host reports success." : `The host responded with ${brief(answer)}.`,
    );
  }

  #send() {
    return this.#request("MSG-01", "ui/message", { role: "user", content: [text(this.probe.summary())] });
  }

  /** @param {string} uri @param {string} [id] */
  #save(uri, id = "D-DL-01") {
    const resource = { uri, mimeType: "application/json", text: JSON.stringify(this.probe.report(), null, 2) };
    return this.#request(id, "ui/download-file", { contents: [{ type: "resource", resource }] });
  }

  async #copy() {
    const json = JSON.stringify(this.probe.report(), null, 2);
    const area = /** @type {HTMLTextAreaElement} */ (place("report"));
    try {
      // A browser that asks the user for permission may never settle the promise.
      const timeout = new Promise((_, reject) => setTimeout(reject, COPY_TIMEOUT));
      await Promise.race([navigator.clipboard.writeText(json), timeout]);
      place("copied").textContent = "Copied.";
    } catch {
      // The clipboard is not available: select the text, so that the user can copy it.
      area.value = json;
      area.hidden = false;
      area.select();
      const done = document.execCommand("copy");
      area.hidden = done;
      place("copied").textContent = done ? "Copied." : "The report is selected below. Copy it with Ctrl+C.";
    }
  }
}

const probe = new Probe(JSON.parse(String(place("settings").textContent)), new Connection());
new Page(probe);
probe.start();
