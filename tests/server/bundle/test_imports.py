"""Every import of a script is found, and nothing that only looks like one."""

import pytest

from fanlight.server.bundle.imports import Import, find_imports
from fanlight.server.bundle.javascript import JavaScriptError


def _one(script: str) -> Import:
    [found] = find_imports(script)
    return found


@pytest.mark.parametrize(
    "statement",
    [
        'import { App } from "pkg";',
        "import { App } from 'pkg'",
        'import{App}from"pkg";',
        'import {\n  App,\n} from "pkg";',
        'import { App /* the app */ } from // really\n "pkg";',
        'import /* } */ { /* from "x" */ App } from "pkg" ;',
        'import { App } from "pkg" with { type: "json" };',
    ],
)
def test_a_named_import_is_read_in_every_spelling(statement: str) -> None:
    found = _one(f"a();\n{statement}\nb();")

    assert (found.kind, found.specifier, found.names) == ("static", "pkg", (("App", "App"),))
    assert f"a();\n{statement}\nb();"[found.start : found.end] == statement


@pytest.mark.parametrize(
    ("statement", "default", "namespace", "names"),
    [
        ('import "pkg"', None, None, ()),
        ('import x from "pkg"', "x", None, ()),
        ('import from from "pkg"', "from", None, ()),
        ('import * as x from "pkg"', None, "x", ()),
        ('import x, * as y from "pkg"', "x", "y", ()),
        ('import x, { y } from "pkg"', "x", None, (("y", "y"),)),
        ('import { a as b, c } from "pkg"', None, None, (("a", "b"), ("c", "c"))),
        ('import { default as b } from "pkg"', None, None, (("default", "b"),)),
        ('import { "a b" as c } from "pkg"', None, None, (("a b", "c"),)),
        ('import { as as as, from } from "pkg"', None, None, (("as", "as"), ("from", "from"))),
        ('import {} from "pkg"', None, None, ()),
        ('import { $a, _b, é } from "pkg"', None, None, (("$a", "$a"), ("_b", "_b"), ("é", "é"))),
    ],
)
def test_each_form_of_import_is_recognized(
    statement: str, default: str | None, namespace: str | None, names: tuple[tuple[str, str], ...]
) -> None:
    found = _one(statement)

    assert (found.kind, found.specifier) == ("static", "pkg")
    assert (found.default, found.namespace, found.names) == (default, namespace, names)


@pytest.mark.parametrize(
    "script",
    [
        'import("pkg")',
        "import ( 'pkg' )",
        "import(`pkg`)",
        'const x = await import(\n"pkg",\n)',
        '[...import("pkg")]',
        '`${import("pkg")}`',
        'x => import("pkg")',
    ],
)
def test_a_dynamic_import_is_found_with_its_parentheses(script: str) -> None:
    found = _one(script)

    assert (found.kind, found.specifier) == ("dynamic", "pkg")
    assert script[found.start : found.end].startswith("import")
    assert script[found.start : found.end].endswith(")")


@pytest.mark.parametrize(
    "script", ['export { a } from "pkg"', 'export * from "pkg"', "export * as b from 'pkg';", 'export{a as b}from"pkg"']
)
def test_an_export_from_a_module_is_found(script: str) -> None:
    assert (_one(script).kind, _one(script).specifier) == ("export", "pkg")


@pytest.mark.parametrize(
    "script",
    [
        "'import x from \"./y.js\"'",
        '"import x from \\"./y.js\\""',
        "`import x from './y.js'`",
        "`${a} import x from './y.js' ${b}`",
        '// import x from "./y.js"',
        '/* import x from "./y.js" */',
        'a = /import "y"/',
        'a = b / c; /* \' */ d = /[/]import "y"/',
        'a.import("y")',
        'a?.import("y")',
        "import.meta.url",
        "import(name)",
        "import(`${a}`)",
        'reimport("y")',
        'import_("y")',
        '$import("y")',
        'class A { #import("y") {} }',
        "x = { import: 1 }",
        "export const a = 'from \"y\"'",
        "export { a }; const from = 'y'",
        "export default 1",
        "exports.x = 1",
        "// it's\nx = 'import \"y\"'",
    ],
)
def test_text_that_only_looks_like_an_import_is_not_found(script: str) -> None:
    assert find_imports(script) == []


def test_several_imports_are_found_in_order_with_their_positions() -> None:
    script = "import 'a'\nimport 'b'; x('import \"no\"')\nimport('c'); import 'd'"

    found = find_imports(script)

    assert [each.specifier for each in found] == ["a", "b", "c", "d"]
    assert [script[each.at - 1 : each.at + 2] for each in found] == ["'a'", "'b'", "'c'", "'d'"]


def test_an_import_after_a_regular_expression_with_a_quote_is_found() -> None:
    assert _one("const q = x.replace(/'/g, '');\nimport 'a'").specifier == "a"


@pytest.mark.parametrize(
    "script",
    [
        "const a = 'oops\nimport 'a'",
        "import 'a'; const b = 'oops\nimport 'c'",
        "const a = 'oops\n/* why */ import { b } from './c.js'",
        "const a = 'oops\nexport { b } from './c.js'",
        "const a = 'oops\nawait import('a')",
    ],
)
def test_a_script_that_cannot_be_read_as_far_as_its_last_import_raises(script: str) -> None:
    with pytest.raises(JavaScriptError, match="string that begins here"):
        find_imports(script)


@pytest.mark.parametrize(
    "script",
    [
        "const a = 'oops\nimport 'https://cdn.example/a.js'",
        "const a = 'oops\nimport '//cdn.example/a.js'",
        "const a = 'oops\nawait import('data:text/javascript,1')",
        "const a = 'oops\nf(\"import 'a'\")",
        "const a = 'oops\nf(`import('a')`)",
    ],
)
def test_a_script_without_an_import_to_rewrite_is_accepted_even_if_it_cannot_be_read(script: str) -> None:
    assert find_imports(script) == []


@pytest.mark.parametrize(
    "before", ["x = function () {} / 2; y = '/'", "of = 4; x = of / 2; y = '/'", "x = await (y) / 2 / '/'"]
)
def test_an_import_after_a_division_is_found(before: str) -> None:
    assert _one(f"{before}\nimport 'a'").specifier == "a"


@pytest.mark.parametrize("repeated", ["import /* ", "import // ", "import {a,", "import ` ", "export { "])
def test_a_hostile_script_of_a_megabyte_is_read_in_linear_time(repeated: str) -> None:
    assert find_imports(repeated * (1_000_000 // len(repeated)) + "'") == []
