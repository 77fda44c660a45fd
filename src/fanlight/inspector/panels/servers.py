"""The servers: their status, tools, resources and prompts, their log with its exceptions, and their faults."""

import re
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import time
from typing import Final

from starlette.routing import Route

from fanlight.dev.api import flag, get, number, post, text
from fanlight.dev.events import Events
from fanlight.dev.targets import Served
from fanlight.dev.tracebacks import ServerException, TracebackReader
from fanlight.host import Host
from fanlight.host.documents.tool_link import link_problem, view_uri
from fanlight.host.upstream.events import ServerEvent
from fanlight.host.web.origins import app_label
from fanlight.inspector.panels.faults import Faults
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app, for_model

_MAX_LOG_LINES: Final = 500
_MAX_LISTED: Final = 500
_PADDING: Final = re.compile(r"(?<=\S) {8,}(?=\S)")
"""The space that `rich` leaves between a message and its source."""


class ServersPanel:
    """Describes the servers, and publishes what they write and what they exchange with the host."""

    def __init__(self, host: Host, servers: Mapping[str, Served], faults: Faults, events: Events) -> None:
        self._host = host
        self._faults = faults
        self._events = events
        self._logs = {name: _Log(name, served.folder) for name, served in servers.items()}
        host.servers.add_listener(self._publish_status)
        for name, connection in host.servers.items():
            connection.observe_messages(partial(self._publish_message, name))
            connection.observe_stderr(partial(self._log, name))

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("servers", self._list),
            get("resources", self._list_resources),
            get("resource", self._read_resource),
            get("exceptions", self._list_exceptions),
            post("faults", self._set_faults),
            post("reconnect", self._reconnect),
        ]

    def describe_all(self) -> list[JSONObject]:
        """Return the state of all servers."""
        return [self._describe(name) for name in self._host.servers]

    def _describe(self, name: str) -> JSONObject:
        connection = self._host.servers[name]
        return {
            "name": name,
            "target": str(connection.target),
            "status": asdict(connection.status),
            "protocol": connection.protocol_version,
            "info": connection.info,
            "instructions": connection.instructions,
            "capabilities": connection.capabilities,
            "faults": asdict(self._faults.of(name)),
            "log": list(self._logs[name].entries),
            "tools": [_describe_tool(name, tool) for tool in connection.tools],
        }

    async def _list(self, query: JSONObject) -> list[JSONObject]:
        return self.describe_all()

    async def _list_resources(self, query: JSONObject) -> JSONObject:
        """List the resources and prompts of a server; a list that it does not offer is empty."""
        connection = self._host.servers[text(query, "server")]
        found: JSONObject = {"resources": [], "resourceTemplates": [], "prompts": []}
        lists = {
            "resources": connection.list_resources,
            "resourceTemplates": connection.list_resource_templates,
            "prompts": connection.list_prompts,
        }
        for name, list_page in lists.items():
            if ("prompts" if name == "prompts" else "resources") not in connection.capabilities:
                continue
            page = await list_page(None)
            found[name] = page.get(name, [])
            while (cursor := page.get("nextCursor")) and len(found[name]) < _MAX_LISTED:
                page = await list_page(cursor)
                found[name] += page.get(name, [])
        return found

    async def _read_resource(self, query: JSONObject) -> JSONObject:
        return await self._host.servers[text(query, "server")].read_resource(text(query, "uri"))

    async def _list_exceptions(self, query: JSONObject) -> list[JSONObject]:
        """Return the exceptions that a server logged since a time."""
        log, since = self._logs[text(query, "server")], float(text(query, "since"))
        return [
            {"summary": str(exception), "traceback": "\n".join(exception.describe(log.folder))}
            for exception in log.exceptions(since)
        ]

    async def _set_faults(self, body: JSONObject) -> JSONObject:
        server = text(body, "server")
        self._faults.set(server, number(body, "slow"), flag(body, "failing"), flag(body, "lost"))
        self._events.publish("server", self._describe(server))
        return {}

    async def _reconnect(self, body: JSONObject) -> JSONObject:
        self._host.servers[text(body, "server")].restart()
        return {}

    def _publish_status(self, news: ServerEvent) -> None:
        self._events.publish("server", self._describe(news.server))

    def _publish_message(self, server: str, direction: str, message: JSONObject) -> None:
        entry = {"server": server, "at": time(), "direction": direction, "message": message}
        self._events.publish("server-message", entry)

    def _log(self, server: str, line: str) -> None:
        """Show a line of a server's stderr, in the terminal and in the page."""
        entry = self._logs[server].add(line)
        self._events.publish("log", {"server": server, **entry})


class _Log:
    """The stderr of a server, and the exceptions in it."""

    def __init__(self, server: str, folder: Path | None) -> None:
        self.folder = folder
        self.entries: deque[JSONObject] = deque(maxlen=_MAX_LOG_LINES)
        self._server = server
        self._reader = TracebackReader(folder)
        self._times: list[float] = []  # of the exceptions

    def add(self, line: str) -> JSONObject:
        """Print a line, or an exception without the frames of libraries, and return the line's entry."""
        shown = self._reader.feed(line)
        line = _PADDING.sub("  ", line.rstrip())
        is_plain = len(shown) == 1 and len(self._times) == len(self._reader.exceptions)
        entry: JSONObject = {"at": time(), "line": line, "plain": is_plain}
        for each in shown:
            sys.stderr.write(f"  {self._server}: {_PADDING.sub('  ', each)}\n")
        if len(self._times) < len(self._reader.exceptions):
            self._times.append(entry["at"])
        self.entries.append(entry)
        return entry

    def exceptions(self, since: float) -> list[ServerException]:
        """Return the exceptions since a time."""
        return [each for at, each in zip(self._times, self._reader.exceptions, strict=True) if at >= since]


def _describe_tool(server: str, tool: JSONObject) -> JSONObject:
    audiences = {(True, True): "both", (True, False): "model", (False, True): "app", (False, False): "none"}
    uri = view_uri(tool)
    return {
        **tool,
        "audience": audiences[for_model(tool), for_app(tool)],
        "view": uri,
        "label": None if uri is None else app_label(server, uri, None),
        "problem": link_problem(tool),
    }
