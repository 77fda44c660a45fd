"""Libraries that evaluate text as code, which the policy of Views forbids: how to recognize one, and its cure."""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class EvalLibrary:
    """A library that evaluates text as code, at least in its default settings."""

    name: str
    marks: tuple[str, ...]
    """Texts of which one is in each build of the library, also in a minified one."""
    cure: str
    cured: str = "(?!)"
    """A pattern that is in a View which has applied the cure. Default: a cured View does not have the marks."""


LIBRARIES: Final = (
    EvalLibrary(
        "Vega",
        ("vegaEmbed", "vega-embed", "vg-tooltip-element"),
        "Let Vega interpret its expressions: vegaEmbed(element, spec, { ast: true }).",
        r"\bast\s*:\s*(?:true|!0)",
    ),
    EvalLibrary(
        "plotly",
        ("plotly.js v", "Plotly.newPlot", "Plotly.react"),
        "plotly draws scattergl, splom, parcoords and other WebGL traces with code that it compiles at run time. Use "
        'traces that it draws as SVG (in Python: render_mode="svg", go.Scatter instead of go.Scattergl), or bundle '
        "plotly.js-strict-dist-min.",
        r"plotly\.js \(strict",
    ),
    EvalLibrary(
        "Handlebars",
        ("Handlebars.compile", "handlebars v"),
        "Compile the templates when you build the View (npx handlebars), and bundle handlebars/runtime.",
    ),
    EvalLibrary(
        "Lodash or Underscore templates",
        ("lodash.templateSources", "_.template"),
        "Replace _.template() by a template literal, or compile the template when you build the View.",
    ),
    EvalLibrary(
        "EJS",
        ("EJS-Lint", "ejs.render", "ejs.compile"),
        "Compile the templates when you build the View: ejs.compile(text, { client: true }).toString().",
    ),
    EvalLibrary(
        "Hogan",
        ("Hogan.compile",),
        "Compile the templates when you build the View (hulk), or use mustache.js, which evaluates nothing.",
    ),
    EvalLibrary(
        "Nunjucks",
        ("nunjucks.configure", "nunjucks.render"),
        "Compile the templates when you build the View (nunjucks-precompile), and bundle nunjucks-slim.",
    ),
    EvalLibrary(
        "Ajv",
        ("ajv-validator/ajv", "new Ajv("),
        "Compile the schemas when you build the View (ajv/dist/standalone), or use @cfworker/json-schema.",
    ),
    EvalLibrary(
        "zod",
        ("jitless",),
        "Call z.config({ jitless: true }) in a module of its own, and import that module before all others: packages "
        "use zod as soon as they are imported, which is before any other code runs. Nothing fails without it.",
        r"\.config\(\s*\{\s*jitless\s*:\s*(?:true|!0)",
    ),
    EvalLibrary(
        "Vue with its template compiler",
        ("_cached.key === (",),
        "Bundle the runtime build of Vue, and compile the templates when you build the View (Vite does both).",
    ),
    EvalLibrary(
        "Alpine.js",
        ("Alpine.start", "Alpine Expression Error"),
        "Bundle @alpinejs/csp instead of alpinejs, and move expressions into Alpine.data(...).",
    ),
    EvalLibrary(
        "htmx",
        ("htmx.config", "htmx:load"),
        "Set htmx.config.allowEval = false, and use no hx-on, no js: in hx-vals and no filters in hx-trigger.",
        r"allowEval\"?\s*[:=]\s*(?:false|!1)",
    ),
    EvalLibrary(
        "AngularJS",
        ("AngularJS v1", "ng-app="),
        "Add the attribute ng-csp to the element with ng-app.",
        r"\bng-csp\b",
    ),
    EvalLibrary(
        "d3-dsv",
        ('new Function("d","return {"', 'new Function("d", "return {"'),
        "Read rows as arrays, which evaluates nothing: d3.csvParseRows() instead of d3.csvParse() and d3.csv().",
    ),
    EvalLibrary(
        "BokehJS",
        ("CustomJS", "bokehjs"),
        "Remove CustomJS callbacks, whose code is text; the rest of Bokeh works without eval.",
    ),
    EvalLibrary(
        "webpack's development build",
        ('eval("__webpack_require__', 'eval("{__webpack_require__'),
        'Build for production, or set devtool: "source-map" in webpack.config.js.',
    ),
)
"""The most common first: a View may have several."""


def libraries_in(html: str) -> list[EvalLibrary]:
    """Return the libraries in a View's document that evaluate text as code, without those whose cure is applied."""
    return [
        library
        for library in LIBRARIES
        if any(mark in html for mark in library.marks) and not re.search(library.cured, html)
    ]
