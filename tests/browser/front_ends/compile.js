// Compiles a component of Vue or Svelte from standard input to JavaScript, as the plugins of build tools do.
import { readFileSync } from "node:fs";

const source = readFileSync(0, "utf8");
const compilers = {
  vue: async () => {
    const { compileScript, parse } = await import("vue/compiler-sfc");
    const isCustomElement = (/** @type {string} */ tag) => tag.startsWith("mcp-");
    const { descriptor, errors } = parse(source);
    if (errors.length) throw errors[0];
    const templateOptions = { compilerOptions: { isCustomElement } };
    return compileScript(descriptor, { id: "chat", inlineTemplate: true, templateOptions }).content;
  },
  svelte: async () => {
    const { compile } = await import("svelte/compiler");
    return compile(source, { generate: "client", name: "Chat" }).js.code;
  },
};
process.stdout.write(await compilers[process.argv[2]]());
