"""One value of a table: its kind, and its form as JSON, as text, and in a CSV file."""

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from typing import Any, Final, Literal

import pydantic_core
from pydantic import BaseModel

Kind = Literal[
    "text",
    "integer",
    "number",
    "decimal",
    "boolean",
    "date",
    "datetime",
    "time",
    "duration",
    "binary",
    "nested",
    "mixed",
]
"""What the values of a column are. `mixed` has values of several kinds."""

Cell = str | int | float | bool | None
"""A value as JSON. Null is a missing value. A number that JSON or JavaScript cannot represent is a string."""

NUMERIC: Final = frozenset({"integer", "number", "decimal"})
TEMPORAL: Final = frozenset({"date", "datetime"})
UNORDERED: Final = frozenset({"nested", "binary"})
"""Kinds that can be neither sorted nor filtered."""

_LARGEST: Final = 2**53 - 1
# The last four are those of Japanese and Chinese keyboards, which Excel takes for the first four.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Line ends and other control characters, and those that change the direction of text.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
# Python refuses to write integers with more than 4300 digits, see sys.set_int_max_str_digits.
_MOST_BITS: Final = 14_000


def plain(value: Any) -> Any:
    """Return a value of the standard library for a scalar or an array of numpy, and the value of an enum member."""
    if isinstance(value, Enum):
        return plain(value.value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return value.tolist()
    return value


def kind_of(value: Any) -> Kind | None:
    """Return the kind of a plain value, or None for a missing one."""
    match value:
        case None:
            return None
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case Decimal():
            return "decimal"
        case str():
            return "text"
        case datetime():
            return "datetime"
        case date():
            return "date"
        case time():
            return "time"
        case timedelta():
            return "duration"
        case bytes() | bytearray() | memoryview():
            return "binary"
        case Mapping() | list() | tuple() | set() | frozenset() | BaseModel():
            return "nested"
        case Integral():
            return "integer"
        case Real():
            return "number"
    return "nested" if dataclasses.is_dataclass(value) else "mixed"


def common_kind(values: Iterable[Any]) -> Kind:
    """Return the kind of a column with these plain values: `mixed` if they have several, or if all are missing."""
    kinds = {kind for value in values if (kind := kind_of(value)) is not None}
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"integer", "number"} else "mixed"


def to_cell(value: Any, limit: int) -> Cell:
    """Return a value as JSON, with at most `limit` characters of text."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return cut(to_text(value), limit)


def to_text(value: Any) -> str:
    """Return a value as text without loss. A missing value is empty."""
    value = plain(value)
    match value:
        case None:
            return ""
        case str():
            return _encodable(value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if value.bit_length() <= _MOST_BITS else f"about 2^{value.bit_length()}"
        case float():
            return _special(value) or repr(value)
        case Decimal():
            return str(value)
        case timedelta():
            return _duration(value)
        case date() | time():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            size = memoryview(value).nbytes
            return "1 byte" if size == 1 else f"{size} bytes"
    if kind_of(value) == "nested":
        return _json(value)
    try:
        return _encodable(str(value))
    except Exception as error:  # whatever the class of the value raises
        return f"{type(value).__name__} ({type(error).__name__})"


def to_csv(value: Any) -> str:
    """Return a value for a CSV file. Text that a spreadsheet would run as a formula begins with an apostrophe."""
    value = plain(value)
    text = to_text(value)
    is_number = kind_of(value) in NUMERIC | {"duration"}
    return f"'{text}" if text.startswith(_FORMULA) and not is_number else text


def cut(text: str, limit: int) -> str:
    """Return text with at most `limit` characters, the last one an ellipsis if some are left out."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def one_line(text: str) -> str:
    """Return text with a space in place of line ends, other control characters, and those of direction."""
    return _CONTROL.sub(" ", text)


def _special(value: float) -> str | None:
    if math.isnan(value):
        return "NaN"
    return ("Infinity" if value > 0 else "-Infinity") if math.isinf(value) else None


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _duration(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    value = abs(value)
    hours, rest = divmod(value.seconds, 3600)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    days = f"{value.days} d " if value.days else ""
    return f"{sign}{days}{hours:02}:{rest // 60:02}:{rest % 60:02}{fraction}"


def _json(value: Any) -> str:
    try:
        made = pydantic_core.to_json(value, fallback=str, bytes_mode="base64", inf_nan_mode="constants")
        return made.decode("utf-8")
    except Exception:  # a cycle, a key that is no string, or whatever the class of a value raises
        return _encodable(repr(value))
