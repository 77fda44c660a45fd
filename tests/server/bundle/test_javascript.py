"""The lexer separates code from comments, strings, templates and regular expressions."""

import pytest

from fanlight.server.bundle.javascript import JavaScriptError, Spans


def _kinds(text: str) -> list[tuple[str, str]]:
    """Return the parts of a script that are not code, with their kinds."""
    spans = Spans(text, len(text))
    return [(span.kind, text[span.start : span.end]) for span in spans._spans]


@pytest.mark.parametrize(
    ("script", "regex"),
    [
        ("/a/g", "/a/g"),
        ("x = /a'b/", "/a'b/"),
        ("f(/[/'\"]/)", "/[/'\"]/"),
        ("[/a\\/b/]", "/a\\/b/"),
        ("x = y || /a`/", "/a`/"),
        ("return /a'/", "/a'/"),
        ("typeof /'/", "/'/"),
        ("case /'/:", "/'/"),
        ("if (x) /'/.test(y)", "/'/"),
        ("while (f(x)) /'/.test(y)", "/'/"),
        ("for (const a of b) /'/.test(a)", "/'/"),
        ("for await (const a of b) /'/.test(a)", "/'/"),
        ("for (const a of /'/[s](b)) c", "/'/"),
        ("{} /'/.test(x)", "/'/"),
        ("if (x) { y } /'/.test(z)", "/'/"),
        ("function f() {} /'/.test(z)", "/'/"),
        ("x => /'/", "/'/"),
        ("const f = () => { y }\n/'/.test(z)", "/'/"),
        ("class A {} /'/.test(z)", "/'/"),
        ("else /'/.test(z)", "/'/"),
        ("a + /'/", "/'/"),
        ("a ? /'/ : b", "/'/"),
        ("!/'/.test(a)", "/'/"),
        ("...(/'/)", "/'/"),
        ("x = // why\n /'/", "/'/"),
        ("x = /* why */ /'/", "/'/"),
        ("x = /[[a-z]--['/]]/v", "/[[a-z]--['/]]/v"),
        ("`${/'/}`", "/'/"),
        ("a; function f() {} /'/.test(z)", "/'/"),
        ("a\nfunction f() {}\n/'/.test(z)", "/'/"),
        ("export default function () {} /'/.test(z)", "/'/"),
        ("export async function* f() {} /'/.test(z)", "/'/"),
        ("x = 1; /* why */ function f() {} /'/.test(z)", "/'/"),
        ("if (x) {} else function f() {} /'/.test(z)", "/'/"),
        ("// a function\nif (x) {} /'/.test(z)", "/'/"),
        ("class A extends f(x) {} /'/.test(z)", "/'/"),
        ("export default class extends A.B {} /'/.test(z)", "/'/"),
        ("for (const [a] of /'/[s](b)) c", "/'/"),
        ("for (a of /'/[s](b)) c", "/'/"),
    ],
)
def test_a_slash_where_an_expression_begins_is_a_regular_expression(script: str, regex: str) -> None:
    assert ("regex", regex) in _kinds(script)


@pytest.mark.parametrize(
    "script",
    [
        "a / b / c",
        "a / 'x' / c",
        "(a) / b / 2",
        "f(x) / b / 2",
        "a[0] / b / 2",
        "a++ / b / 2",
        "a-- / b / 2",
        "1 / 2 / 3",
        "1. / 2 / 3",
        "'a' / b / 2",
        "`a` / b / 2",
        "/a/ / b / 2",
        "/a/g / b / 2",
        "x.return / b / 2",
        "x?.if(a) / b / 2",
        "x = {} / b / 2",
        "x = {a: 1} / b / 2",
        "f({}) / b / 2",
        "this / b / 2",
        "returns / b / 2",
        "é / b / 2",
        "$ / b / 2",
        "a /* x */ / b / 2",
        "a // x\n / b / 2",
        "`${a / b / 2}`",
        "x = function () {}() / b / 2",
        "x = function () {} / b / 2",
        "x = function f() {} / b / 2",
        "x = async function* f() {} / b / 2",
        "x = /* why */ function () {} / b / 2",
        "f(function () {} / b / 2)",
        "return function () {} / b / 2",
        "a ? b : function () {} / b / 2",
        "`${function () {} / b / 2}`",
        "x = class {} / b / 2",
        "x = class A extends f(x) {} / b / 2",
        "of / b / 2",
        "x = of / b / 2",
        "f(of / b / 2)",
        "for (let i = of / b / 2; ;) c",
        "for (const of of xs) of / b / 2",
        "x = await (f()) / b / 2",
    ],
)
def test_a_slash_after_a_value_divides(script: str) -> None:
    assert "regex" not in [kind for kind, text in _kinds(script) if text not in ("/a/", "/a/g")]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("'a\\'b' + c", [("string", "'a\\'b'")]),
        ('"a\\\nb" + c', [("string", '"a\\\nb"')]),
        ('"a\\\r\nb" + c', [("string", '"a\\\r\nb"')]),
        ("// a 'b\nc", [("comment", "// a 'b")]),
        ("/* a */ b /**/ c /***/", [("comment", "/* a */"), ("comment", "/**/"), ("comment", "/***/")]),
        ("`a`", [("template", "`a`")]),
        ("`\\`${a}$ {\\${`", [("template", "`\\`${"), ("template", "}$ {\\${`")]),
        ("`a${`b${c}d`}e`", [("template", t) for t in ("`a${", "`b${", "}d`", "}e`")]),
        ("`${{a: '}'}}`", [("template", "`${"), ("string", "'}'"), ("template", "}`")]),
        ("f`a${b}c`", [("tagged template", "`a${"), ("tagged template", "}c`")]),
        ("a.b(c)`d`", [("tagged template", "`d`")]),
        ("return`a`", [("template", "`a`")]),
        ("if (x) `a`", [("template", "`a`")]),
        ("", []),
    ],
)
def test_literals_and_comments_are_found_with_their_spans(script: str, expected: list[tuple[str, str]]) -> None:
    assert _kinds(script) == expected


@pytest.mark.parametrize("script", ["'a", "'a\nb'", "`a", "/* a", "x = /a", "x = /[a/", "(}", ")", "}", "{)"])
def test_a_script_that_cannot_be_read_raises(script: str) -> None:
    with pytest.raises(JavaScriptError):
        Spans(script, len(script))


def test_nothing_is_read_past_the_stop() -> None:
    script = "a('b'); 'never closed"

    assert Spans(script, 7).kind_at(3) == "string"
    assert Spans(script, 7).kind_at(0) is None


@pytest.mark.parametrize(
    ("script", "pos", "message"),
    [
        ("a = 'b\n'", 4, "the string that begins here does not end on its line"),
        ("a = /b\n/", 4, "the regular expression that begins here does not end on its line"),
        ("a = `b", 4, "the template that begins here has no closing `"),
        ("a /* b", 2, r"the comment that begins here has no \*/"),
        ("a)", 1, r"\"\)\" has no opening bracket before it"),
    ],
)
def test_the_error_says_what_was_expected_and_where(script: str, pos: int, message: str) -> None:
    with pytest.raises(JavaScriptError, match=message) as caught:
        Spans(script, len(script))

    assert caught.value.pos == pos
