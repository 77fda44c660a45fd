"""The scanner finds the same tags as an HTML5 parser."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib
import pytest

from fanlight.server.bundle.markup import Scanner, Tag

REFERRING = {"link", "img", "source", "video", "audio", "track", "input", "iframe", "embed", "object", "base"}
NAMES = REFERRING | {"script", "style", "title", "textarea", "meta", "image", "use", "noscript"}
ATTRIBUTES = ("src", "href", "srcset", "poster", "data", "content", "name", "style", "xlink:href")

NASTY = {
    "a plain document": "<!doctype html><html><head><title>T</title></head><body><img src=a.png></body></html>",
    "tags in comments": "<!doctype html><!-- <img src=no.png> --><img src=a.png><!-- > --><img src=b.png>",
    "comments that end early": "<!doctype html><!--><img src=a.png><!---><img src=b.png>",
    "a comment that ends with a bang": "<!doctype html><!-- x --!><img src=a.png>",
    "a comment with dashes": "<!doctype html><!-- a -- b --- <img src=no> --><img src=a.png>",
    "a comment that never ends": "<!doctype html><img src=a.png><!-- <img src=no.png>",
    "bogus comments": "<!doctype html><!x <img src=no.png><img src=a.png><?php <img src=no> ?><img src=b.png>",
    "bogus end tags": "<!doctype html></ <img src=no.png><img src=a.png></><img src=b.png>",
    "end tags with attributes": "<!doctype html><p></p a='<img src=no.png>'><img src=a.png>",
    "scripts with tags": "<!doctype html><script>'<img src=no.png>'</script><img src=a.png>",
    "scripts with a comment": "<!doctype html><script><!-- <img src=no> --></script><img src=a.png>",
    "scripts in a script's comment": (
        "<!doctype html><script><!-- <script>'</script>'<img src=no> --></script><img src=a.png>"
    ),
    "a script's comment left open": "<!doctype html><script><!-- <script></script> x </script><img src=a.png>",
    "a script's empty comment": "<!doctype html><script><!--><script></script><img src=a.png>",
    "a script that looks closed": "<!doctype html><script>a</scripty></script ><img src=a.png>",
    "a script's end tag with attributes": "<!doctype html><script>a</script x='>'><img src=a.png>",
    "styles with tags": "<!doctype html><style>a::after{content:'<img src=no>'}</style><img src=a.png>",
    "a title with tags": "<!doctype html><title><img src=no>&amp;</title><img src=a.png>",
    "a textarea with tags": "<!doctype html><textarea><img src=no></textarea><img src=a.png>",
    "noscript": "<!doctype html><body><noscript><img src=no.png></noscript><img src=a.png>",
    "other raw text": "<!doctype html><body><xmp><img src=no></xmp><noembed><img src=no></noembed><img src=a.png>",
    "an iframe with text": "<!doctype html><body><iframe src=x><img src=no></iframe><img src=a.png>",
    "templates": "<!doctype html><body><template><img src=a.png></template><img src=b.png>",
    "upper case": "<!DOCTYPE HTML><IMG SRC=A.PNG><SCRIPT>'<img src=no>'</SCRIPT><Img Src=b.png>",
    "duplicate attributes": "<!doctype html><img src=a.png src=b.png SRC=c.png>",
    "quotes of every kind": """<!doctype html><img src="a b.png"><img src='a"b.png'><img src=a'b"c.png>""",
    "angle brackets in attributes": '<!doctype html><p title="<img src=no.png>"><img alt=">" src="a.png">',
    "odd quotes": """<!doctype html><p a=b" c=">" d="<img src=no.png>"><img src=a.png>""",
    "no space between attributes": """<!doctype html><img alt="x"src="a.png"title='y'>""",
    "equals signs": "<!doctype html><img =src=no src==a.png><img src = b.png><img src= ><img src=>",
    "slashes": "<!doctype html><img/src=a.png/><img / src=b.png / ><img src=a/b.png><br/>",
    "lines and tabs": "<!doctype html><img\n\tsrc\n=\n'a.png'\r\n><img\fsrc=b.png>",
    "entities": '<!doctype html><img src="a?x=1&amp;y=2&copy=3&notit;&#x41;&#66;&lt">',
    "stray angle brackets": "<!doctype html><p>1 < 2 <3 << <= <img src=a.png> a<b <",
    "odd tag names": '<!doctype html><img<x src=no><img"y src=no><scripts><img src=a.png></scripts>',
    "a tag that never ends": "<!doctype html><img src=a.png><img src=no.png",
    "a quote that never ends": "<!doctype html><img src=a.png><img src='no.png>",
    "many attributes": "<!doctype html><p "
    + " ".join(f"a{i}={i}" for i in range(200))
    + " z='<img src=no>'><img src=a>",
    "style attributes": """<!doctype html><p style="background:url(a.png)"><p STYLE='a:b>c;d:image-set("e" 1x)'>""",
    "svg": "<!doctype html><svg><image href=a.png /><image xlink:href=b.png></image></svg><img src=c.png>",
    "svg text elements": "<!doctype html><svg><title><img src=a.png></title><style>a<b</style></svg><img src=b.png>",
    "cdata in svg": "<!doctype html><svg><![CDATA[<image href=no>]]><image href=a.png /></svg><img src=b.png>",
    "cdata in html": "<!doctype html><![CDATA[<img src=no>]]><img src=a.png>",
    "html in svg": "<!doctype html><svg><foreignObject><style><img src=no></style></foreignObject></svg><img src=a>",
    "cdata in html in svg": "<!doctype html><svg><desc><![CDATA[<img src=no>]]><img src=a></desc></svg>",
    "svg left by a tag": "<!doctype html><svg><g><p><style><img src=no></style><img src=a.png>",
    "svg left by a font": "<!doctype html><svg><font color=red><style><img src=no></style><img src=a.png>",
    "svg not left by a font": "<!doctype html><svg><font><style><image href=a /></style></svg>",
    "svg closed at once": "<!doctype html><svg/><style><img src=no></style><img src=a.png>",
    "svg in svg": "<!doctype html><svg><svg></svg><style><image href=a /></style></svg><style><img src=no></style>",
    "math": "<!doctype html><math><mi><style><img src=no></style></mi><style><mglyph/></style></math><img src=a>",
    "math annotations": (
        "<!doctype html><math><annotation-xml encoding='text/html'><style><img src=no></style></annotation-xml>"
        "<annotation-xml><style><x/></style></annotation-xml></math><img src=a.png>"
    ),
    "image outside svg": "<!doctype html><body><image src=a.png>",
    "svg script": "<!doctype html><svg><script>1<image href=a />2</script></svg><img src=b.png>",
    "unquoted slash at the end": "<!doctype html><svg><image href=a/></svg><style><img src=no></style>",
}


def _parsed(document: str) -> list[tuple[str, dict[str, str]]]:
    tree = html5lib.parse(document, treebuilder="etree", namespaceHTMLElements=False, scripting=True)
    return [(_name(element), _attributes(element)) for element in _elements(tree)]


def _elements(tree: Element) -> Iterator[Element]:
    return (element for element in tree.iter() if isinstance(element.tag, str))


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2].lower()


def _attributes(element: Element) -> dict[str, str]:
    names = {name.replace("{http://www.w3.org/1999/xlink}", "xlink:"): value for name, value in element.items()}
    return {name: value for name, value in names.items() if name in ATTRIBUTES}


def _scanned(document: str) -> list[Tag]:
    return list(Scanner(document).tags())


@pytest.mark.parametrize("document", NASTY.values(), ids=NASTY.keys())
def test_the_scanner_finds_the_same_tags_and_attributes_as_an_html5_parser(document: str) -> None:
    expected = [found for found in _parsed(document) if found[0] in NAMES or "style" in found[1]]

    found = [
        # Outside SVG, a parser takes <image> for <img>.
        ("img" if tag.name == "image" and not tag.foreign else tag.name, _values(tag))
        for tag in _scanned(document)
        if tag.name in NAMES or "style" in tag.attributes
    ]

    assert found == expected


def _values(tag: Tag) -> dict[str, str]:
    return {name: attribute.value for name, attribute in tag.attributes.items() if name in ATTRIBUTES}


@pytest.mark.parametrize("document", NASTY.values(), ids=NASTY.keys())
def test_the_text_of_a_raw_element_is_the_same_as_in_an_html5_parser(document: str) -> None:
    tree = html5lib.parse(document, treebuilder="etree", namespaceHTMLElements=False, scripting=True)
    names = ("script", "style", "title", "textarea")
    expected = [element.text or "" for element in _elements(tree) if element.tag in names]

    tags = [tag for tag in _scanned(document) if tag.name in names and not tag.foreign]

    assert [document[tag.end : tag.content_end].replace("&amp;", "&") for tag in tags] == expected


def test_spans_are_positions_in_the_source() -> None:
    document = "<!doctype html><script type=module\tsrc = 'a.js' >x</script\n><b>"

    [tag] = _scanned(document)

    assert document[tag.start : tag.end] == "<script type=module\tsrc = 'a.js' >"
    assert document[tag.end : tag.content_end] == "x"
    assert document[tag.start : tag.close] == "<script type=module\tsrc = 'a.js' >x</script\n>"
    src = tag.attributes["src"]
    assert document[src.start : src.end] == "src = 'a.js'"
    assert document[src.value_start : src.end] == "'a.js'"


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<body>a</body></html>", "</body></html>"),
        ("<body><script>'</body>'</script><!-- </body> --></BODY >x", "</BODY >x"),
        ("<p>a</p></html> ", "</html> "),
        ("<p>a", ""),
    ],
)
def test_the_end_of_the_body_is_its_end_tag_or_the_end_of_the_document(document: str, expected: str) -> None:
    scanner = Scanner(document)
    list(scanner.tags())

    assert document[scanner.body_end :] == expected


@pytest.mark.parametrize(
    "repeated",
    [
        "<",
        "<a",
        '<a b="<',
        "<a b ",
        "<!--",
        "</a ",
        "<script>",
        "<script><!--",
        "<svg>",
        "<svg><g></x>",
        "<p style=(",
        "<a b='\"",
    ],
)
def test_a_hostile_document_of_a_megabyte_is_read_in_linear_time(repeated: str) -> None:
    scanner = Scanner(repeated * (1_000_000 // len(repeated)))

    list(scanner.tags())

    assert scanner.body_end >= 0


def test_the_end_tag_of_a_paragraph_ends_svg_as_in_the_standard_but_not_in_html5lib() -> None:
    document = "<!doctype html><svg></p><style><img src=no></style><img src=a.png>"

    assert [(tag.name, tag.foreign) for tag in _scanned(document)] == [("style", False), ("img", False)]
