/**
 * Preloaded into published servers. They listen on every interface and tell nobody which port they got; with this, they
 * stay on this machine, and write their process and port into the file that TOLD names.
 */
import { renameSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import process from "node:process";

const told = process.env.TOLD;

const tell = (port) => {
  writeFileSync(`${told}.new`, JSON.stringify({ pid: process.pid, port }));
  renameSync(`${told}.new`, told);
};

const { listen } = Server.prototype;
Server.prototype.listen = function (port, ...rest) {
  this.once("listening", () => tell(this.address().port));
  return listen.call(this, port, "127.0.0.1", ...rest);
};

if (process.argv.includes("--stdio")) tell();
