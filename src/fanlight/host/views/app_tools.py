"""App tools: tools that an open View offers to the model, for as long as it is open (D-SEC-08, D-SEC-09)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.to_thread

from fanlight.host.errors import RequestError
from fanlight.host.json_text import encode_json
from fanlight.host.settings import Limits
from fanlight.host.store.base import OfferedTools
from fanlight.host.views.session import Session
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import INVALID_PARAMS, JSONObject

MAX_PAGES: Final = 10


@dataclass(frozen=True)
class AppTool:
    """A tool that an open View offers to the model."""

    view: str
    """The id of the View."""
    server: str
    """The server that the View belongs to."""
    name: str
    """The name of the tool in the View."""
    entry: JSONObject
    """The tool as the View lists it. Its fields other than `name` are not validated."""

    @property
    def annotations(self) -> JSONObject | None:
        """The annotations that the View gives, such as `readOnlyHint`. They are claims of the View."""
        value = self.entry.get("annotations")
        return value if isinstance(value, dict) else None

    @property
    def output_schema(self) -> JSONObject | None:
        """The JSON Schema of the structured result, if the View gives one. Results are validated against it."""
        value = self.entry.get("outputSchema")
        return value if isinstance(value, dict) else None


OnListed = Callable[[str, list[JSONObject]], Awaitable[None]]
"""Takes the id of a View and the tools that it lists."""


def offered_tools(offered: OfferedTools) -> list[AppTool]:
    """Return the tools of a View whose session another worker has."""
    return [AppTool(offered.view, offered.server, entry["name"], entry) for entry in offered.tools]


class AppTools:
    """The tools of all open Views, as each View listed them last."""

    def __init__(self, limits: Limits, schema_timeout: float) -> None:
        self._limits = limits
        self._schema_timeout = schema_timeout
        self._tools: dict[str, dict[str, AppTool]] = {}
        self._stale: dict[str, bool] = {}

    def of(self, view: str) -> list[AppTool]:
        """Return the tools that a View offers now."""
        return list(self._tools.get(view, {}).values())

    def forget(self, view: str) -> None:
        """Drop the tools of a closed View."""
        self._tools.pop(view, None)

    async def update(self, session: Session, server: str, on_listed: OnListed) -> None:
        """List the tools of a View, and again after `Limits.app_tools_interval` if they changed in the meantime."""
        if session.id in self._stale:
            self._stale[session.id] = True
            return
        try:
            self._stale[session.id] = True
            while self._stale[session.id] and session.is_ready:
                self._stale[session.id] = False
                found = self._tools[session.id] = await _list_tools(session, server, self._limits)
                await on_listed(session.id, [tool.entry for tool in found.values()])
                await anyio.sleep(self._limits.app_tools_interval)
        finally:
            del self._stale[session.id]
            if session.is_closed:
                self.forget(session.id)

    def find(self, view: str, name: str) -> AppTool:
        """Return a tool that a View offers now, or raise RequestError."""
        tools = self._tools.get(view, {})
        if name not in tools:
            known = ", ".join(tools) or "none"
            raise RequestError(f"The View offers no tool {name!r}. Its tools are: {known}.", INVALID_PARAMS)
        return tools[name]

    async def call(self, session: Session, tool: AppTool, arguments: JSONObject) -> JSONObject:
        """Call a tool of a View, and return its result once that is validated (D-SEC-06)."""
        name, most = tool.name, self._limits.app_tool_bytes
        result = await session.ask("tools/call", {"name": name, "arguments": arguments})
        size = len(encode_json(result).encode())
        if size > most:
            raise RequestError(f"The View's tool {name!r} returned {size:,} bytes; at most {most:,} are taken.")
        if not isinstance(result.get("content", []), list):
            raise RequestError(f"The View's tool {name!r} returned content that is not a list.")
        if tool.output_schema is not None and result.get("isError") is not True:
            await _check(result.get("structuredContent"), tool.output_schema, name, self._schema_timeout)
        return result


async def _list_tools(session: Session, server: str, limits: Limits) -> dict[str, AppTool]:
    """Return the tools that a View lists, by name. Entries that are not valid, and failed requests, are ignored."""
    found: dict[str, AppTool] = {}
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        try:
            page = await session.ask("tools/list", {} if cursor is None else {"cursor": cursor})
        except FanlightError:
            break
        tools = page.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if isinstance(name, str) and name not in found and len(found) < limits.app_tools:
                found[name] = AppTool(session.id, server, name, tool)
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or len(found) >= limits.app_tools:
            break
    return found


async def _check(value: object, schema: JSONObject, name: str, seconds: float) -> None:
    """Raise unless a value matches a schema. The View chose both, so validation has no network and a time limit."""
    from fanlight.host.upstream.output_schema import find_mismatch  # a slow import that few Views need

    try:
        with anyio.fail_after(seconds):
            fault = await anyio.to_thread.run_sync(find_mismatch, value, schema, abandon_on_cancel=True)
    except TimeoutError:
        fault = f"cannot be checked in {seconds:g} seconds"
    if fault is not None:
        raise RequestError(f"The result of the View's tool {name!r} {fault}.")
