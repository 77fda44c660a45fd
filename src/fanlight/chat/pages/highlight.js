// @ts-check
/** Colours for code in any language: comments, strings, numbers and common keywords. */
import { make } from "./dom.js";

const MAX_LENGTH = 20_000;

const KEYWORDS = new Set(
  `abstract and as assert async await bool boolean break case catch char class const continue def default del delete do
  double elif else end enum except export extends false False final finally float fn for from func function global go if
  impl implements import in instanceof int interface is lambda let long loop match mod mut namespace new nil None not
  null nonlocal or package pass private protected pub public raise readonly return select self short sizeof static str
  string struct super switch this throw throws trait true True try type typeof undefined union unless until use using
  var void where while with yield`.split(/\s+/),
);
const HASH = /^(py|python|sh|bash|shell|zsh|console|yaml|yml|toml|ruby|rb|perl|r|make|makefile|dockerfile|ini|conf)$/;
const DASH = /^(sql|lua|haskell|hs|elm|ada)$/;
const PLAIN = /^(text|txt|plain|markdown|md|)$/;

const STRING = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const TRIPLE = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)`;
const NUMBER = String.raw`\b(?:0[xX][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

/**
 * Return the nodes of a piece of code.
 * @param {string} text
 * @param {string} language
 * @returns {(Node | string)[]}
 */
export const highlight = (text, language) => {
  const name = language.toLowerCase();
  if (PLAIN.test(name) || text.length > MAX_LENGTH) return [text];
  const comment = HASH.test(name)
    ? "#[^\\n]*"
    : DASH.test(name)
      ? "--[^\\n]*"
      : /^(html|xml|svg|vue)$/.test(name)
        ? "<!--[\\s\\S]*?(?:-->|$)"
        : "//[^\\n]*|/\\*[\\s\\S]*?(?:\\*/|$)";
  const backticks = /^(js|jsx|ts|tsx|javascript|typescript|mjs|go)$/.test(name) ? "|`(?:[^`\\\\]|\\\\[\\s\\S])*`?" : "";
  const tokens = new RegExp(
    `(?<comment>${comment})|(?<string>${TRIPLE}|${STRING}${backticks})|(?<number>${NUMBER})|(?<word>${WORD})`,
    "g",
  );
  const nodes = [];
  let last = 0;
  for (const found of text.matchAll(tokens)) {
    const { comment: isComment, string, number, word } = found.groups ?? {};
    const kind = isComment
      ? "comment"
      : string
        ? "string"
        : number
          ? "number"
          : KEYWORDS.has(word ?? "")
            ? "keyword"
            : "";
    if (!kind) continue;
    nodes.push(text.slice(last, found.index), make("span", { className: `code-${kind}` }, found[0]));
    last = found.index + found[0].length;
  }
  nodes.push(text.slice(last));
  return nodes;
};
