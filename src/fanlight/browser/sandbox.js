// @ts-check
/**
 * The sandbox proxy: the page between a host page and one View. It holds the View's frame and passes
 * messages on, and nothing else. Rule ids such as SBX-07 are explained in docs/reference/rules.md.
 *
 * Its address says whom it serves: `?host=` is the exact origin of the page around it. With `&view=*` it loads one
 * document by `url`, from an origin that is one label below its own. Without, it takes HTML, as the standard
 * has it, and gives it an opaque origin.
 *
 * What the server adds is one header. With `view`: `default-src 'none'; script-src 'self'; frame-src` for all
 * origins below this one, `base-uri 'none'; form-action 'none'; frame-ancestors HOST`. So this page can be opened
 * before it is known which View it will hold; when that is known, `lock()` leaves only the View's own origin.
 * Without `view`: `frame-ancestors HOST` alone, because the policy of this page is also that of a `srcdoc`
 * document in it, so it can be set only when the document's domains are known. Again, `lock()` does that, before
 * the frame exists.
 */

/** @typedef {Record<string, any>} Json */

const RESERVED = "ui/notifications/sandbox-";
// What such words were called in the first draft, for hosts that still know them.
const OLDER = "mcp-ui/sandbox-";

/** What a View may be given. Not in the list: leaving its frame (top navigation, popups), downloads, dialogs. */
const TOKENS = ["allow-scripts", "allow-same-origin", "allow-forms", "allow-pointer-lock"];

/** The permissions of the standard, by the name of the browser's feature. */
const FEATURES = new Map([
  ["camera", "camera"],
  ["microphone", "microphone"],
  ["geolocation", "geolocation"],
  ["clipboard-write", "clipboardWrite"],
]);

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
/** One CSP host source, as protocol/csp.py has it: no keyword, no bare scheme or star, no path, no separator. */
const SOURCE = new RegExp(`^(?:(?:https?|wss?)://)?(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*(?::(?:[0-9]{1,5}|\\*))?$`, "i");
const SCHEME = /^(?:https?|wss?|data|blob|file|filesystem|mediastream)$/i;

/**
 * The declared domains that are CSP sources, as one text. The others are left out.
 * @param {unknown} domains
 */
const sources = (domains) =>
  (Array.isArray(domains) ? domains : [])
    .filter((domain) => typeof domain === "string" && SOURCE.test(domain) && !SCHEME.test(domain))
    .filter((domain) => Number(/:([0-9]+)$/.exec(domain)?.[1] ?? 0) < 65536)
    .join(" ");

/**
 * The policy of an HTML document (SBX-06a to e, CSP-02, CSP-09). What is not declared is not reachable.
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
 * The sandbox tokens that are left of those asked for.
 * @param {unknown} asked
 * @param {boolean} opaque Whether the document must have no origin of its own.
 */
const sandboxTokens = (asked, opaque) => {
  const words = (typeof asked === "string" ? asked : "allow-scripts allow-same-origin allow-forms").split(/\s+/);
  return TOKENS.filter((token) => words.includes(token) && !(opaque && token === "allow-same-origin")).join(" ");
};

/**
 * The `allow` attribute, from a text such as "camera; microphone" or the standard's `permissions` (SBX-06f).
 * @param {unknown} allow
 * @param {any} permissions
 */
const features = (allow, permissions) => {
  const words = typeof allow === "string" ? allow.split(";").map((word) => word.trim()) : [];
  return [...FEATURES]
    .filter(([feature, permission]) => words.includes(feature) || permissions?.[permission])
    .map(([feature]) => feature)
    .join("; ");
};

/**
 * Whether a message is between host and proxy, and must not pass (SBX-08). As text, because a peer may
 * read it so; and in a batch.
 * @param {any} data
 */
const reserved = (data) =>
  // Of a list, what is in it: one with billions of empty places is small to send.
  [data, ...(Array.isArray(data) ? Object.values(data) : [])].some((message) => {
    const method = String(message?.method);
    return method.startsWith(RESERVED) || method.startsWith(OLDER);
  });

/**
 * The origin that a text is, if it is exactly one.
 * @param {string | null} text
 */
const originOf = (text) => {
  const origin = text && URL.canParse(text) ? new URL(text).origin : undefined;
  return origin === text ? origin : undefined;
};

/**
 * The origin of a document that this page may hold: one label below its own.
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
 * Whether this page could reach into another. Then the other could not be kept from what is in here, either.
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

  /**
   * Put this page under a policy, from which there is no way back.
   * @param {string} content
   */
  const lock = (content) => {
    const meta = document.createElement("meta");
    meta.httpEquiv = "Content-Security-Policy";
    meta.content = content;
    document.head.append(meta);
    return meta.outerHTML;
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
    // A View that leaves its document is a View no more: whoever comes after it hears nothing and is not heard.
    frame.addEventListener("load", () => (loads += 1));
    // A `srcdoc` document is never in quirks mode, whatever stands before its doctype. A byte order mark
    // behind the policy would end the head.
    if (opaque) frame.srcdoc = lock(policy(csp)) + html.replace(/^\uFEFF/, "");
    else {
      lock(`default-src 'none'; frame-src ${view}; base-uri 'none'; form-action 'none'`);
      frame.src = url;
    }
    document.body.append(frame);
  };

  window.addEventListener("message", ({ source, origin, data }) => {
    const inner = frame?.contentWindow;
    if (source === parent && origin === host) {
      if (!reserved(data)) {
        // Only its own origin may read what is for the View; an opaque one has no name.
        if (inner && loads < 2) inner.postMessage(data, opaque ? "*" : view);
      } else if (!frame && data?.method === `${RESERVED}resource-ready`) load(Object(data.params));
    } else if (inner && source === inner && origin === view && loads < 2 && !reserved(data)) {
      parent.postMessage(data, host);
    }
  });
  // SBX-04. The one message that is the proxy's own (SBX-10).
  parent.postMessage({ jsonrpc: "2.0", method: `${RESERVED}proxy-ready`, params: {} }, host);
};

if (globalThis.window) start(window);

export { features, policy, reserved, sandboxTokens, start, viewOrigin };
