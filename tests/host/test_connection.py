import json
import runpy
import sys
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from fanlight.host.backoff import Backoff
from fanlight.host.errors import (
    CallTimeoutError,
    ConnectionLostError,
    InvalidResponseError,
    NotConnectedError,
    ServerError,
)
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import PromptsChanged, ResourcesChanged, ServerEvent, StatusChanged, ToolsChanged
from fanlight.host.upstream.servers import Servers
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from support.connected import ERAS, connected, hung, modes
from support.raw_web import Exchange, raw_web
from support.shop import ALL_KINDS, CART_URI, HIGH_LEVEL, Kind, build
from support.wire import serving

pytestmark = pytest.mark.anyio

SHOP = Path(__file__).parents[1]

SHOP_SERVER = """
import sys
sys.path.insert(0, {tests!r})
from support.shop import build
server = build({kind!r})
server.run("stdio") if {kind!r} == "MCPServer" else server.run(transport="stdio", show_banner=False)
"""

# Eras and transports


async def assert_serves(connection: Connection, mode: str) -> None:
    assert connection.protocol_version == ERAS[mode]
    assert connection.info["name"] == "shop"
    # Only a client that advertised the extension sees it, the metadata, and the tool for Views only.
    assert connection.capabilities["extensions"] == {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}
    tools = {tool["name"]: tool for tool in connection.tools}
    assert tools["show_cart"]["_meta"]["ui"]["resourceUri"] == CART_URI
    assert {"show_cart", "pay", "plain"} <= set(tools)
    result = await connection.call_tool("show_cart")
    assert result["content"][0]["type"] == "text"
    assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(result)
    assert (await connection.read_resource(CART_URI))["contents"][0]["uri"] == CART_URI
    assert CART_URI in [entry["uri"] for entry in (await connection.list_resources())["resources"]]


@modes
@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_an_in_process_server_negotiates_apps_in_both_eras(kind: Kind, mode: str) -> None:
    async with connected(build(kind), mode=mode) as connection:
        await assert_serves(connection, mode)


@modes
@pytest.mark.parametrize("kind", HIGH_LEVEL)
@pytest.mark.process
async def test_a_stdio_server_negotiates_apps_in_both_eras(kind: Kind, mode: str, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SHOP_SERVER.format(tests=str(SHOP), kind=kind), encoding="utf-8")
    async with connected([sys.executable, script], mode=mode) as connection:
        await assert_serves(connection, mode)


@modes
@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_an_http_server_negotiates_apps_in_both_eras(kind: Kind, mode: str) -> None:
    server = build(kind)
    with serving(server.streamable_http_app() if kind == "MCPServer" else server.http_app()) as address:
        async with connected(f"{address}/mcp", mode=mode) as connection:
            await assert_serves(connection, mode)


async def test_a_server_with_a_handshake_is_connected_with_one(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert connection.protocol_version == "2025-11-25"
        assert connection.info == {"name": "raw", "version": "7"}
        assert connection.instructions == "Be kind."
        hello = (await connection.call_tool("received"))["received"][0]["params"]
    assert hello["capabilities"]["extensions"] == {
        EXTENSION_ID: {"mimeTypes": [MIME_TYPE]},
        "modelcontextprotocol.io/ui": {"mimeTypes": [MIME_TYPE, "text/html+mcp", "text/html"]},
    }


REPORTING = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("reporting")

@server.tool()
def capabilities(ctx: Context) -> str:
    return ctx.session.client_capabilities.model_dump_json()

if __name__ == "__main__":
    server.run("stdio")
"""


@modes
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("dialects", [True, False])
@pytest.mark.process
async def test_with_dialects_the_extension_is_also_declared_as_experimental(
    dialects: bool, transport: str, mode: str, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    script.write_text(REPORTING, encoding="utf-8")
    server = runpy.run_path(str(script))["server"]
    with serving(server.streamable_http_app()) as address:
        to = f"{address}/mcp" if transport == "http" else [sys.executable, script]
        async with connected(to, mode=mode, dialects=dialects) as connection:
            declared = json.loads((await connection.call_tool("capabilities"))["content"][0]["text"])
            assert connection.protocol_version == ERAS[mode]
    assert EXTENSION_ID in declared["extensions"]
    assert declared["experimental"] == (declared["extensions"] if dialects else None)


async def test_without_dialects_only_the_current_extension_name_is_declared(raw: list[str]) -> None:
    async with connected(raw, dialects=False) as connection:
        hello = (await connection.call_tool("received"))["received"][0]["params"]
    assert hello["capabilities"]["extensions"] == {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}
    assert "experimental" not in hello["capabilities"]


async def test_a_function_that_opens_a_transport_is_used_for_each_attempt(raw: list[str]) -> None:
    parameters = StdioServerParameters(command=raw[0], args=raw[1:])
    async with connected(lambda: stdio_client(parameters)) as connection:
        with pytest.raises(ConnectionLostError):
            await connection.call_tool("die")
        assert (await connection.call_tool("echo"))["content"]


async def test_a_single_use_transport_fails_permanently_and_the_error_names_the_alternative(raw: list[str]) -> None:
    transport = stdio_client(StdioServerParameters(command=raw[0], args=raw[1:]))
    async with connected(transport) as connection:
        with pytest.raises(ConnectionLostError):
            await connection.call_tool("die")
        with pytest.raises(NotConnectedError, match="give a function that opens one"):
            await connection.call_tool("echo")
        assert connection.status.state == "failed"


# Changes


async def test_changes_during_a_disconnect_are_reported_after_the_reconnect() -> None:
    news: list[ServerEvent] = []

    async def tool(exchange: Exchange) -> None:
        await exchange.result({"content": []})

    async with raw_web(old=tool) as web, connected(web.url) as connection:
        connection.add_listener(news.append)
        for tools in ({"new": tool}, {"new": tool}):
            web.tools, web.session = tools, web.session + "+"
            with pytest.raises(ConnectionLostError):
                await connection.call_tool("new")
            await connection.call_tool("new")
    kinds = [type(each) for each in news if not isinstance(each, StatusChanged)]
    assert kinds == [ToolsChanged, ResourcesChanged, PromptsChanged, ResourcesChanged, PromptsChanged]


async def test_a_failing_listener_does_not_affect_others(raw: list[str]) -> None:
    def fails(news: ServerEvent) -> None:
        raise ValueError("no")

    async with connected(raw) as connection:
        stop = connection.add_listener(fails)
        changed = anyio.Event()
        connection.add_listener(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
        await connection.call_tool("grow")
        await changed.wait()
        stop()


# Failing calls


async def test_a_server_error_keeps_its_code_message_and_data(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(ServerError) as refused:
            await connection.call_tool("refuse")
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32000, "Refused", {"why": "because"})


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_a_lone_surrogate_in_one_call_leaves_the_calls_of_others_alone(raw: list[str], over: str) -> None:
    """Goes red if the request reaches the SDK, which encodes it in a task that the whole connection shares."""
    server: MCPServer[Any] = MCPServer("echoes")

    @server.tool()
    async def hang(context: Context[Any]) -> None:
        await context.report_progress(1)
        await anyio.sleep_forever()

    @server.tool()
    def echo(text: str, more: dict[str, Any]) -> dict[str, Any]:
        return {"text": text, "more": more}

    broken = json.loads('{"text": "a\\ud800b", "more": {"key\\udfff": ["\\ud83d\\ude00", NaN]}}')
    async with AsyncExitStack() as stack:
        given: object = raw
        if over == "http":
            given = f"{stack.enter_context(serving(server.streamable_http_app()))}/mcp"
        connection = await stack.enter_async_context(connected(given))
        running = anyio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(connection.call_tool, "hang", on_progress=hung(running)))
            await running.wait()
            result = await connection.call_tool("echo", broken, meta={"x/y": "\ud800"})
            echoed = result["params"]["arguments"] if over == "stdio" else result["structuredContent"]
            assert echoed == {"text": "a\ufffdb", "more": {"key\ufffd": ["😀", None]}}
            with suppress(ServerError):
                await connection.call_tool("\ud800")
            with suppress(ServerError):
                await connection.read_resource("ui://\udc00")
            with suppress(ServerError):
                await connection.list_prompts("\ud800")
            with pytest.raises(ArgumentError, match="nested too deeply"):
                await connection.call_tool("echo", nested(300))
            with pytest.raises(ArgumentError, match="not JSON"):
                await connection.call_tool("echo", {"text": {1, 2}})
            assert connection.status.state == "ready"
            assert connection.is_busy  # the other call still runs
            tasks.cancel_scope.cancel()


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"more": value}
    return value


async def test_an_invalid_response_is_a_server_error(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(InvalidResponseError, match="the tool empty is not valid MCP: content: Field required"):
            await connection.call_tool("empty")


async def test_a_call_that_times_out_is_cancelled_on_the_server(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(CallTimeoutError, match=r"the tool hang did not answer within 0\.2 seconds"):
            await connection.call_tool("hang", timeout=0.2)
        received = (await connection.call_tool("received"))["received"]
    assert received[-1]["method"] == "notifications/cancelled"


async def test_cancelling_the_task_cancels_the_call_on_the_server(raw: list[str]) -> None:
    async with connected(raw) as connection:
        started = anyio.Event()
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await connection.call_tool("hang", on_progress=hung(started))

            tasks.start_soon(call)
            await started.wait()
            tasks.cancel_scope.cancel()
        received = (await connection.call_tool("received"))["received"]
    assert received[-1]["method"] == "notifications/cancelled"


# Failing connections


async def test_state_changes_of_a_connection_are_reported_in_order(raw: list[str]) -> None:
    states: list[str] = []
    with anyio.fail_after(60):
        async with Servers({"it": raw}, backoff=Backoff(first=0.05)) as servers:
            servers.add_listener(
                lambda news: states.append(news.status.state) if isinstance(news, StatusChanged) else None
            )
            with pytest.raises(ConnectionLostError):
                await servers["it"].call_tool("die")
            await servers["it"].call_tool("echo")
            states.append("answered")
    assert states == [
        *("connecting", "ready"),
        *("retrying", "retrying"),  # immediately, and again with the cause
        *("connecting", "ready", "answered", "closed"),
    ]


async def test_the_reason_of_a_lost_connection_is_kept_during_retries(raw: list[str]) -> None:
    reasons: list[str | None] = []
    async with connected(raw) as connection:
        connection.add_listener(
            lambda news: reasons.append(news.status.reason) if isinstance(news, StatusChanged) else None
        )
        with pytest.raises(ConnectionLostError):
            await connection.call_tool("die")
        await connection.ready(10)
    assert reasons[0] == "The connection was lost."
    assert "exited with code 3. It last wrote: out of cheese" in str(reasons[1])
    assert reasons[2] == reasons[1]


def test_retries_back_off_up_to_a_limit() -> None:
    backoff = Backoff(first=1, maximum=8)
    for attempt, longest in enumerate([1, 2, 4, 8, 8, 8], start=1):
        assert all(longest / 2 <= backoff.delay(attempt) <= longest for _ in range(50))
    assert backoff.delay(10_000) <= 8


@pytest.mark.process
@pytest.mark.parametrize("retries", [True, False])
async def test_a_process_that_exits_immediately_is_restarted_only_with_retry(tmp_path: Path, retries: bool) -> None:
    script, starts = tmp_path / "server.py", tmp_path / "starts"
    script.write_text(f"open({str(starts)!r}, 'a').write('x')\nraise SystemExit('broken')\n", encoding="utf-8")
    servers = Servers({"it": [sys.executable, str(script)]}, backoff=Backoff(first=0.01, maximum=0.02), call_wait=20)
    connection = servers["it"]
    if not retries:
        connection.wait_after_exit()
    third = anyio.Event()
    connection.add_listener(
        lambda event: third.set() if isinstance(event, StatusChanged) and event.status.attempt == 4 else None
    )
    with anyio.fail_after(60):
        async with servers:
            if retries:
                await third.wait()
                assert len(starts.read_text()) >= 3
                return
            with pytest.raises(NotConnectedError, match="broken"):  # immediately, because waiting would change nothing
                await connection.call_tool("echo")
            assert (connection.status.state, connection.status.delay) == ("retrying", None)
            assert starts.read_text() == "x"
            connection.restart()
            with pytest.raises(NotConnectedError, match="broken"):
                await connection.call_tool("echo")
            assert starts.read_text() == "xx"


@pytest.mark.parametrize(("delay", "shortest"), [(0.25, 0.25), (1, 1), (2, 1), (4, 1), (8, 2), (30, 7.5)])
def test_waiting_calls_shorten_a_pause_but_keep_the_backoff(delay: float, shortest: float) -> None:
    assert Backoff.shortened(delay) == shortest


@pytest.mark.process
async def test_a_call_waits_for_a_connection_until_its_timeout() -> None:
    with anyio.fail_after(20):
        async with Servers({"it": [sys.executable, "-c", "while True: input()"]}, call_wait=0.2) as servers:
            with pytest.raises(NotConnectedError, match="it: not connected: it is connecting"):
                await servers["it"].call_tool("echo")
