"""A plain MCP client that speaks raw JSON, so that tests see exactly what is on the wire.

One `Wire` for each of three transports, on every protocol version: a handshake for the older ones, an
envelope in each request for 2026-07-28. `capabilities` are those the client advertises.
"""

import itertools
import json
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import anyio
import httpx2
import uvicorn
from anyio.abc import ByteReceiveStream, ByteSendStream
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCNotification, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from fanlight.server.negotiation import lowlevel

VERSIONS = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)
UI = {"extensions": {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}}
NO_UI: dict[str, Any] = {}

_PATIENCE = 90
_INFO = {"name": "wire", "version": "1"}


class WireError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.error = error
        self.code: int = error["code"]
        super().__init__(f"{error['code']}: {error['message']}")


class Channel(Protocol):
    async def ask(self, message: dict[str, Any]) -> dict[str, Any]: ...

    async def tell(self, message: dict[str, Any]) -> None: ...


class Wire:
    """One connected client."""

    def __init__(self, channel: Channel, version: str, capabilities: dict[str, Any]) -> None:
        self._channel = channel
        self._version = version
        self._capabilities = capabilities
        self._ids = itertools.count(1)
        self.server_capabilities: dict[str, Any] = {}

    async def open(self) -> "Wire":
        if self._version in MODERN_PROTOCOL_VERSIONS:
            result = await self.request("server/discover")
        else:
            hello = {"protocolVersion": self._version, "capabilities": self._capabilities, "clientInfo": _INFO}
            result = await self.request("initialize", hello)
            assert result["protocolVersion"] == self._version
            await self._channel.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.server_capabilities = result["capabilities"]
        return self

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        body = dict(params or {})
        if self._version in MODERN_PROTOCOL_VERSIONS:
            body["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self._version,
                "io.modelcontextprotocol/clientCapabilities": self._capabilities,
                "io.modelcontextprotocol/clientInfo": _INFO,
            }
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": body}
        with anyio.fail_after(_PATIENCE):
            answer = await self._channel.ask(message)
        if "error" in answer:
            raise WireError(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    async def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["name"]: tool for tool in (await self.request("tools/list"))["tools"]}

    async def resources(self) -> dict[str, dict[str, Any]]:
        return {entry["uri"]: entry for entry in (await self.request("resources/list"))["resources"]}

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        return await self.request("tools/call", {"name": name, "arguments": arguments})

    async def read(self, uri: str) -> dict[str, Any]:
        contents = (await self.request("resources/read", {"uri": uri}))["contents"]
        assert len(contents) == 1
        item: dict[str, Any] = contents[0]
        return item


class _StreamChannel:
    """A duplex stream of messages. One request at a time: a View and a test may ask at once."""

    def __init__(self, send: Callable[[dict[str, Any]], Any], receive: AsyncIterator[dict[str, Any]]) -> None:
        self._send = send
        self._receive = receive
        self._turn = anyio.Lock()

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        async with self._turn:
            await self._send(message)
            async for answer in self._receive:
                if answer.get("id") == message["id"] and "method" not in answer:
                    return answer
        raise AssertionError("the server closed the connection")

    async def tell(self, message: dict[str, Any]) -> None:
        await self._send(message)


@asynccontextmanager
async def in_memory(server: object, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    core: Server[Any] = lowlevel(server)
    to_server, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    from_server, at_client = anyio.create_memory_object_stream[SessionMessage](10)

    async def send(message: dict[str, Any]) -> None:
        kind = JSONRPCRequest if "id" in message else JSONRPCNotification
        await to_server.send(SessionMessage(kind.model_validate(message)))

    async def receive() -> AsyncIterator[dict[str, Any]]:
        async for item in at_client:
            yield item.message.model_dump(by_alias=True, mode="json", exclude_none=True)

    async with to_server, at_client, anyio.create_task_group() as tasks:
        tasks.start_soon(core.run, at_server, from_server, core.create_initialization_options())
        yield await Wire(_StreamChannel(send, receive()), version, capabilities).open()
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_stdio(script: Path, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    async with await anyio.open_process([sys.executable, str(script)], stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield await Wire(LineChannel(process.stdin, process.stdout), version, capabilities).open()
        finally:
            process.kill()


class LineChannel:
    """Messages as lines of two byte streams: the stdin and stdout of a server."""

    def __init__(self, stdin: ByteSendStream, stdout: ByteReceiveStream) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._buffer = b""

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        await self.tell(message)
        while True:
            answer = await self._line()
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer

    async def tell(self, message: dict[str, Any]) -> None:
        await self._stdin.send(json.dumps(message).encode() + b"\n")

    async def _line(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            self._buffer += await self._stdout.receive()
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message


@asynccontextmanager
async def over_http(server: Any, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    app = server.streamable_http_app() if isinstance(server, MCPServer | Server) else server.http_app()
    with serving(app) as address:
        async with at_url(f"{address}/mcp", version, capabilities) as wire:
            yield wire


@asynccontextmanager
async def at_url(url: str, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    async with httpx2.AsyncClient(timeout=_PATIENCE) as client:
        yield await Wire(_HttpChannel(client, url, version), version, capabilities).open()


class _HttpChannel:
    def __init__(self, client: httpx2.AsyncClient, url: str, version: str) -> None:
        self._client = client
        self._url = url
        self._headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": version}

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        response = await self._post(message)
        if response.headers.get("content-type", "").startswith("application/json"):
            answer: dict[str, Any] = response.json()
            return answer
        for line in response.text.splitlines():
            if line.startswith("data:") and (text := line[5:].strip()):
                event: dict[str, Any] = json.loads(text)
                if event.get("id") == message["id"] and "method" not in event:
                    return event
        raise AssertionError(f"no answer in HTTP {response.status_code}: {response.text[:500]}")

    async def tell(self, message: dict[str, Any]) -> None:
        await self._post(message)

    async def _post(self, message: dict[str, Any]) -> httpx2.Response:
        headers = dict(self._headers)
        if headers["mcp-protocol-version"] in MODERN_PROTOCOL_VERSIONS:
            headers["mcp-method"] = message["method"]
            params = message.get("params", {})
            if name := params.get("name") or params.get("uri"):
                headers["mcp-name"] = name
        response = await self._client.post(self._url, json=message, headers=headers)
        if session := response.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        return response


@contextmanager
def serving(app: Any, *, sockets: bool = False) -> Iterator[str]:
    """Serve an ASGI program on a free loopback port, in a thread that ends with the block."""
    with serving_built(lambda _: app, sockets=sockets) as address:
        yield address


@contextmanager
def serving_built(build: Callable[[str], Any], *, sockets: bool = False) -> Iterator[str]:
    """Serve the ASGI program that `build` returns for its own address, like `serving`."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        protocol: Literal["none", "websockets-sansio"] = "websockets-sansio" if sockets else "none"
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(build(address), log_level="warning", ws=protocol, timeout_graceful_shutdown=1)
        web = uvicorn.Server(config)
        thread = threading.Thread(target=web.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield address
        finally:
            web.should_exit = True
            thread.join(60)
            assert not thread.is_alive(), "the test's own web server did not stop"


@contextmanager
def serving_pages(app: Any) -> Iterator[str]:
    """Serve a program with pages and sockets, at an address whose subdomains are this machine too."""
    with serving(app, sockets=True) as address:
        yield address.replace("127.0.0.1", "localhost")


Connect = Callable[[object, str, dict[str, Any]], AbstractAsyncContextManager[Wire]]
