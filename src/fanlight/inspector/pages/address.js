// @ts-check
/** The state of the page as its address: `#/server/tool?args={...}&panel=Security&width=390`. */

/**
 * Read an address.
 * @param {string} hash
 * @returns {{ server?: string, tool?: string, settings: URLSearchParams }}
 */
export const readAddress = (hash) => {
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
 * Write an address.
 * @param {string | undefined} server
 * @param {string | undefined} tool
 * @param {Record<string, string | undefined>} settings Empty ones are left out.
 */
export const writeAddress = (server, tool, settings) => {
  const path = [server, tool]
    .filter((part) => part !== undefined)
    .map((part) => encodeURIComponent(/** @type {string} */ (part)));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(settings)) if (value) query.set(name, value);
  return `#/${path.join("/")}${query.size ? `?${query}` : ""}`;
};
