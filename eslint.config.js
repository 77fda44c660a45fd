import js from "@eslint/js";

const browser = [
  ..."AbortController Blob CSSStyleSheet CustomEvent Event EventTarget FontFace HTMLElement MessageEvent MutationObserver ResizeObserver".split(" "),
  ..."URL URLSearchParams WebSocket".split(" "),
  ..."addEventListener atob clearTimeout console customElements document fetch innerWidth location navigator".split(" "),
  ..."queueMicrotask setTimeout window".split(" "),
];
const node = [
  ..."AbortController AbortSignal Event EventTarget URL console process".split(" "),
  ..."queueMicrotask setImmediate setTimeout structuredClone".split(" "),
];

/** @param {string[]} names */
const readonly = (names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

export default [
  js.configs.recommended,
  {
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "no-console": ["error", { allow: ["error"] }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "prefer-const": "error",
    },
  },
  { files: ["src/**/*.js", "tests/support/*.js"], languageOptions: { globals: readonly(browser) } },
  {
    files: ["src/fanlight/inspector/pages/*.js"],
    languageOptions: {
      globals: readonly([
        ...browser,
        ..."EventSource cancelAnimationFrame history localStorage performance".split(" "),
        "requestAnimationFrame",
      ]),
    },
  },
  {
    // paint.js is put into the pages that call what it defines.
    files: ["bench/pages/*.js"],
    languageOptions: {
      globals: readonly([...browser, "parent", "performance", "removeEventListener", "requestAnimationFrame", "top"]),
    },
    rules: { "no-unused-vars": "off" },
  },
  {
    // What a hostile View tries: it becomes part of a page, and stops at nothing.
    files: ["tests/attacks/*.js"],
    languageOptions: {
      globals: readonly([
        ...browser,
        ..."AudioContext EventSource RTCPeerConnection SharedWorker WebTransport Worker XMLHttpRequest parent".split(" "),
      ]),
    },
    rules: { "no-eval": "off", "no-unused-vars": "off" },
  },
  // view.js loses its line ends when it is inlined.
  { files: ["src/fanlight/browser/*.js"], rules: { semi: "error" } },
  { files: ["tests/js/*.js", "bench/*.mjs"], languageOptions: { globals: readonly(node) } },
];
