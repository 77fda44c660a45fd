"""A JavaScript lexer that finds the parts of a script that are not code.

These are comments, strings, the fixed parts of templates, and regular expressions. JSX is not supported.

The hard part is the slash, which divides after a value and begins a regular expression elsewhere. The lexer decides by
the word or character before it. A closing brace needs more: it ends a value (an object, a function expression) or a
statement (a block, a declaration), which depends on the text before its opening brace.
"""

import re
from bisect import bisect_right
from typing import Literal, NamedTuple

from fanlight.protocol.errors import LocalError

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
# An expression follows these words, so a slash begins a regular expression and a brace begins an object.
_BEFORE_EXPRESSION = frozenset(
    {"return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do", "else"}
    | {"yield", "await", "default", "extends"}
)
_BEFORE_STATEMENT = frozenset({"do", "else"})
_BEFORE_DECLARATION = _BEFORE_STATEMENT | {"export", "default"}
_BEFORE_CONDITION = frozenset({"if", "while", "for", "with"})
_LONGEST_KEYWORD = 12
# The head of a function up to its parameters, and of a class up to its brace or to the call that it extends. The window
# bounds the search.
_NAME = r"[\w$\x80-\U0010ffff]+"
_FUNCTION_HEAD = re.compile(rf"(?<![\w$.])(?:async\s+)?function(?:\s*\*\s*|\s+)?(?:{_NAME})?\s*\Z")
_CLASS_HEAD = re.compile(rf"(?<![\w$.])class(?:\s+(?!extends\b){_NAME})?(?:\s+extends\s+[\w$.\x80-\U0010ffff]+)?\s*\Z")
_HEAD_WINDOW = 200


class JavaScriptError(LocalError, ValueError):
    """The lexer cannot read a script: what it expected at `pos` is missing."""

    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos


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
        """Return the kind of the part that a position is in, or None if it is code."""
        i = bisect_right(self._starts, pos) - 1
        return self._spans[i].kind if i >= 0 and pos < self._spans[i].end else None


class _Open(NamedTuple):
    """An opening bracket."""

    bracket: str  # "(", "{", or "`" for the "${" of a template
    before: int  # the last significant character before it
    parameters: int = -1  # for a brace after ")": the last significant character before that pair of parentheses
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
        if char == "(":
            self.open.append(_Open(char, self.last))
            self.pos, self.last = start + 1, start
        elif char == "{":
            parameters = self.closed.before if self.last >= 0 and self.text[self.last] == ")" else -1
            self.open.append(_Open(char, self.last, parameters))
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
            raise JavaScriptError(start, f'"{char}" has no opening bracket before it')
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
                raise JavaScriptError(start, "the comment that begins here has no */")
            self._skip(start, end + 2, "comment")
        elif self._follows_value():
            self.pos, self.last = start + 1, start
        else:
            self._literal(_REGEX.match(self.text, start), start, "regex")

    def _literal(self, found: re.Match[str] | None, start: int, kind: Literal["string", "regex"]) -> None:
        if found is None:
            name = "string" if kind == "string" else "regular expression"
            raise JavaScriptError(start, f"the {name} that begins here does not end on its line")
        self._skip(start, found.end(), kind)
        self.last, self.literal_end = found.end() - 1, found.end()

    def _skip(self, start: int, end: int, kind: Kind) -> None:
        self.spans.append(Span(start, end, kind))
        self.pos = end

    def _template(self, start: int, pos: int, tagged: bool) -> None:
        """Skip to the end of a template, or to its next `${`."""
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
                self.open.append(_Open("`", self.last, tagged=tagged))
            return
        raise JavaScriptError(start, "the template that begins here has no closing `")

    def _follows_value(self) -> bool:
        """Return whether the next character follows a value: then a slash divides and a template is tagged."""
        if self.last < 0:
            return False
        if self.last + 1 == self.literal_end:
            return True
        char = self.text[self.last]
        if char == "]":
            return True
        if char == ")":
            return not self._is_condition(self.closed.before)
        if char == "}":
            return not self._ends_statement(self.closed)
        if char in "+-":
            return self.last > 0 and self.text[self.last - 1] == char  # "x++ / 2"
        if char == ".":
            return self.last > 0 and self.text[self.last - 1].isdigit()  # "1. / 2"
        if _is_word(char):
            return not self._is_keyword(self.last, _BEFORE_EXPRESSION)
        return False

    def _is_condition(self, before: int) -> bool:
        """Return whether parentheses after the character at `before` are those of `if`, `for` and the like."""
        word = self._word_at(before)
        if word == "await":
            return self._word_at(self._previous(before + 1 - len(word))) == "for"
        return word in _BEFORE_CONDITION

    def _is_keyword(self, last: int, keywords: frozenset[str]) -> bool:
        """Return whether the word that ends at `last` is one of the keywords."""
        word = self._word_at(last)
        if word not in keywords:
            return False
        # `of` is a name, except between a variable and an expression in the head of a `for`.
        return word != "of" or self._is_for_of(last)

    def _is_for_of(self, last: int) -> bool:
        if not self.open or self.open[-1].bracket != "(":
            return False
        before = self.open[-1].before
        variable = self._previous(last + 1 - len("of"))
        follows_name = _is_word(self.text[variable]) or self.text[variable] in "]}"
        is_declared = self._word_at(variable) in ("const", "let", "var")
        return self._is_condition(before) and follows_name and not is_declared

    def _ends_statement(self, brace: _Open) -> bool:
        """Return whether the `}` of a brace ends a statement, and not an object, a function or a class as a value."""
        if brace.before < 0:
            return True
        if (keyword := self._head_of(brace)) >= 0:
            return self._begins_statement(keyword)
        char = self.text[brace.before]
        if char in ";{}):":
            return True
        if char == ">":
            return brace.before > 0 and self.text[brace.before - 1] == "="
        word = self._word_at(brace.before)
        return word in _BEFORE_STATEMENT or (bool(word) and not self._is_keyword(brace.before, _BEFORE_EXPRESSION))

    def _head_of(self, brace: _Open) -> int:
        """Return where the `function` or `class` begins that a brace belongs to, or -1."""
        patterns = (_CLASS_HEAD,) if brace.parameters < 0 else (_FUNCTION_HEAD, _CLASS_HEAD)
        end = (brace.before if brace.parameters < 0 else brace.parameters) + 1
        for pattern in patterns:
            found = pattern.search(self.text, max(0, end - _HEAD_WINDOW), end)
            if found and self._span_at(found.start()) is None:  # not a word in a comment
                return found.start()
        return -1

    def _begins_statement(self, pos: int) -> bool:
        """Return whether `function` or `class` at `pos` is a declaration, and not an expression."""
        before = self._previous(pos)
        if before < 0:
            return True
        span = self._span_at(before)
        if span is not None:  # after "${" it is an expression; after any other literal a new statement
            return not (span.kind.endswith("template") and self.text[before] == "{")
        char = self.text[before]
        if char in ";{})]":
            return True
        if char in "+-":
            return self.text[before - 1 : before] == char
        if _is_word(char):
            return not self._is_keyword(before, _BEFORE_EXPRESSION - _BEFORE_DECLARATION)
        return False

    def _previous(self, pos: int) -> int:
        """Return the last significant character before `pos`, or -1."""
        while pos > 0:
            pos -= 1
            if self.text[pos].isspace():
                continue
            span = self._span_at(pos)
            if span is None or span.kind != "comment":
                return pos
            pos = span.start
        return -1

    def _span_at(self, pos: int) -> Span | None:
        i = bisect_right(self.spans, pos, key=lambda span: span.start) - 1
        return self.spans[i] if i >= 0 and pos < self.spans[i].end else None

    def _word_at(self, last: int) -> str:
        """Return the word that ends at `last`, or an empty string. A property such as `x.if` keeps its dot."""
        start = max(0, last + 1 - _LONGEST_KEYWORD)
        found = _LAST_WORD.search(self.text, start, last + 1)
        if found is None:
            return ""
        before = self.text[max(0, found.start() - 2) : found.start()]
        is_property = before.endswith(("#", ".")) and before != ".."
        return "." + found[0] if is_property else found[0]


def _is_word(char: str) -> bool:
    return char.isalnum() or char in "_$" or char > "\x7f"
