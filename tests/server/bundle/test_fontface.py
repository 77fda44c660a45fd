"""Local fonts are extracted from stylesheets, because the default CSP has no font-src."""

import base64
from pathlib import Path

import pytest

from fanlight.protocol.csp import Csp
from fanlight.protocol.errors import BundleError
from fanlight.server.bundle.fontface import Face, font_element
from fanlight.server.bundle.reference import References
from fanlight.server.bundle.source import Source
from fanlight.server.bundle.stylesheet import Sheet, merge


def _merge(folder: Path, text: str) -> Sheet:
    csp = Csp(resource_domains=["https://cdn.example.com"])
    return merge(Source(folder / "main.css", text, folder), References(csp))


def _fonts(folder: Path) -> None:
    for name in ("a.woff2", "a.woff", "a.ttf", "a.eot"):
        (folder / name).write_bytes(name.encode())


def _data(name: str) -> str:
    return base64.b64encode(name.encode()).decode()


def test_a_local_font_is_extracted_with_all_descriptors(tmp_path: Path) -> None:
    _fonts(tmp_path)

    sheet = _merge(
        tmp_path,
        """a { b: c }
        @font-face {
          font-family: "My \\41 Font"; src: url(a.woff2) format("woff2"); font-weight: 100 900; font-style: italic;
          font-stretch: 50% 100%; unicode-range: U+0-FF, U+131; font-display: swap; /* ; */
          font-feature-settings: "liga" 1; ascent-override: 90%; size-adjust: 110%
        }
        d { e: f }""",
    )

    assert ["".join(part.split()) for part in sheet.parts] == ["a{b:c}d{e:f}"]
    assert sheet.faces == [
        Face(
            "My AFont",
            _data("a.woff2"),
            {
                "weight": "100 900",
                "style": "italic",
                "stretch": "50% 100%",
                "unicodeRange": "U+0-FF, U+131",
                "display": "swap",
                "featureSettings": '"liga" 1',
                "ascentOverride": "90%",
                "sizeAdjust": "110%",
            },
        )
    ]


@pytest.mark.parametrize(
    ("src", "expected"),
    [
        ("src: url(a.ttf), url(a.woff), url(a.woff2)", "a.woff2"),
        ("src: url(a.ttf) format('truetype'), url(a.woff) format('woff')", "a.woff"),
        ("src: url(a.eot); src: url(a.eot?#iefix) format('embedded-opentype'), url(a.woff) format(woff)", "a.woff"),
        ("src: local('A'), url('a.ttf?v=1')", "a.ttf"),
        ("src: url(a.woff2) format('woff2-variations')", "a.woff2"),
        ("src: url(https://cdn.example.com/b.woff2), url(a.ttf)", "a.ttf"),
        ("src: url(a.woff2), url(missing.ttf)", "a.woff2"),
    ],
)
def test_the_best_local_source_is_used(tmp_path: Path, src: str, expected: str) -> None:
    _fonts(tmp_path)

    [face] = _merge(tmp_path, f"@font-face {{ font-family: A B ; {src} }}").faces

    assert (face.family, face.data) == ("A B", _data(expected))


@pytest.mark.parametrize(
    "source", ["url(https://cdn.example.com/b.woff2)", "url(data:font/woff2;base64,AA)", "local('A')"]
)
def test_a_font_that_is_not_a_local_file_stays_in_the_stylesheet(tmp_path: Path, source: str) -> None:
    text = f"@font-face {{ font-family: A; src: {source} }} a {{ b: url(#c) }}"

    sheet = _merge(tmp_path, text)

    assert (sheet.parts, sheet.faces) == ([text], [])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("font-family: A;\nsrc: url(a.eot)", r"main\.css:3: no source of this @font-face is WOFF2"),
        ("src: url(a.woff2)", r"main\.css:2: this @font-face has no font-family"),
        ("font-family: A;\nsrc: url(b.woff2)", r'main\.css:3: there is no file "b.woff2".*Did you mean "a.woff2"'),
    ],
)
def test_a_font_that_cannot_be_loaded_raises(tmp_path: Path, rule: str, message: str) -> None:
    _fonts(tmp_path)

    with pytest.raises(BundleError, match=message):
        _merge(tmp_path, f"\n@font-face {{ {rule} }}")


def test_the_script_has_no_characters_that_end_it_or_that_svg_would_parse() -> None:
    element = font_element([Face("</script>&amp;", "AA==", {"weight": "<"})])

    assert element.startswith("<script>(")
    assert element.endswith(");</script>")
    assert "<" not in element[1 : -len("</script>")]
    assert "&" not in element
