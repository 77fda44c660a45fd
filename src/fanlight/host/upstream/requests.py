"""The requests that the host sends to a server."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from fanlight.host.upstream.transport.wire import (
    page_params,
    resource_read,
    send_request,
    send_until_complete,
    tool_call,
)
from fanlight.protocol.jsonrpc import JSONObject


class ServerRequests(ABC):
    """The requests of a `Connection`. The connection sends them and translates their errors."""

    _request_timeout: float

    async def call_tool(
        self,
        name: str,
        arguments: JSONObject | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: ProgressFnT | None = None,
        timeout: float = 300.0,  # noqa: ASYNC109 (each View and tool has its own)
    ) -> JSONObject:
        """Call a tool and return its result as the server sent it; cancelling the task cancels the call."""
        # A progress token that a View chose could be that of another request.
        kept = {key: value for key, value in (meta or {}).items() if key != "progressToken"}

        build = tool_call(name, arguments, kept)

        async def send(client: Client) -> JSONObject:
            try:
                return await send_until_complete(client, build, on_progress)
            except MCPError as error:
                if error.code != types.HEADER_MISMATCH or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    raise
                # The server wants arguments in headers that were not known: its tools changed.
                await self._reload_tools(client)
                return await send_until_complete(client, build, on_progress)

        params = {"name": name, "arguments": arguments or {}}
        return await self._request("tools/call", params, send, f"the tool {name}", timeout)

    async def read_resource(self, uri: str) -> JSONObject:
        """Read a resource; the URI is sent byte for byte."""

        async def send(client: Client) -> JSONObject:
            return await send_until_complete(client, resource_read(uri), None)

        return await self._request("resources/read", {"uri": uri}, send, f"the resource {uri}", self._request_timeout)

    async def list_resources(self, cursor: str | None = None) -> JSONObject:
        """List one page of resources."""
        return await self._page(types.ListResourcesRequest(params=page_params(cursor)))

    async def list_resource_templates(self, cursor: str | None = None) -> JSONObject:
        """List one page of resource templates."""
        return await self._page(types.ListResourceTemplatesRequest(params=page_params(cursor)))

    async def list_prompts(self, cursor: str | None = None) -> JSONObject:
        """List one page of prompts."""
        return await self._page(types.ListPromptsRequest(params=page_params(cursor)))

    async def _page(self, request: types.ClientRequest) -> JSONObject:
        async def send(client: Client) -> JSONObject:
            return await send_request(client, request)

        return await self._request(request.method, {}, send, request.method, self._request_timeout)

    @abstractmethod
    async def _request(
        self,
        method: str,
        params: JSONObject,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
    ) -> JSONObject:
        """Call `send` with a client that is ready. `what` names the request in errors."""

    @abstractmethod
    async def _reload_tools(self, client: Client) -> None:
        """List the tools of the server again."""
