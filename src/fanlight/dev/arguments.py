"""Make up arguments for a tool from its schema: a value for each required field."""

from collections.abc import Mapping
from typing import Any, Final

_STRINGS: Final = {
    "date": "2026-01-26",
    "date-time": "2026-01-26T12:00:00Z",
    "time": "12:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""A value for each format of strings."""
_MAX_DEPTH: Final = 8
_MAX_ITEMS: Final = 5


class _NoExample(Exception):
    """No value can be made up for a schema."""


def example_arguments(schema: object) -> dict[str, Any] | None:
    """Return arguments with a value for each required field, or None if one cannot be made up."""
    if not isinstance(schema, Mapping):
        return {}
    examples = schema.get("examples")
    if isinstance(examples, list) and examples and isinstance(examples[0], dict):
        return dict(examples[0])
    try:
        return _object(schema, schema, _MAX_DEPTH)
    except (_NoExample, TypeError, ValueError):  # the last two: the schema is invalid
        return None


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(required, list):
        return {}
    known = properties if isinstance(properties, Mapping) else {}
    return {str(name): _value(known.get(name), root, depth - 1) for name in required}


def _value(schema: object, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth < 0:
        raise _NoExample
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_resolve(reference, root), root, depth - 1)
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(values := schema.get(key), list) and values:
            return values[0]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(choices := schema.get(key), list) and choices:
            return _value(choices[0], root, depth)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    return _value_of_type(kind, schema, root, depth)


def _value_of_type(kind: object, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    match kind:
        case "string":
            return _string(schema)
        case "integer" | "number":
            minimum = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
            maximum = schema.get("maximum")
            number = max(minimum, 1) if maximum is None or maximum >= 1 else maximum
            return int(number) if kind == "integer" else number
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            count = min(int(schema.get("minItems", 0)), _MAX_ITEMS)
            return [_value(schema.get("items"), root, depth - 1) for _ in range(count)]
        case "object":
            return _object(schema, root, depth)
    raise _NoExample


def _string(schema: Mapping[str, Any]) -> str:
    if "pattern" in schema:
        raise _NoExample
    text = _STRINGS.get(str(schema.get("format")), "example")
    shortest, longest = int(schema.get("minLength", 0)), int(schema.get("maxLength", len(text)))
    return (text * (1 + shortest // len(text)))[: max(shortest, min(longest, len(text)))]


def _resolve(reference: str, root: Mapping[str, Any]) -> object:
    if not reference.startswith("#/"):
        raise _NoExample
    found: object = root
    for part in reference[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found
