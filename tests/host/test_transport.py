import math
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from fanlight.host.errors import ConnectionLostError, NotConnectedError, ServerError
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import StatusChanged
from support.connected import connected, hung, modes
from support.raw_web import Exchange, Tool, raw_web
from support.shop import build
from support.wire import serving

pytestmark = pytest.mark.anyio

HANGING_WEB_SERVER = """
import socket, anyio, uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("gone")

@server.tool()
async def hang(context: Context) -> str:
    await context.report_progress(1)
    await anyio.sleep_forever()

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])
"""


def ready_again(connection: Connection) -> anyio.Event:
    ready = anyio.Event()
    connection.add_listener(
        lambda news: ready.set() if isinstance(news, StatusChanged) and news.status.state == "ready" else None
    )
    return ready


async def test_a_call_is_lost_when_its_server_is_killed_and_later_calls_work(raw: list[str]) -> None:
    async with connected(raw) as connection:
        pid = int((await connection.call_tool("pid"))["content"][0]["text"])
        started = anyio.Event()
        outcome: list[Exception] = []
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(
                    ConnectionLostError, match="the connection was lost before the tool hang answered"
                ) as e:
                    await connection.call_tool("hang", on_progress=hung(started))
                outcome.append(e.value)

            tasks.start_soon(call)
            await started.wait()
            os.kill(pid, signal.SIGKILL)
        assert not isinstance(outcome[0], NotConnectedError)
        assert int((await connection.call_tool("pid"))["content"][0]["text"]) != pid


@modes
@pytest.mark.process
async def test_a_call_is_lost_when_its_http_server_is_killed(mode: str, tmp_path: Path) -> None:
    script = tmp_path / "web.py"
    script.write_text(HANGING_WEB_SERVER, encoding="utf-8")
    started = anyio.Event()
    async with await anyio.open_process([sys.executable, str(script)], stderr=None) as web:
        assert web.stdout is not None
        with anyio.fail_after(30):
            port = int(await web.stdout.receive())
        async with connected(f"http://127.0.0.1:{port}/mcp", mode=mode, call_wait=2) as connection:
            async with anyio.create_task_group() as tasks:

                async def call() -> None:
                    with pytest.raises(ConnectionLostError):
                        await connection.call_tool("hang", on_progress=hung(started))

                tasks.start_soon(call)
                await started.wait()
                web.kill()
            with pytest.raises(ConnectionLostError):  # losing one response does not mean that the server is lost
                await connection.call_tool("hang")
            with pytest.raises(NotConnectedError, match="refused the connection"):
                await connection.call_tool("hang")


async def ok(exchange: Exchange) -> None:
    await exchange.result({"content": [{"type": "text", "text": "ok"}]})


async def events_that_end(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    await exchange.event({"method": "notifications/message", "params": {"level": "info", "data": "working"}})
    await exchange.finish()


async def events_that_are_cut(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    await exchange.event({"method": "notifications/message", "params": {"level": "info", "data": "working"}})
    await exchange.reset()


async def half_an_event(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    await exchange.more(b'data: {"jsonrpc": "2.0", ')
    await exchange.finish()


async def half_a_json_answer(exchange: Exchange) -> None:
    await exchange.begin("application/json")
    await exchange.more(b'{"jsonrpc": "2.0", ')
    await exchange.reset()


async def nothing(exchange: Exchange) -> None:
    await exchange.reset()


@pytest.mark.parametrize("hang_up", [events_that_end, events_that_are_cut, half_an_event, half_a_json_answer, nothing])
async def test_an_incomplete_http_response_loses_the_call_and_later_calls_work(hang_up: Tool) -> None:
    async with raw_web(hang_up=hang_up, ok=ok) as web, connected(web.url) as connection:
        with pytest.raises(ConnectionLostError, match="the connection was lost before the tool hang_up answered"):
            await connection.call_tool("hang_up")
        assert (await connection.call_tool("ok"))["content"][0]["text"] == "ok"


async def test_a_truncated_event_stream_loses_only_its_own_call() -> None:
    waiting, cut = anyio.Event(), anyio.Event()

    async def slow(exchange: Exchange) -> None:
        waiting.set()
        await cut.wait()
        await ok(exchange)

    async with raw_web(slow=slow, hang_up=events_that_are_cut) as web, connected(web.url) as connection:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                assert (await connection.call_tool("slow"))["content"]

            tasks.start_soon(call)
            await waiting.wait()
            with pytest.raises(ConnectionLostError):
                await connection.call_tool("hang_up")
            cut.set()
        assert web.handshakes == 1


async def test_a_resumed_event_stream_delivers_the_response() -> None:
    async def breaks(exchange: Exchange) -> None:
        async def resume(again: Exchange) -> None:
            assert again.headers["last-event-id"] == "7"
            await again.begin("text/event-stream")
            await again.event({"id": exchange.message["id"], "result": {"content": []}}, more="id: 8\n")
            await again.finish()

        web.on_get = resume
        await exchange.begin("text/event-stream")
        await exchange.more(b"id: 7\nretry: 1\ndata:\n\n")
        await exchange.finish()

    async with raw_web(breaks=breaks) as web, connected(web.url) as connection:
        assert await connection.call_tool("breaks") == {"content": []}


# Servers use the code of a lost connection for their own errors, with any message.


async def says_so_in_json(exchange: Exchange) -> None:
    await exchange.error(-32000, "Connection closed")


async def says_so_in_an_event(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    error = {"code": -32000, "message": "SSE stream ended without a response", "data": {"why": 1}}
    await exchange.event({"id": exchange.message["id"], "error": error})
    await exchange.finish()


async def says_so_in_400(exchange: Exchange) -> None:
    await exchange.error(-32602, "The session argument is missing", status=400)


async def says_so_in_an_unreadable_400(exchange: Exchange) -> None:
    await exchange.answer(400, b"session not found", "text/plain")


@pytest.mark.parametrize("refuse", [says_so_in_json, says_so_in_an_event, says_so_in_400, says_so_in_an_unreadable_400])
async def test_an_http_error_of_the_server_is_not_taken_for_a_lost_connection(refuse: Tool) -> None:
    async with raw_web(refuse=refuse) as web, connected(web.url) as connection:
        with pytest.raises(ServerError) as refused:
            await connection.call_tool("refuse")
        assert (refused.value.data or {}) == ({"why": 1} if refuse is says_so_in_an_event else {})
        assert web.handshakes == 1


@modes
async def test_an_in_process_error_of_the_server_is_not_taken_for_a_lost_connection(mode: str) -> None:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="refuse", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: Any) -> types.CallToolResult:
        raise MCPError(types.CONNECTION_CLOSED, "Connection closed", {"why": 1})

    server: Server[Any] = Server("refuses", on_list_tools=list_tools, on_call_tool=call_tool)
    async with connected(server, mode=mode) as connection:
        with pytest.raises(ServerError) as refused:
            await connection.call_tool("refuse")
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32000, "Connection closed", {"why": 1})


@pytest.mark.parametrize("name", ["error_then_exit", "close_stdout", "die"])
async def test_an_error_before_exit_is_reported_and_an_exit_without_response_is_a_loss(
    raw: list[str], name: str
) -> None:
    async with connected(raw) as connection:
        expected = ServerError if name == "error_then_exit" else ConnectionLostError
        back = ready_again(connection)
        with pytest.raises(expected) as ended:
            await connection.call_tool(name)
        assert type(ended.value) is expected
        await back.wait()
        assert (await connection.call_tool("echo"))["content"]


async def test_a_transport_that_cannot_be_written_to_is_reopened(raw: list[str]) -> None:
    opened: list[Any] = []

    @asynccontextmanager
    async def transport() -> AsyncIterator[Any]:
        async with stdio_client(StdioServerParameters(command=raw[0], args=raw[1:])) as (read, write):
            opened.append(write)
            yield read, write

    async with connected(transport) as connection:
        await opened[0].aclose()
        with pytest.raises(ConnectionLostError):
            await connection.call_tool("echo")
        assert (await connection.call_tool("echo"))["content"]
    assert len(opened) == 2


async def test_closing_the_connection_ends_a_call_in_process() -> None:
    server: MCPServer[Any] = MCPServer("here")
    started = anyio.Event()

    @server.tool()
    async def hang() -> str:
        started.set()
        await anyio.sleep_forever()
        return ""

    async with connected(server) as connection:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(ConnectionLostError):
                    await connection.call_tool("hang")

            tasks.start_soon(call)
            await started.wait()
            connection.close()
        with pytest.raises(NotConnectedError, match="it is closed"):
            await connection.call_tool("hang")


async def forgot(exchange: Exchange) -> None:
    await exchange.answer(404, b"", "text/plain")


async def forgot_in_json(exchange: Exchange) -> None:
    await exchange.error(-32001, "Session not found", status=404, id=None)


async def forgot_with_400(exchange: Exchange) -> None:
    await exchange.error(-32000, "Bad Request: No valid session ID provided", status=400, id=None)


async def forgot_to_initialize(exchange: Exchange) -> None:
    await exchange.error(-32000, "Bad Request: Server not initialized", status=400, id=None)


@pytest.mark.parametrize("say", [forgot, forgot_in_json, forgot_with_400, forgot_to_initialize])
async def test_an_expired_session_is_initialized_again(say: Tool) -> None:
    reasons: list[str | None] = []
    async with raw_web(ok=ok) as web, connected(web.url) as connection:
        connection.add_listener(
            lambda news: reasons.append(news.status.reason) if isinstance(news, StatusChanged) else None
        )
        web.session, web.on_unknown_session = "two", say
        with pytest.raises(ConnectionLostError):
            await connection.call_tool("ok")
        assert (await connection.call_tool("ok"))["content"]
        assert web.handshakes == 2
    assert "The server no longer knows our session; it was probably restarted." in reasons


async def test_an_expired_session_is_detected_without_a_call() -> None:
    """The stream of server notifications is requested again when it ends."""

    async def news(exchange: Exchange) -> None:
        await exchange.begin("text/event-stream")
        await exchange.more(b"retry: 1\n\n")
        await restarted.wait()
        await exchange.reset()

    restarted = anyio.Event()
    async with raw_web(ok=ok) as web:
        web.on_get = news
        async with connected(web.url) as connection:
            reconnected = ready_again(connection)
            web.session = "two"
            restarted.set()
            await reconnected.wait()
            assert web.handshakes == 2


async def test_a_restarted_http_server_gets_a_new_session() -> None:
    """The first server's sessions die with it; the second one listens at the same address."""
    served: list[Any] = []

    async def relay(scope: Any, receive: Any, send: Any) -> None:
        await served[-1](scope, receive, send)

    def shop() -> tuple[Any, Any]:
        app = build("MCPServer").streamable_http_app()
        return app, app.router.lifespan_context(app)

    first, first_life = shop()
    second, second_life = shop()

    async def program(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            return await relay(scope, receive, send)
        assert (await receive())["type"] == "lifespan.startup"
        async with first_life, second_life:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    served.append(first)
    with serving(program) as address:
        async with connected(f"{address}/mcp", mode="legacy") as connection:
            await connection.call_tool("plain")
            served.append(second)
            with pytest.raises(ConnectionLostError):
                await connection.call_tool("plain")
            assert (await connection.call_tool("plain"))["content"][0]["text"] == "hello you"


@pytest.mark.parametrize("status", [502, 503, 504])
@pytest.mark.parametrize("body", [b"<h1>Bad gateway</h1>", b'{"message": "Service Unavailable"}'])
async def test_errors_of_a_gateway_are_not_errors_of_the_server(status: int, body: bytes) -> None:
    async def pay(exchange: Exchange) -> None:
        await exchange.answer(status, body, "application/json" if body.startswith(b"{") else "text/html")

    async def look(exchange: Exchange) -> None:
        await exchange.result({"content": []})

    async with raw_web(pay=pay, look=look) as web, connected(web.url) as connection:
        with pytest.raises(ConnectionLostError) as lost:
            await connection.call_tool("pay")
        words = f"it: the server is not available: its gateway answered the tool pay with HTTP {status}."
        assert str(lost.value).startswith(words)
        await connection.call_tool("look")  # a gateway may fail once without ending other calls
        assert web.handshakes == 1


async def test_a_json_rpc_error_with_a_gateway_status_is_an_error_of_the_server() -> None:
    async def pay(exchange: Exchange) -> None:
        await exchange.error(-32050, "The till is closed.", 503)

    async with raw_web(pay=pay) as web, connected(web.url) as connection:
        with pytest.raises(ServerError, match="The till is closed"):
            await connection.call_tool("pay")


@pytest.mark.parametrize(
    ("call", "read"), [(600.0, 600.0), (1.0, 300.0), (math.inf, None)], ids=["long", "shorter than a stream", "forever"]
)
async def test_http_timeouts_are_those_of_the_host(
    call: float, read: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    timeouts: list[httpx2.Timeout] = []

    class Client(httpx2.AsyncClient):
        def __init__(self, **options: Any) -> None:
            timeouts.append(options["timeout"])
            super().__init__(**options)

    monkeypatch.setattr(httpx2, "AsyncClient", Client)
    with serving(build("MCPServer").streamable_http_app()) as address:
        async with connected(f"{address}/mcp", http_timeout=7.0, call_timeout=call):
            assert timeouts == [httpx2.Timeout(7.0, read=read)]
