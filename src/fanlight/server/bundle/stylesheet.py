"""Makes a stylesheet self-contained: merges imports, inlines files as `data:` URIs, and extracts local fonts."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from fanlight.server.bundle.css import Token, block_end, skip_space, statement_end, tokens
from fanlight.server.bundle.fontface import Face, font_face
from fanlight.server.bundle.reference import References
from fanlight.server.bundle.source import Source, replace

_AT_WORD = re.compile(r"@[\w-]++")
_LAYER = re.compile(r"layer(?:\(([^()]*+)\)|(?![\w(-]))", re.IGNORECASE)
_SUPPORTS = re.compile(r"supports\(", re.IGNORECASE)
_CLOSING = {"{": "}", "(": ")", "[": "]", "image-set(": ")"}
_STYLE_END = re.compile(r"</(?=style)", re.IGNORECASE)


MAX_DEPTH = 100  # stylesheets in a chain of imports


@dataclass(slots=True)
class Sheet:
    """A stylesheet as the texts of one or more style elements, and the fonts it loads.

    A sheet needs several elements if it imports URLs, because an `@import` must come before all rules of its element.
    """

    faces: list[Face] = field(default_factory=list)
    has_rules: bool = False  # in the last part
    has_imports: bool = False
    _pieces: list[list[str]] = field(default_factory=lambda: [[]])  # of each part

    @property
    def parts(self) -> list[str]:
        """The texts of the style elements."""
        return ["".join(pieces) for pieces in self._pieces]

    @property
    def size(self) -> int:
        """Its approximate size in a document."""
        texts = sum(len(piece) for pieces in self._pieces for piece in pieces)
        return texts + sum(len(face.data) + 100 for face in self.faces)

    def add_text(self, text: str) -> None:
        """Append text to the last part."""
        self._pieces[-1].append(text)

    def add_import(self, text: str) -> None:
        """Append an `@import` of a URL."""
        self.has_imports = True
        if self.has_rules:
            self._pieces.append([])
            self.has_rules = False
        self.add_text(text)

    def add(self, other: "Sheet") -> None:
        """Append a whole sheet."""
        first, *rest = other.parts
        if other.has_imports:
            self.add_import(first)
        else:
            self.add_text(first)
        self._pieces += ([part] for part in rest)
        self.has_rules = other.has_rules or (self.has_rules and not other.has_imports)
        self.faces += other.faces


class _Import(NamedTuple):
    url: str
    conditions: str
    start: int
    end: int


def may_refer(text: str) -> bool:
    """Return whether a stylesheet may refer to files or URLs. Cheap, with false positives."""
    text = text.lower()
    return "url(" in text or "@import" in text or "image-set(" in text


def style_text(text: str) -> str:
    """Return an equivalent stylesheet that does not end its element."""
    return _STYLE_END.sub(r"<\\/", text)


def merge(source: Source, references: References) -> Sheet:
    """Return a stylesheet with its imports and files inlined."""
    if may_refer(source.text):
        return _Merger(references).sheet(source, ())
    sheet = Sheet(has_rules=True)
    sheet.add_text(source.text)
    return sheet


def merge_file(path: Path, source: Source, pos: int, references: References) -> Sheet:
    """Return a stylesheet file with its imports and files inlined. The source refers to it at `pos`."""
    file = references.read_text(path, source, pos)
    references.count(len(file.text), source, pos)
    return merge(file, references)


def declarations(source: Source, references: References) -> str:
    """Return the value of a `style` attribute with its files inlined."""
    nesting = _Nesting()
    found = [token for token in tokens(source.text) if nesting.is_reference(token)]
    return replace(source.text, _data_uris(found, source, references))


class _Merger:
    """Merges a stylesheet and its imports. Each file is read once."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._merged: dict[Path, Sheet] = {}

    def sheet(self, source: Source, importers: tuple[Path | str, ...]) -> Sheet:
        """Return a stylesheet with its imports and files inlined. `importers` is the chain of imports to it."""
        sheet = Sheet()
        pos = self._head(source, sheet, importers)
        body = _body(source, pos, self._references, sheet.faces, imported=bool(importers))
        sheet.add_text(body)
        sheet.has_rules = sheet.has_rules or skip_space(body, 0) < len(body)
        return sheet

    def _head(self, source: Source, sheet: Sheet, importers: tuple[Path | str, ...]) -> int:
        """Merge the imports before the first rule, and return the position of that rule."""
        text = source.text
        done = pos = 0
        while True:
            start = skip_space(text, pos)
            found = _AT_WORD.match(text, start)
            word = found[0].lower() if found else ""
            if word not in ("@import", "@charset", "@layer"):
                break
            end = statement_end(text, start + len(word))
            if end is not None and end.value == "{":
                break
            pos = len(text) if end is None else end.end
            if word == "@import" and (parsed := _parse_import(text, start, pos)):
                sheet.add_text(text[done:start])
                self._import(parsed, source, sheet, importers)
                done = pos
        sheet.add_text(text[done:pos])
        return pos

    def _import(self, found: _Import, source: Source, sheet: Sheet, importers: tuple[Path | str, ...]) -> None:
        local = self._references.local(found.url, source, found.start)
        if local is None:
            sheet.add_import(source.text[found.start : found.end])
            return
        chain = (*importers, source.path)
        if local.path in chain:
            names = " → ".join(Path(path).name for path in (*chain[chain.index(local.path) :], local.path))
            raise source.error(found.start, f"the stylesheet imports itself: {names}. Remove one @import.")
        if len(chain) > MAX_DEPTH:
            raise source.error(
                found.start,
                f"more than {MAX_DEPTH} stylesheets import each other in a chain. Merge some of them into one file.",
            )
        imported = self._imported(local.path, source, found.start, chain)
        sheet.add(_under_conditions(imported, found, source) if found.conditions else imported)

    def _imported(self, path: Path, source: Source, pos: int, chain: tuple[Path | str, ...]) -> Sheet:
        """Return an imported file, merged on first use. Its size counts for each import."""
        if path in self._merged:
            self._references.count(self._merged[path].size, source, pos)
        else:
            file = self._references.read_text(path, source, pos)
            self._references.count(len(file.text), source, pos)
            self._merged[path] = self.sheet(file, chain)
        return self._merged[path]


def _parse_import(text: str, start: int, end: int) -> _Import | None:
    target = next(tokens(text, skip_space(text, start + len("@import"))), None)
    if target is None or target.kind not in ("string", "url") or target.start >= end:
        return None
    return _Import(target.value, text[target.end : end].strip().removesuffix(";").strip(), start, end)


def _under_conditions(sheet: Sheet, found: _Import, source: Source) -> Sheet:
    """Wrap an imported sheet in the layer, the feature query and the media query of its `@import`."""
    if sheet.has_imports:
        raise source.error(
            found.start,
            f'"{found.url}" imports a URL, which cannot be wrapped in the conditions of this @import. '
            "Import that URL from the document itself.",
        )
    wrapped = Sheet(sheet.faces, sheet.has_rules)
    preludes = _preludes(found.conditions)
    wrapped.add_text("".join(f"{prelude} {{\n" for prelude in preludes))
    wrapped.add_text(sheet.parts[0])
    wrapped.add_text("}\n" * len(preludes))
    return wrapped


def _preludes(conditions: str) -> list[str]:
    """Return the at-rules, outermost first, that are equivalent to the conditions of an `@import`."""
    layer = supports = None
    conditions = conditions[skip_space(conditions, 0) :]
    if found := _LAYER.match(conditions):
        layer = f"@layer {found[1]}" if found[1] else "@layer"
        conditions = conditions[skip_space(conditions, found.end()) :]
    if found := _SUPPORTS.match(conditions):
        end = _closing_parenthesis(conditions, found.end())
        supports = f"@supports ({conditions[found.end() : end]})"
        conditions = conditions[skip_space(conditions, end + 1) :]
    media = f"@media {conditions}" if conditions else None
    return [prelude for prelude in (media, supports, layer) if prelude]


def _closing_parenthesis(text: str, pos: int) -> int:
    depth = 1
    for token in tokens(text, pos):
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth == 0:
            return token.start
    return len(text)


class _Nesting:
    """Tracks the open brackets of a stylesheet, token by token."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.unclosed_comment = False

    def is_reference(self, token: Token) -> bool:
        """Process the next token, and return whether it is the URL of a resource."""
        if token.kind == "open":
            self.open.append(token.value)
        elif token.kind == "close" and self.open and _CLOSING[self.open[-1]] == token.value:
            self.open.pop()
        elif token.kind == "comment":
            self.unclosed_comment = not token.value
        return token.kind == "url" or (token.kind == "string" and self.open[-1:] == ["image-set("])

    def closing(self) -> str:
        """Return the text that closes all open brackets and comments, so that another sheet can follow."""
        comment = "*/" if self.unclosed_comment else ""
        return comment + "\n" + "".join(_CLOSING[bracket] for bracket in reversed(self.open))


def _body(source: Source, pos: int, references: References, faces: list[Face], *, imported: bool) -> str:
    """Return the rules from `pos` on with files inlined. Brackets that an imported sheet leaves open are closed."""
    text = source.text
    nesting = _Nesting()
    edits: list[tuple[int, int, str]] = []
    found: list[Token] = []
    skip_to = pos
    for token in tokens(text, pos):
        if token.start < skip_to:
            continue
        if imported and token.value == "}" and token.kind == "close" and not nesting.open:
            raise source.error(
                token.start,
                "this } has no opening bracket, and would end a block of the importing stylesheet. Remove it.",
            )
        if nesting.is_reference(token):
            found.append(token)
        elif token.value == "@font-face":
            skip_to = _extract_font(token, source, references, faces, edits)
        elif token.value == "@namespace":
            skip_to = _end_of(text, token)
        elif token.value == "@import" and not nesting.open:
            _check_late_import(token, source, references)
            skip_to = _end_of(text, token)
    edits += _data_uris(found, source, references)
    edits.append((0, pos, ""))
    return replace(text, edits) + (nesting.closing() if imported else "")


def _end_of(text: str, token: Token) -> int:
    end = statement_end(text, token.end)
    return len(text) if end is None else end.start


def _check_late_import(token: Token, source: Source, references: References) -> None:
    parsed = _parse_import(source.text, token.start, _end_of(source.text, token))
    if parsed and references.local(parsed.url, source, token.start):
        raise source.error(
            token.start, "an @import after a rule is ignored by browsers. Move it to the top of the stylesheet."
        )


def _extract_font(
    token: Token, source: Source, references: References, faces: list[Face], edits: list[tuple[int, int, str]]
) -> int:
    """Extract an `@font-face` rule if its font is a local file, and return the position after the rule."""
    opening = statement_end(source.text, token.end)
    if opening is None or opening.value != "{":
        return len(source.text) if opening is None else opening.end
    end = block_end(source.text, opening.end)
    if face := font_face(source.part(opening.end, end), references):
        faces.append(face)
        edits.append((token.start, min(end + 1, len(source.text)), ""))
    return end + 1


def _data_uris(found: list[Token], source: Source, references: References) -> list[tuple[int, int, str]]:
    edits: list[tuple[int, int, str]] = []
    for token in found:
        # In a style element or attribute. Elements.apply decides whether a missing file is an error there.
        if source.whole is not None and references.is_missing(token.value, source):
            references.missing = references.missing or (token.value, source, token.start)
        elif uri := references.data_uri(token.value, source, token.start):
            edits.append((token.start, token.end, f'url("{uri}")'))
    return edits
