"""Errors of a server's responses against the schema of MCP, in words that its author can act on."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError

from fanlight.rules.observation import SchemaError

_LISTS: Final = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}
_SINGULAR: Final = {"tools": "tool", "resources": "resource", "resourceTemplates": "template"}
_WANTED: Final = {
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}
_SCHEMA: Final = '"inputSchema": {"type": "object", "properties": {}}'

Place = tuple[int | str, ...]


def schema_errors_in(result: Mapping[str, Any], error: ValidationError) -> Iterator[SchemaError]:
    """Yield the schema errors of a result, one for each item. Long values are shortened."""
    reported = set()
    for each in error.errors(include_url=False):
        place = _without_classes(each["loc"])
        # A value of a union type has an error for each member of the union.
        thing = place[:2] if len(place) > 1 and place[0] in ("content", "contents") else place
        if thing in reported:
            continue
        reported.add(thing)
        yield _schema_error(result, place, each)


def _without_classes(place: Place) -> Place:
    """Return a location without the class names that the SDK adds for members of a union."""
    return tuple(part for part in place if not (isinstance(part, str) and part[:1].isupper()))


def _schema_error(result: Mapping[str, Any], place: Place, error: Any) -> SchemaError:
    where, inner = _thing(result, place)
    if place[:1] == ("content",) and len(place) > 1:
        number = int(place[1]) + 1
        given = _short(_at(result, place[:2]))
        return SchemaError(
            where,
            f"returns an invalid content block: number {number} is {given}.",
            'Return blocks such as {"type": "text", "text": "..."}.',
        )
    path = ".".join(map(str, inner))
    if error["type"] == "missing":
        return SchemaError(where, f"has no {path}.", _add(path))
    wanted = _wanted(error)
    what = f"has the {path} {_short(error['input'])}" if path else f"is {_short(error['input'])}"
    return SchemaError(where, f"{what}, where MCP wants {wanted}.", f"Write {wanted}.")


def _thing(result: Mapping[str, Any], place: Place) -> tuple[str, Place]:
    """Return what of a list is meant, by its name, and the place inside of it."""
    kind = str(place[0]) if place else ""
    if kind in _LISTS and len(place) > 1:
        name = _at(result, (*place[:2], _LISTS[kind]))
        if not isinstance(name, str) or not name:
            return f"{_SINGULAR[kind]} number {int(place[1]) + 1}", place[2:]
        return (f"tool {name}" if kind == "tools" else name), place[2:]
    return "", place


def _at(value: Any, place: Place) -> Any:
    for part in place:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _wanted(error: Any) -> str:
    if error["type"] == "literal_error":
        return str(error["ctx"]["expected"]).replace("'", '"')
    return _WANTED.get(error["type"], f"something else ({error['msg']})")


def _add(path: str) -> str:
    if path.startswith("inputSchema"):
        return f"Give the tool a schema of its arguments, if only {_SCHEMA}."
    return f"Add {path}: hosts refuse the whole answer without it."


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
