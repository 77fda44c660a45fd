"""The host in this process, with a server that answers at once and a page that is only its socket.

What a page sends enters the host where a web server would hand it over, and what the host sends is read where it leaves
it. So everything between is the host's own, and nothing else is.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCNotification, JSONRPCResponse
from starlette.applications import Starlette
from starlette.types import ASGIApp

from fanlight.host import Call, Host, Limits, Store
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE

VERSION = "2025-11-25"
SERVER = "bench"
TOOL = "forecast"
URI = "ui://bench/forecast"
# A View may send 200 messages a second; these send as many as they can.
UNLIMITED = Limits(messages_per_second=1_000_000)
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "bench", "version": "1"}, "appCapabilities": {}}


class Stage:
    """A host with a server that has one tool; the tool's argument `name` selects the result that it returns."""

    def __init__(self, results: Mapping[str, dict[str, Any]], store: Store | None = None) -> None:
        self.host = Host({SERVER: self._transport}, limits=UNLIMITED, store=store)
        self._app = self.host.wrap(Starlette())
        self._results = results
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._stack.callback(self._tasks.cancel_scope.cancel)
        await self._stack.enter_async_context(self.host)
        await self.host.conversation().tools()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def call(self, arguments: dict[str, Any]) -> Call:
        """Call the tool."""
        return await self.host.conversation().call_tool(f"{SERVER}__{TOOL}", arguments)

    async def open(self, call: Call) -> "Page":
        """Show a call's View, and let it say that it is ready."""
        assert self._tasks is not None
        page = Page(self._tasks, self._app)
        page.say({"type": "open", "view": call.view, "token": call.token})
        shown = json.loads(await page.receive_text())
        assert shown["type"] == "show", shown
        await page.ask("ui/initialize", HELLO)
        page.tell({"jsonrpc": "2.0", "method": "ui/notifications/initialized", "params": {}})
        return page

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[tuple[Any, Any]]:
        to_client, read = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        write, from_client = anyio.create_memory_object_stream[SessionMessage](10)

        async def answer() -> None:
            async for item in from_client:
                if not isinstance(item.message, JSONRPCNotification):
                    await to_client.send(SessionMessage(self._answer(item.message)))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer)
            yield read, write
            tasks.cancel_scope.cancel()

    def _answer(self, request: Any) -> Any:
        result: dict[str, Any]
        match request.method:
            case "initialize":
                result = {
                    "protocolVersion": VERSION,
                    "serverInfo": {"name": SERVER, "version": "1"},
                    "capabilities": {"tools": {}, "resources": {}, "extensions": {EXTENSION_ID: {}}},
                }
            case "tools/list":
                ui = {"ui": {"resourceUri": URI}}
                hints = {"readOnlyHint": True}  # else the user would be asked
                result = {
                    "tools": [{"name": TOOL, "inputSchema": {"type": "object"}, "annotations": hints, "_meta": ui}]
                }
            case "tools/call":
                result = self._results[request.params["arguments"]["name"]]
            case "resources/read":
                html = "<!doctype html><title>View</title>"
                result = {"contents": [{"uri": URI, "mimeType": MIME_TYPE, "text": html}]}
            case method:
                error = types.ErrorData(code=types.METHOD_NOT_FOUND, message=f"Method not found: {method}")
                return types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


class Page:
    """One page with one View."""

    def __init__(self, tasks: TaskGroup, app: ASGIApp) -> None:
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._numbers = itertools.count(1)
        self.received = -1  # the number of the last frame; the one that shows the View has none
        scope: dict[str, Any] = {
            "type": "websocket",
            "scheme": "ws",
            "path": "/apps/socket",
            "query_string": b"",
            "headers": [(b"host", b"localhost"), (b"origin", b"http://localhost")],
            "server": ("localhost", 80),
            "subprotocols": [],
        }
        self._incoming.put_nowait({"type": "websocket.connect"})

        async def connect() -> None:
            await app(scope, self._incoming.get, self._send)

        tasks.start_soon(connect)

    def say(self, frame: dict[str, Any]) -> None:
        """Send a frame of the page's own."""
        self._incoming.put_nowait({"type": "websocket.receive", "text": json.dumps(frame)})

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message of the View. Frames are numbered, and acknowledge those that came."""
        self.say({"type": "message", "message": message, "n": next(self._numbers), "ack": self.received})

    async def ask(self, method: str, params: dict[str, Any]) -> str:
        """Send a request of the View and return the frame with its result."""
        self.tell({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        # Looked at and not parsed: that would take as long as what is measured.
        while '"result":' not in (text := await self.receive_text())[:100]:
            pass
        return text

    async def receive_text(self) -> str:
        """Return the next frame of the host."""
        self.received += 1
        return await self._outgoing.get()

    def arrived(self) -> list[str]:
        """Return the frames that are there."""
        return [self._outgoing.get_nowait() for _ in range(self._outgoing.qsize())]

    async def _send(self, event: Any) -> None:
        if event["type"] == "websocket.send":
            self._outgoing.put_nowait(event["text"])
