"""An MCP server over HTTP without any SDK, so that a test controls each byte that it sends and when it disconnects."""

import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

Headers = dict[str, str]


@dataclass
class Exchange:
    """One request, with methods to respond to it."""

    stream: SocketStream
    method: str
    headers: Headers
    message: dict[str, Any]

    async def answer(self, status: int, body: bytes, kind: str = "application/json", more: str = "") -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
        await self.stream.send(head.encode() + body)

    async def result(self, result: dict[str, Any], more: str = "") -> None:
        body = {"jsonrpc": "2.0", "id": self.message["id"], "result": result}
        await self.answer(200, json.dumps(body).encode(), more=more)

    async def error(self, code: int, message: str, status: int = 200, id: Any = ...) -> None:
        body = {"jsonrpc": "2.0", "id": self.message["id"] if id is ... else id}
        await self.answer(status, json.dumps({**body, "error": {"code": code, "message": message}}).encode())

    async def begin(self, kind: str) -> None:
        """Begin a response that ends with its connection or with `finish`."""
        head = f"HTTP/1.1 200 X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n"
        await self.stream.send(head.encode())

    async def more(self, piece: bytes) -> None:
        await self.stream.send(b"%x\r\n%s\r\n" % (len(piece), piece))

    async def event(self, message: dict[str, Any], more: str = "") -> None:
        await self.more(f"{more}data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n".encode())

    async def finish(self) -> None:
        await self.stream.send(b"0\r\n\r\n")

    async def reset(self) -> None:
        """Reset the connection, as a killed process does."""
        raw = self.stream.extra(SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.stream.aclose()


Tool = Callable[[Exchange], Awaitable[None]]


async def _no_get(exchange: Exchange) -> None:
    await exchange.answer(405, b"", "text/plain")


async def _not_found(exchange: Exchange) -> None:
    await exchange.answer(404, b"", "text/plain")


@dataclass
class RawWeb:
    """The server: its tools respond as they like, and its sessions are valid until `session` changes."""

    tools: Mapping[str, Tool]
    on_get: Tool = _no_get
    on_unknown_session: Tool = _not_found
    methods: dict[str, Tool] = field(default_factory=dict)
    """Handlers for methods other than the handshake and tools."""
    capabilities: dict[str, Any] = field(default_factory=lambda: {"tools": {}})
    session: str = "one"
    url: str = ""
    handshakes: int = field(default=0, init=False)

    async def serve(self, stream: SocketStream) -> None:
        buffer = b""
        async with stream:
            try:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        buffer += await stream.receive()
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    method, *_ = head.decode().split(" ", 1)
                    lines = (line.split(":", 1) for line in head.decode().split("\r\n")[1:])
                    headers = {name.lower(): value.strip() for name, value in lines}
                    length = int(headers.get("content-length", 0))
                    while len(buffer) < length:
                        buffer += await stream.receive()
                    body, buffer = buffer[:length], buffer[length:]
                    await self._handle(Exchange(stream, method, headers, json.loads(body) if body else {}))
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return

    async def _handle(self, exchange: Exchange) -> None:
        known = exchange.headers.get("mcp-session-id", self.session) == self.session
        method = exchange.message.get("method")
        if not known:
            await self.on_unknown_session(exchange)
        elif exchange.method == "GET":
            await self.on_get(exchange)
        elif exchange.method == "DELETE" or "id" not in exchange.message:
            await exchange.answer(202, b"", "text/plain")
        elif method == "initialize":
            self.handshakes += 1
            greeting = {
                "protocolVersion": "2025-11-25",
                "capabilities": self.capabilities,
                "serverInfo": {"name": "raw", "version": "1"},
            }
            await exchange.result(greeting, more=f"mcp-session-id: {self.session}\r\n")
        elif method == "tools/list":
            await exchange.result({"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]})
        elif method == "tools/call":
            await self.tools[exchange.message["params"]["name"]](exchange)
        elif method in self.methods:
            await self.methods[method](exchange)
        else:
            await exchange.error(-32601, "Method not found")


@asynccontextmanager
async def raw_web(**tools: Tool) -> AsyncIterator[RawWeb]:
    """Serve on a free loopback port while the block runs."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    web = RawWeb(tools, url=f"http://127.0.0.1:{port}/mcp")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, web.serve)
        yield web
        tasks.cancel_scope.cancel()
