import js from "@eslint/js";

/** Turn names into globals that may be read. @param {string[]} blocks Names, with white space between them. */
const readonly = (...blocks) =>
  Object.fromEntries(blocks.flatMap((names) => names.trim().split(/\s+/)).map((name) => [name, "readonly"]));

const browser = `
  AbortController Blob CSS CSSStyleSheet CustomEvent DOMException Event EventTarget FontFace HTMLElement
  IntersectionObserver MessageEvent MutationObserver ResizeObserver URL URLSearchParams WebSocket
  addEventListener atob btoa clearInterval clearTimeout console customElements document fetch innerWidth location navigator
  queueMicrotask setInterval setTimeout window
`;
const node = `
  AbortController AbortSignal Buffer Event EventTarget File URL console process queueMicrotask setImmediate setTimeout
  structuredClone
`;

export default [
  // What the benchmarks install.
  { ignores: ["bench/.peers/"] },
  js.configs.recommended,
  {
    rules: {
      // Prettier puts a long body on a line of its own, where a second statement would look as if it belonged to it.
      curly: ["error", "multi-line"],
      eqeqeq: ["error", "always", { null: "ignore" }],
      // Prettier breaks code, but no comment. What cannot be broken may be longer.
      "max-len": ["error", { code: 120, ignoreUrls: true, ignoreRegExpLiterals: true }],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-var": "error",
      "no-console": ["error", { allow: ["error", "debug"] }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      "prefer-const": "error",
    },
  },
  {
    files: ["src/**/*.js", "tests/support/*.js", "docs/assets/*.js"],
    languageOptions: { globals: readonly(browser) },
  },
  {
    files: ["examples/*/*.js"],
    languageOptions: {
      globals: readonly(
        browser,
        "AudioContext File FileReader MediaRecorder OfflineAudioContext SpeechSynthesisUtterance speechSynthesis",
        "cancelAnimationFrame devicePixelRatio matchMedia performance requestAnimationFrame",
      ),
    },
  },
  {
    // Bundled for a page, or run by Node.
    files: ["tests/browser/front_ends/*.js"],
    languageOptions: { globals: readonly(browser, "crypto process") },
  },
  {
    files: ["tests/probe/pages/*.js"],
    languageOptions: { globals: readonly(browser, "parent removeEventListener") },
  },
  {
    files: ["src/fanlight/inspector/pages/*.js", "src/fanlight/chat/pages/*.js"],
    languageOptions: {
      globals: readonly(
        browser,
        "CSS EventSource cancelAnimationFrame history localStorage performance requestAnimationFrame sessionStorage",
      ),
    },
  },
  {
    // Run by Node.
    files: ["src/fanlight/inspector/*.mjs"],
    languageOptions: { globals: readonly(node) },
  },
  {
    files: ["src/fanlight/show/pages/*.js"],
    languageOptions: { globals: readonly(browser, "DOMParser DecompressionStream Response getComputedStyle") },
  },
  {
    // These become part of a View, to watch it and to hold its time.
    files: ["src/fanlight/testing/*.js"],
    languageOptions: {
      globals: readonly(
        browser,
        `
          Crypto Element Image ImageData MutationObserver OffscreenCanvas Performance createImageBitmap innerHeight
          parent performance
        `,
      ),
    },
    rules: { "no-console": ["error", { allow: ["debug"] }] },
  },
  {
    // One becomes part of a View that is checked, the other is the host around it.
    files: ["src/fanlight/check/pages/*.js"],
    languageOptions: {
      globals: readonly(
        browser,
        `
          MutationObserver Node OffscreenCanvas getComputedStyle innerHeight matchMedia performance
          requestAnimationFrame
        `,
      ),
    },
    rules: { "no-console": ["error", { allow: ["debug"] }] },
  },
  {
    // Put into one page, one after the other, so that they share their names.
    files: ["src/fanlight/probe/pages/*.js"],
    languageOptions: {
      sourceType: "script",
      globals: readonly(
        browser,
        `
          Audio EventSource Image crypto performance requestAnimationFrame Connection isResponse pause isEqual MODES
          VARIABLES
          capabilityProblems contextProblems dimensionProblems isObject isText WAYS attempt blocked canEval
          hasFeature isSandboxed openWays policies canRead Findings LONG Probe brief text reportSize
        `,
      ),
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
      globals: readonly(browser, "parent performance removeEventListener requestAnimationFrame top"),
    },
    rules: { "no-unused-vars": "off" },
  },
  {
    // What a hostile View tries: it becomes part of a page, and stops at nothing.
    files: ["tests/attacks/*.js"],
    languageOptions: {
      globals: readonly(
        browser,
        `
          AudioContext EventSource RTCPeerConnection SharedWorker WebTransport Worker XMLHttpRequest parent
        `,
      ),
    },
    rules: { "no-eval": "off", "no-unused-vars": "off" },
  },
  { files: ["tests/js/*.js", "bench/*.mjs"], languageOptions: { globals: readonly(node) } },
];
