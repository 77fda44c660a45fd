"""Stylesheets: imports, files, and text that only looks like a reference."""

import base64
from pathlib import Path

import pytest

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle.reference import References
from fanlight.server.bundle.source import Source
from fanlight.server.bundle.stylesheet import Sheet, merge, style_text

CDN = Csp(resource_domains=["https://cdn.example.com"])
PNG = "data:image/png;base64," + base64.b64encode(b"png").decode()


def _merge(folder: Path, text: str, csp: Csp | None = None) -> Sheet:
    source = Source(folder / "main.css", text, folder)
    return merge(source, References(csp or Csp()))


def _text(folder: Path, text: str, csp: Csp | None = None) -> str:
    [part] = _merge(folder, text, csp).parts
    return part


@pytest.mark.parametrize(
    "reference",
    [
        "url(a.png)",
        "url( a.png )",
        'url("a.png")',
        "url('a.png')",
        "URL(a.png)",
        "url(./a.png?v=1)",
        "url(sub/../a.png)",
        "url(%61.png)",
        r"url(\61.png)",
        r"url('a\.png')",
    ],
)
def test_a_file_becomes_a_data_uri_in_every_notation(tmp_path: Path, reference: str) -> None:
    (tmp_path / "a.png").write_bytes(b"png")

    assert _text(tmp_path, f"a {{ b: {reference} c }}") == f'a {{ b: url("{PNG}") c }}'


def test_the_fragment_of_a_reference_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg/>")

    text = _text(tmp_path, "a { mask: url(a.svg#part) }")

    assert text.endswith('#part") }')
    assert "data:image/svg+xml;base64," in text


@pytest.mark.parametrize(
    "text",
    [
        "a { b: url(data:image/png;base64,AA) }",
        "a { b: url(#gradient) }",
        "a { b: url() }",
        "a { content: 'url(no.png)' }",
        'a { content: "\\"url(no.png)" }',
        "/* url(no.png) @import 'no.css'; */ a {}",
        "a { b: myurl(no.png) }",
        "a { b: -url(no.png) }",
        "@namespace url(http://www.w3.org/1999/xhtml); a { b: url(#c) }",
        "a { b: url(blob:x) }",
        "a { b: var(--url) ; c: url(var(--d)) }",
        "@charset 'utf-8'; a { b: url(about:blank) }",
        "a { b: image-set(url(#a) 1x) type('no.png') }",
    ],
)
def test_values_that_are_not_references_are_unchanged(tmp_path: Path, text: str) -> None:
    assert _text(tmp_path, text) == text


def test_strings_in_an_image_set_are_references_and_types_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")

    text = _text(tmp_path, "a { b: image-set('a.png' type('image/png') 1x, \"a.png\" 2x) }")

    assert text == f'a {{ b: image-set(url("{PNG}") type(\'image/png\') 1x, url("{PNG}") 2x) }}'


def test_an_imported_sheet_replaces_its_import_and_resolves_paths_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.css").write_text("@import 'c.css'; b { x: url(a.png) }")
    (tmp_path / "sub" / "c.css").write_text("c {}")
    (tmp_path / "sub" / "a.png").write_bytes(b"png")

    text = _text(tmp_path, "@import url(sub/b.css);\na {}")

    assert "".join(text.split()) == f'c{{}}b{{x:url("{PNG}")}}a{{}}'


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("screen and (min-width: 1px)", "@media screen and (min-width: 1px) { b {} }"),
        ("layer(base)", "@layer base { b {} }"),
        ("layer", "@layer { b {} }"),
        ("supports(display: grid)", "@supports (display: grid) { b {} }"),
        ("supports(not (a: b))", "@supports (not (a: b)) { b {} }"),
        ("/* c */ layer(x.y) supports(a: b) print", "@media print { @supports (a: b) { @layer x.y { b {} } } }"),
        ("layered", "@media layered { b {} }"),
    ],
)
def test_the_conditions_of_an_import_wrap_the_imported_sheet(tmp_path: Path, conditions: str, expected: str) -> None:
    (tmp_path / "b.css").write_text("b {}")

    assert _text(tmp_path, f"@import 'b.css' {conditions};").split() == expected.split()


def test_brackets_that_an_imported_sheet_leaves_open_are_closed(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("@media print { b { c: d(e")
    (tmp_path / "c.css").write_text("c {} /* never closed")

    text = _text(tmp_path, "@import 'b.css' screen; @import 'c.css'; a {}")

    assert "".join(text.split()) == "@mediascreen{@mediaprint{b{c:d(e)}}}c{}/*neverclosed*/a{}"


def test_an_imported_sheet_with_a_surplus_bracket_raises(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("b {}\n}")

    with pytest.raises(BundleError, match=r"b\.css:2: this } has no opening bracket"):
        _merge(tmp_path, "@import 'b.css';")


def test_a_sheet_that_imports_itself_raises_with_the_chain_of_imports(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("@import 'c.css';")
    (tmp_path / "c.css").write_text("\n@import 'b.css';")

    with pytest.raises(BundleError, match=r"c\.css:2: .* b\.css → c\.css → b\.css"):
        _merge(tmp_path, "@import 'b.css';")


def test_a_sheet_may_be_imported_twice(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("b{}")

    assert _text(tmp_path, "@import 'b.css';@import 'b.css';").split() == ["b{}", "b{}"]


def test_a_sheet_imported_twice_has_the_conditions_of_each_import(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("b{}")

    text = _text(tmp_path, "@import 'b.css' print;@import 'b.css';@import 'b.css' layer(x);")

    assert "".join(text.split()) == "@mediaprint{b{}}b{}@layerx{b{}}"


def test_a_sheet_imported_through_several_chains_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    read_bytes = Path.read_bytes

    def counted(path: Path) -> bytes:
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    for i in range(12):
        (tmp_path / f"{i}.css").write_text(f"@import '{i + 1}.css';@import '{i + 1}.css';")
    (tmp_path / "12.css").write_text("z{}")

    assert _text(tmp_path, "@import '0.css';").count("z{}") == 2**12
    assert len(read) == 13


@pytest.mark.parametrize("last", ["", "@font-face{font-family:A;src:url(a.woff2)}"])
def test_imports_that_grow_exponentially_raise(tmp_path: Path, last: str) -> None:
    for i in range(60):
        (tmp_path / f"{i}.css").write_text(f"@import '{i + 1}.css';@import '{i + 1}.css';")
    (tmp_path / "60.css").write_text(last)
    (tmp_path / "a.woff2").write_bytes(b"")

    with pytest.raises(BundleError, match=r"[0-9]\.css:1: with this file, more than 50 MB are inlined"):
        _merge(tmp_path, "@import '0.css';")


def test_a_chain_of_imports_has_at_most_a_hundred_sheets(tmp_path: Path) -> None:
    for i in range(1500):
        (tmp_path / f"{i}.css").write_text(f"\n@import '{i + 1}.css';")
    (tmp_path / "1500.css").write_text("z{}")

    assert _text(tmp_path, "@import '1401.css';").strip() == "z{}"
    with pytest.raises(BundleError, match=r"99\.css:2: more than 100 stylesheets import each other in a chain"):
        _merge(tmp_path, "@import '0.css';")


def test_a_url_imported_after_a_file_gets_its_own_style_element(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("b {}")
    remote = '@import "https://cdn.example.com/r.css" screen;'

    sheet = _merge(tmp_path, f"@layer x; {remote} @import 'b.css'; {remote} a {{}}", CDN)

    assert [part.strip() for part in sheet.parts] == [f"@layer x; {remote} b {{}}", f"{remote} a {{}}"]


def test_a_url_imported_by_a_file_comes_before_the_rules_of_that_file(tmp_path: Path) -> None:
    remote = '@import "https://cdn.example.com/r.css";'
    (tmp_path / "b.css").write_text(f"{remote} b {{}}")
    (tmp_path / "c.css").write_text("c {}")

    sheet = _merge(tmp_path, "@import 'c.css'; @import 'b.css'; a {}", CDN)

    assert [part.split() for part in sheet.parts] == [["c", "{}"], f"{remote} b {{}} a {{}}".split()]


def test_a_url_in_a_conditionally_imported_file_raises(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text('@import "https://cdn.example.com/r.css";')

    with pytest.raises(BundleError, match="Import that URL from the document itself"):
        _merge(tmp_path, "@import 'b.css' screen;", CDN)


def test_a_file_imported_after_a_rule_raises(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"main\.css:2: .*Move it to the top"):
        _merge(tmp_path, "a {}\n@import 'b.css';")


def test_a_url_outside_the_csp_raises_with_its_line_and_the_declaration(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        _merge(tmp_path, "a {\n b: url(https://cdn.example.com/x.png) }")

    assert caught.value.line == 2
    assert 'Csp(resource_domains=["https://cdn.example.com"])' in str(caught.value)


def test_a_missing_file_is_reported_in_the_sheet_that_refers_to_it(tmp_path: Path) -> None:
    (tmp_path / "b.css").write_text("b {}\nb { c: url(imgae.png) }")
    (tmp_path / "image.png").write_bytes(b"")

    with pytest.raises(BundleError, match=r'b\.css:2: there is no file "imgae.png".*Did you mean "image.png"\?'):
        _merge(tmp_path, "@import 'b.css';")


def test_the_end_tag_of_a_style_element_is_escaped() -> None:
    assert style_text("a { b: '</style>' } /* </STYLE */") == r"a { b: '<\/style>' } /* <\/STYLE */"


@pytest.mark.parametrize("repeated", ["url(", "@import ", "@font-face ", "@font-face{", "url('", "{", "/*", "'", "\\"])
def test_a_hostile_sheet_is_read_in_linear_time(tmp_path: Path, repeated: str) -> None:
    text = repeated * (200_000 // len(repeated)) + "url("

    assert "".join(_merge(tmp_path, text).parts).startswith(text[:10])
