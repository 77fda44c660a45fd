// @ts-check
/** What the page knows, in one place; its parts draw it. */

/** @typedef {Record<string, any>} Json */

/**
 * @typedef {object} Call
 * @property {string} key
 * @property {string} [id]
 * @property {string} [view]
 * @property {string} server
 * @property {Json} tool
 * @property {Json} values
 * @property {any} app
 * @property {any} card
 * @property {Json[]} messages What passed between the View and the host.
 * @property {Json[]} problems Each has `what`, and perhaps `code` and `todo`.
 * @property {number} began
 * @property {boolean} [failed] Whether its View could not be shown.
 * @property {number} [blocked] How much its policy blocked.
 * @property {Json} [result]
 * @property {string[]} [recorded] What the View said when it was recorded, in a replay.
 * @property {ReturnType<typeof setTimeout>} [timer]
 */

/** This page, among those that are open: what it calls is a conversation of its own. */
export const page = window.crypto.randomUUID();

export const state = {
  /** @type {Json[]} */
  servers: [],
  /** @type {{ server: string, tool: Json } | undefined} */
  chosen: undefined,
  /** @type {Call[]} The newest first. */
  calls: [],
  /** @type {Call | undefined} The one whose details are shown. */
  shown: undefined,
  panel: "Messages",
  /** @type {Json} */
  presets: {},
  preset: "fanlight",
  /** @type {Record<string, Json[]>} What passed between the host and each server. */
  passed: {},
};

const listeners = /** @type {Record<string, (() => void)[]>} */ ({});

/** Have a part drawn when something it shows has changed. @param {string[]} kinds @param {() => void} draw */
export const on = (kinds, draw) => {
  for (const kind of kinds) (listeners[kind] ??= []).push(draw);
};

const waiting = /** @type {Set<() => void>} */ (new Set());

/** Say that something changed; what shows it is drawn in the next frame, once. @param {string} kind */
export const changed = (kind) => {
  if (!waiting.size) {
    requestAnimationFrame(() => {
      const due = [...waiting];
      waiting.clear();
      for (const draw of due) draw();
    });
  }
  for (const draw of listeners[kind] ?? []) waiting.add(draw);
};

/** @param {string} server @param {string} name */
export const toolOf = (server, name) =>
  state.servers.find((each) => each.name === server)?.tools.find((/** @type {Json} */ each) => each.name === name);
