"""An HTML tokenizer that finds the tags that can refer to files, and skips the rest."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import NamedTuple

from fanlight.protocol.html import skip_comment

_RAW_TEXT = frozenset(
    {"script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"}
)
_REFERRING = frozenset(
    {"link", "img", "image", "source", "video", "audio", "track", "input", "frame", "embed", "object", "base", "meta"}
    | {"use", "feimage"}
)
_FOREIGN_ROOTS = frozenset({"svg", "math"})
_YIELDED = _RAW_TEXT | _REFERRING

# HTML Standard, 13.2.6.5: start tags that end foreign content, and elements inside it that hold HTML.
_BREAKOUT = frozenset(
    {"b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2", "h3"}
    | {"h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby"}
    | {"s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var"}
)
_BREAKOUT_FONT = ("color", "face", "size")
_HOLDS_HTML = {
    "svg": frozenset({"foreignobject", "desc", "title"}),
    "math": frozenset({"mi", "mo", "mn", "ms", "mtext"}),
}
_MAX_DEPTH = 32  # levels of <svg> in <foreignObject> in <svg>, to bound the search for the start of an end tag
_HTML_ANNOTATIONS = ("text/html", "application/xhtml+xml")

_SPACE = r"\t\n\f\r "
_ATTRIBUTE = re.compile(
    rf"([^{_SPACE}/>][^{_SPACE}/>=]*+)"
    rf"""(?:[{_SPACE}]*+=[{_SPACE}]*+("([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|[^{_SPACE}>"'][^{_SPACE}>]*+|))?"""
)
_BETWEEN = re.compile(rf"[{_SPACE}/]*+")
_WHITE = re.compile(rf"[{_SPACE}]*+")
_NAME = re.compile(rf"[a-zA-Z][^{_SPACE}/>]*+")
_ENTITY = re.compile(r"&(?:#[xX][0-9a-fA-F]+;?|#[0-9]+;?|([A-Za-z][A-Za-z0-9]*+(?:;|(?!=))))")


def _by_first_letter(names: frozenset[str]) -> str:
    """Return an alternation that fails on the first character for most tags, because most tags are not in `names`."""
    rest: dict[str, list[str]] = {}
    for name in sorted(names):
        rest.setdefault(name[0], []).append(name[1:])
    return "|".join(f"[{c}{c.upper()}](?i:{'|'.join(tails)})" for c, tails in rest.items())


def _first_letters(names: frozenset[str]) -> str:
    letters = "".join({name[0] for name in names})
    return letters + letters.upper()


# A plain tag contains no "<" and no unbalanced quote, so the search never matches it and may resume inside it.
# It has at most 64 attributes, because each one costs the regex engine memory. A style attribute is not plain if
# it may contain `url(` or `image-set(`, that is, an l or a t before a parenthesis.
_MAY_REFER = r"[sS][tT][yY][lL][eE](?:[^<(]*+\()+?(?<=[lLtT]\()"
_PLAIN_START = (
    rf"""[a-zA-Z][^{_SPACE}/>"'<=]*+"""
    rf"""(?:[{_SPACE}/]++(?!{_MAY_REFER})[^{_SPACE}/>"'<=]++"""
    rf"""(?:=(?:"[^"<]*+"|'[^'<]*+'|[^{_SPACE}>"'<=]++))?){{0,64}}[{_SPACE}/]*+>"""
)
_PLAIN_END = rf"[a-zA-Z][^{_SPACE}/><]*+>"
_NAMES = _YIELDED | _FOREIGN_ROOTS
# For speed, the most frequent tags are skipped first if they are simple: all end tags except two, and start tags of
# common elements that cannot refer to files, without a style attribute.
_COMMON = r"[a-z][a-z0-9]?|div|span|button|label|form|section|main|nav|table|code|pre|time|small|strong|option|select"
_SKIPPED = rf"""(?:/(?!body|html)[a-z][a-z0-9]*+|(?:{_COMMON})(?: [a-rt-z][a-z-]*+="[^"<]*+")*+)>"""
_HTML = re.compile(
    rf"<(?!{_SKIPPED})"
    rf"(?:(?=[{_first_letters(_NAMES)}])(?:{_by_first_letter(_NAMES)})(?=[{_SPACE}/>])"
    rf"|(?=[a-zA-Z])(?!{_PLAIN_START})"
    r"|(?=[!?])"
    rf"|/(?!(?!(?i:body|html)){_PLAIN_END}))"
)
_FOREIGN = re.compile(r"<(?=[a-zA-Z!?/])")
_SCRIPT_STATE = re.compile(rf"<(?:!--|/(?i:script)(?=[{_SPACE}/>]))")
_ESCAPED_STATE = re.compile(rf"-->|<(/?)(?i:script)(?=[{_SPACE}/>])")
_END_OF = {name: re.compile(rf"</(?i:{name})(?=[{_SPACE}/>])") for name in _RAW_TEXT}


class Attribute(NamedTuple):
    """An attribute: its decoded value, its span, and the start of the value with its quotes."""

    value: str
    start: int
    end: int
    value_start: int


@dataclass(slots=True)
class Tag:
    """A start tag. For raw text, `end` to `content_end` is the text and `close` the end of the element.

    In foreign content only `<style>` has a `content_end`, and nothing has a `close`.
    """

    name: str
    start: int
    end: int
    attributes: dict[str, Attribute]
    self_closing: bool
    foreign: bool = False
    content_end: int = -1
    close: int = -1

    def value(self, name: str) -> str | None:
        """Return the decoded value of an attribute, or None."""
        attribute = self.attributes.get(name)
        return None if attribute is None else attribute.value


def unescape_attribute(text: str) -> str:
    """Decode the character references of an attribute's value, where `&copy=1` is not one."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(found: re.Match[str]) -> str:
    return html5.get(found[1], found[0]) if found[1] else html.unescape(found[0])


def escape_attribute(text: str) -> str:
    """Escape a value for use between double quotes."""
    return text.replace("&", "&amp;").replace('"', "&quot;")


@dataclass(slots=True)
class Scanner:
    """One pass over a document. `body_end` is set at the end of the pass."""

    text: str
    body_end: int = -1
    _html_end: int = -1
    _open: list[tuple[str, bool]] = field(
        default_factory=list
    )  # <svg> and <math>, and with True the elements in them that hold HTML

    def tags(self, *, every: bool = False) -> Iterator[Tag]:
        """Yield the start tags that can refer to files, in order; or every start tag."""
        pos = 0
        while found := (_FOREIGN if self._open or every else _HTML).search(self.text, pos):
            start = found.start()
            mark = self.text[start + 1 : start + 2]
            if mark == "!" or mark == "?":
                pos = self._skip_declaration(start)
            elif mark == "/":
                pos = self._end_tag(start)
            else:
                tag = self._start_tag(start)
                if tag is None:  # The file ends inside the tag, so browsers drop it.
                    break
                if every or tag.name in _YIELDED or "style" in tag.attributes:
                    yield tag
                pos = max(tag.end, tag.close)
        if self.body_end < 0:
            self.body_end = self._html_end if self._html_end >= 0 else len(self.text)

    def _skip_declaration(self, start: int) -> int:
        if self.text.startswith("<!--", start):
            return skip_comment(self.text, start)
        in_foreign = bool(self._open) and not self._open[-1][1]
        closing = "]]>" if in_foreign and self.text.startswith("<![CDATA[", start) else ">"
        end = self.text.find(closing, start)
        return len(self.text) if end < 0 else end + len(closing)

    def _attributes(self, pos: int) -> tuple[dict[str, Attribute], int, bool]:
        """Return the attributes of a tag, the position of its `>` or -1, and whether it ends with `/>`."""
        text, size = self.text, len(self.text)
        attributes: dict[str, Attribute] = {}
        while True:
            last = pos
            pos = _BETWEEN.match(text, pos).end()  # type: ignore[union-attr]  # matches the empty string
            if pos >= size:
                return attributes, -1, False
            if text[pos] == ">":
                return attributes, pos, pos > last and text[pos - 1] == "/"
            found = _ATTRIBUTE.match(text, pos)
            assert found is not None
            name = found[1].lower()
            if name not in attributes:
                value = found[3] if found[3] is not None else found[4] if found[4] is not None else found[2]
                decoded = unescape_attribute(value or "")
                attributes[name] = Attribute(decoded, pos, found.end(), found.start(2))
            pos = found.end()

    def _end_tag(self, start: int) -> int:
        named = _NAME.match(self.text, start + 2)
        if named is None:  # "</>" is ignored, and "</ x>" is a comment
            end = self.text.find(">", start)
            return len(self.text) if end < 0 else end + 1
        _, end, _ = self._attributes(named.end())
        if end < 0:
            return len(self.text)
        self._close_element(named[0].lower(), start)
        return end + 1

    def _close_element(self, name: str, start: int) -> None:
        if name == "body":
            self.body_end = start
        elif name == "html":
            self._html_end = start
        if not self._open:
            return
        if self._open[-1][1]:  # HTML inside foreign content: an end tag can close only the element that holds it
            if self._open[-1][0] == name:
                self._open.pop()
        elif name in ("p", "br"):
            self._break_out()
        else:
            self._close_foreign(name)

    def _close_foreign(self, name: str) -> None:
        for i in range(len(self._open) - 1, -1, -1):
            if self._open[i][0] == name:
                del self._open[i:]
                return
            if self._open[i][1]:
                return

    def _break_out(self) -> None:
        while self._open and not self._open[-1][1]:
            self._open.pop()

    def _start_tag(self, start: int) -> Tag | None:
        named = _NAME.match(self.text, start + 1)
        assert named is not None
        attributes, end, self_closing = self._attributes(named.end())
        if end < 0:
            return None
        tag = Tag(named[0].lower(), start, end + 1, attributes, self_closing)
        if self._open and not self._open[-1][1]:
            self._foreign_tag(tag)
        if not tag.foreign:
            self._html_tag(tag)
        return tag

    def _html_tag(self, tag: Tag) -> None:
        if tag.name in _FOREIGN_ROOTS:
            if not tag.self_closing:
                self._push(tag.name, holds_html=False)
        elif tag.name in _RAW_TEXT:
            self._read_raw_text(tag)

    def _push(self, name: str, *, holds_html: bool) -> None:
        if len(self._open) < _MAX_DEPTH:
            self._open.append((name, holds_html))

    def _foreign_tag(self, tag: Tag) -> None:
        is_font = tag.name == "font" and any(name in tag.attributes for name in _BREAKOUT_FONT)
        if tag.name in _BREAKOUT or is_font:
            self._break_out()
            return
        tag.foreign = True
        if tag.name == "style" and not tag.self_closing:
            tag.content_end = self._foreign_text_end(tag.end)
        if not tag.self_closing and (tag.name in _FOREIGN_ROOTS or self._holds_html(tag)):
            self._push(tag.name, holds_html=tag.name not in _FOREIGN_ROOTS)

    def _holds_html(self, tag: Tag) -> bool:
        root = next((name for name, _ in reversed(self._open) if name in _FOREIGN_ROOTS), "svg")
        if root == "math" and tag.name == "annotation-xml":
            return (tag.value("encoding") or "").lower() in _HTML_ANNOTATIONS
        return tag.name in _HOLDS_HTML[root]

    def _foreign_text_end(self, pos: int) -> int:
        """Return the end of text in foreign content: the next tag, or the end of a CDATA section."""
        is_cdata = self.text.startswith("<![CDATA[", _WHITE.match(self.text, pos).end())  # type: ignore[union-attr]
        end = self.text.find("]]>" if is_cdata else "<", pos)
        return len(self.text) if end < 0 else end

    def _read_raw_text(self, tag: Tag) -> None:
        if tag.name == "plaintext":
            tag.content_end = tag.close = len(self.text)
            return
        tag.content_end = self._script_end(tag.end) if tag.name == "script" else self._raw_end(tag)
        _, end, _ = self._attributes(min(tag.content_end + 2 + len(tag.name), len(self.text)))
        tag.close = len(self.text) if end < 0 else end + 1

    def _raw_end(self, tag: Tag) -> int:
        found = _END_OF[tag.name].search(self.text, tag.end)
        return found.start() if found else len(self.text)

    def _script_end(self, pos: int) -> int:
        """Return the position of the `</script` that ends the element, which is not one inside `<!-- <script>`."""
        while found := _SCRIPT_STATE.search(self.text, pos):
            if self.text[found.start() + 1] == "/":
                return found.start()
            inner = 0
            pos = found.start() + 2  # the dashes of "<!-->" already end it
            while escaped := _ESCAPED_STATE.search(self.text, pos):
                pos = escaped.end()
                if escaped[0] == "-->":
                    break
                if escaped[1] and not inner:
                    return escaped.start()
                inner = 0 if escaped[1] else 1
            else:
                return len(self.text)
        return len(self.text)
