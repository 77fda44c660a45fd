// @ts-check
/** What the probe found for each rule. */

/**
 * @typedef {{
 *   id: string, strength: string, sentence: string, section: string, aliases: string[],
 *   test: "view" | "person" | "nobody", text: string,
 * }} Rule `text` is the task of the person, or why nobody can test the rule.
 */
/** @typedef {"pass" | "fail" | "untested" | "person"} Status */

class Findings extends EventTarget {
  /** @type {Map<string, { passed: number, failed: number, verdict: boolean | undefined, notes: string[] }>} */
  #found = new Map();

  /** @param {Rule[]} rules */
  constructor(rules) {
    super();
    this.rules = rules;
    for (const { id } of rules) this.#found.set(id, { passed: 0, failed: 0, verdict: undefined, notes: [] });
  }

  /** @param {string} id */
  #of(id) {
    const found = this.#found.get(id);
    if (!found) throw new Error(`There is no rule ${id}.`);
    return found;
  }

  /** @param {string} id @param {string} [note] */
  note(id, note) {
    const { notes } = this.#of(id);
    if (note && !notes.includes(note)) notes.push(note);
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} id @param {string} [note] */
  pass(id, note) {
    this.#of(id).passed += 1;
    this.note(id, note);
  }

  /** @param {string} id @param {string} note */
  fail(id, note) {
    this.#of(id).failed += 1;
    this.note(id, note);
  }

  /**
   * @param {string} id
   * @param {unknown} holds
   * @param {string} failure The note if it does not hold.
   * @param {string} [success] The note if it holds.
   */
  check(id, holds, failure, success) {
    if (holds) this.pass(id, success);
    else this.fail(id, failure);
  }

  /** Record a person's verdict on a rule. @param {string} id @param {boolean} holds */
  judge(id, holds) {
    this.#of(id).verdict = holds;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Rule} rule @returns {Status} */
  status({ id, test }) {
    const { passed, failed, verdict } = this.#of(id);
    if (failed || verdict === false) return "fail";
    if (passed || verdict) return "pass";
    return test === "person" ? "person" : "untested";
  }

  /** Why a rule has its status. @param {string} id */
  notes(id) {
    const rule = this.rules.find((rule) => rule.id === id);
    const { passed, failed, verdict, notes } = this.#of(id);
    const untestable = rule?.test === "nobody" && !passed && !failed && verdict === undefined;
    return untestable ? [rule.text, ...notes] : [...notes];
  }
}
