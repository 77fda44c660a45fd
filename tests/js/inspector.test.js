// @ts-check
/** The parts of the page of `fanlight dev` that need no page. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { read, write } from "../../src/fanlight/inspector/pages/address.js";
import { diagnose, ofReason, ofResult } from "../../src/fanlight/inspector/pages/diagnose.js";
import { differences } from "../../src/fanlight/inspector/pages/replay.js";

test("an address holds what is shown, and gives it back", () => {
  const hash = write("my server", "a/b?c", { args: '{"x":"ä & ?"}', panel: "Security", width: "" });
  const { server, tool, settings } = read(hash);
  assert.deepEqual([server, tool], ["my server", "a/b?c"]);
  assert.equal(settings.get("args"), '{"x":"ä & ?"}');
  assert.equal(settings.get("panel"), "Security");
  assert.equal(settings.has("width"), false);
});

test("an address that makes no sense is read as far as it does", () => {
  assert.deepEqual({ ...read(""), settings: undefined }, { settings: undefined });
  assert.equal(read("#/clock").server, "clock");
  assert.equal(read("#/clock").tool, undefined);
  assert.equal(read("#/100%/x").server, "100%");
  assert.equal(write(undefined, undefined, {}), "#/");
});

const said = (/** @type {any} */ message) => ({ from: "view", message });
const told = (/** @type {any} */ message) => ({ from: "host", message });

test("a View that came up has no problem", () => {
  assert.deepEqual(
    diagnose([said({ method: "ui/initialize", id: 1 }), said({ method: "ui/notifications/initialized" })], []),
    [],
  );
});

test("each missing step is named", () => {
  const whatOf = (/** @type {any[]} */ messages, /** @type {any[]} */ records = []) =>
    diagnose(messages, records)[0]?.what ?? "";
  assert.match(whatOf([]), /never sent ui\/initialize/);
  assert.match(whatOf([said({ method: "ui/initialize", id: 0 })]), /never sent ui\/notifications\/initialized/);
  const rejected = [said({ method: "ui/initialize", id: 0 }), told({ id: 0, error: { code: -1, message: "no" } })];
  assert.equal(whatOf(rejected), "The handshake was rejected: no");
  const blocked = {
    kind: "violation",
    outcome: "blocked",
    name: "script-src-elem",
    data: { blocked: "https://cdn.example/x.js", line: 4 },
  };
  assert.match(whatOf([], [blocked]), /blocked https:\/\/cdn\.example\/x\.js \(script-src-elem\), line 4/);
  assert.match(whatOf([], [{ ...blocked, outcome: "probe" }]), /never sent ui\/initialize/);
});

test("an error of the script comes first, with its place", () => {
  const data = { text: "x is not defined", file: "", line: 7, column: 3 };
  const failure = said({ method: "notifications/message", params: { level: "error", logger: "fanlight.error", data } });
  const [found] = diagnose([failure], [], { uri: "ui://a/b", text: "x.y()" });
  assert.equal(found?.what, "JavaScript error at ui://a/b:7:3: x is not defined");
  assert.equal(found?.code, "x.y()");
  assert.match(found?.todo ?? "", /The View stopped there/);
});

test("what the host says has something to do with it", () => {
  assert.match(ofReason("its mimeType is text/plain").todo ?? "", /profile=mcp-app/);
  assert.equal(ofReason("something else").todo, undefined);
});

test("a UI resource that is written out as text is named", () => {
  const resource = { type: "resource", resource: { uri: "ui://a/b", mimeType: "text/html", text: "<p>" } };
  const texts = (/** @type {any[]} */ ...values) => ({
    content: values.map((value) => ({ type: "text", text: JSON.stringify(value) })),
  });
  assert.match(ofResult(texts("a", { content: [resource], isError: false }))?.todo ?? "", /Return the resource itself/);
  assert.match(ofResult(texts(resource))?.what ?? "", /written out as text/);
  for (const other of [
    {},
    { content: [] },
    { content: [resource] },
    { content: [{ type: "text", text: "{" }] },
    texts(null, 7, [], { content: "x" }, { content: [{ type: "resource" }] }),
  ]) {
    assert.equal(ofResult(other), undefined);
  }
});

test("a View that says the same again does not differ, whatever sizes it reports", () => {
  const then = ["ui/initialize", "ui/notifications/size-changed", "tools/call"];
  assert.deepEqual(
    differences(then, [
      "ui/initialize",
      "tools/call",
      "ui/notifications/size-changed",
      "ui/notifications/size-changed",
    ]),
    [],
  );
  assert.deepEqual(differences(then, ["ui/initialize"]), ["tools/call: 1 then, 0 now."]);
  assert.deepEqual(differences(["a", "b"], ["b", "a"]), ["The order differs: message 1 was a, and is b now."]);
});
