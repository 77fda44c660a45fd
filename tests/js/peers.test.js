// view.js against the published AppBridge of the reference SDK, both major versions.
import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";
import { z } from "zod/v4";
import { EVERYTHING, INFO, pair, sdk, settled } from "./support.js";

const CONTEXT = {
  theme: "light",
  displayMode: "inline",
  availableDisplayModes: ["inline", "fullscreen"],
  locale: "en",
};

for (const peer of ["ext-apps-2", "ext-apps-1"]) {
  /** @type {any} */
  const { AppBridge } = await import(`${peer}/app-bridge`);

  /**
   * @param {{ capabilities?: any, hostCapabilities?: any, context?: any,
   *   prepare?: (app: InstanceType<typeof sdk.App>, bridge: any) => void }} [setup]
   */
  const link = async ({ capabilities, hostCapabilities = EVERYTHING, context = CONTEXT, prepare } = {}) => {
    const [view, host] = pair();
    const bridge = new AppBridge(null, { name: "Host", version: "7" }, hostCapabilities, { hostContext: context });
    const errors = /** @type {any[]} */ ([]);
    bridge.onerror = (/** @type {any} */ error) => errors.push(error);
    const initialized = mock.fn();
    bridge.oninitialized = initialized;
    const app = new sdk.App(INFO, capabilities);
    prepare?.(app, bridge);
    await bridge.connect(host);
    await app.connect(view);
    await settled();
    return { app, bridge, initialized, errors, host, view };
  };

  describe(`with the AppBridge of ${peer}`, () => {
    it("the handshake exchanges info and capabilities", async () => {
      const { app, bridge, initialized, errors } = await link({ capabilities: { availableDisplayModes: ["inline"] } });
      assert.deepEqual(app.getHostVersion(), { name: "Host", version: "7" });
      assert.deepEqual(app.getHostCapabilities(), EVERYTHING);
      assert.deepEqual(app.getHostContext(), CONTEXT);
      assert.deepEqual(bridge.getAppVersion(), INFO);
      assert.deepEqual(bridge.getAppCapabilities(), { availableDisplayModes: ["inline"] });
      assert.equal(initialized.mock.callCount(), 1);
      assert.deepEqual(errors, []);
    });

    it("every request reaches the host with its parameters and gets its response", async () => {
      const text = [{ type: "text", text: "hi" }];
      const cases = /** @type {[string, string, any, any][]} */ ([
        [
          "callServerTool",
          "oncalltool",
          { name: "t", arguments: { a: 1 } },
          { content: text, structuredContent: { b: 2 } },
        ],
        ["readServerResource", "onreadresource", { uri: "x://y" }, { contents: [{ uri: "x://y", text: "z" }] }],
        ["listServerResources", "onlistresources", { cursor: "c" }, { resources: [{ uri: "x://y", name: "y" }] }],
        ["sendMessage", "onmessage", { role: "user", content: text }, {}],
        ["updateModelContext", "onupdatemodelcontext", { content: text }, {}],
        ["openLink", "onopenlink", { url: "https://example.com/" }, { isError: true }],
        ["sendOpenLink", "onopenlink", { url: "https://example.com/" }, {}],
        [
          "downloadFile",
          "ondownloadfile",
          { contents: [{ type: "resource", resource: { uri: "file:///a", text: "b" } }] },
          {},
        ],
        ["requestDisplayMode", "onrequestdisplaymode", { mode: "fullscreen" }, { mode: "fullscreen" }],
        [
          "createSamplingMessage",
          "oncreatesamplingmessage",
          { messages: [{ role: "user", content: text[0] }], maxTokens: 5 },
          { model: "m", role: "assistant", content: text[0] },
        ],
      ]);
      for (const [method, hook, params, answer] of cases) {
        const handler = mock.fn(async () => answer);
        const { app } = await link({ prepare: (_, bridge) => (bridge[hook] = handler) });
        const result = await /** @type {any} */ (app)[method](params);
        const { _meta, ...received } = /** @type {any} */ (handler.mock.calls[0]).arguments[0];
        assert.deepEqual(received, params, method);
        assert.deepEqual(result, answer, method);
      }
    });

    it("every notification reaches the host", async () => {
      const seen = /** @type {any[]} */ ([]);
      const { app, bridge } = await link({
        capabilities: { tools: { listChanged: true } },
        prepare: (_, bridge) => {
          bridge.onloggingmessage = (/** @type {any} */ params) => seen.push(["log", params]);
          bridge.onsizechange = (/** @type {any} */ params) => seen.push(["size", params]);
          bridge.onrequestteardown = () => seen.push(["teardown"]);
          bridge.fallbackNotificationHandler = async (/** @type {any} */ { method }) => seen.push(["other", method]);
        },
      });
      await app.sendLog({ level: "info", data: "d", logger: "l" });
      await app.sendSizeChanged({ width: 3, height: 4 });
      await app.requestTeardown();
      await app.sendToolListChanged();
      await settled();
      assert.deepEqual(seen, [
        ["log", { level: "info", data: "d", logger: "l" }],
        ["size", { width: 3, height: 4 }],
        ["teardown"],
        ["other", "notifications/tools/list_changed"],
      ]);
      await bridge.close();
    });

    it("tool input, partial input, result and cancellation arrive with their parameters", async () => {
      const seen = /** @type {any[]} */ ([]);
      const { app, bridge } = await link();
      app.ontoolinputpartial = (params) => seen.push(["partial", params]);
      app.ontoolinput = (params) => seen.push(["input", params]);
      app.ontoolresult = (params) => seen.push(["result", params]);
      app.ontoolcancelled = (params) => seen.push(["cancelled", params]);
      await bridge.sendToolInputPartial({ arguments: { a: 1 } });
      await bridge.sendToolInput({ arguments: { a: 12 } });
      await bridge.sendToolResult({ content: [], structuredContent: { b: 1 }, _meta: { c: 2 } });
      await bridge.sendToolCancelled({ reason: "because" });
      await settled();
      assert.deepEqual(seen, [
        ["partial", { arguments: { a: 1 } }],
        ["input", { arguments: { a: 12 } }],
        ["result", { content: [], structuredContent: { b: 1 }, _meta: { c: 2 } }],
        ["cancelled", { reason: "because" }],
      ]);
    });

    it("a change of the host context is merged before the listener is called", async () => {
      const { app, bridge } = await link();
      const changes = /** @type {any[]} */ ([]);
      app.onhostcontextchanged = (change) => changes.push(change, app.getHostContext()?.theme);
      bridge.setHostContext({ ...CONTEXT, theme: "dark" });
      await settled();
      assert.deepEqual(changes, [{ theme: "dark" }, "dark"]);
      assert.equal(app.getHostContext()?.locale, "en");
    });

    it("app tools are listed with their schemas and called, and changes are sent", async () => {
      const announced = mock.fn();
      const { app, bridge } = await link({
        capabilities: { tools: { listChanged: true } },
        prepare: (_, bridge) => (bridge.fallbackNotificationHandler = async () => announced()),
      });
      const add = app.registerTool(
        "add",
        {
          description: "Adds",
          inputSchema: z.object({ a: z.number(), b: z.number() }),
          annotations: { readOnlyHint: true },
        },
        ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }),
      );
      const now = app.registerTool("now", {}, (extra) => {
        assert.ok(extra.signal instanceof AbortSignal);
        return { content: [{ type: "text", text: "12:00" }] };
      });
      const { tools } = await bridge.listTools({});
      assert.deepEqual(
        tools.map((/** @type {any} */ tool) => tool.name),
        ["add", "now"],
      );
      assert.deepEqual(tools[0].inputSchema.required, ["a", "b"]);
      assert.deepEqual(tools[0].annotations, { readOnlyHint: true });
      assert.equal(tools[1].inputSchema.type, "object");
      assert.equal((await bridge.callTool({ name: "add", arguments: { a: 1, b: 2 } })).content[0].text, "3");
      assert.equal((await bridge.callTool({ name: "now" })).content[0].text, "12:00");

      add.disable();
      await assert.rejects(bridge.callTool({ name: "add", arguments: { a: 1, b: 2 } }), /"add" is disabled/);
      assert.deepEqual((await bridge.listTools({})).tools.length, 1);
      add.enable();
      assert.equal(add.enabled, true);
      add.update({ description: "Sums" });
      now.remove();
      assert.deepEqual(
        (await bridge.listTools({})).tools.map((/** @type {any} */ tool) => [tool.name, tool.description]),
        [["add", "Sums"]],
      );
      await settled();
      assert.equal(announced.mock.callCount(), 6);
    });

    it("a failing app tool is a result, a bad call is an error", async () => {
      const { bridge } = await link({
        prepare: (app) =>
          app.registerTool("fail", { inputSchema: z.object({ n: z.number() }) }, () => {
            throw new Error("out of paper");
          }),
      });
      assert.deepEqual(await bridge.callTool({ name: "fail", arguments: { n: 1 } }), {
        content: [{ type: "text", text: "out of paper" }],
        isError: true,
      });
      await assert.rejects(bridge.callTool({ name: "fail", arguments: { n: "one" } }), {
        code: -32602,
        message: /"fail".*n: /,
      });
      await assert.rejects(bridge.callTool({ name: "other" }), { code: -32602, message: /"other" is unknown/ });
    });

    it("teardown is answered without a handler, and waits for one", async () => {
      const { app, bridge } = await link();
      assert.deepEqual(await bridge.teardownResource({}), {});
      let saved = false;
      app.onteardown = async () => {
        await settled();
        saved = true;
      };
      await bridge.teardownResource({});
      assert.equal(saved, true);
      app.onteardown = () => {
        throw new Error("disk full");
      };
      await assert.rejects(bridge.teardownResource({}), /disk full/);
    });

    it("a request that the View aborts is aborted at the host", async () => {
      /** @type {any} */
      let extra;
      const { app } = await link({
        prepare: (_, bridge) =>
          (bridge.oncalltool = (/** @type {any} */ _params, /** @type {any} */ given) => {
            extra = given;
            return new Promise(() => {});
          }),
      });
      const controller = new AbortController();
      const call = app.callServerTool({ name: "slow" }, { signal: controller.signal });
      await settled();
      controller.abort();
      await assert.rejects(call, { name: "AbortError" });
      await settled();
      assert.equal((extra.mcpReq ?? extra).signal.aborted, true);
    });

    it("an app tool that the host cancels is aborted and not answered", async () => {
      /** @type {any} */
      let extra;
      const { bridge, view } = await link({
        prepare: (app) =>
          app.registerTool("slow", {}, (given) => {
            extra = given;
            return new Promise((resolve) => given.signal.addEventListener("abort", resolve));
          }),
      });
      const sent = mock.method(view, "send");
      const controller = new AbortController();
      const call = bridge.callTool({ name: "slow" }, { signal: controller.signal });
      await settled();
      controller.abort();
      await assert.rejects(call);
      await settled();
      assert.equal(extra.signal.aborted, true);
      assert.equal(extra.mcpReq.signal.aborted, true);
      assert.equal(sent.mock.callCount(), 0);
    });

    it("progress reaches the caller", async () => {
      const progress = mock.fn();
      const { app } = await link({
        prepare: (_, bridge) =>
          (bridge.oncalltool = async (/** @type {any} */ { _meta }) => {
            const { progressToken } = _meta;
            await bridge.notification({
              method: "notifications/progress",
              params: { progressToken, progress: 1, total: 2 },
            });
            return { content: [] };
          }),
      });
      await app.callServerTool({ name: "t" }, { onprogress: progress });
      const [seen] = /** @type {any} */ (progress.mock.calls[0]).arguments;
      assert.deepEqual([seen.progress, seen.total], [1, 2]);
    });

    it("an error of the host keeps its message and code", async () => {
      const { app } = await link({
        prepare: (_, bridge) =>
          (bridge.onopenlink = async () => {
            throw Object.assign(new Error("the user said no"), { code: -32000 });
          }),
      });
      await assert.rejects(app.openLink({ url: "https://example.com/" }), {
        code: -32000,
        message: /the user said no/,
      });
    });

    it("ping works both ways", async () => {
      const { app, bridge } = await link();
      assert.deepEqual(await app.request({ method: "ping" }), {});
      const ping = peer === "ext-apps-1" ? [z.object({})] : [];
      assert.deepEqual(await bridge.request({ method: "ping" }, ...ping), {});
    });

    it("the View stays connected until its own end is closed", async () => {
      const { app, bridge } = await link();
      const closed = mock.fn();
      app.onclose = closed;
      await bridge.close();
      assert.equal(closed.mock.callCount(), 0);
      await app.close();
      await assert.rejects(app.openLink({ url: "https://example.com/" }), /Not connected/);
      assert.equal(closed.mock.callCount(), 1);
    });
  });
}
