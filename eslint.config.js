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
  { files: ["src/**/*.js", "tests/support/*.js", "docs/assets/*.js"], languageOptions: { globals: readonly(browser) } },
  {
    files: ["tests/check/pages/*.js"],
    languageOptions: { globals: readonly([...browser, "parent", "removeEventListener"]) },
  },
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
    // These become part of a View, to watch it and to hold its time.
    files: ["src/fanlight/testing/*.js"],
    languageOptions: {
      globals: readonly([
        ...browser,
        ..."Crypto Element Image ImageData MutationObserver OffscreenCanvas Performance btoa createImageBitmap".split(" "),
        ..."innerHeight parent performance".split(" "),
      ]),
    },
    rules: { "no-console": ["error", { allow: ["debug"] }] },
  },
  {
    // One becomes part of a View that is checked, the other is the host around it.
    files: ["src/fanlight/check/pages/*.js"],
    languageOptions: {
      globals: readonly([
        ...browser,
        ..."MutationObserver Node OffscreenCanvas getComputedStyle innerHeight matchMedia performance".split(" "),
      ]),
    },
    rules: { "no-console": ["error", { allow: ["debug"] }] },
  },
  {
    // Put into one page, one after the other, so that they share their names.
    files: ["src/fanlight/check/probe/pages/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: readonly([
        ...browser,
        ..."Audio EventSource Image crypto performance requestAnimationFrame".split(" "),
        ..."Link isAnswer pause same MODES VARIABLES capabilityProblems contextProblems dimensionProblems".split(" "),
        ..."isObject isText WAYS attempt blocked canCompile hasFeature isSandboxed openWays policies reaches".split(" "),
        ..."Findings LONG Probe brief text tellSize".split(" "),
      ]),
    },
    rules: {
      "no-new-func": "off", // whether it is forbidden is the question
      "no-redeclare": ["error", { builtinGlobals: false }],
      "no-self-assign": ["error", { props: false }],
      "no-unused-vars": ["error", { vars: "local", argsIgnorePattern: "^_" }],
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
