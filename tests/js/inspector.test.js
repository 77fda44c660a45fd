// @ts-check
/** The parts of the page of `fanlight dev` that need no page. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { fitsVariant, resolve } from "../../src/fanlight/browser/form/schema.js";
import { readAddress, writeAddress } from "../../src/fanlight/inspector/pages/address.js";
import { labelOf, startValue, variantName } from "../../src/fanlight/inspector/pages/argument-fields.js";
import { diagnose, explainMissingBuild, explainResult } from "../../src/fanlight/inspector/pages/diagnose.js";
import { differences } from "../../src/fanlight/inspector/pages/replay.js";

test("an address holds the state of the page, and gives it back", () => {
  const hash = writeAddress("my server", "a/b?c", { args: '{"x":"ä & ?"}', panel: "Security", width: "" });
  const { server, tool, settings } = readAddress(hash);
  assert.deepEqual([server, tool], ["my server", "a/b?c"]);
  assert.equal(settings.get("args"), '{"x":"ä & ?"}');
  assert.equal(settings.get("panel"), "Security");
  assert.equal(settings.has("width"), false);
});

test("a malformed address is read as far as possible", () => {
  assert.deepEqual({ ...readAddress(""), settings: undefined }, { settings: undefined });
  assert.equal(readAddress("#/clock").server, "clock");
  assert.equal(readAddress("#/clock").tool, undefined);
  assert.equal(readAddress("#/100%/x").server, "100%");
  assert.equal(writeAddress(undefined, undefined, {}), "#/");
});

const fromView = (/** @type {any} */ message) => ({ from: "view", message });
const fromHost = (/** @type {any} */ message) => ({ from: "host", message });

test("a View that connected has no problem", () => {
  const messages = [fromView({ method: "ui/initialize", id: 1 }), fromView({ method: "ui/notifications/initialized" })];
  assert.equal(diagnose(messages), undefined);
});

test("each missing step is named", () => {
  const messageOf = (/** @type {any[]} */ ...messages) => diagnose(messages)?.message ?? "";
  const initialize = fromView({ method: "ui/initialize", id: 0 });
  assert.match(messageOf(), /never sent ui\/initialize/);
  assert.match(messageOf(initialize), /never sent ui\/notifications\/initialized/);
  const rejected = fromHost({ id: 0, error: { code: -1, message: "no" } });
  assert.equal(messageOf(initialize, rejected), "The handshake was rejected: no");
});

test("a JavaScript error comes first, with its place", () => {
  const data = { text: "x is not defined", file: "", line: 7, column: 3 };
  const params = { level: "error", logger: "fanlight.error", data };
  const found = diagnose([fromView({ method: "notifications/message", params })], { uri: "ui://a/b", text: "x.y()" });
  assert.equal(found?.message, "JavaScript error at ui://a/b:7:3: x is not defined");
  assert.equal(found?.code, "x.y()");
  assert.match(found?.advice ?? "", /The script stopped there/);
});

test("a UI resource that is serialized as text is named", () => {
  const resource = { type: "resource", resource: { uri: "ui://a/b", mimeType: "text/html", text: "<p>" } };
  const texts = (/** @type {any[]} */ ...values) => ({
    content: values.map((value) => ({ type: "text", text: JSON.stringify(value) })),
  });
  const wrapped = texts("a", { content: [resource], isError: false });
  assert.match(explainResult(wrapped)?.advice ?? "", /Return the resource itself/);
  assert.match(explainResult(texts(resource))?.message ?? "", /contains a UI resource as text/);
  for (const other of [
    {},
    { content: [] },
    { content: [resource] },
    { content: [{ type: "text", text: "{" }] },
    texts(null, 7, [], { content: "x" }, { content: [{ type: "resource" }] }),
  ]) {
    assert.equal(explainResult(other), undefined);
  }
});

test("a replay that repeats the recorded messages does not differ, whatever sizes the View reports", () => {
  const recorded = ["ui/initialize", "ui/notifications/size-changed", "tools/call"];
  const size = "ui/notifications/size-changed";
  assert.deepEqual(differences(recorded, ["ui/initialize", "tools/call", size, size]), []);
  assert.deepEqual(differences(recorded, ["ui/initialize"]), ["tools/call: 1 recorded, 0 now."]);
  assert.deepEqual(differences(["a", "b"], ["b", "a"]), ["The order differs: message 1 was a, and is b now."]);
});

test("references in a schema are followed, with their siblings", () => {
  const root = { $defs: { "a/b": { type: "string" }, loop: { $ref: "#/$defs/loop" } } };
  assert.deepEqual(resolve({ $ref: "#/$defs/a~1b", title: "T" }, root), { type: "string", title: "T" });
  assert.deepEqual(resolve(true, root), {});
  assert.deepEqual(resolve({ $ref: "https://elsewhere.example" }, root), {});
  assert.ok(resolve({ $ref: "#/$defs/loop" }, root));
});

test("a field starts with its value, its default, or an example if it is required", () => {
  const schema = { default: "d", examples: ["e"] };
  assert.equal(startValue(schema, "v", true), "v");
  assert.equal(startValue(schema, undefined, true), "d");
  assert.equal(startValue({ examples: ["e"] }, undefined, true), "e");
  assert.equal(startValue({ examples: ["e"] }, undefined, false), undefined);
});

test("a label has the title of a property if that says more than its name", () => {
  assert.equal(labelOf("first_name", { title: "First Name" }), "first_name");
  assert.equal(labelOf("zone", { title: "Time zone" }), "zone (Time zone)");
});

test("the variant of a union is found by its constants and required properties", () => {
  const circle = { properties: { kind: { const: "circle" } }, required: ["radius"] };
  assert.equal(variantName(circle, 0), "circle");
  assert.equal(variantName({}, 1), "variant 2");
  assert.equal(fitsVariant(circle, { kind: "circle", radius: 1 }), true);
  assert.equal(fitsVariant(circle, { kind: "circle" }), false);
  assert.equal(fitsVariant(circle, { kind: "square", radius: 1 }), false);
  assert.equal(fitsVariant({ type: "integer" }, 3), true);
  assert.equal(fitsVariant({ type: "integer" }, undefined), false);
});

test("a View whose first build is running is said to be built, and any other reason stays", () => {
  const reason = "/a/dist/index.html: is not built yet. Run `npm install && npm run build` in /a.";
  const build = { folder: "/a", name: "a", state: "building", served: false };
  assert.match(explainMissingBuild(reason, [build]), /^a was still being built when this View was opened\./);
  assert.match(explainMissingBuild(reason, [{ ...build, state: "starting" }]), /^a was still being built/);
  assert.equal(explainMissingBuild(reason, []), reason);
  assert.equal(explainMissingBuild(reason, [{ ...build, state: "failed" }]), reason);
  assert.equal(explainMissingBuild(reason, [{ ...build, folder: "/b" }]), reason);
  assert.equal(explainMissingBuild("The server ended.", [build]), "The server ended.");
});
