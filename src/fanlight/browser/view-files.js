// @ts-check
/**
 * Files between a View and its server, for Views that import from "fanlight/files": uploads and downloads, in parts
 * that fit through every transport. It follows the conventions at the top of view.js.
 */

/** @typedef {Record<string, any>} Json A JSON object. */

/**
 * @typedef {object} Host What is used of an `App`.
 * @property {(params: any, options?: any) => Promise<any>} callServerTool
 * @property {(params: any, options?: any) => Promise<any>} downloadFile
 * @property {() => Json | undefined} getHostCapabilities
 */

/**
 * @typedef {object} FileProgress
 * @property {number} progress How much is done: bytes while a file travels, whatever a tool reports while it runs.
 * @property {number} [total]
 * @property {string} [message]
 * @property {"upload" | "run" | "download"} phase Whether files travel, or the tool runs that takes or returns them.
 */

/**
 * @typedef {object} SendOptions
 * @property {Host} app The connected `App`.
 * @property {string} target What the file is for: a tool of `apps.upload`, or a field of a form.
 * @property {string} [name] The name of the file. Default: its own.
 * @property {AbortSignal} [signal] Cancels the upload, here and on the server.
 * @property {(progress: FileProgress) => void} [onprogress]
 * @property {number} [attempts] How often a part is tried again after a lost connection. Default: 5.
 * @property {number} [delay] Milliseconds before the first of these attempts; each waits twice as long. Default: 500.
 */

/**
 * @typedef {Omit<SendOptions, "target" | "name"> & {
 *   tool: string,
 *   arguments?: Json,
 *   timeout?: number,
 * }} UploadOptions `arguments` are those of the tool besides the file; `timeout` is that of the tool, 10 minutes.
 */

/**
 * @typedef {object} DownloadOptions
 * @property {Host} app The connected `App`.
 * @property {string} [tool] A tool that returns a `Download`.
 * @property {Json} [arguments]
 * @property {Json} [item] What such a tool has returned: `structuredContent.item` of its result, instead of `tool`.
 * @property {AbortSignal} [signal]
 * @property {(progress: FileProgress) => void} [onprogress]
 * @property {number} [timeout] The timeout of the tool in milliseconds. Default: 10 minutes.
 */

const UPLOAD_TOOL = "fanlight_upload";
const DATA_TOOL = "fanlight_data";
const RESTARTS = 2;

/**
 * @param {{ content: Json[] }} result
 */
const textOf = ({ content }) => content.map(({ text }) => text ?? "").join("\n");

/**
 * @param {number} delay
 * @param {AbortSignal | undefined} signal
 */
const pause = (delay, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, delay);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

/** @param {Blob} blob */
const toBase64 = async (blob) => {
  let bytes;
  try {
    bytes = new Uint8Array(await blob.arrayBuffer());
  } catch (error) {
    // The file was changed or removed meanwhile: another attempt does not help.
    throw Object.assign(error, { refused: true });
  }
  let text = "";
  // A call takes a limited number of arguments.
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text);
};

/**
 * Call a tool, and throw what it answers with an error.
 * @param {Host} app
 * @param {Json} params
 * @param {Json} options
 */
const call = async (app, params, options) => {
  const result = await app.callServerTool(params, options);
  if (!result.isError) return result.structuredContent;
  const { gone, refused } = result.structuredContent ?? {};
  throw Object.assign(new Error(textOf(result)), { gone, refused });
};

/**
 * @param {Host} app
 * @param {Json} args
 * @param {AbortSignal} [signal]
 */
const callParts = (app, args, signal) => call(app, { name: UPLOAD_TOOL, arguments: args }, { signal });

/**
 * Remove an upload from the server. It expires there anyway, so nothing waits for this.
 * @param {Host} app
 * @param {string} upload
 */
const forget = (app, upload) => {
  callParts(app, { action: "cancel", upload }).catch(() => {});
};

/**
 * Send a file to the server, and return the id of the upload in `upload`. After a lost connection the server is asked
 * how much has arrived, and the rest is sent.
 * @param {File | Blob} file
 * @param {SendOptions} options
 * @returns {Promise<{ upload: string, tool: string, parameter: string }>}
 */
const sendFile = async (file, { app, target, name, signal, onprogress, attempts = 5, delay = 500 }) => {
  const { size, type } = file;
  /** @type {Json} */
  const { name: own = "file" } = file;
  const begin = () => callParts(app, { action: "begin", target, name: name ?? own, size, type }, signal);
  let begun = await begin();
  let received = 0;
  let failures = 0;
  let restarts = 0;
  const resume = async () => {
    try {
      ({ received } = await callParts(app, { action: "status", upload: begun.upload }, signal));
    } catch (error) {
      if (!error.gone || ++restarts > RESTARTS) throw error;
      begun = await begin();
      received = 0;
    }
  };
  let isLost = false;
  const sendPart = async () => {
    if (isLost) await resume();
    isLost = false;
    const data = await toBase64(file.slice(received, received + begun.part));
    const part = { action: "write", upload: begun.upload, start: received, data };
    if (received < size) ({ received } = await callParts(app, part, signal));
    failures = 0;
    onprogress?.({ progress: received, total: size, phase: "upload" });
  };
  try {
    while (received < size) {
      try {
        await sendPart();
      } catch (error) {
        if (signal?.aborted || error.refused || restarts > RESTARTS || ++failures > attempts) throw error;
        isLost = true;
        await pause(delay * 2 ** (failures - 1), signal);
      }
    }
  } catch (error) {
    forget(app, begun.upload);
    throw error;
  }
  return begun;
};

/**
 * Upload a file, or several, to a tool of `apps.upload`, run its function, and return the result.
 * @param {File | Blob | Iterable<File | Blob>} files
 * @param {UploadOptions} options
 * @returns {Promise<any>} The result of the tool; one that failed has `isError`.
 */
const upload = async (files, { tool, arguments: args, timeout = 600000, onprogress, ...options }) => {
  const { app, signal } = options;
  const list = files instanceof Blob ? [files] : [...files];
  if (!list.length) throw new Error("There is no file to upload");
  const total = list.reduce((sum, { size }) => sum + size, 0);
  /** @type {string[]} */
  const ids = [];
  let before = 0;
  let begun;
  try {
    for (const file of list) {
      /** @param {FileProgress} report */
      const report = ({ progress }) => onprogress?.({ progress: before + progress, total, phase: "upload" });
      begun = await sendFile(file, { ...options, target: tool, onprogress: report });
      before += file.size;
      ids.push(begun.upload);
    }
    const params = { name: begun?.tool, arguments: { ...args, [begun?.parameter ?? ""]: ids } };
    /** @param {any} report */
    const running = (report) => onprogress?.({ ...report, phase: "run" });
    onprogress?.({ progress: total, total, phase: "upload" });
    return await app.callServerTool(params, { signal, timeout, onprogress: running });
  } catch (error) {
    for (const id of ids) forget(app, id);
    throw error;
  }
};

/**
 * Get a file from the server in parts, and let the host save it.
 * @param {DownloadOptions} options
 */
const download = async ({ app, tool, arguments: args, item, signal, onprogress, timeout = 600000 }) => {
  if (!app.getHostCapabilities()?.downloadFile) throw new Error("This host cannot save files");
  /** @param {any} report */
  const running = (report) => onprogress?.({ ...report, phase: "run" });
  item ??= (await call(app, { name: tool, arguments: args }, { signal, timeout, onprogress: running })).item;
  if (item?.kind !== "download") throw new Error(`${tool} does not return a file`);
  const { handle, name, type, size } = item;
  let blob = "";
  let progress = 0;
  do {
    const part = await call(app, { name: DATA_TOOL, arguments: { handle, start: progress } }, { signal });
    if (part.next === progress && size) throw new Error(`${name} has changed on the server`);
    blob += part.data;
    progress = part.next;
    onprogress?.({ progress, total: size, phase: "download" });
  } while (progress < size);
  const resource = { uri: `file:///${encodeURIComponent(name)}`, mimeType: type, blob };
  // The host may ask the user first.
  const saved = await app.downloadFile({ contents: [{ type: "resource", resource }] }, { signal, timeout });
  if (saved.isError) throw new Error(`The host did not save ${name}`);
};

export { download, sendFile, upload };
