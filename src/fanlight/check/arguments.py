"""Arguments for a tool, made from its schema: the least that it asks for."""

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final = {
    "date": "2026-01-26",
    "date-time": "2026-01-26T12:00:00Z",
    "time": "12:00:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_DEEPEST: Final = 8


class _Unknown(Exception):
    """No value can be made up."""


def made_arguments(schema: object) -> dict[str, Any] | None:
    """Return arguments with a value for each required field; None if one cannot be made up."""
    if not isinstance(schema, Mapping):
        return {}
    examples = schema.get("examples")
    if isinstance(examples, list) and examples and isinstance(examples[0], dict):
        return dict(examples[0])
    try:
        return _object(schema, schema, _DEEPEST)
    except (_Unknown, TypeError, ValueError):  # the others: the schema is none
        return None


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, Any]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(required, list):
        return {}
    known = properties if isinstance(properties, Mapping) else {}
    return {str(name): _value(known.get(name), root, depth - 1) for name in required}


def _value(schema: object, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth < 0:
        raise _Unknown
    if isinstance(reference := schema.get("$ref"), str):
        return _value(_referred(reference, root), root, depth)
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
    return _plain(kind, schema, root, depth)


def _plain(kind: object, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    match kind:
        case "string":
            return _text(schema)
        case "integer" | "number":
            least = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
            most = schema.get("maximum")
            number = max(least, 1) if most is None or most >= 1 else most
            return int(number) if kind == "integer" else number
        case "boolean":
            return False
        case "null":
            return None
        case "array":
            count = schema.get("minItems", 0)
            return [_value(schema.get("items"), root, depth - 1) for _ in range(min(int(count), 5))]
        case "object":
            return _object(schema, root, depth)
    raise _Unknown


def _text(schema: Mapping[str, Any]) -> str:
    if "pattern" in schema:
        raise _Unknown
    text = _TEXTS.get(str(schema.get("format")), "example")
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(text))
    return (text * (1 + int(least) // len(text)))[: max(int(least), min(int(most), len(text)))]


def _referred(reference: str, root: Mapping[str, Any]) -> object:
    if not reference.startswith("#/"):
        raise _Unknown
    found: object = root
    for part in reference[2:].split("/"):
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found
