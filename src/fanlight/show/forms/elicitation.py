"""Asking the user without a View, by elicitation: flat schemas, in both ways of the protocol to ask."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from mcp.server.context import ServerRequestContext
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from fanlight.show.forms.json_schema import Json, is_file, is_secret, resolved, variants

KEY: Final = "form"
_FORMATS: Final = ("email", "uri", "date", "date-time")
_KEPT: Final = ("title", "description", "minimum", "maximum", "minLength", "maxLength")
_TYPES: Final = {"string": str, "integer": int, "number": int | float, "boolean": bool}
_MOST_DEPTH: Final = 4


@dataclass
class Question:
    """The fields that elicitation can ask for, by dotted name."""

    properties: dict[str, Json] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """The fields that it cannot ask for: secrets, lists and unions."""
    files: list[str] = field(default_factory=list)
    """The fields for files, which only the View has."""

    def schema(self) -> Json:
        return {"type": "object", "properties": self.properties, "required": self.required}


def question(schema: Json, values: Mapping[str, Any]) -> Question:
    """Return the question for a form, with values as defaults."""
    made = Question()
    _add(made, schema, schema, values, (), required=True)
    return made


def _add(made: Question, schema: Json, root: Json, values: Any, path: tuple[str, ...], *, required: bool) -> None:
    for name, reference in schema.get("properties", {}).items():
        found = resolved(reference, root)
        place = (*path, name)
        dotted = ".".join(place)
        options = variants(found, root)
        needed = required and name in schema.get("required", [])
        value = values.get(name) if isinstance(values, Mapping) else None
        about: Json = {key: found[key] for key in ("title", "description", "default") if key in found}
        one = options[0] | about if options else about
        if is_file(found, root):
            made.files.append(dotted)
        elif len(options) != 1 or is_secret(found, root):
            made.left_out.append(dotted)
        elif one.get("properties") and len(place) < _MOST_DEPTH and (needed or value is not None):
            _add(made, one, root, value, place, required=needed)
        elif "const" in one:
            continue
        elif (asked := _primitive(one, value)) is not None:
            made.properties[dotted] = asked
            if needed:
                made.required.append(dotted)
        else:
            made.left_out.append(dotted)


def _primitive(schema: Json, value: Any) -> Json | None:
    """Return a schema as elicitation takes it, or None if it cannot ask for that."""
    kind = schema.get("type")
    choices = schema.get("enum")
    if kind not in _TYPES or (choices is not None and not all(isinstance(each, str) for each in choices)):
        return None
    made: Json = {"type": kind}
    made |= {key: schema[key] for key in _KEPT if key in schema}
    if choices is not None:
        made["enum"] = list(choices)
    elif kind == "string" and schema.get("format") in _FORMATS:
        made["format"] = schema["format"]
    default = schema.get("default") if value is None else value
    is_whole = kind == "boolean" or not isinstance(default, bool)
    if isinstance(default, _TYPES[kind]) and is_whole and (choices is None or default in choices):
        made["default"] = default
    return made


def merged(values: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return values with the answers of the user in their places."""
    made: dict[str, Any] = dict(values)
    for dotted, answer in content.items():
        *path, last = dotted.split(".")
        inner = made
        for step in path:
            below = inner.get(step)
            inner[step] = dict(below) if isinstance(below, Mapping) else {}
            inner = inner[step]
        inner[last] = answer
    return made


def can_ask(request: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client of a request asks its user for the server."""
    capabilities = request.session.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def asks_in_results(request: ServerRequestContext[Any, Any]) -> bool:
    """Return whether questions are part of results (from 2026-07-28 on), and not requests to the client."""
    return request.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


def request_of(message: str, asked: Question) -> InputRequiredResult:
    """Return the result that asks the client to call again with the answer."""
    params = ElicitRequestFormParams(message=message, requested_schema=asked.schema())
    return InputRequiredResult(input_requests={KEY: ElicitRequest(params=params)})


def answer_in(request: ServerRequestContext[Any, Any]) -> ElicitResult | None:
    """Return the answer that came with a request, if one did."""
    responses = (request.params or {}).get("inputResponses")
    if not isinstance(responses, Mapping) or KEY not in responses:
        return None
    try:
        return ElicitResult.model_validate(responses[KEY])
    except ValidationError:
        return None


async def ask(
    request: ServerRequestContext[Any, Any], message: str, asked: Question, seconds: float
) -> ElicitResult | None:
    """Ask the user and wait for the answer; None if it does not come in time."""
    with anyio.move_on_after(seconds):
        return await request.session.elicit_form(message, asked.schema(), request.request_id)
    return None
