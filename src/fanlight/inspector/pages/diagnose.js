// @ts-check
/** Why a View stays blank: which step is missing, and what to do about it. */

/** @typedef {Record<string, any>} Json */

// What the messages of the host say, and what helps.
const HINTS = /** @type {[RegExp, string][]} */ ([
  [/MIME|mimeType/i, "Serve the resource as text/html;profile=mcp-app. Apps(server) and View(...) do."],
  [
    /no resource|not found|unknown resource|does not exist|-32002/i,
    "Register the View under the URI that the tool's _meta.ui.resourceUri names, byte for byte.",
  ],
  [/frame-src|Content-Security-Policy must/i, "Allow the sandbox origin in frame-src of the page that hosts the View."],
  [/too large|bytes/i, "Make the document smaller, or raise Limits on the host."],
  [/connect/i, "Look at the server's state on the left, and at what it wrote."],
]);

/** @param {string} reason @returns {{ what: string, todo?: string }} */
export const ofReason = (reason) => {
  const hint = HINTS.find(([pattern]) => pattern.test(reason));
  return { what: reason, ...(hint && { todo: hint[1] }) };
};

/**
 * Say why a result brought no View, if it holds one as data: frameworks write what a tool returns into a result.
 * @param {Json} result
 * @returns {{ what: string, todo: string } | undefined}
 */
export const ofResult = ({ content }) => {
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
    what: "The result has a UI resource written out as text, so nothing is shown.",
    todo: "Return the resource itself, or a list of content, in place of its dict.",
  };
};

/** Where a policy was violated, if the browser tells: in the author's files, or in the document. @param {Json} data */
export const placeOf = ({ place, line }) => {
  if (place) return `, ${place.file}:${place.line}`;
  return line ? `, line ${line}` : "";
};

/**
 * Say why a View has not come up.
 * @param {Json[]} messages What passed between the View and the host.
 * @param {Json[]} records The host's records of the View.
 * @param {{ uri: string, text?: string, place?: string }} [source] The line where its script failed, if it is known,
 *   and where it is in the author's files.
 * @returns {{ what: string, code?: string, todo?: string }[]}
 */
export const diagnose = (messages, records, source) => {
  const said = (/** @type {string} */ method) =>
    messages.find(({ from, message }) => from === "view" && message.method === method);
  const came = said("ui/notifications/initialized");
  const failure = messages.findLast(({ message }) => message.params?.logger === "fanlight.error");
  if (failure) {
    const { text, file, line, column } = failure.message.params.data ?? {};
    const place = source?.place ?? `${file || source?.uri || "the document"}:${line}:${column}`;
    return [
      {
        what: `JavaScript error at ${place}: ${text}`,
        ...(source?.text && { code: source.text }),
        ...(!came && { todo: "The View stopped there, before it could connect." }),
      },
    ];
  }
  if (came) return [];
  const greeting = said("ui/initialize");
  if (greeting) {
    const answer = messages.find(
      ({ from, message }) => from === "host" && message.id === greeting.message.id && !message.method,
    );
    if (answer?.message.error) {
      return [
        {
          what: `The handshake was rejected: ${answer.message.error.message}`,
          todo: "Send ui/initialize with protocolVersion, appInfo and appCapabilities.",
        },
      ];
    }
    return [
      {
        what: "The View was answered its ui/initialize, and never sent ui/notifications/initialized.",
        todo: "Await app.connect(), and look for an error after it.",
      },
    ];
  }
  const blocked = records.filter(({ kind, outcome }) => kind === "violation" && outcome === "blocked");
  const script = blocked.find(({ name }) => String(name).startsWith("script")) ?? blocked[0];
  if (script) {
    const what = `${script.data.blocked} (${script.name})${placeOf(script.data)}`;
    return [
      {
        what: `The View's policy blocked ${what}, and the View never sent ui/initialize.`,
        todo: "Inline the script, or declare its origin: see Security.",
      },
    ];
  }
  return [
    {
      what: "The View was loaded, and never sent ui/initialize.",
      todo: "Does its script create an App and call app.connect()? Is it valid HTML with a <script>?",
    },
  ];
};
