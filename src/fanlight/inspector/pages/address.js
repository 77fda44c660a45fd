// @ts-check
/** What the page shows, as its address: `#/server/tool?args={...}&panel=Security&width=390`. */

/**
 * @param {string} hash
 * @returns {{ server?: string, tool?: string, settings: URLSearchParams }}
 */
export const read = (hash) => {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [server, tool] = path.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { ...(server && { server }), ...(tool && { tool }), settings: new URLSearchParams(query) };
};

/**
 * @param {string | undefined} server
 * @param {string | undefined} tool
 * @param {Record<string, string | undefined>} settings Those that are empty are left out.
 */
export const write = (server, tool, settings) => {
  const path = [server, tool]
    .filter((part) => part !== undefined)
    .map((part) => encodeURIComponent(/** @type {string} */ (part)));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) if (value) query.set(name, value);
  return `#/${path.join("/")}${query.size ? `?${query}` : ""}`;
};
