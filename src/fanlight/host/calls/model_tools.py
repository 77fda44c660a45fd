"""The tools of servers as the model gets them: which ones, under which names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fanlight.host.errors import NotConnectedError, UnknownToolError
from fanlight.host.upstream.connection import Connection
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model

_INVALID: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME: Final = 64


@dataclass(frozen=True)
class ModelTool:
    """A tool of a server that the model may call."""

    name: str
    """The name to give to the model: `server__tool`, at most 64 characters, and unique over all servers."""
    server: str
    """The server to call, by the name that `Host` has for it."""
    tool: str
    """The tool to call, by the name that the server has for it."""
    description: str
    """The description that the server gives."""
    input_schema: JSONObject
    """The JSON Schema of the arguments that the server gives."""


def model_tools(servers: Mapping[str, Sequence[JSONObject]]) -> list[ModelTool]:
    """Return the tools of servers that the model may call (VIS-02)."""
    taken: set[str] = set()
    return [
        ModelTool(
            _model_name(server, tool["name"], taken),
            server,
            tool["name"],
            tool.get("description", ""),
            tool["inputSchema"],
        )
        for server, tools in servers.items()
        for tool in tools
        if for_model(tool)
    ]


def find_tool(connection: Connection, name: str) -> JSONObject:
    """Return a tool of a server. Raise NotConnectedError if its tools are not known yet, or UnknownToolError."""
    for tool in connection.tools:
        if tool["name"] == name:
            return tool
    server, status = connection.name, connection.status
    if not connection.tools and status.state != "ready":
        reason = status.reason or f"it is {status.state}."
        wait = f"Before begin(), `await host.tools()` or `await host.servers[{server!r}].ready()`."
        raise NotConnectedError(server, f"its tools are not known yet: {reason} {wait}")
    known = ", ".join(tool["name"] for tool in connection.tools) or "none"
    raise UnknownToolError(f"The server {server!r} has no tool {name!r}. Its tools are: {known}.")


def _model_name(server: str, tool: str, taken: set[str]) -> str:
    """Return a name that every model accepts, and add it to the ones that are taken."""
    plain = _INVALID.sub("_", f"{server}__{tool}")[:_LONGEST_NAME]
    name, number = plain, 2
    while name in taken:
        suffix = f"_{number}"
        name, number = plain[: _LONGEST_NAME - len(suffix)] + suffix, number + 1
    taken.add(name)
    return name
