"""What users read of an error of pydantic: the end of a sentence that begins with the name of the field.

browser/form/schema.js says the same before anything is sent; tests/vectors/forms/reasons.json keeps both equal.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import ErrorDetails

_FIXED: Final = {
    "missing": "is required",
    "string_pattern_mismatch": "does not have the expected format",
    "int_parsing": "is not a number",
    "int_type": "is not a number",
    "float_parsing": "is not a number",
    "float_type": "is not a number",
    "decimal_parsing": "is not a number",
    "decimal_type": "is not a number",
    "int_from_float": "must be a whole number",
    "string_type": "is not a text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "date_type": "is not a date",
    "date_parsing": "is not a date",
    "date_from_datetime_parsing": "is not a date",
    "time_type": "is not a time",
    "time_parsing": "is not a time",
    "datetime_type": "is not a date and time",
    "datetime_parsing": "is not a date and time",
    "datetime_from_date_parsing": "is not a date and time",
    "date_past": "must be in the past",
    "date_future": "must be in the future",
    "datetime_past": "must be in the past",
    "datetime_future": "must be in the future",
    "list_type": "is not a list",
    "model_type": "is not complete",
    "model_attributes_type": "is not complete",
    "dataclass_type": "is not complete",
    "dict_type": "is not complete",
}
_LIMITS: Final = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be less than {}"),
    "multiple_of": ("multiple_of", "must be a multiple of {}"),
}
_COUNTS: Final = {
    "string_too_short": ("min_length", "must have at least {}", "character"),
    "string_too_long": ("max_length", "must have at most {}", "character"),
    "too_short": ("min_length", "needs at least {}", "item"),
    "too_long": ("max_length", "must have at most {}", "item"),
    "decimal_max_places": ("decimal_places", "must have at most {}", "decimal place"),
}
_CHOICES: Final = {"enum", "literal_error", "union_tag_invalid", "union_tag_not_found"}


def reason_of(error: ErrorDetails) -> str | None:
    """Return the end of the sentence, or None for an error that has a sentence of its own."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _CHOICES:
        return "must be one of the options"
    if kind in _LIMITS:
        key, text = _LIMITS[kind]
        return text.format(_number(context, key))
    if kind in _COUNTS:
        key, text, noun = _COUNTS[kind]
        count = context.get(key)
        return text.format(f"{count} {noun}" if count == 1 else f"{count} {noun}s")
    return _FIXED.get(kind)


def sentence_of(error: ErrorDetails) -> str:
    """Return the sentence of an error that has one: that of the author's validator, or that of pydantic."""
    cause = error.get("ctx", {}).get("error")
    if error["type"] in ("value_error", "assertion_error") and cause is not None and str(cause):
        return str(cause)
    return error["msg"]


def _number(context: Mapping[str, Any], key: str) -> str:
    value = context.get(key)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
