// @ts-check
/** The parts of forms that need no page. The vectors are those of tests/show/test_forms.py. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { fitsVariant, own, reasonFor, resolve } from "../../src/fanlight/browser/form/schema.js";

const vectors = JSON.parse(readFileSync(new URL("../vectors/forms/reasons.json", import.meta.url), "utf8"));

test("a value that does not fit gets the same words as on the server", () => {
  assert.ok(vectors.length > 10);
  for (const { schema, value, reason } of vectors) {
    assert.equal(reasonFor(schema, value) ?? null, reason, JSON.stringify({ schema, value }));
  }
});

test("a pattern that only the server understands is left to it", () => {
  assert.equal(reasonFor({ type: "string", pattern: "(?P<year>x)" }, "y"), undefined);
});

test("names of the prototype are not properties", () => {
  assert.equal(own({}, "__proto__"), undefined);
  assert.equal(own({}, "constructor"), undefined);
  assert.equal(own(JSON.parse('{"__proto__": 1}'), "__proto__"), 1);
  assert.deepEqual(resolve({ $ref: "#/__proto__/toString" }, {}), {});
  assert.deepEqual(resolve({ $ref: "#/constructor" }, {}), {});
});

test("an incomplete object finds its variant by its constants", () => {
  const card = { properties: { kind: { const: "card" } }, required: ["number"] };
  assert.equal(fitsVariant(card, { kind: "card" }), false);
  assert.equal(fitsVariant(card, { kind: "card" }, true), true);
  assert.equal(fitsVariant(card, { kind: "invoice" }, true), false);
});
