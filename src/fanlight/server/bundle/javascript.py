"""A lexer for JavaScript that knows one thing: which parts of a script are not code.

Comments, strings, the fixed parts of templates, and regular expressions are. JSX is not supported.
"""

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

Kind = Literal["comment", "string", "template", "tagged template", "regex"]

_STOP = re.compile(r"[/\"'`(){}]")
_STRING = {
    '"': re.compile(r'"[^"\\\n\r]*+(?:\\(?:\r\n|[\s\S])[^"\\\n\r]*+)*"'),
    "'": re.compile(r"'[^'\\\n\r]*+(?:\\(?:\r\n|[\s\S])[^'\\\n\r]*+)*'"),
}
_LINE_COMMENT = re.compile(r"[^\n\r\u2028\u2029]*+")
_TEMPLATE_STOP = re.compile(r"[`\\]|\$\{")
_REGEX = re.compile(
    r"/[^/\\\[\n\r]*+(?:(?:\\[^\n\r]|\[[^\]\\\n\r]*+(?:\\[^\n\r][^\]\\\n\r]*+)*\])[^/\\\[\n\r]*+)*/\w*+"
)
_LAST_WORD = re.compile(r"[\w$]+\Z")
# After these words an expression begins, so that a slash begins a regular expression and a brace an object.
_BEFORE_EXPRESSION = frozenset(
    {"return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else"}
    | {"yield", "await", "default", "extends"}
)
_BLOCK_WORDS = frozenset({"do", "else"})
_BEFORE_CONDITION = frozenset({"if", "while", "for", "with", "await"})  # "await" as in `for await (`
_LONGEST_WORD = 12


class JavaScriptError(ValueError):
    """A script that this lexer cannot follow."""


class Span(NamedTuple):
    """A part of a script that is not code."""

    start: int
    end: int
    kind: Kind


class Spans:
    """The parts of a script, up to a position, that are not code."""

    def __init__(self, text: str, stop: int) -> None:
        """Lex the text up to `stop`, or raise JavaScriptError."""
        self._spans = _Lexer(text).run(stop)
        self._starts = [span.start for span in self._spans]

    def kind_at(self, pos: int) -> Kind | None:
        """Return what a position is part of, or None if it is code."""
        i = bisect_right(self._starts, pos) - 1
        return self._spans[i].kind if i >= 0 and pos < self._spans[i].end else None


class _Open(NamedTuple):
    bracket: str  # "(", "{", or "`" for the "${" of a template
    before: int  # the last significant character before it
    tagged: bool = False


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.pos = 0
        self.last = -1  # index of the last significant character; -1 at the start
        self.literal_end = -1  # where the last string, template or regular expression ended
        self.closed = _Open("(", -1)  # the bracket that the last ")" or "}" closed
        self.open: list[_Open] = []
        self.spans: list[Span] = []

    def run(self, stop: int) -> list[Span]:
        text = self.text
        while self.pos < stop and (found := _STOP.search(text, self.pos, stop)):
            start = found.start()
            code = text[self.pos : start].rstrip()
            if code:
                self.last = self.pos + len(code) - 1
            self._token(text[start], start)
        return self.spans

    def _token(self, char: str, start: int) -> None:
        if char in "({":
            self.open.append(_Open(char, self.last))
            self.pos, self.last = start + 1, start
        elif char in ")}":
            self._close(char, start)
        elif char == "/":
            self._slash(start)
        elif char == "`":
            self._template(start, start + 1, self._follows_value())
        else:
            self._literal(_STRING[char].match(self.text, start), start, "string")

    def _close(self, char: str, start: int) -> None:
        if not self.open or (self.open[-1].bracket == "(") != (char == ")"):
            raise JavaScriptError(f"unbalanced {char} at {start}")
        self.closed = self.open.pop()
        if self.closed.bracket == "`":
            self._template(start, start + 1, self.closed.tagged)
        else:
            self.pos, self.last = start + 1, start

    def _slash(self, start: int) -> None:
        following = self.text[start + 1 : start + 2]
        if following == "/":
            self._skip(start, _LINE_COMMENT.match(self.text, start).end(), "comment")  # type: ignore[union-attr]
        elif following == "*":
            end = self.text.find("*/", start + 2)
            if end < 0:
                raise JavaScriptError(f"comment at {start} does not end")
            self._skip(start, end + 2, "comment")
        elif self._follows_value():
            self.pos, self.last = start + 1, start
        else:
            self._literal(_REGEX.match(self.text, start), start, "regex")

    def _literal(self, found: re.Match[str] | None, start: int, kind: Kind) -> None:
        if found is None:
            raise JavaScriptError(f"{kind} at {start} does not end")
        self._skip(start, found.end(), kind)
        self.last, self.literal_end = found.end() - 1, found.end()

    def _skip(self, start: int, end: int, kind: Kind) -> None:
        self.spans.append(Span(start, end, kind))
        self.pos = end

    def _template(self, start: int, pos: int, tagged: bool) -> None:
        """Read on to the end of a template, or to where code is inserted."""
        while found := _TEMPLATE_STOP.search(self.text, pos):
            pos = found.end()
            if found[0] == "\\":
                pos += 1
                continue
            self._skip(start, pos, "tagged template" if tagged else "template")
            self.last = pos - 1
            if found[0] == "`":
                self.literal_end = pos
            else:
                self.open.append(_Open("`", self.last, tagged))
            return
        raise JavaScriptError(f"template at {start} does not end")

    def _follows_value(self) -> bool:
        """Tell whether what comes next follows a value: then a slash divides and a template is tagged."""
        if self.last < 0:
            return False
        if self.last + 1 == self.literal_end:
            return True
        char = self.text[self.last]
        if char == "]":
            return True
        if char == ")":
            return self._word_at(self.closed.before) not in _BEFORE_CONDITION
        if char == "}":
            return not self._is_block(self.closed.before)
        if char in "+-":
            return self.last > 0 and self.text[self.last - 1] == char  # "x++ / 2"
        if char == ".":
            return self.last > 0 and self.text[self.last - 1].isdigit()  # "1. / 2"
        if char.isalnum() or char in "_$" or char > "\x7f":
            return self._word_at(self.last) not in _BEFORE_EXPRESSION
        return False

    def _is_block(self, before: int) -> bool:
        """Tell whether a brace after the character at `before` begins a block, not an object."""
        if before < 0:
            return True
        char = self.text[before]
        if char in ";{}):":
            return True
        if char == ">":
            return before > 0 and self.text[before - 1] == "="
        word = self._word_at(before)
        return word in _BLOCK_WORDS or (bool(word) and word not in _BEFORE_EXPRESSION)

    def _word_at(self, last: int) -> str:
        """Return the word that ends at `last`, or an empty string; a property such as `x.if` counts as none."""
        start = max(0, last + 1 - _LONGEST_WORD)
        found = _LAST_WORD.search(self.text, start, last + 1)
        if found is None:
            return ""
        before = self.text[max(0, found.start() - 2) : found.start()]
        is_property = before.endswith(("#", ".")) and before != ".."
        return "." + found[0] if is_property else found[0]
