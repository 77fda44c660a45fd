// @ts-check
/** What the browser allows this document to do: requests to names that do not resolve, and the violations reported. */

/** @typedef {{ directive: string, host: string, policy: string }} Violation */

/** @type {Violation[]} */
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  if (event.disposition !== "enforce") return;
  const host = URL.canParse(event.blockedURI) ? new URL(event.blockedURI).hostname : event.blockedURI;
  violations.push({ directive: event.effectiveDirective, host, policy: event.originalPolicy });
});

/** @param {string} tag @param {Record<string, string>} attributes */
const addToHead = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.hidden = true;
  document.head.append(element);
  setTimeout(() => element.remove(), 4_000);
};

/**
 * The ways in which a document can reach other origins.
 * @type {Record<string, { directive: string, attempt: (host: string) => unknown }>}
 */
const WAYS = {
  fetch: { directive: "connect-src", attempt: (host) => fetch(`https://${host}/`, { mode: "no-cors" }) },
  websocket: { directive: "connect-src", attempt: (host) => closeSoon(new WebSocket(`wss://${host}/`)) },
  eventsource: { directive: "connect-src", attempt: (host) => closeSoon(new EventSource(`https://${host}/`)) },
  beacon: { directive: "connect-src", attempt: (host) => navigator.sendBeacon(`https://${host}/`, "") },
  img: { directive: "img-src", attempt: (host) => (new Image().src = `https://${host}/i.png`) },
  script: { directive: "script-src", attempt: (host) => addToHead("script", { src: `https://${host}/s.js` }) },
  style: {
    directive: "style-src",
    attempt: (host) => addToHead("link", { rel: "stylesheet", href: `https://${host}/s.css` }),
  },
  font: { directive: "font-src", attempt: (host) => new FontFace("probe", `url(https://${host}/f.woff2)`).load() },
  media: { directive: "media-src", attempt: (host) => new Audio(`https://${host}/m.mp3`).load() },
  frame: { directive: "frame-src", attempt: (host) => addToBody("iframe", { src: `https://${host}/` }) },
  object: {
    directive: "object-src",
    attempt: (host) => addToBody("object", { data: `https://${host}/o`, type: "text/html" }),
  },
  base: { directive: "base-uri", attempt: (host) => setsBase(`https://${host}/`) },
};

/** @param {string} tag @param {Record<string, string>} attributes */
const addToBody = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  // Some browsers do not load an element that is not displayed.
  element.style.cssText = "position:absolute;width:1px;height:1px;opacity:0;border:0";
  element.setAttribute("aria-hidden", "true");
  document.body.append(element);
  setTimeout(() => element.remove(), 4_000);
};

/** @param {{ close: () => void }} source */
const closeSoon = (source) => void setTimeout(() => source.close(), 4_000);

/** @param {string} href */
const setsBase = (href) => {
  const element = Object.assign(document.createElement("base"), { href });
  document.head.prepend(element);
  const taken = document.baseURI === href;
  element.remove();
  return taken;
};

/**
 * Try to reach a host in one way.
 * @param {string} way
 * @param {string} host
 */
const attempt = (way, host) => {
  try {
    Promise.resolve(WAYS[way]?.attempt(host)).catch(() => {});
  } catch {
    // Blocked at once; the violation is reported nevertheless.
  }
};

/**
 * Whether a policy blocked one way to reach a host.
 * @param {string} way
 * @param {string} host
 */
const blocked = (way, host) =>
  violations.some(
    (violation) => violation.host === host && violation.directive.startsWith(String(WAYS[way]?.directive)),
  );

/**
 * Try every way, each with a host of its own, and return those that no policy blocked.
 * @param {string} domain
 */
const openWays = async (domain) => {
  const ways = Object.keys(WAYS);
  const hostOf = (/** @type {string} */ way) => `${way}.undeclared.${domain}`;
  for (const way of ways) attempt(way, hostOf(way));
  const deadline = performance.now() + 5_000;
  while (performance.now() < deadline && !ways.every((way) => blocked(way, hostOf(way)))) await pause(50);
  return ways.filter((way) => !blocked(way, hostOf(way)));
};

/** The policies that blocked something, each as directives with their sources. */
const policies = () =>
  [...new Set(violations.map(({ policy }) => policy))].map(
    (policy) =>
      new Map(
        policy.split(";").map((directive) => {
          const [name = "", ...sources] = directive.trim().split(/\s+/);
          return [name.toLowerCase(), sources];
        }),
      ),
  );

/** Whether this document may evaluate text as code. */
const canEval = () => {
  try {
    return new Function("return true")() === true;
  } catch {
    return false;
  }
};

/**
 * Whether this document may read another window.
 * @param {any} other
 */
const canRead = (other) => {
  try {
    return Boolean(other.document || other.location.href);
  } catch {
    return false;
  }
};

/** Whether this document is in a sandbox: only there, setting `document.domain` throws whatever the tokens are. */
const isSandboxed = () => {
  try {
    document.domain = document.domain;
    return false;
  } catch {
    return true;
  }
};

/**
 * Whether this document may use a feature; undefined if the browser does not say.
 * @param {string} feature
 */
const hasFeature = (feature) => {
  const policy = /** @type {any} */ (document).permissionsPolicy ?? /** @type {any} */ (document).featurePolicy;
  if (!policy?.features?.().includes(feature)) return undefined;
  return Boolean(policy.allowsFeature(feature));
};
