// @ts-check
/** Explains why a View stays blank: which step is missing, and what to do about it. */

/** @typedef {Record<string, any>} Json */
/** @typedef {{ message: string, code?: string, advice?: string }} Finding */

/** Advice for the host's error messages. */
const ADVICE = /** @type {[RegExp, string][]} */ ([
  [/MIME|mimeType/i, "Serve the resource as text/html;profile=mcp-app. Apps(server) and View(...) do."],
  [
    /no resource|not found|unknown resource|does not exist|-32002/i,
    "Register the View under exactly the URI that the tool's _meta.ui.resourceUri names.",
  ],
  [/frame-src|Content-Security-Policy must/i, "Allow the sandbox origin in frame-src of the page that hosts the View."],
  [/too large|bytes/i, "Make the document smaller, or raise Limits on the host."],
  [/connect/i, "Look at the server's status on the left, and at its log."],
]);

/**
 * Explain an error message of the host.
 * @param {string} reason
 * @returns {Finding}
 */
export const explainReason = (reason) => {
  const found = ADVICE.find(([pattern]) => pattern.test(reason));
  return { message: reason, ...(found && { advice: found[1] }) };
};

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
 * Explain why a View has not come up.
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
