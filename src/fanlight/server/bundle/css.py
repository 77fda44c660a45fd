"""A CSS tokenizer for the tokens that a bundler needs: comments, strings, `url()`, brackets and at-keywords."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Kind = Literal["open", "close", "semicolon", "string", "url", "at", "comment"]

_STRING_BODY = r"[^{0}\\\n\r\f]*+(?:\\(?:\r\n|[\s\S])[^{0}\\\n\r\f]*+)*"
_DOUBLE, _SINGLE = (f"{quote}{_STRING_BODY.format(quote)}" for quote in ('"', "'"))
_UNQUOTED = r"[^\s\"'()\\]*+(?:\\[^\n\r\f][^\s\"'()\\]*+)*"
_URL = rf"[rR][lL]\((?<![\w-][uU]..\()\s*+(?:{_DOUBLE}\"|{_SINGLE}'|{_UNQUOTED})\s*+\)"
# Each alternative begins with a literal character, so that the regex engine can skip to the next candidate.
_TOKEN = re.compile(rf"/\*|\{{|\}}|\(|\)|\[|\]|;|\\[\s\S]|{_DOUBLE}\"?|{_SINGLE}'?|u{_URL}|U{_URL}|@[\w-]++", re.DOTALL)
_SPACE = re.compile(r"\s*+")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(\r\n|[\n\r\f])|([\s\S]))")


class Token(NamedTuple):
    """A token: `value` is the bracket, the decoded string or URL, or the lower-case at-keyword."""

    kind: Kind
    value: str
    start: int
    end: int


def tokens(text: str, pos: int = 0) -> Iterator[Token]:
    """Yield the tokens from a position on. The parenthesis of `image-set(` has a value of its own."""
    while found := _TOKEN.search(text, pos):
        word, start, pos = found[0], found.start(), found.end()
        if word == "/*":
            end = text.find("*/", pos)
            pos = len(text) if end < 0 else end + 2
            yield Token("comment", "" if end < 0 else "*/", start, pos)
        elif word[0] in "\"'":
            yield Token("string", unescape(word[1:].removesuffix(word[0])), start, pos)
        elif word[0] == "@":
            yield Token("at", word.lower(), start, pos)
        elif word == ";":
            yield Token("semicolon", word, start, pos)
        elif word in "{[(":
            is_set = word == "(" and text[max(0, start - 9) : start].lower() == "image-set"
            yield Token("open", "image-set(" if is_set else word, start, pos)
        elif word in "}])":
            yield Token("close", word, start, pos)
        elif word[0] in "uU":
            yield Token("url", _url(word), start, pos)


def _url(word: str) -> str:
    inner = word[4:-1].strip()
    return unescape(inner[1:-1] if inner[:1] in ('"', "'") else inner)


def unescape(text: str) -> str:
    """Decode the escapes of a string or an identifier."""
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    if found[1]:
        code = int(found[1], 16)
        return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
    return found[3] or ""


def skip_space(text: str, pos: int) -> int:
    """Return the position after white space and comments."""
    while True:
        pos = _SPACE.match(text, pos).end()  # type: ignore[union-attr]  # matches the empty string
        if not text.startswith("/*", pos):
            return pos
        end = text.find("*/", pos + 2)
        pos = len(text) if end < 0 else end + 2


def statement_end(text: str, pos: int) -> Token | None:
    """Return the `;` that ends the at-rule at `pos`, or the `{` of its block, or None if the text ends first."""
    depth = 0
    for token in tokens(text, pos):
        if depth == 0 and (token.kind == "semicolon" or token.value == "{"):
            return token
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
    return None


def block_end(text: str, pos: int) -> int:
    """Return the position of the `}` that closes the block around `pos`, or the end of the text."""
    depth = 0
    for token in tokens(text, pos):
        if token.kind == "close":
            if depth == 0 and token.value == "}":
                return token.start
            depth -= 1
        elif token.kind == "open":
            depth += 1
    return len(text)
