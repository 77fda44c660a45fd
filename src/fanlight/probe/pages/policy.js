// @ts-check
/** What the browser lets this document do. It tries names that lead nowhere, and reads the refusals. */

/** @typedef {{ directive: string, host: string, policy: string }} Violation */

/** @type {Violation[]} */
const violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  if (event.disposition !== "enforce") return;
  const host = URL.canParse(event.blockedURI) ? new URL(event.blockedURI).hostname : event.blockedURI;
  violations.push({ directive: event.effectiveDirective, host, policy: event.originalPolicy });
});

/** @param {string} tag @param {Record<string, string>} attributes */
const tried = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  element.hidden = true;
  document.head.append(element);
  setTimeout(() => element.remove(), 4_000);
};

/** @type {Record<string, { directive: string, attempt: (host: string) => unknown }>} The ways out of a document. */
const WAYS = {
  fetch: { directive: "connect-src", attempt: (host) => fetch(`https://${host}/`, { mode: "no-cors" }) },
  websocket: { directive: "connect-src", attempt: (host) => soonClosed(new WebSocket(`wss://${host}/`)) },
  eventsource: { directive: "connect-src", attempt: (host) => soonClosed(new EventSource(`https://${host}/`)) },
  beacon: { directive: "connect-src", attempt: (host) => navigator.sendBeacon(`https://${host}/`, "") },
  img: { directive: "img-src", attempt: (host) => (new Image().src = `https://${host}/i.png`) },
  script: { directive: "script-src", attempt: (host) => tried("script", { src: `https://${host}/s.js` }) },
  style: {
    directive: "style-src",
    attempt: (host) => tried("link", { rel: "stylesheet", href: `https://${host}/s.css` }),
  },
  font: { directive: "font-src", attempt: (host) => new FontFace("probe", `url(https://${host}/f.woff2)`).load() },
  media: { directive: "media-src", attempt: (host) => new Audio(`https://${host}/m.mp3`).load() },
  frame: { directive: "frame-src", attempt: (host) => inBody("iframe", { src: `https://${host}/` }) },
  object: {
    directive: "object-src",
    attempt: (host) => inBody("object", { data: `https://${host}/o`, type: "text/html" }),
  },
  base: { directive: "base-uri", attempt: (host) => based(`https://${host}/`) },
};

/** @param {string} tag @param {Record<string, string>} attributes */
const inBody = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  // What is not displayed is not loaded in every browser.
  element.style.cssText = "position:absolute;width:1px;height:1px;opacity:0;border:0";
  element.setAttribute("aria-hidden", "true");
  document.body.append(element);
  setTimeout(() => element.remove(), 4_000);
};

/** @param {{ close: () => void }} source */
const soonClosed = (source) => void setTimeout(() => source.close(), 4_000);

/** @param {string} href */
const based = (href) => {
  const element = Object.assign(document.createElement("base"), { href });
  document.head.prepend(element);
  const taken = document.baseURI === href;
  element.remove();
  return taken;
};

/**
 * Try a way out to a host.
 * @param {string} way
 * @param {string} host
 */
const attempt = (way, host) => {
  try {
    Promise.resolve(WAYS[way]?.attempt(host)).catch(() => {});
  } catch {
    // Refused at once; the violation is reported all the same.
  }
};

/**
 * Whether a way out to a host was blocked by a policy.
 * @param {string} way
 * @param {string} host
 */
const blocked = (way, host) =>
  violations.some(
    (violation) => violation.host === host && violation.directive.startsWith(String(WAYS[way]?.directive)),
  );

/**
 * Try every way to a host of its own, and return those that nothing blocked.
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

/** Whether code can be made of text here. */
const canCompile = () => {
  try {
    return new Function("return true")() === true;
  } catch {
    return false;
  }
};

/**
 * Whether another window lets itself be read.
 * @param {any} other
 */
const reaches = (other) => {
  try {
    return Boolean(other.document || other.location.href);
  } catch {
    return false;
  }
};

/** Whether this document is in a sandbox: no token of the attribute lifts the ban on setting the domain. */
const isSandboxed = () => {
  try {
    document.domain = document.domain;
    return false;
  } catch {
    return true;
  }
};

/**
 * Whether the browser would let this document use a feature; undefined where it does not tell.
 * @param {string} feature
 */
const hasFeature = (feature) => {
  const policy = /** @type {any} */ (document).permissionsPolicy ?? /** @type {any} */ (document).featurePolicy;
  if (!policy?.features?.().includes(feature)) return undefined;
  return Boolean(policy.allowsFeature(feature));
};
