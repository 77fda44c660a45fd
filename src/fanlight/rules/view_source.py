"""The source of a View, read once for all rules of the security review: its elements, styles and scripts.

Each script is the author's or a bundled library's. The author can fix only the former, so findings in a library name
the library.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from fanlight.rules.javascript import Position, Script, parse
from fanlight.rules.observation import Document
from fanlight.server.bundle.markup import Scanner

if TYPE_CHECKING:
    from tree_sitter import Node

_SCRIPT_TYPES: Final = ("", "module", "text/javascript", "application/javascript")
_LIBRARY_FOLDERS: Final = frozenset({"node_modules", "bower_components", "vendor", "third_party", "site-packages"})
_MINIFIED_NAME: Final = re.compile(r"[.-]min\.m?js$")
_BANNER: Final = re.compile(r"\s*/\*[!*]?[\s*]*([^\s*][^\n*]{0,60})")
_MINIFIED_LINE: Final = 1_000
"""A line of code this long was written by a program."""
_FRAME_TAGS: Final = ("iframe", "frame")


@dataclass(frozen=True)
class Element:
    """A start tag."""

    position: Position
    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class StyleSheet:
    """The text of a `<style>` element or of a `style` attribute."""

    position: Position
    text: str


@dataclass(frozen=True)
class CodePlace:
    """A place in the code of a View: the script, and the node in it."""

    script: Script
    node: "Node"

    @property
    def position(self) -> Position:
        """The place in the document."""
        return self.script.position_of(self.node)

    @property
    def text(self) -> str:
        """The code at this place."""
        return self.script.text(self.node)


class _Parts:
    """The elements and the texts of a document."""

    def __init__(self, html: str) -> None:
        self.elements: list[Element] = []
        self.styles: list[StyleSheet] = []
        self.scripts: list[tuple[Position, str]] = []
        position, read = Position(1, 1), 0
        for tag in Scanner(html).tags(every=True):
            position, read = position.after(html[read : tag.start]), tag.start
            element = Element(position, tag.name, {name: each.value for name, each in tag.attributes.items()})
            self.elements.append(element)
            if "style" in element.attributes:
                self.styles.append(StyleSheet(position, element.attributes["style"]))
            if tag.content_end > tag.end:
                self._add_text(element, position.after(html[tag.start : tag.end]), html[tag.end : tag.content_end])

    def _add_text(self, element: Element, position: Position, text: str) -> None:
        if element.name == "style":
            self.styles.append(StyleSheet(position, text))
        elif element.name == "script" and element.attributes.get("type", "").strip().lower() in _SCRIPT_TYPES:
            self.scripts.append((position, text))


@lru_cache(maxsize=4)
def _parts(html: str) -> _Parts:
    return _Parts(html)


class ViewSource:
    """The parts of a View's document. Each document is read once, for all rules."""

    def __init__(self, document: Document) -> None:
        parts = _parts(document.html)
        self.document = document
        self.elements: Sequence[Element] = parts.elements
        self.styles: Sequence[StyleSheet] = parts.styles
        self._script_texts = parts.scripts

    @cached_property
    def scripts(self) -> list[Script]:
        """The scripts, parsed."""
        return [parse(text, position) for position, text in self._script_texts]

    def find(self, query: str) -> "Iterator[tuple[Script, dict[str, Node]]]":
        """Yield the matches of a query in all scripts: the author's first, then those of libraries."""
        scripts = sorted(self.scripts, key=lambda script: self.library(script.position, script) is not None)
        for script in scripts:
            for match in script.find(query):
                yield script, match

    def library(self, position: Position, script: Script | None = None) -> str | None:
        """Return the name of the library that a place belongs to; None if it is the author's own code."""
        place = self.document.place(*position) if self.document.place else None
        if place is not None:
            return place.file if _is_library_file(place.path) else None
        script = script or self._script_at(position)
        return None if script is None else _library_in(script.source)

    def _script_at(self, position: Position) -> Script | None:
        before = [script for script in self.scripts if script.position <= position]
        if not before or position > before[-1].position.after(before[-1].source):
            return None
        return before[-1]


def _is_library_file(path: Path) -> bool:
    if not _LIBRARY_FOLDERS.isdisjoint(path.parts) or _MINIFIED_NAME.search(path.name):
        return True
    try:
        return path.suffix in (".js", ".mjs", ".cjs") and _is_minified(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


@lru_cache(maxsize=64)
def _library_in(text: str) -> str | None:
    """Return what a script that was written by a program calls itself; None if a person wrote it."""
    if not _is_minified(text):
        return None
    banner = _BANNER.match(text)
    return PurePath(banner[1].strip()).name if banner else "minified code"


def _is_minified(text: str) -> bool:
    """Return whether most of a script is in lines that nobody writes by hand."""
    long = sum(len(line) for line in text.split("\n") if len(line) > _MINIFIED_LINE)
    return long > len(text) / 2


@dataclass(frozen=True)
class ScriptFrame:
    """A frame that a script creates."""

    place: CodePlace
    address: str | None
    """The address that it shows, as far as it is known from the start; None if there is none or it is unknown."""
    has_address: bool
    """Whether the script sets an address."""
    has_document: bool
    """Whether the script sets its document (`srcdoc`)."""
    is_hidden: bool


def script_frames(source: ViewSource) -> list[ScriptFrame]:
    """Return the frames that the scripts of a View create."""
    return [
        *(frame for frame in _created_frames(source)),
        *(frame for frame in _markup_frames(source)),
    ]


def _created_frames(source: ViewSource) -> Iterator[ScriptFrame]:
    for script, match in source.find("calls"):
        call = match["call"]
        arguments = script.arguments(call)
        if not arguments or (script.constant(arguments[0]) or "").lower() not in _FRAME_TAGS:
            continue
        place = CodePlace(script, call)
        if len(arguments) > 1 and arguments[1].type == "object":  # React.createElement, jsx
            yield _frame(place, {(name,): value for name, value in script.properties(arguments[1]).items()})
        elif script.callee(call).endswith("createElement"):
            yield _frame(place, _later_properties(script, call))


def _later_properties(script: Script, call: "Node") -> "dict[tuple[str, ...], Node]":
    """Return what a script assigns to an element that it created and keeps in a variable."""
    kept = call.parent
    while kept is not None and kept.type in ("parenthesized_expression", "assignment_expression"):
        if kept.type == "assignment_expression":
            break
        kept = kept.parent
    target = kept and (kept.child_by_field_name("name") or kept.child_by_field_name("left"))
    if kept is None or target is None or target.type != "identifier":
        return {}
    name = script.text(target)
    binding = script.binding(target)
    found: dict[tuple[str, ...], Node] = {}
    for match in script.find("property_writes"):
        write = match["write"]
        if write.type == "assignment_expression":
            path = script.name(write.child_by_field_name("left")).split(".")
            value = write.child_by_field_name("right")
        else:
            path = script.callee(write).split(".")
            arguments = script.arguments(write)
            if path[-1] != "setAttribute" or len(arguments) != 2:
                continue
            path, value = [path[0], script.constant(arguments[0]) or "?"], arguments[1]
        first = write.child_by_field_name("left") or write.child_by_field_name("function")
        while first is not None and first.type == "member_expression":
            first = first.child_by_field_name("object")
        if path[0] == name and value is not None and first is not None and script.binding(first) == binding:
            found[tuple(path[1:])] = value
    return found


def _frame(place: CodePlace, properties: "Mapping[tuple[str, ...], Node]") -> ScriptFrame:
    script = place.script
    values = {tuple(part.lower() for part in path): value for path, value in properties.items()}
    styles = properties.get(("style",))
    if styles is not None:
        values |= {("style", name.lower()): value for name, value in script.properties(styles).items()}
    address = script.known_start(values.get(("src",))) if ("src",) in values else ""
    return ScriptFrame(
        place,
        _whole_origin(address, script.constant(values.get(("src",)))),
        ("src",) in values,
        ("srcdoc",) in values,
        any(_hides(script, path, value) for path, value in values.items()),
    )


def _hides(script: Script, path: tuple[str, ...], value: "Node") -> bool:
    text = script.constant(value)
    text = (script.text(value) if text is None else text).strip().lower()
    match path:
        case ("hidden",):
            return text in ("true", "!0", "", "hidden")
        case ("style", "display"):
            return text == "none"
        case ("style", "visibility"):
            return text == "hidden"
        case ("style", "opacity"):
            return text in ("0", "0.0")
        case ("width" | "height",) | ("style", "width" | "height"):
            return text in ("0", "1", "0px", "1px")
        case ("style", "left" | "top"):
            return re.fullmatch(r"-\d{3,}px", text) is not None
        case ("style",) | ("style", "csstext"):
            return hides(text)
    return False


_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0+)?(?:;|$|\s)"
    r"|(?:width|height)\s*:\s*[01](?:px)?\s*(?:;|$)|(?:left|top)\s*:\s*-\d{3,}px",
    re.IGNORECASE,
)


def hides(style: str) -> bool:
    """Return whether the declarations of a style attribute make an element invisible."""
    return _HIDDEN.search(style) is not None


def is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether the attributes of a frame make it invisible."""
    is_small = any(attributes.get(side, "").strip() in ("0", "1") for side in ("width", "height"))
    return is_small or "hidden" in attributes or hides(attributes.get("style", ""))


def _markup_frames(source: ViewSource) -> Iterator[ScriptFrame]:
    """Yield the frames in the HTML that scripts hold as text."""
    for script, match in source.find("frame_markup"):
        text = script.text(match["text"])
        begin = text.lower().index("<iframe")
        markup = text[begin:] if ">" in text[begin:] else f"{text[begin:]}>"
        is_cut = ">" not in text[begin:]
        tag = next(Scanner(markup).tags(every=True), None)
        if tag is None:
            continue
        attributes = {name: each.value for name, each in tag.attributes.items()}
        address = attributes.get("src", "")
        yield ScriptFrame(
            CodePlace(script, match["text"]),
            _whole_origin(address, None if is_cut else address),
            "src" in attributes,
            "srcdoc" in attributes,
            is_hidden(attributes),
        )


def _whole_origin(start: str, whole: str | None) -> str | None:
    """Return the known start of an address, if that contains the whole origin."""
    address = f"https:{start}" if start.startswith("//") else start
    is_whole = whole is not None or re.match(r"[a-z]+://[^/?#]+[/?#]", address, re.IGNORECASE) is not None
    return address if is_whole and re.match(r"(?:https?|wss?)://", address, re.IGNORECASE) else None


def known_address(script: Script, node: "Node | None") -> str | None:
    """Return the address that an expression names, if at least its origin is known."""
    return _whole_origin(script.known_start(node), script.constant(node))
