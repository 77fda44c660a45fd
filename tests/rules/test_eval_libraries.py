"""Libraries that evaluate text as code are recognized by their published builds, and each has its cure."""

from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
import vl_convert

from fanlight.rules.eval_libraries import LIBRARIES, libraries_in
from fanlight.rules.observation import PolicyViolation
from fanlight.rules.table import BY_NAME
from rules.samples import document, plain
from support.docs import ROOT

MODULES = ROOT / "node_modules"
BLOCKED = [PolicyViolation("script-src", "eval")]


def names_in(html: str) -> list[str]:
    return [library.name for library in libraries_in(html)]


def module(path: str) -> str:
    return (MODULES / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("vue/dist/vue.global.prod.js", ["Vue with its template compiler"]),
        ("vue/dist/vue.esm-browser.prod.js", ["Vue with its template compiler"]),
        ("vue/dist/vue.runtime.global.prod.js", []),
        ("ajv/dist/core.js", ["Ajv"]),
        ("zod/v4/core/util.js", ["zod"]),
        ("chart.js/dist/chart.umd.min.js", []),
        ("react-dom/cjs/react-dom-client.production.js", []),
    ],
)
def test_a_published_library_is_recognized_if_it_needs_eval(path: str, expected: list[str]) -> None:
    assert names_in(module(path)) == expected


def test_the_libraries_of_charts_are_recognized() -> None:
    plotly = files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    assert "plotly" in names_in(plotly)
    vega: Any = vl_convert
    assert "Vega" in names_in(vega.javascript_bundle())


@pytest.mark.parametrize(
    ("name", "needs", "cured"),
    [
        ("Vega", "vegaEmbed(box, spec)", "vegaEmbed(box, spec, { ast: true })"),
        ("Vega", "vegaEmbed(box, spec)", "vegaEmbed(box,spec,{actions:!1,ast:!0})"),
        (
            "plotly",
            "/* plotly.js v3.0.0 */ Plotly.react(box)",
            "/* plotly.js (strict - minified) v3 */ Plotly.react(b)",
        ),
        ("Handlebars", "Handlebars.compile(text)", "Handlebars.template(spec)"),
        ("zod", "globalConfig.jitless", "z.config({ jitless: true })"),
        ("htmx", "htmx:load", "htmx:load; htmx.config.allowEval = false"),
        ("AngularJS", "<main ng-app='x'>AngularJS v1.8", "<main ng-app='x' ng-csp>AngularJS v1.8"),
        ("webpack's development build", 'eval("__webpack_require__.r(x)")', "__webpack_require__.r(x)"),
    ],
)
def test_a_library_whose_cure_is_applied_is_not_named(name: str, needs: str, cured: str) -> None:
    assert names_in(needs) == [name]
    assert names_in(cured) == []


def test_the_finding_names_the_library_and_its_cure() -> None:
    view = replace(plain(violations=BLOCKED), document=document("<script>vegaEmbed(box, spec)</script>"))
    (problem,) = BY_NAME["QUA-19"].problems(view)
    assert problem.message == "tries to evaluate text as code (eval), which hosts forbid: it contains Vega."
    assert "{ ast: true }" in problem.fix
    unknown = replace(view, document=document("<script>eval(text)</script>"))
    (problem,) = BY_NAME["QUA-19"].problems(unknown)
    assert problem.message.endswith("which hosts forbid.")


def test_the_review_names_the_cure_for_a_library_and_not_for_the_authors_own_code() -> None:
    code = ";".join(
        ["var lodash=1", "a['lodash.templateSources['+n]", *(f"a+={i}" for i in range(400)), "Function(a)()"]
    )
    (problem,) = BY_NAME["REV-03"].problems(document(f"<script>/*! lodash */{code}</script>"))
    assert problem.library is not None
    assert "_.template()" in problem.fix
    (problem,) = BY_NAME["REV-03"].problems(document("<script>\neval(words); _.template(x)\n</script>"))
    assert problem.fix == "Avoid it, or make sure that the View works when it throws."


def test_every_library_has_a_cure_that_is_a_sentence() -> None:
    assert len({library.name for library in LIBRARIES}) == len(LIBRARIES)
    for library in LIBRARIES:
        assert library.marks
        assert library.cure.endswith(".")
