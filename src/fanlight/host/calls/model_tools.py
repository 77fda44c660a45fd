"""The tools that a model may call: those of servers and of open Views, in one list, as every model API accepts them."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fanlight.host.errors import NotConnectedError, UnknownToolError
from fanlight.host.upstream.connection import Connection
from fanlight.host.views.app_tools import AppTool
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model

_INVALID: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64
_DIGEST_LENGTH: Final = 8


@dataclass(frozen=True)
class ModelTool:
    """A tool that the model may call: of a server, or of an open View."""

    name: str
    """The name to give to the model: letters, digits, `_` and `-`, at most 64 of them, and unique in the list."""
    server: str
    """The server of the tool, or of the View, by the name that `Host` has for it."""
    tool: str
    """The tool, by the name that the server or the View has for it."""
    view: str | None
    """The id of the View that offers the tool, or None for a tool of a server."""
    title: str | None
    """The title for people, if there is one."""
    description: str
    """The description, cut at `Limits.description` characters."""
    input_schema: JSONObject
    """The JSON Schema of the arguments. Its type is always `object`."""
    output_schema: JSONObject | None
    """The JSON Schema of the structured result, if there is one."""
    annotations: JSONObject | None
    """The annotations, such as `readOnlyHint`. They are claims of the server or the View."""
    meta: JSONObject | None
    """The `_meta` of the tool, as the server or the View sent it."""


def model_tools(
    servers: Mapping[str, Sequence[JSONObject]], app_tools: Iterable[AppTool], longest_description: int
) -> list[ModelTool]:
    """Return the tools of servers that the model may call (VIS-02), and those that open Views offer (D-SEC-08)."""
    taken: set[str] = set()
    found = [
        _model_tool(_unique(f"{server}__{tool['name']}", taken), server, None, tool, longest_description)
        for server, tools in servers.items()
        for tool in tools
        if for_model(tool)
    ]
    for offered in app_tools:
        name = _unique(f"app_{offered.view}__{offered.name}", taken)
        found.append(_model_tool(name, offered.server, offered.view, offered.entry, longest_description))
    return found


def find_by_name(tools: Iterable[ModelTool], name: str) -> ModelTool:
    """Return the tool with a name, or raise UnknownToolError with the names that there are."""
    names: list[str] = []
    for tool in tools:
        if tool.name == name:
            return tool
        names.append(tool.name)
    raise UnknownToolError(f"The model has no tool {name!r}. The tools are: {', '.join(names) or 'none'}.")


def find_tool(connection: Connection, name: str) -> JSONObject:
    """Return a tool of a server. Raise NotConnectedError if its tools are not known yet, or UnknownToolError."""
    for tool in connection.tools:
        if tool["name"] == name:
            return tool
    server, status = connection.name, connection.status
    if not connection.tools and status.state != "ready":
        reason = status.reason or f"it is {status.state}."
        wait = f"Before begin(), `await chat.tools()` or `await host.servers[{server!r}].ready()`."
        raise NotConnectedError(server, f"its tools are not known yet: {reason} {wait}")
    known = ", ".join(tool["name"] for tool in connection.tools) or "none"
    raise UnknownToolError(f"The server {server!r} has no tool {name!r}. Its tools are: {known}.")


def _model_tool(name: str, server: str, view: str | None, tool: JSONObject, longest_description: int) -> ModelTool:
    return ModelTool(
        name,
        server,
        tool["name"],
        view,
        _text(tool.get("title")) or None,
        _shortened(_text(tool.get("description")), longest_description),
        _object_schema(tool.get("inputSchema")),
        _object(tool.get("outputSchema")),
        _object(tool.get("annotations")),
        _object(tool.get("_meta")),
    )


def _unique(wanted: str, taken: set[str]) -> str:
    """Return a name that every model accepts, and add it to those that are taken.

    A name that has to be changed ends with a digest of the original one, so it is the same in every list.
    """
    name = next(each for each in _candidates(wanted) if each not in taken)
    taken.add(name)
    return name


def plain_name(name: str) -> str:
    """Return a name with only those characters that every model accepts."""
    return _INVALID.sub("_", name)


def _candidates(wanted: str) -> Iterator[str]:
    plain = plain_name(wanted)
    if plain == wanted and len(plain) <= _LONGEST_NAME:
        yield plain
    salt = 0
    while True:
        digest = hashlib.sha256(f"{wanted}\0{salt}".encode("utf-8", "replace")).hexdigest()[:_DIGEST_LENGTH]
        yield f"{plain[: _LONGEST_NAME - _DIGEST_LENGTH - 1]}_{digest}"
        salt += 1


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(longest - 1, 0)] + "…"


def _object_schema(schema: object) -> JSONObject:
    """Return a schema of type `object`, because models write arguments as objects."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return {"type": "object", "properties": {}}
    return {"type": "object", **schema} if "type" not in schema else schema


def _object(value: object) -> JSONObject | None:
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
