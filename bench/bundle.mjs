// Bundle the module script on standard input as users of ext-apps do: with its dependencies, minified.
//
//     node bundle.mjs PACKAGE [lean]
//
// PACKAGE is the name under which ext-apps is installed here. `lean` leaves out zod's translations, which esbuild
// keeps though nothing uses them, and Rollup (so Vite) does not. Files are imported from `pages`.
import path from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { build } from "esbuild";

const [name, lean] = process.argv.slice(2);
const translations = {
  name: "without zod's translations",
  setup(/** @type {any} */ hooks) {
    hooks.onLoad({ filter: /zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: "export {};" }));
  },
};
const { outputFiles } = await build({
  stdin: { contents: await text(process.stdin), resolveDir: path.join(import.meta.dirname, "pages") },
  alias: { "@modelcontextprotocol/ext-apps": name },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  logLevel: "warning",
  plugins: lean ? [translations] : [],
  write: false,
});
process.stdout.write(outputFiles[0].text);
