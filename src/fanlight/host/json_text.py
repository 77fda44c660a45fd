"""JSON text: fast to write and read, and tolerant of every value that JSON allows."""

import json
from typing import Any, Final

import orjson

from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

MAX_DEPTH: Final = 200
"""How deeply an object may be nested. Python's encoders fail on values that are nested much deeper."""


def byte_length(text: str) -> int:
    """Return how many bytes a text has in UTF-8. For ASCII, which most messages are, it is known without encoding."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def encode_json(value: JSONObject) -> str:
    """Return a value as compact JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate or an integer beyond 64 bits, both of which JSON allows
        return _encode_any(value)


def _encode_any(value: JSONObject) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # a number beyond a float, such as 1e999, becomes null, as in orjson
        return json.dumps(json.loads(json.dumps(value), parse_constant=lambda _: None), separators=(",", ":"))


def decode_object(text: str) -> JSONObject | None:
    """Parse a JSON object. Return None if the text is not an object or is nested more than `MAX_DEPTH` levels deep."""
    try:
        value = orjson.loads(text)
    except ValueError:
        try:
            # JSON can spell a lone surrogate, but neither servers nor stores accept one: replace it.
            utf16 = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-16", "surrogatepass")
            value = json.loads(utf16.decode("utf-16", "replace"))
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, dict):
        return None
    # Each level takes two characters, so a short text need not be searched for them.
    is_short = len(text) <= 2 * MAX_DEPTH
    return value if is_short or _is_shallow(value, text.count("[") + text.count("{")) else None


def sendable(value: JSONObject) -> JSONObject:
    """Return an object that every encoder accepts, with U+FFFD for each lone surrogate in its keys and texts.

    Raise ArgumentError if it is not JSON or is nested more than `MAX_DEPTH` levels deep.
    """
    try:
        text = orjson.dumps(value)
    except TypeError:
        pass
    else:
        if _is_shallow(value, text.count(b"[") + text.count(b"{")):
            return value
    try:
        found = decode_object(_encode_any(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"It is not JSON: {error}. Write it with dicts, lists, strings and numbers.") from None
    if found is None:
        raise ArgumentError(f"It is nested too deeply. Expected at most {MAX_DEPTH} levels of dicts and lists.")
    return found


def _is_shallow(value: JSONObject, brackets: int) -> bool:
    if brackets <= MAX_DEPTH:
        return True
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        inner = (item for outer in level for item in (outer.values() if type(outer) is dict else outer))
        level = [item for item in inner if type(item) is dict or type(item) is list]
        if not level:
            return True
    return False
