"""A tool's arguments while a model is still writing them.

A model streams arguments as JSON text. `PartialArguments` reads each piece once and keeps the best object so
far: open strings, numbers, arrays and objects are closed, what is too short to mean anything is left out, and
the answer is always an object, never null (TIP-02). The work is linear in the length of the text, however
small the pieces are.

The reader is a state machine over tokens; `_expect` is what may come next:

    VALUE   a value                      at the start, after ":" and after "," in an array
    FIRST   a value or "]"               after "["
    KEY     a key                        after "," in an object
    KEYS    a key or "}"                 after "{"
    COLON   ":"                          after a key
    END     "," or the closing bracket   after a value
    TEXT    more of a string             inside one
    DONE    nothing                      after the outermost value, and after what is no JSON
"""

import re
import sys
from typing import Any, Final

VALUE, FIRST, KEY, KEYS, COLON, END, TEXT, DONE = range(8)

# One token that is whole, with the white space before it: punctuation, a simple string, a number that something
# follows, or a word. What does not match is the start of a longer token, or no JSON.
_TOKEN: Final = re.compile(
    r'[ \t\n\r]*(?:([\[\]{},:])|"([^"\\\x00-\x1f]*)"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[\s,\]}])'
    r"|(true|false|null)(?=[\s,\]}]))"
)
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_RUN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR_START: Final = re.compile(
    r"-?[0-9][0-9.eE+-]*\Z|-\Z|t(?:r(?:ue?)?)?\Z|f(?:a(?:l(?:se?)?)?)?\Z|n(?:u(?:ll?)?)?\Z"
)
_NUMBER_START: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_LONGEST_NUMBER: Final = 400


class PartialArguments:
    """The arguments of one tool call, piece by piece."""

    def __init__(self, max_depth: int = 200) -> None:
        self._max_depth = max_depth
        self._expect = VALUE
        self._rest = ""  # the start of a token whose end has not come yet
        self._stack: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str] = []  # the key being filled, for each open object
        self._root: dict[str, Any] = {}
        self._text: list[str] = []  # the pieces of the string being read
        self._is_key = False
        self._shown = False  # whether the open value already has its place in the open array
        self.broken = False
        """Whether the text stopped being JSON. The arguments stay what they were then."""

    @property
    def complete(self) -> bool:
        """Whether the whole object has come."""
        return self._expect == DONE and not self.broken

    @property
    def arguments(self) -> dict[str, Any]:
        """The best object so far. It changes with the next `feed`, so use it at once or copy it."""
        if self._expect == TEXT and not self._is_key:
            self._text = ["".join(self._text)]
            self._show(self._text[0])
        elif self._rest and self._expect in (VALUE, FIRST) and self._stack:
            found = _NUMBER_START.match(self._rest)
            if found:
                self._show(_number(found[0]))
        return self._root

    def feed(self, delta: str) -> None:
        """Read the next piece of the text."""
        text = self._rest + delta if self._rest else delta
        self._rest = ""
        at, end = 0, len(text)
        while at < end:
            expect = self._expect
            if expect == TEXT:
                at = self._read_text(text, at)
                continue
            if expect == DONE:
                return
            token = _TOKEN.match(text, at)
            if token is None:
                at = self._read_start(text, at)
                if at < 0:
                    return
                continue
            at = token.end()
            kind = token.lastindex
            if kind == 1:
                self._punctuate(token[1])
            elif kind == 2:
                if expect in (KEY, KEYS):
                    self._keys[-1] = token[2]
                    self._expect = COLON
                else:
                    self._put(token[2])
            elif kind == 3:
                self._put(_number(token[3]))
            else:
                self._put(_WORDS[token[4]])

    def _punctuate(self, sign: str) -> None:
        expect, stack = self._expect, self._stack
        if sign == ",":
            if expect != END:
                return self._break()
            self._expect = KEY if type(stack[-1]) is dict else VALUE
        elif sign == ":":
            if expect != COLON:
                return self._break()
            self._expect = VALUE
        elif sign == "{" or sign == "[":
            if expect not in (VALUE, FIRST) or len(stack) >= self._max_depth or (sign == "[" and not stack):
                return self._break()
            self._open({} if sign == "{" else [])
        elif sign == "}":
            if expect not in (KEYS, END) or type(stack[-1]) is not dict:
                return self._break()
            self._keys.pop()
            self._close()
        else:
            if expect not in (FIRST, END) or type(stack[-1]) is not list:
                return self._break()
            self._close()

    def _open(self, container: dict[str, Any] | list[Any]) -> None:
        if self._stack:
            self._put(container)
        elif isinstance(container, dict):
            self._root = container
        self._stack.append(container)
        if isinstance(container, dict):
            self._keys.append("")
            self._expect = KEYS
        else:
            self._expect = FIRST

    def _close(self) -> None:
        self._stack.pop()
        self._expect = END if self._stack else DONE

    def _put(self, value: Any) -> None:
        """Put a whole value into its place."""
        if self._expect not in (VALUE, FIRST, TEXT) or not self._stack:
            return self._break()
        self._show(value)
        self._shown = False
        self._expect = END

    def _show(self, value: Any) -> None:
        """Put a value into its place; it may be replaced by more of itself."""
        top = self._stack[-1]
        if type(top) is dict:
            top[self._keys[-1]] = value
        elif self._shown:
            top[-1] = value  # type: ignore[index]
        else:
            top.append(value)  # type: ignore[union-attr]
            self._shown = True

    def _read_start(self, text: str, at: int) -> int:
        """Read the start of a token whose end has not come; return where to go on, or -1 to wait or stop."""
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if at == len(text):
            return -1
        if text[at] == '"' and self._expect in (VALUE, FIRST, KEY, KEYS):
            if not self._stack:
                self._break()
                return -1
            self._is_key = self._expect in (KEY, KEYS)
            self._text = []
            self._expect = TEXT
            return at + 1
        if len(text) - at <= _LONGEST_NUMBER and self._expect in (VALUE, FIRST) and _SCALAR_START.match(text, at):
            self._rest = text[at:]
        else:
            self._break()
        return -1

    def _read_text(self, text: str, at: int) -> int:
        """Read on in a string; return where to go on."""
        run = _RUN.match(text, at)
        end = run.end()  # type: ignore[union-attr]
        if end > at:
            self._text.append(text[at:end])
        if end == len(text):
            return end
        if text[end] == '"':
            self._end_text()
            return end + 1
        if text[end] != "\\":
            self._break()
            return len(text)
        return self._read_escape(text, end)

    def _end_text(self) -> None:
        value = "".join(self._text)
        self._text = []
        if self._is_key:
            self._keys[-1] = value
            self._expect = COLON
        else:
            self._put(value)

    def _read_escape(self, text: str, at: int) -> int:
        sign = text[at + 1 : at + 2]
        if sign in _ESCAPES:
            self._text.append(_ESCAPES[sign])
            return at + 2
        if sign != "u" and sign:
            self._break()
            return len(text)
        code = _HEX.match(text, at + 2)
        if code is None:
            return self._wait_or_break(text, at, 6)
        unit = int(code[0], 16)
        if 0xD800 <= unit < 0xDC00:
            return self._read_pair(text, at, unit)
        # A low surrogate alone is no character, and could not be sent on as UTF-8.
        self._text.append("\ufffd" if 0xDC00 <= unit < 0xE000 else chr(unit))
        return at + 6

    def _read_pair(self, text: str, at: int, high: int) -> int:
        follows = text[at + 6 : at + 12]
        code = _HEX.match(follows, 2) if follows.startswith("\\u") else None
        if code is None and len(follows) < 6 and "\\u".startswith(follows[:2]):
            return self._wait_or_break(text, at, 12)
        low = int(code[0], 16) if code else 0
        if 0xDC00 <= low < 0xE000:
            self._text.append(chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)))
            return at + 12
        self._text.append("\ufffd")
        return at + 6

    def _wait_or_break(self, text: str, at: int, length: int) -> int:
        if len(text) - at < length:
            self._rest = text[at:]
        else:
            self._break()
        return len(text)

    def _break(self) -> None:
        self.arguments  # noqa: B018  keep what an open string holds so far
        self._expect = DONE
        self.broken = True


def _number(text: str) -> int | float:
    if len(text) <= _LONGEST_NUMBER and text.lstrip("-").isdigit():
        return int(text)
    most = sys.float_info.max
    return max(-most, min(most, float(text)))
