// @ts-check
/** Explains why a View stays blank: which step is missing, and what to do about it. */

/** @typedef {Record<string, any>} Json */
/** @typedef {{ message: string, code?: string, advice?: string }} Finding */

/**
 * Explain why a result brought no View, if it has a View as text: some frameworks serialize what a tool returns.
 * @param {Json} result
 * @returns {Finding | undefined}
 */
export const explainResult = ({ content }) => {
  const isView = (/** @type {any} */ block) =>
    block?.type === "resource" && String(block.resource?.uri).startsWith("ui://");
  const holdsView = (/** @type {Json} */ { text }) => {
    try {
      const value = JSON.parse(text);
      return isView(value) || [value?.content].flat().some(isView);
    } catch {
      return false;
    }
  };
  if (!content?.some(holdsView)) return undefined;
  return {
    message: "The result contains a UI resource as text, so no View is shown.",
    advice: "Return the resource itself or a list of content blocks, not a dict.",
  };
};

/** Return the last JavaScript error that a View reported. */
export const findScriptError = (/** @type {Json[]} */ messages) =>
  messages.findLast(({ message }) => message?.params?.logger === "fanlight.error")?.message.params.data;

/**
 * The line where a script failed, and its place in the author's files.
 * @typedef {{ uri: string, text?: string, place?: string }} Source
 */

/**
 * Return where a script failed: in the author's files, or else in the document.
 * @param {Json} error
 * @param {Source} [source]
 */
export const placeOfError = ({ file, line, column }, source) =>
  source?.place ?? `${file || source?.uri || "the document"}:${line}:${column}`;

/**
 * Explain why a View has not connected, or has failed.
 * @param {Json[]} messages The messages between the View and the host.
 * @param {Source} [source]
 * @returns {Finding | undefined}
 */
export const diagnose = (messages, source) => {
  const fromView = (/** @type {string} */ method) =>
    messages.find(({ from, message }) => from === "view" && message.method === method);
  const initialized = fromView("ui/notifications/initialized");
  const error = findScriptError(messages);
  if (error) {
    return {
      message: `JavaScript error at ${placeOfError(error, source)}: ${error.text}`,
      ...(source?.text && { code: source.text }),
      ...(!initialized && { advice: "The script stopped there, before the View could connect." }),
    };
  }
  if (initialized) return undefined;
  const initialize = fromView("ui/initialize");
  if (!initialize) {
    return {
      message: "The View was loaded, but never sent ui/initialize.",
      advice: "Does its script create an App and call app.connect()? Is the document valid HTML with a <script>?",
    };
  }
  const response = messages.find(
    ({ from, message }) => from === "host" && message.id === initialize.message.id && !message.method,
  );
  if (response?.message.error) {
    return {
      message: `The handshake was rejected: ${response.message.error.message}`,
      advice: "Send ui/initialize with protocolVersion, appInfo and appCapabilities.",
    };
  }
  return {
    message: "The View got a response to ui/initialize, but never sent ui/notifications/initialized.",
    advice: "Await app.connect(), and look for an error after it.",
  };
};

/**
 * Explain why a View could not be shown: a document that is being built needs no command.
 * @param {string} reason What the host says.
 * @param {Json[]} builds
 */
export const explainMissingBuild = (reason, builds) => {
  const running = builds.find(
    ({ folder, state, served }) =>
      !served &&
      ["starting", "building"].includes(state) &&
      reason.includes(`is not built yet. Run \`npm install && npm run build\` in ${folder}.`),
  );
  return running
    ? `${running.name} was still being built when this View was opened. It is shown when the build has finished.`
    : reason;
};
