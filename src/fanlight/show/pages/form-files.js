// The fields for files of a form. Files are uploaded when the form is submitted, and stay there until it succeeds.
import { sendFile } from "fanlight/files";
import { build, leaf, textButton } from "../../browser/form/fields.js";
import { reasonFor } from "../../browser/form/schema.js";
import { app } from "./base.js";
import { FORM_OPTIONS, formFiles } from "./form.js";

/** @typedef {import("../../browser/form/fields.js").Control} FileControl */
/** @type {Set<{ element: any, send: () => Promise<void>, forget: () => void }>} */
const fileFields = new Set();

/**
 * One file, or several.
 * @param {string} label
 * @param {any} schema
 * @param {boolean} required
 * @returns {FileControl}
 */
const fileField = (label, schema, required) => {
  const several = schema.type === "array";
  const { target, accept, maxBytes, maxSize } = several ? schema.items : schema;
  const input = build("input", { type: "file", multiple: several, accept: accept.join(",") });
  const bar = build("progress", { "aria-label": `Upload of ${label}` });
  /** @type {AbortController | undefined} */
  let sending;
  const cancel = textButton("Cancel", () => sending?.abort(), { "aria-label": `Cancel the upload of ${label}` });
  const row = build("div", { className: "sending", hidden: true }, bar, cancel);
  /** @type {Map<File, string>} The ids of the files that are on the server. */
  const sent = new Map();
  const chosen = () => /** @type {File[]} */ ([...input.files]);
  const read = () => {
    const ids = chosen().map((file) => sent.get(file));
    return several ? (ids.length || required ? ids : undefined) : ids[0];
  };
  const reason = () => {
    const files = chosen();
    if (!files.length && required) return "is required";
    if (files.some(({ size }) => size > maxBytes)) return `must have at most ${maxSize}${several ? " each" : ""}`;
    return several && files.length ? reasonFor(schema, files) : undefined;
  };
  const most = `up to ${maxSize}${several ? " each" : ""}`;
  const limits = accept.length ? `${accept.join(", ")} · ${most}` : most.replace("u", "U");
  const description = [schema.description, limits].filter(Boolean).join("\n");
  const made = leaf(label, { ...schema, description }, required, input, read, reason);
  made.element.append(row);
  const forget = () => {
    for (const upload of sent.values()) {
      // It expires on the server anyway, so nothing waits for this.
      app.callServerTool({ name: "fanlight_upload", arguments: { action: "cancel", upload } }).catch(() => {});
    }
    sent.clear();
  };
  const { mark } = made;
  made.mark = (message) => {
    // What is wrong may be that the server has the file no longer.
    if (message) forget();
    mark(message);
  };
  const send = async () => {
    const files = chosen();
    const missing = files.filter((file) => !sent.has(file));
    if (!missing.length) return;
    const { signal } = (sending = new AbortController());
    bar.max = missing.reduce((sum, { size }) => sum + size, 0) || 1;
    row.hidden = false;
    let before = 0;
    try {
      for (const file of missing) {
        const onprogress = (/** @type {any} */ { progress }) => (bar.value = before + progress);
        const { upload } = await sendFile(file, { app, target, signal, onprogress });
        sent.set(file, upload);
        before += file.size;
      }
    } catch ({ name, message }) {
      const text = name === "AbortError" ? "The upload was cancelled." : message;
      throw Object.assign(new Error(text), { control: made });
    } finally {
      row.hidden = true;
      bar.value = 0;
    }
  };
  // Those that are not chosen any more are not needed on the server.
  input.onchange = forget;
  fileFields.add({ element: made.element, send, forget: () => sent.clear() });
  return made;
};

FORM_OPTIONS.controls = { file: fileField };

formFiles.send = async () => {
  // A field in a group that was left out, or in a variant that is not chosen, is not in the document.
  for (const { element, send } of fileFields) if (element.isConnected) await send();
};

formFiles.answered = ({ isError, structuredContent }) => {
  // The server keeps the files only if it says which fields are wrong.
  if (!isError || !structuredContent?.errors) for (const { forget } of fileFields) forget();
};
