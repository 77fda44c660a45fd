/**
 * Preloaded into published servers. They listen on every interface and do not report their port. With this, they
 * listen on loopback, and write their process id and port into the file that INFO_PATH names.
 */
import { renameSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import process from "node:process";

const infoPath = process.env.INFO_PATH;

const report = (port) => {
  writeFileSync(`${infoPath}.new`, JSON.stringify({ pid: process.pid, port }));
  renameSync(`${infoPath}.new`, infoPath);
};

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => report(this.address().port));
  return listen.call(this, port, "127.0.0.1", ...rest);
};

if (process.argv.includes("--stdio")) report();
