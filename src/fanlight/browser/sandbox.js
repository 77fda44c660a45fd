// @ts-check
/**
 * The sandbox proxy: the page between a host page and one View. It contains the View's frame and relays messages, and
 * does nothing else. docs/reference/rules.md explains rule ids such as SBX-07.
 *
 * Its query has `host`, the exact origin of the page around it. With `view=*`, it loads one document by its `url`, from
 * an origin one label below its own. Without `view`, it is sent HTML, as the standard describes it, and gives that an
 * opaque origin.
 *
 * The server adds a Content-Security-Policy. With `view`: `default-src 'none'; script-src 'self'; frame-src` for
 * all origins below this one, `base-uri 'none'; form-action 'none'; frame-ancestors HOST`. So this page can be loaded
 * before its View is known. Then `lock()` leaves only the View's own origin. Without `view`, the policy is
 * `frame-ancestors HOST` alone: a `srcdoc` document inherits the policy of this page, so the rest can be set only when
 * the document's domains are known. `lock()` does that before the frame exists.
 */

/** @typedef {Record<string, any>} Json */

const RESERVED = "ui/notifications/sandbox-";

// How many milliseconds a loaded View may stay silent before its document is checked.
const SILENCE = 1_000;
// The prefix in the first draft of the standard, which some hosts still use.
const OLDER = "mcp-ui/sandbox-";

/** The sandbox tokens that a View may have. Never top navigation, popups, downloads or dialogs. */
const TOKENS = ["allow-scripts", "allow-same-origin", "allow-forms", "allow-pointer-lock"];

/** The names of browser features, with the names of the standard's permissions. */
const FEATURES = new Map([
  ["camera", "camera"],
  ["microphone", "microphone"],
  ["geolocation", "geolocation"],
  ["clipboard-write", "clipboardWrite"],
]);

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** One CSP host source, as in protocol/csp.py: no keyword, no scheme or star alone, no path, no separator. */
const SOURCE = new RegExp(`^(?:(?:https?|wss?)://)?(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*(?::(?:[0-9]{1,5}|\\*))?$`, "i");
const SCHEME = /^(?:https?|wss?|data|blob|file|filesystem|mediastream)$/i;

/**
 * Return the declared domains that are valid CSP sources, separated by spaces.
 * @param {unknown} domains
 */
const sources = (domains) =>
  (Array.isArray(domains) ? domains : [])
    .filter((domain) => typeof domain === "string" && SOURCE.test(domain) && !SCHEME.test(domain))
    .filter((domain) => Number(/:([0-9]+)$/.exec(domain)?.[1] ?? 0) < 65536)
    .join(" ");

/**
 * Return the policy of an HTML document (SBX-06a to e, CSP-02, CSP-09). Undeclared domains cannot be reached.
 * @param {any} csp The `csp` of the resource, if it has one.
 */
const policy = (csp) => {
  const resources = sources(csp?.resourceDomains);
  return [
    "default-src 'none'",
    `script-src 'self' 'unsafe-inline' ${resources}`,
    `style-src 'self' 'unsafe-inline' ${resources}`,
    `img-src 'self' data: ${resources}`,
    `font-src 'self' ${resources}`,
    `media-src 'self' data: ${resources}`,
    `connect-src ${sources(csp?.connectDomains) || "'none'"}`,
    `frame-src ${sources(csp?.frameDomains) || "'none'"}`,
    "object-src 'none'",
    `base-uri ${sources(csp?.baseUriDomains) || "'self'"}`,
    "form-action 'none'",
  ]
    .map((directive) => directive.trim())
    .join("; ");
};

/**
 * Return those of the requested sandbox tokens that a View may have.
 * @param {unknown} requested
 * @param {boolean} opaque Whether the document must have no origin of its own.
 */
const sandboxTokens = (requested, opaque) => {
  const tokens = (typeof requested === "string" ? requested : "allow-scripts allow-same-origin allow-forms").split(
    /\s+/,
  );
  return TOKENS.filter((token) => tokens.includes(token) && !(opaque && token === "allow-same-origin")).join(" ");
};

/**
 * Return the `allow` attribute, from a text such as "camera; microphone" or the standard's `permissions` (SBX-06f).
 * @param {unknown} allow
 * @param {any} permissions
 */
const features = (allow, permissions) => {
  const allowed = typeof allow === "string" ? allow.split(";").map((feature) => feature.trim()) : [];
  return [...FEATURES]
    .filter(([feature, permission]) => allowed.includes(feature) || permissions?.[permission])
    .map(([feature]) => feature)
    .join("; ");
};

/**
 * Return whether a message is reserved for host and proxy, and must not be relayed (SBX-08). Methods are compared as
 * strings, because a receiver may convert them; messages in a batch count, too.
 * @param {any} data
 */
const reserved = (data) =>
  // Object.values() skips the holes of a sparse array, which may have billions of them.
  [data, ...(Array.isArray(data) ? Object.values(data) : [])].some((message) => {
    const method = String(message?.method);
    return method.startsWith(RESERVED) || method.startsWith(OLDER);
  });

/**
 * Return a text if it is exactly an origin, else undefined.
 * @param {string | null} text
 */
const originOf = (text) => {
  const origin = text && URL.canParse(text) ? new URL(text).origin : undefined;
  return origin === text ? origin : undefined;
};

/**
 * Return the origin of a document that this page may load: it is one label below the page's own.
 * @param {unknown} url
 * @param {Location} own
 */
const viewOrigin = (url, own) => {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { origin, protocol, host } = new URL(url);
  const [label] = host.split(".");
  return protocol === own.protocol && host === `${label}.${own.host}` ? origin : undefined;
};

/**
 * Return whether this page can script another. Then the other can script this one, and nothing is isolated.
 * @param {Window | null} other
 */
const reaches = (other) => {
  try {
    return Boolean(other?.document);
  } catch {
    return false;
  }
};

/**
 * Run the proxy in a window.
 * @param {Window} window
 */
const start = (window) => {
  const { document, location, parent } = window;
  const query = new URLSearchParams(location.search);
  const host = originOf(query.get("host"));
  const opaque = !query.has("view");

  const problem =
    parent === window
      ? "This page works only in a frame."
      : reaches(parent) || reaches(window.top)
        ? "The page around this one has the same origin, so nothing would be isolated (SBX-02)."
        : !host || host === location.origin
          ? "?host= is not the origin of the page around this one."
          : "";
  if (problem || !host) {
    document.body.textContent = problem;
    throw new Error(problem);
  }

  /** @type {HTMLIFrameElement | undefined} */
  let frame;
  let view = "null";
  let loads = 0;
  // Whether the View has posted nothing yet.
  let isSilent = true;

  /**
   * Restrict this page by a policy, which cannot be relaxed later.
   * @param {string} content
   */
  const lock = (content) => {
    const meta = document.createElement("meta");
    meta.httpEquiv = "Content-Security-Policy";
    meta.content = content;
    document.head.append(meta);
    return meta.outerHTML;
  };

  /**
   * Report a View's document that the server does not have, or that has not arrived. The frame cannot tell: an error
   * page loads like any other.
   * @param {string} url
   */
  const check = async (url) => {
    let status = 0;
    try {
      const response = await window.fetch(url, { method: "HEAD", cache: "no-store", credentials: "omit" });
      if (response.ok) return;
      ({ status } = response);
    } catch {
      // The server cannot be reached, or another one has answered in its place.
    }
    if (!isSilent) return;
    parent.postMessage({ jsonrpc: "2.0", method: `${RESERVED}document-failed`, params: { status } }, host);
  };

  /** @param {any} params */
  const load = ({ url, html, csp, permissions, sandbox, allow, title } = {}) => {
    const origin = opaque ? "null" : viewOrigin(url, location);
    if (!origin || origin === host || (opaque && typeof html !== "string")) return;
    view = origin;
    frame = document.createElement("iframe");
    frame.setAttribute("sandbox", sandboxTokens(sandbox, opaque));
    frame.allow = features(allow, permissions);
    frame.referrerPolicy = "no-referrer";
    frame.title = typeof title === "string" ? title : "View";
    frame.style.cssText = "position:fixed;inset:0;width:100%;height:100%;border:0";
    // A View that navigates away is no longer the View: the next document neither receives nor sends messages.
    frame.addEventListener("load", () => {
      loads += 1;
      if (!opaque && loads === 1) window.setTimeout(() => isSilent && check(url), SILENCE);
    });
    // A `srcdoc` document is never in quirks mode, whatever comes before its doctype. A byte order mark after the
    // policy would end the head.
    if (opaque) frame.srcdoc = lock(policy(csp)) + html.replace(/^\uFEFF/, "");
    else {
      lock(`default-src 'none'; frame-src ${view}; connect-src ${view}; base-uri 'none'; form-action 'none'`);
      frame.src = url;
    }
    document.body.append(frame);
  };

  window.addEventListener("message", ({ source, origin, data }) => {
    const inner = frame?.contentWindow;
    if (source === parent && origin === host) {
      if (!reserved(data)) {
        // Only the View's own origin may receive its messages. An opaque origin cannot be named.
        if (inner && loads < 2) inner.postMessage(data, opaque ? "*" : view);
      } else if (!frame && data?.method === `${RESERVED}resource-ready`) load(Object(data.params));
    } else if (inner && source === inner && origin === view && loads < 2 && !reserved(data)) {
      isSilent = false;
      parent.postMessage(data, host);
    }
  });
  // SBX-04. The proxy itself sends no requests (SBX-10), and besides this only `document-failed`.
  parent.postMessage({ jsonrpc: "2.0", method: `${RESERVED}proxy-ready`, params: {} }, host);
};

if (globalThis.window) start(window);

export { features, policy, reserved, sandboxTokens, start, viewOrigin };
