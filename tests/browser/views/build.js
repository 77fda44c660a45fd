// Builds the Views of this folder with Vite, each with the two SDKs, and prints their scripts as JSON.
import process from "node:process";
import { URL, fileURLToPath } from "node:url";
import { build } from "vite";

const folder = fileURLToPath(new URL(".", import.meta.url));
const ours = fileURLToPath(new URL("../../../src/fanlight/browser/", import.meta.url));
const PACKAGE = "@modelcontextprotocol/ext-apps";

/** The SDK that each import of a View resolves to; of several that match, the first one counts. */
const SDKS = {
  ours: { [`${PACKAGE}/react`]: `${ours}view-react.js`, [PACKAGE]: `${ours}view.js` },
  published: { [`${PACKAGE}/react`]: "ext-apps-2/react", [PACKAGE]: "ext-apps-2" },
};

const mount = {
  vue: 'import { createApp } from "vue"; import Time from "./Time.vue"; createApp(Time).mount("#root");',
  svelte: 'import { mount } from "svelte"; import Time from "./Time.svelte"; mount(Time, { target: root });',
};

/** @type {Record<string, [entry: string, plugins: () => Promise<any>]>} */
const VIEWS = {
  react: ["Time.react.jsx", async () => (await import("@vitejs/plugin-react")).default()],
  preact: ["Time.preact.jsx", async () => (await import("@preact/preset-vite")).default()],
  solid: ["Time.solid.jsx", async () => (await import("vite-plugin-solid")).default()],
  vue: ["mount-vue", async () => (await import("@vitejs/plugin-vue")).default()],
  svelte: ["mount-svelte", async () => (await import("@sveltejs/vite-plugin-svelte")).svelte({ configFile: false })],
};

/** Two entries that are not files. */
const entries = {
  name: "entries",
  resolveId: (/** @type {string} */ id) => (id.startsWith("mount-") ? `${folder}${id}.js` : undefined),
  load: (/** @type {string} */ id) => {
    const found = /mount-(vue|svelte)\.js$/.exec(id);
    return found && mount[/** @type {"vue" | "svelte"} */ (found[1])];
  },
};

/** @type {Record<string, Record<string, string>>} */
const scripts = {};
for (const [framework, [entry, plugin]] of Object.entries(VIEWS)) {
  scripts[framework] = {};
  for (const [sdk, alias] of Object.entries(SDKS)) {
    /** @type {any} */
    const made = await build({
      root: folder,
      configFile: false,
      logLevel: "error",
      plugins: [entries, await plugin()],
      resolve: { alias, dedupe: ["react"] },
      define: { "process.env.NODE_ENV": '"production"' },
      build: {
        write: false,
        modulePreload: false,
        rollupOptions: { input: entry.includes(".") ? folder + entry : entry },
      },
    });
    const chunks = made.output.filter((/** @type {any} */ part) => part.type === "chunk");
    if (chunks.length !== 1) throw new Error(`Expected one chunk of ${framework}, got ${chunks.length}.`);
    scripts[framework][sdk] = chunks[0].code;
  }
}
process.stdout.write(JSON.stringify(scripts));
