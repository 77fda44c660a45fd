// @ts-check
/** The security panel: a View's document and policy, what was blocked, what was decided, and the audit. */
import { make, notifyError, plainButton, request } from "./dom.js";
import { placeOf } from "./problems.js";
import { changed } from "./state.js";

/** @typedef {Record<string, any>} Json */

/** The metadata that each directive of a policy comes from. */
const SOURCES = /** @type {Json} */ ({
  "connect-src": "csp.connectDomains",
  "frame-src": "csp.frameDomains",
  "base-uri": "csp.baseUriDomains",
  "script-src": "csp.resourceDomains",
  "style-src": "csp.resourceDomains",
  "img-src": "csp.resourceDomains",
  "font-src": "csp.resourceDomains",
  "media-src": "csp.resourceDomains",
});

/** Return the content of the panel. */
export const drawSecurityPanel = async (/** @type {import("./state.js").Call} */ { view, server }) => {
  if (!view) return [make("p", { className: "empty" }, "This call has no View.")];
  /** @type {[Json[], Json[], Json[]]} */
  const [records, blocked, grants] = await Promise.all([
    request(`audit?view=${view}`),
    request(`blocked?view=${view}`),
    request("grants"),
  ]);
  const document = records.findLast((record) => record.kind === "document" && record.data?.csp)?.data;
  const ofKind = (/** @type {string} */ kind) => records.filter((record) => record.kind === kind);
  return [
    document && drawDocument(document),
    drawBlocked(
      blocked,
      ofKind("violation").some(({ outcome }) => outcome === "probe"),
    ),
    drawDecisions(
      ofKind("decision"),
      grants.filter((grant) => grant.server === server),
    ),
    drawDialects(ofKind("dialect")),
    document && [make("h3", {}, "Content-Security-Policy in force"), drawPolicy(document.csp)],
    make("h3", {}, "Audit"),
    make(
      "details",
      {},
      make("summary", { className: "small" }, `${records.length} records`),
      make("pre", {}, records.map((record) => JSON.stringify(record)).join("\n")),
    ),
  ].flat(Infinity);
};

const drawDocument = (/** @type {Json} */ { uri, sha256, permissions, asked = [], denied, problems = [] }) => [
  make("h3", {}, "Document"),
  make(
    "dl",
    {},
    make("dt", {}, "URI"),
    make("dd", {}, uri),
    make("dt", {}, "SHA-256"),
    make("dd", { className: "mono" }, sha256),
    make("dt", {}, "Permissions"),
    make(
      "dd",
      {},
      asked.length ? `requested: ${asked.join(", ")}; granted: ${permissions.join(", ") || "none"}` : "none requested",
    ),
  ),
  denied.length > 0 && make("p", { className: "bad" }, `Declared, but not allowed: ${denied.join(", ")}`),
  ...problems.map((/** @type {string} */ problem) => make("p", { className: "small" }, problem)),
];

const drawBlocked = (/** @type {Json[]} */ blocked, /** @type {boolean} */ probed) => [
  make("h3", {}, "Blocked by the browser"),
  ...blocked.flatMap((each) => [
    make("p", {}, make("strong", { className: "bad" }, each.directive), ` ${each.blocked}${placeOf(each)}`),
    make("p", { className: "small" }, each.fix),
  ]),
  !blocked.length && make("p", { className: "quiet" }, "Nothing."),
  probed &&
    make(
      "p",
      { className: "small quiet" },
      "A schema library tested whether it may compile code, and went on without. That is harmless.",
    ),
];

const drawDecisions = (/** @type {Json[]} */ decisions, /** @type {Json[]} */ grants) => [
  make("h3", {}, "Consent and policy"),
  ...decisions.map(({ name, outcome, by, data }) => {
    const key = String(data?.key ?? "").slice(0, name === "document" ? 12 : 60);
    const reason = data?.reason ? `: ${data.reason}` : "";
    const decided = make("span", { className: outcome === "allowed" ? "good" : "bad" }, outcome);
    return make("p", { className: "small" }, decided, ` ${name} ${key}, by ${by}${reason}`);
  }),
  !decisions.length && make("p", { className: "quiet" }, "No decisions were needed."),
  ...grants.map((grant) => {
    const revoke = () => request("revoke", { grant }).then(() => changed("calls"), notifyError);
    return make(
      "p",
      { className: "small" },
      `Always allowed: ${grant.kind} ${grant.key} `,
      plainButton("Revoke", () => void revoke()),
    );
  }),
];

const drawDialects = (/** @type {Json[]} */ records) => {
  const uses = records.map(({ name, outcome, data }) => {
    const today = outcome === "refused" ? `refused: ${data?.reason}` : `now ${data?.today}`;
    return `older dialect: ${name}, ${today}`;
  });
  if (!uses.length) return [];
  return [make("h3", {}, "Older dialects"), ...[...new Set(uses)].map((use) => make("p", { className: "small" }, use))];
};

const drawPolicy = (/** @type {string} */ csp) =>
  make(
    "table",
    { className: "policy small" },
    make("thead", {}, make("tr", {}, make("th", {}, "Directive"), make("th", {}, "Allows"), make("th", {}, "From"))),
    make(
      "tbody",
      {},
      ...csp.split("; ").map((directive) => {
        const [name = "", ...values] = directive.split(" ");
        const declared = values.some((value) => /[.:]\/\/|\*\./.test(value) && !value.startsWith("data:"));
        const ofHost = ["frame-ancestors", "report-uri", "report-to"].includes(name);
        const source = ofHost ? "this host" : declared ? (SOURCES[name] ?? "the host") : "the standard";
        return make(
          "tr",
          {},
          make("td", {}, name),
          make("td", {}, values.join(" ")),
          make("td", { className: declared ? "" : "quiet" }, source),
        );
      }),
    ),
  );
