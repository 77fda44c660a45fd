import solid from "vite-plugin-solid";
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// One HTML file with everything in it, where my_app/server.py reads it.
export default defineConfig({
  root: "view",
  plugins: [solid(), viteSingleFile()],
  build: { outDir: "../my_app/dist", emptyOutDir: true },
});
