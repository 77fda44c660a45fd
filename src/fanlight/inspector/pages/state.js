// @ts-check
/** The state of the page. The other modules draw it, and say when it has changed. */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Problem
 * @property {"call" | "view" | "blocked"} scope What it belongs to: the call, what its View shows now, or its policy.
 * @property {string} message
 * @property {string} [code] Source code, or a traceback.
 * @property {string} [advice] What to do.
 */

/**
 * @typedef {object} Call
 * @property {string} key The name that this page gave it.
 * @property {string} [id] The name that the program gave it, once its server was ready.
 * @property {string} [view]
 * @property {string} [uri] The URI of its View, if a result brought it.
 * @property {string} server
 * @property {Json} tool
 * @property {Json} values The arguments.
 * @property {any} app The `<mcp-app>` element.
 * @property {any} card
 * @property {Json} parts The elements of the card, by name.
 * @property {Json[]} messages The messages between the View and the host.
 * @property {Problem[]} problems
 * @property {number} began When it was called, in milliseconds since 1970.
 * @property {boolean} over Whether it has an outcome.
 * @property {boolean} [loaded] Whether its View was loaded once.
 * @property {boolean} [failed] Whether its View could not be shown.
 * @property {Json} [result]
 * @property {string[]} [recorded] In a replay, the methods of the View's messages in the recording.
 * @property {AbortController} [following] Keeps the card in sight until it is aborted.
 * @property {ReturnType<typeof setTimeout>} [timer] Examines a View that does not come up.
 */

/** The id of this page. Each open page is a conversation of its own. */
export const page = window.crypto.randomUUID();

export const state = {
  /** @type {Json[]} */
  servers: [],
  /** @type {Json[]} The builds of Views that need Node. */
  builds: [],
  /** @type {{ server: string, tool: Json } | undefined} The tool that the form is for. */
  chosen: undefined,
  /** @type {Call[]} The newest first. */
  calls: [],
  /** @type {Call | undefined} The call whose details are shown. */
  selected: undefined,
  panel: "Messages",
  /** @type {Json} */
  presets: {},
  preset: "fanlight",
  /** @type {Record<string, Json[]>} The messages between the host and each server. */
  serverMessages: {},
};

const listeners = /** @type {Record<string, (() => void)[]>} */ ({});

/**
 * Call a function after any of these topics has changed.
 * @param {string[]} topics
 * @param {() => void} draw
 */
export const onChange = (topics, draw) => {
  for (const topic of topics) (listeners[topic] ??= []).push(draw);
};

const due = /** @type {Set<() => void>} */ (new Set());

/** Say that a topic has changed: "servers", "calls", "messages" or "model". It is drawn once, in the next frame. */
export const changed = (/** @type {string} */ topic) => {
  if (!due.size) {
    requestAnimationFrame(() => {
      const draws = [...due];
      due.clear();
      for (const draw of draws) draw();
    });
  }
  for (const draw of listeners[topic] ?? []) due.add(draw);
};

export const findServer = (/** @type {string} */ name) => state.servers.find((server) => server.name === name);

/**
 * @param {string} server
 * @param {string} name
 * @returns {Json | undefined}
 */
export const findTool = (server, name) =>
  findServer(server)?.tools.find((/** @type {Json} */ tool) => tool.name === name);
