/** @type {import("prettier").Config} */
export default {
  // The same width as ruff's in pyproject.toml.
  printWidth: 120,
  // White space between inline elements is visible: keep it wherever CSS shows it by default.
  htmlWhitespaceSensitivity: "css",
  endOfLine: "lf",
};
