// @ts-check
/** What is known of each rule. */

/**
 * @typedef {{
 *   id: string, strength: string, sentence: string, section: string, aliases: string[],
 *   test: "view" | "person" | "nobody", text: string,
 * }} Rule
 */
/** @typedef {"pass" | "fail" | "untested" | "person"} Status */

class Findings extends EventTarget {
  /** @type {Map<string, { passed: number, failed: number, said: boolean | undefined, notes: string[] }>} */
  #found = new Map();

  /** @param {Rule[]} rules */
  constructor(rules) {
    super();
    this.rules = rules;
    for (const { id } of rules) this.#found.set(id, { passed: 0, failed: 0, said: undefined, notes: [] });
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
   * @param {string} failure What is noted if it does not hold.
   * @param {string} [success]
   */
  check(id, holds, failure, success) {
    if (holds) this.pass(id, success);
    else this.fail(id, failure);
  }

  /** What a person says of a rule. @param {string} id @param {boolean} kept */
  say(id, kept) {
    this.#of(id).said = kept;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Rule} rule @returns {Status} */
  status({ id, test }) {
    const { passed, failed, said } = this.#of(id);
    if (failed || said === false) return "fail";
    if (passed || said) return "pass";
    return test === "person" ? "person" : "untested";
  }

  /** Why a rule has its status. @param {string} id */
  notes(id) {
    const rule = this.rules.find((rule) => rule.id === id);
    const { passed, failed, said, notes } = this.#of(id);
    const untestable = rule?.test === "nobody" && !passed && !failed && said === undefined;
    return untestable ? [rule.text, ...notes] : [...notes];
  }
}
