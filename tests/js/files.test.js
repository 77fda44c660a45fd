// view-files.js: uploads and downloads against a scripted server, with connections that fail.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { download, sendFile, upload } from "../../src/fanlight/browser/view-files.js";

const PART = 4;

/** A server that stores uploads, and an `App` whose calls may fail before or after it has answered. */
class Server {
  /** @type {Map<string, Buffer>} */
  stored = new Map();
  /** @type {any[]} */
  calls = [];
  /** @type {any[]} */
  ran = [];
  /** Called with each call and its number; throws, or returns "lose the answer" or "forget". */
  fault = (/** @type {any} */ _args, /** @type {number} */ _number) => "";

  /** @type {any[]} */
  saved = [];
  /** @type {any} */
  capabilities = { downloadFile: {} };

  app = {
    getHostCapabilities: () => this.capabilities,
    downloadFile: async (/** @type {any} */ { contents }) => {
      this.saved.push(contents[0].resource);
      return { isError: contents[0].resource.uri.includes("denied") };
    },
    callServerTool: async (/** @type {any} */ { name, arguments: args }, /** @type {any} */ options = {}) => {
      options.signal?.throwIfAborted();
      if (name === "fanlight_data") return this.file(args);
      if (name.startsWith("export")) {
        const item = { kind: "download", handle: "h", name: `${name}ü.csv`, type: "text/csv", size: 7 };
        return done(name === "export nothing" ? { item: { kind: "text" } } : { item });
      }
      if (name !== "fanlight_upload") {
        this.ran.push([name, args]);
        options.onprogress?.({ progress: 1, total: 2, message: "half" });
        return { content: [], structuredContent: { done: true } };
      }
      this.calls.push(args);
      const fault = this.fault(args, this.calls.length);
      if (fault === "forget") this.stored.clear();
      const answer = this.answer(args);
      if (fault === "lose the answer") throw new Error("Connection closed");
      options.signal?.throwIfAborted();
      return answer;
    },
  };

  /** @param {any} args */
  answer({ action, upload: id, start, data, name }) {
    if (action === "begin" && name === "refused.exe") return failed("Of another type.", { refused: true });
    if (action === "begin") {
      const made = `id ${this.calls.length}`;
      this.stored.set(made, Buffer.alloc(0));
      return done({ upload: made, received: 0, part: PART, tool: "run", parameter: "file" });
    }
    if (action === "cancel") return done({ removed: this.stored.delete(id) });
    const bytes = this.stored.get(id);
    if (!bytes) return failed("Gone.", { gone: true });
    if (action === "write") {
      assert.ok(start <= bytes.length, "a part is missing");
      this.stored.set(id, Buffer.concat([bytes.subarray(0, start), Buffer.from(data, "base64")]));
    }
    return done({ upload: id, received: this.stored.get(id)?.length });
  }

  /** @param {any} args */
  file({ handle, start }) {
    if (handle !== "h") return failed("Gone.", { gone: true });
    const part = Buffer.from("0123456").subarray(start, start + 3);
    return done({ data: part.toString("base64"), next: start + part.length, total: 7 });
  }

  /** @param {string} action */
  count(action) {
    return this.calls.filter((call) => call.action === action).length;
  }
}

const done = (/** @type {any} */ structuredContent) => ({ content: [], structuredContent });
const failed = (/** @type {string} */ text, /** @type {any} */ structuredContent) => ({
  content: [{ type: "text", text }],
  structuredContent,
  isError: true,
});
const file = (text = "0123456789", name = "a.csv") => new File([text], name, { type: "text/csv" });
const send = (/** @type {Server} */ { app }, /** @type {any} */ options = {}) =>
  sendFile(file(), { app, target: "import", delay: 0, ...options });

describe("sendFile", () => {
  it("announces the file and sends it in parts", async () => {
    const server = new Server();
    /** @type {number[]} */
    const reports = [];
    const { upload: id } = await send(server, { onprogress: (/** @type {any} */ each) => reports.push(each.progress) });
    assert.deepEqual(server.calls[0], {
      action: "begin",
      target: "import",
      name: "a.csv",
      size: 10,
      type: "text/csv",
    });
    assert.deepEqual(server.stored.get(id), Buffer.from("0123456789"));
    assert.deepEqual(reports, [4, 8, 10]);
    assert.equal(server.calls.length, 4);
  });

  it("sends an empty file without parts", async () => {
    const server = new Server();
    await sendFile(file(""), { app: server.app, target: "import" });
    assert.equal(server.calls.length, 1);
  });

  it("asks what has arrived after a lost connection, and sends only the rest", async () => {
    const server = new Server();
    server.fault = (_, number) => (number === 3 ? "lose the answer" : "");
    const { upload: id } = await send(server);
    assert.deepEqual(server.stored.get(id), Buffer.from("0123456789"));
    assert.deepEqual(
      server.calls.map(({ action, start }) => [action, start]),
      [
        ["begin", undefined],
        ["write", 0],
        ["write", 4],
        ["status", undefined],
        ["write", 8],
      ],
    );
  });

  it("begins again if the server has lost the upload", async () => {
    const server = new Server();
    server.fault = (_, number) => (number === 3 ? "forget" : "");
    const { upload: id } = await send(server);
    assert.deepEqual(server.stored.get(id), Buffer.from("0123456789"));
    assert.equal(server.count("begin"), 2);
  });

  it("gives up on a server that forgets every upload", async () => {
    const server = new Server();
    server.fault = ({ start }) => (start === 4 ? "forget" : "");
    await assert.rejects(send(server), { message: "Gone." });
    assert.equal(server.count("begin"), 3);
  });

  it("gives up after the number of attempts, and removes what has arrived", async () => {
    const server = new Server();
    server.fault = ({ action }) => {
      if (action === "write" || action === "status") throw new Error("Connection closed");
      return "";
    };
    await assert.rejects(send(server, { attempts: 3 }), { message: "Connection closed" });
    assert.equal(server.count("write") + server.count("status"), 4);
    assert.equal(server.count("cancel"), 1);
    assert.equal(server.stored.size, 0);
  });

  it("does not try again what the server refuses", async () => {
    const server = new Server();
    await assert.rejects(sendFile(file("x", "refused.exe"), { app: server.app, target: "import" }), {
      message: "Of another type.",
    });
    assert.equal(server.calls.length, 1);
  });

  it("stops when it is cancelled, and removes what has arrived", async () => {
    const server = new Server();
    const controller = new AbortController();
    server.fault = (_, number) => {
      if (number === 3) controller.abort(new Error("enough"));
      return "";
    };
    await assert.rejects(send(server, { signal: controller.signal }), { message: "enough" });
    assert.equal(server.count("write"), 2);
    assert.equal(server.stored.size, 0);
  });

  it("stops when it is cancelled while it waits for the next attempt", async () => {
    const server = new Server();
    const controller = new AbortController();
    server.fault = ({ action }) => {
      if (action !== "write") return "";
      setImmediate(() => controller.abort(new Error("enough")));
      throw new Error("Connection closed");
    };
    await assert.rejects(send(server, { signal: controller.signal, delay: 1e6 }), { message: "enough" });
    assert.equal(server.stored.size, 0);
  });
});

describe("upload", () => {
  it("runs the tool with its arguments and the ids of all files", async () => {
    const server = new Server();
    /** @type {any[]} */
    const reports = [];
    const result = await upload([file(), file("abc", "b.csv")], {
      app: server.app,
      tool: "import",
      arguments: { year: 2026 },
      onprogress: (report) => reports.push([report.phase, report.progress, report.total]),
    });
    assert.deepEqual(result.structuredContent, { done: true });
    const [begun, other] = server.calls.flatMap(({ action }, i) => (action === "begin" ? [`id ${i + 1}`] : []));
    assert.deepEqual(server.ran, [["run", { year: 2026, file: [begun, other] }]]);
    assert.deepEqual(reports.at(2), ["upload", 10, 13]);
    assert.deepEqual(reports.at(-1), ["run", 1, 2]);
  });

  it("removes the files that have arrived if another one is refused", async () => {
    const server = new Server();
    const files = [file(), file("x", "refused.exe")];
    await assert.rejects(upload(files, { app: server.app, tool: "import" }), { message: "Of another type." });
    assert.equal(server.stored.size, 0);
    assert.deepEqual(server.ran, []);
  });
});

describe("download", () => {
  it("gets a file in parts and lets the host save it", async () => {
    const server = new Server();
    /** @type {any[]} */
    const reports = [];
    await download({ app: server.app, tool: "export", onprogress: ({ progress }) => reports.push(progress) });
    const blob = Buffer.from("0123456").toString("base64");
    assert.deepEqual(server.saved, [{ uri: "file:///export%C3%BC.csv", mimeType: "text/csv", blob }]);
    assert.deepEqual(reports, [3, 6, 7]);
  });

  it("says so at once if the host cannot save files", async () => {
    const server = new Server();
    server.capabilities = {};
    await assert.rejects(download({ app: server.app, tool: "export" }), { message: "This host cannot save files" });
  });

  it("rejects if the host did not save it, the tool returned something else, or the file is gone", async () => {
    const { app } = new Server();
    await assert.rejects(download({ app, tool: "export denied" }), { message: /did not save export deniedü.csv/ });
    await assert.rejects(download({ app, tool: "export nothing" }), { message: /does not return a file/ });
    const item = { kind: "download", handle: "other", name: "a", type: "", size: 1 };
    await assert.rejects(download({ app, item }), { message: "Gone." });
  });

  it("rejects if the file became shorter meanwhile", async () => {
    const { app } = new Server();
    const item = { kind: "download", handle: "h", name: "a", type: "", size: 9 };
    await assert.rejects(download({ app, item }), { message: "a has changed on the server" });
  });
});
