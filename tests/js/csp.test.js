// sandbox.js validates sources and knows names as protocol/csp.py does: both replay tests/vectors/csp.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { features, policy } from "../../src/fanlight/browser/sandbox.js";

/** @param {string} name */
const vectors = (name) => JSON.parse(readFileSync(new URL(`../vectors/csp/${name}.json`, import.meta.url), "utf8"));
const sources = vectors("sources");
const names = vectors("names");

/** @param {unknown} source */
const connect = (source) => policy({ connectDomains: [source] }).match(/connect-src (.*?);/)?.[1];

describe("a source", () => {
  for (const source of sources.valid) {
    it(`is ${JSON.stringify(source)}`, () => assert.equal(connect(source), source));
  }
  for (const source of sources.invalid) {
    it(`is not ${JSON.stringify(source)}`, () => assert.equal(connect(source), "'none'"));
  }
});

it("every list of a csp has its place in the policy", () => {
  for (const list of names.lists) {
    assert.match(policy({ [list]: ["https://a.example"] }), / https:\/\/a\.example\b/, list);
  }
});

it("every permission has its feature, and there are no others", () => {
  for (const [feature, key] of Object.entries(names.permissions)) {
    assert.equal(features(undefined, { [key]: {} }), feature);
    assert.equal(features(feature, undefined), feature);
  }
  const all = Object.fromEntries(Object.values(names.permissions).map((key) => [key, {}]));
  assert.equal(features(undefined, { ...all, midi: {} }), Object.keys(names.permissions).join("; "));
});
