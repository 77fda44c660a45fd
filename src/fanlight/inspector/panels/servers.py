"""The servers: their status, their tools, resources and prompts, their log, and their faults."""

import sys
from collections import deque
from dataclasses import asdict
from functools import partial
from time import time
from typing import Final

from starlette.routing import Route

from fanlight.host import Host
from fanlight.host.upstream.events import News
from fanlight.host.views.documents import link_problem, view_uri
from fanlight.host.web.origins import app_label
from fanlight.inspector.api import flag, get, number, post, text
from fanlight.inspector.events import Events
from fanlight.inspector.panels.faults import Faults
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app, for_model

_MAX_LOG_LINES: Final = 500
_MAX_LISTED: Final = 500


class ServersPanel:
    """Describes the servers, and publishes what they write and what they exchange with the host."""

    def __init__(self, host: Host, faults: Faults, events: Events) -> None:
        self._host = host
        self._faults = faults
        self._events = events
        self._logs: dict[str, deque[JSONObject]] = {name: deque(maxlen=_MAX_LOG_LINES) for name in host.servers}
        host.servers.listen(self._publish_status)
        for name, connection in host.servers.items():
            connection.tap = partial(self._publish_message, name)
            connection.on_stderr = partial(self._log, name)

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("servers", self._list),
            get("resources", self._list_resources),
            get("resource", self._read_resource),
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
            "log": list(self._logs[name]),
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

    async def _set_faults(self, body: JSONObject) -> JSONObject:
        server = text(body, "server")
        self._faults.set(server, number(body, "slow"), flag(body, "failing"), flag(body, "lost"))
        self._events.publish("server", self._describe(server))
        return {}

    async def _reconnect(self, body: JSONObject) -> JSONObject:
        self._host.servers[text(body, "server")].restart()
        return {}

    def _publish_status(self, news: News) -> None:
        self._events.publish("server", self._describe(news.server))

    def _publish_message(self, server: str, direction: str, message: JSONObject) -> None:
        entry = {"server": server, "at": time(), "direction": direction, "message": message}
        self._events.publish("server-message", entry)

    def _log(self, server: str, line: str) -> None:
        """Show a line of a server's stderr, in the terminal and in the page."""
        sys.stderr.write(f"  {server}: {line}\n")
        entry = {"at": time(), "line": line}
        self._logs[server].append(entry)
        self._events.publish("log", {"server": server, **entry})


def _describe_tool(server: str, tool: JSONObject) -> JSONObject:
    audiences = {(True, True): "both", (True, False): "model", (False, True): "app", (False, False): "none"}
    uri = view_uri(tool)
    return {
        **tool,
        "audience": audiences[for_model(tool), for_app(tool)],
        "view": uri,
        "label": None if uri is None else app_label(server, uri),
        "problem": link_problem(tool),
    }
