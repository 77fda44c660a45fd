// @ts-check
/** The part of `<mcp-app>` that saves files, loaded with the first download. */

/** @typedef {Record<string, any>} Json */

/**
 * Return a file name that is safe on every system: no folders, invisible characters, device names or leading dots, and
 * not too long.
 * @param {unknown} name
 */
const safeName = (name) => {
  const visible = String(name ?? "").replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, "");
  const last = visible.split(/[/\\]/).pop() ?? "";
  const plain = last.replace(/[<>:"|?*]/g, "_").replace(/^[\s.~]+|[\s.]+$/gu, "");
  const free = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\.|$)/i.test(plain)
    ? `_${plain}`
    : plain;
  const [, stem = "", ending = ""] = /^(.*?)(\.[^.]{1,12})?$/su.exec(free) ?? [];
  return [...stem].slice(0, 80).join("").trim() + ending || "download";
};

/** @param {Json} file */
const saveFile = ({ name, text, blob }) => {
  const part = blob == null ? String(text ?? "") : Uint8Array.from(atob(blob), (char) => char.charCodeAt(0));
  // A type that browsers save and never display.
  const url = URL.createObjectURL(new Blob([part], { type: "application/octet-stream" }));
  Object.assign(document.createElement("a"), { href: url, download: safeName(name) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};

/** @param {Json[]} files Each has a `name`, and `text` or `blob` (base64). */
const saveFiles = (files) => files.forEach(saveFile);

export { safeName, saveFiles };
