// @ts-check
/**
 * Runs a watch build with a project's own Vite, and prints each event as one line of JSON.
 *
 * It runs in the folder of the project. It ends when its standard input does, so never after `fanlight dev`.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";

/** @typedef {Record<string, any>} Json */

const MAX_ERRORS = 20;
// Lines of a code frame before and after the error.
const FRAME_LINES = 2;
const MAX_FRAME_COLUMNS = 200;

const send = (/** @type {Json} */ event) => process.stdout.write(`${JSON.stringify(event)}\n`);

/** Return the place that a message names: Rolldown writes it into the first line of its code frame. */
const placeInMessage = (/** @type {string} */ message) => {
  const [, file, line, column] = /\[ (.+):(\d+):(\d+) \]/.exec(message) ?? [];
  return file === undefined ? undefined : { file, line: Number(line), column: Number(column) };
};

const importsIn = (/** @type {string} */ file, /** @type {string} */ specifier) =>
  [`"${specifier}"`, `'${specifier}'`].some((quoted) => readText(file)?.includes(quoted));

/** Return the place of the import that could not be resolved. */
const placeOfImport = (/** @type {string} */ message) => {
  const [, specifier, file] = /failed to resolve import "(.+?)" from "(.+?)"/i.exec(message) ?? [];
  if (!specifier || !file) return undefined;
  const lines = readText(file)?.split("\n") ?? [];
  const line = lines.findIndex((text) => text.includes(`"${specifier}"`) || text.includes(`'${specifier}'`));
  return line < 0 ? { file } : { file, line: line + 1, column: (lines[line] ?? "").indexOf(specifier) };
};

/** Return the place that a plugin attached to an error. */
const placeOfError = (/** @type {Json} */ { id, loc, plugin }) => {
  const file = loc?.file ?? id;
  if (!file) return undefined;
  // Columns begin with 0, except in Vue.
  const first = plugin === "vite:vue" ? 0 : 1;
  return { file, ...(loc?.line && { line: loc.line, column: (loc.column ?? 0) + first }) };
};

const readText = (/** @type {string} */ file) => {
  try {
    return readFileSync(resolve(file.replace(/\?.*/s, "")), "utf8");
  } catch {
    return undefined;
  }
};

/**
 * Return the lines around a place, with a mark below it.
 * @param {string} file
 * @param {number} line
 * @param {number} column
 */
const drawFrame = (file, line, column) => {
  const lines = readText(file)?.trimEnd().split("\n");
  if (!lines || line > lines.length) return undefined;
  const first = Math.max(line - FRAME_LINES, 1);
  const shown = lines.slice(first - 1, line + FRAME_LINES);
  const width = String(first + shown.length - 1).length;
  return shown
    .flatMap((text, index) => {
      const number = first + index;
      const row = `${String(number).padStart(width)} | ${text.slice(0, MAX_FRAME_COLUMNS)}`;
      const mark = `${" ".repeat(width)} | ${" ".repeat(Math.max(column - 1, 0))}^`;
      return number === line && column <= MAX_FRAME_COLUMNS ? [row, mark] : [row];
    })
    .join("\n");
};

/** Describe one error, as plain text, with its place in the files of the project. */
const describe = (/** @type {Json} */ error) => {
  const message = stripVTControlCharacters(`${error.message ?? error}`).trim();
  const place = /** @type {Json} */ (placeInMessage(message) ?? placeOfImport(message) ?? placeOfError(error) ?? {});
  const [summary = "", ...rest] = message.split("\n");
  const frame = place.line ? drawFrame(place.file, place.line, place.column) : undefined;
  return {
    message: withoutPlace(summary, place.file),
    file: place.file && nameOf(place.file),
    line: place.line,
    column: place.column,
    frame: (frame ?? error.frame ?? rest.join("\n")).trimEnd(),
  };
};

/**
 * Return a message without the names of plugins and the places that plugins write into it.
 * @param {string} message
 * @param {string | undefined} file
 */
const withoutPlace = (message, file) => {
  const text = message.replace(/^(\[[^\]]*\]:? ?)+/, "").replace(/ \(\d+:\d+\)$/, "");
  if (!file) return text;
  const rest = text.replace(` from "${file}"`, "");
  return rest.startsWith(file) ? rest.slice(file.length).replace(/^(:\d+)*:? /, "") : rest;
};

/** Return the path of a file relative to the project. */
const nameOf = (/** @type {string} */ file) => {
  const path = relative(process.cwd(), resolve(file.replace(/\?.*/s, "")));
  return isAbsolute(path) ? file : path.replaceAll("\\", "/");
};

/** Rolldown collects several errors in one; other bundlers report the first one itself. */
const errorsOf = (/** @type {Json} */ error) => {
  const found = error.id || error.loc || error.frame || !error.errors?.length ? [error] : error.errors;
  return found.slice(0, MAX_ERRORS).map(describe);
};

/** @type {Set<string>} The files of the project that the document is made of. */
const inputs = new Set();
const isInput = (/** @type {string} */ id) => isAbsolute(id) && !id.includes("/node_modules/");

// A module that is neither a file, nor virtual, nor at a URL: a package that is not installed.
const isUnresolved = (/** @type {string} */ id) => !isAbsolute(id) && !/^(\0|virtual:|[\w.+-]+:|\/\/)/.test(id);

let hasExternals = false;
const guard = {
  name: "fanlight:guard",
  configResolved(/** @type {import("vite").ResolvedConfig} */ { build }) {
    hasExternals = Boolean((build.rolldownOptions ?? build.rollupOptions)?.external);
  },
  /** @this {import("vite").Rolldown.PluginContext} */
  buildEnd() {
    const unresolved = [];
    for (const id of this.getModuleIds()) {
      if (isInput(id)) inputs.add(id.replace(/\?.*/s, ""));
      // While it watches, Vite 8 reports an unresolved import only after it has written the document.
      if (isUnresolved(id) && this.getModuleInfo(id)?.code === null && !hasExternals) unresolved.push(id);
    }
    const [missing] = unresolved;
    if (missing === undefined) return;
    const importer = [...inputs].find((file) => importsIn(file, missing));
    throw new Error(`Failed to resolve import "${missing}" from "${importer ?? "a package"}"`);
  },
};

const watch = async () => {
  const require = createRequire(join(process.cwd(), "package.json"));
  /** @type {typeof import("vite")} */
  const vite = await import(pathToFileURL(require.resolve("vite")).href);
  const watcher = /** @type {import("vite").Rolldown.RolldownWatcher} */ (
    await vite.build({
      logLevel: "silent",
      // The last document stays until the next one is complete.
      build: { watch: {}, emptyOutDir: false },
      plugins: [guard],
    })
  );
  /** @type {Json[]} */
  let errors = [];
  watcher.on("event", (event) => {
    if (event.code === "START") {
      errors = [];
      send({ event: "started" });
    } else if (event.code === "ERROR") {
      errors.push(...errorsOf(event.error));
    } else if (event.code === "END") {
      send({ event: errors.length ? "failed" : "built", errors, inputs: [...inputs] });
    }
    if ("result" in event) void event.result?.close();
  });
};

process.stdin.on("end", () => process.exit()).resume();
try {
  await watch();
} catch (error) {
  send({ event: "failed", errors: errorsOf(/** @type {Json} */ (error)), inputs: [] });
  process.exitCode = 1;
  process.stdin.destroy();
}
