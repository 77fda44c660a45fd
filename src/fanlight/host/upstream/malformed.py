"""Answers of a server that cannot be read: half a surrogate pair, nesting without end, a result that is a list.

Who waits for such an answer is told at once, if it still says whom it is for.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+', re.DOTALL)
_NUMBER: Final = re.compile(rb"-?[0-9]{1,18}")
_IN_OTHER_WORDS: Final = {
    "hex escape": "half of a surrogate pair, which is no character",
    "surrogate": "half of a surrogate pair, which is no character",
    "recursion limit": "nested too deep",
}


@dataclass(frozen=True)
class Unreadable:
    """The data of an error that stands for an answer that cannot be read."""

    reason: str


def in_place_of(answer: str | bytes, error: ValidationError) -> SessionMessage | None:
    """Return an error in place of an answer that cannot be read; None for what is no answer, or says not to what."""
    id = _answered(answer.encode("utf-8", "replace") if isinstance(answer, str) else answer)
    return None if id is None else unreadable(id, _reason(error))


def unreadable(id: types.RequestId, reason: str) -> SessionMessage:
    """Return the error that answers a request whose own answer cannot be read."""
    data = types.ErrorData(code=types.PARSE_ERROR, message=reason, data=Unreadable(reason))
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id, error=data))


def in_place_of_failure(error: ValidationError) -> SessionMessage | None:
    """The same for what a transport of the SDK hands on in place of a message."""
    given = error.errors(include_url=False)[0]["input"]
    if isinstance(given, str | bytes):
        return in_place_of(given, error)
    match given:
        case Mapping() if "method" not in given and type(given.get("id")) in (int, str):
            return unreadable(given["id"], _reason(error))
    return None


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] != "json_invalid":
        return 'it has neither a "result" nor an "error" that is an object'
    return in_words(str(first["ctx"]["error"]))


def in_words(parser: str) -> str:
    """Say what a parser means, where its own words are only for those who write one."""
    other = next((other for part, other in _IN_OTHER_WORDS.items() if part in parser), None)
    return parser if other is None else f"{other} ({parser})"


def _answered(text: bytes) -> types.RequestId | None:
    """Return the id of the request that a text answers, as far as it can be told without a parser."""
    depth, key, is_value, found, is_answer = 0, b"", False, b"", False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token in (b":", b","):
            is_value = token == b":"
        elif depth == 1 and not is_value:
            key = token
            if key == b'"method"':
                return None  # it asks, with an id of its own
            is_answer = is_answer or key in (b'"result"', b'"error"')
        elif depth == 1 and key == b'"id"':
            found = token
        if token in (b"{", b"["):
            depth += 1
    if not is_answer:
        return None
    if _NUMBER.fullmatch(found):
        return int(found)
    return found[1:-1].decode("utf-8", "replace") if found.startswith(b'"') and b"\\" not in found else None
