"""The imports of a script: the position of each, the names that it imports, and the module that they come from."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from fanlight.server.bundle.javascript import JavaScriptError, Spans

# Two patterns, because the regex engine finds one fixed prefix much faster than either of two.
_CANDIDATES = (re.compile(r"import(?![\w$])"), re.compile(r"export(?=[\s/*{])"))
_ATTRIBUTES = re.compile(r"(?:with|assert)\s*+\{[^{}]*+\}")
_URL = re.compile(r"(?:https?:)?//|(?:data|blob):", re.IGNORECASE)
# Comments are bounded so that a script of nothing but `import /*` is read in linear time.
_TOKEN = re.compile(
    r"(?:[\s\ufeff]|//[^\n\r\u2028\u2029]{0,400}+|/\*[^*]{0,400}+(?:\*++[^*/][^*]{0,400}+){0,40}\*++/)*"
    r"""(?:([\w$\\\x80-\U0010ffff]++)|"([^"\n\r]*+)"|'([^'\n\r]*+)'|`([^`$\\]*+)`|([{}()*,;.]))"""
)


_Kind = Literal["word", "string", "template", "mark", "end"]
_KINDS: tuple[_Kind, ...] = ("end", "word", "string", "string", "template", "mark")  # by group of _TOKEN


@dataclass(frozen=True, slots=True)
class Import:
    """An import, or an export with `from`, at `start` to `end`; its specifier is at `at`.

    `end` is -1 for a dynamic import with a second argument.
    """

    kind: Literal["static", "dynamic", "export"]
    specifier: str
    start: int
    end: int
    at: int
    default: str | None = None
    namespace: str | None = None
    names: tuple[tuple[str, str], ...] = ()  # (exported name, local name)


def find_imports(text: str) -> list[Import]:
    """Return the imports of a script in order.

    Raise JavaScriptError if the lexer cannot read the script as far as its last import, unless the imports would stay
    as they are in any case: a script that needs no rewriting is served even if the lexer cannot read it.
    """
    if "import" not in text and "export" not in text:
        return []
    found = [parsed for start in _candidates(text) if (parsed := _parse(text, start))]
    if not found:
        return []
    try:
        spans = Spans(text, found[-1].start + 1)
    except JavaScriptError:
        if any(_may_need_rewriting(text, parsed) for parsed in found):
            raise
        return []
    return [parsed for parsed in found if spans.kind_at(parsed.start) is None]


def _may_need_rewriting(text: str, found: Import) -> bool:
    """Return whether a candidate may be an import that browsers cannot resolve, judged without the lexer.

    Browsers load URLs themselves. A statement begins a line or follows another one, and a call never directly follows a
    quotation mark; everything else is text in a string.
    """
    if _URL.match(found.specifier):
        return False
    before = text[max(0, found.start - 200) : found.start].rstrip(" \t")[-1:]
    return before not in "\"'`" if found.kind == "dynamic" else before in "\n\r;}/"


def _candidates(text: str) -> list[int]:
    starts = [found.start() for pattern in _CANDIDATES for found in pattern.finditer(text)]
    return sorted(start for start in starts if _begins_word(text, start))


def _begins_word(text: str, start: int) -> bool:
    before = text[start - 1] if start else ";"
    if before == ".":
        return text.endswith("...", 0, start)  # spread; otherwise a property
    return not (before.isalnum() or before in "_$#\\" or before > "\x7f")


class _Token(NamedTuple):
    kind: _Kind
    value: str
    start: int
    end: int


class _Reader:
    """Reads the tokens of an import statement one by one. It does not know the rest of JavaScript."""

    def __init__(self, text: str, pos: int) -> None:
        self.text = text
        self.end = pos
        self.next = self._read(pos)

    def _read(self, pos: int) -> _Token:
        found = _TOKEN.match(self.text, pos)
        if found is None or found.lastindex is None:
            return _Token("end", "", pos, pos)
        return _Token(_KINDS[found.lastindex], found[found.lastindex], found.start(found.lastindex), found.end())

    def take(self) -> _Token:
        """Return the next token and advance past it."""
        token = self.next
        self.end = token.end
        self.next = self._read(token.end)
        return token

    def accept(self, value: str) -> bool:
        """Advance past the next token if it is this word or mark, and return whether it is."""
        if self.next.kind not in ("word", "mark") or self.next.value != value:
            return False
        self.take()
        return True

    def skip_attributes(self) -> None:
        """Advance past `with { type: "json" }`."""
        if found := _ATTRIBUTES.match(self.text, self.next.start):
            self.end = found.end()
            self.next = self._read(self.end)


def _parse(text: str, start: int) -> Import | None:
    reader = _Reader(text, start + len("import"))
    if text.startswith("export", start):
        return _parse_export(reader, start)
    if reader.next.kind == "string":
        return _finish(reader, start, "static", None, None, ())
    if reader.accept("("):
        return _parse_dynamic(reader, start)
    default = reader.take().value if reader.next.kind == "word" else None
    if default is not None and not reader.accept(","):
        return _parse_from(reader, start, default, None, ())
    if reader.accept("*"):
        namespace = reader.take().value if reader.accept("as") else None
        return _parse_from(reader, start, default, namespace, ()) if namespace else None
    names = _parse_names(reader)
    return None if names is None else _parse_from(reader, start, default, None, names)


def _parse_names(reader: _Reader) -> tuple[tuple[str, str], ...] | None:
    if not reader.accept("{"):
        return None
    names: list[tuple[str, str]] = []
    while not reader.accept("}"):
        exported = reader.take()
        local = reader.take() if reader.accept("as") else exported
        if exported.kind not in ("word", "string") or not (reader.accept(",") or reader.next.value == "}"):
            return None
        names.append((exported.value, local.value))
    return tuple(names)


def _parse_from(
    reader: _Reader, start: int, default: str | None, namespace: str | None, names: tuple[tuple[str, str], ...]
) -> Import | None:
    if not reader.accept("from") or reader.next.kind != "string":
        return None
    return _finish(reader, start, "static", default, namespace, names)


def _finish(
    reader: _Reader,
    start: int,
    kind: Literal["static", "export"],
    default: str | None,
    namespace: str | None,
    names: tuple[tuple[str, str], ...],
) -> Import | None:
    """Read the specifier, the attributes after it and the semicolon."""
    specifier = reader.take()
    reader.skip_attributes()
    reader.accept(";")
    return Import(kind, specifier.value, start, reader.end, specifier.start, default, namespace, names)


def _parse_dynamic(reader: _Reader, start: int) -> Import | None:
    if reader.next.kind not in ("string", "template"):
        return None
    specifier = reader.take()
    reader.accept(",")
    return Import("dynamic", specifier.value, start, reader.end if reader.accept(")") else -1, specifier.start)


def _parse_export(reader: _Reader, start: int) -> Import | None:
    if reader.accept("*"):
        if reader.accept("as"):
            reader.take()
    elif _parse_names(reader) is None:
        return None
    if not reader.accept("from") or reader.next.kind != "string":
        return None
    return _finish(reader, start, "export", None, None, ())
