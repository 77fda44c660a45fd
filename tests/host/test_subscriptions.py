from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from mcp.client import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from fanlight.host.errors import ConnectionLostError
from fanlight.host.upstream.events import PromptsChanged, ResourcesChanged, ResourceUpdated, ServerEvent, ToolsChanged
from fanlight.host.upstream.subscriptions import Subscriptions, WatchedResources
from fanlight.host.upstream.transport.open import Attempt
from support.connected import connected
from support.raw_web import Exchange, raw_web
from support.wire import serving

pytestmark = pytest.mark.anyio


async def test_tool_list_changes_are_followed_with_a_handshake(raw: list[str]) -> None:
    async with connected(raw) as connection:
        changed = anyio.Event()
        connection.add_listener(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
        await connection.call_tool("grow")
        await changed.wait()
        assert connection.tools[-1]["name"] == "new"


@pytest.mark.parametrize("over", ["memory", "http"])
async def test_tool_list_changes_are_followed_in_2026_07_28(over: str) -> None:
    server: MCPServer[Any] = MCPServer("grows")

    @server.tool()
    async def grow(context: Context[Any]) -> str:
        server.add_tool(lambda: "new", name="new")
        await context.notify_tools_changed()
        return "grown"

    async def follows(given: object) -> None:
        async with connected(given) as connection:
            changed = anyio.Event()
            connection.add_listener(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
            await connection.call_tool("grow")
            await changed.wait()
            assert [tool["name"] for tool in connection.tools] == ["grow", "new"]

    if over == "memory":
        return await follows(server)
    with serving(server.streamable_http_app()) as address:
        await follows(f"{address}/mcp")


@pytest.mark.parametrize("over", ["memory", "http"])
async def test_changes_of_followed_resources_are_reported_in_2026_07_28(over: str) -> None:
    server: MCPServer[Any] = MCPServer("news")

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    @server.tool()
    async def change(uri: str, context: Context[Any]) -> str:
        await context.notify_resource_updated(uri)
        return "changed"

    async def follows(given: object) -> None:
        async with connected(given) as connection:
            updated: list[str] = []
            connection.add_listener(
                lambda event: updated.append(event.uri) if isinstance(event, ResourceUpdated) else None
            )
            for uri in ("note://a", "note://a", "note://b"):
                connection.watch_resource(uri)
                while uri not in updated:  # following starts in the background
                    await connection.call_tool("change", {"uri": uri})
            updated.clear()
            for uri in ("note://c", "note://a"):
                await connection.call_tool("change", {"uri": uri})
            while "note://a" not in updated:
                await anyio.lowlevel.checkpoint()
            assert "note://c" not in updated
            assert updated.count("note://a") == 1  # from the one remaining stream

    if over == "memory":
        return await follows(server)
    with serving(server.streamable_http_app()) as address:
        await follows(f"{address}/mcp")


@pytest.mark.parametrize("offers", [True, False])
async def test_followed_resources_are_subscribed_on_each_connection_if_supported(offers: bool) -> None:
    subscribed: list[str] = []
    both, again = anyio.Event(), anyio.Event()

    async def subscribe(exchange: Exchange) -> None:
        subscribed.append(exchange.message["params"]["uri"])
        await exchange.error(-32002, "Resource not found") if len(subscribed) == 1 else await exchange.result({})
        if len(subscribed) % 2 == 0:
            (both if len(subscribed) == 2 else again).set()

    async def ok(exchange: Exchange) -> None:
        await exchange.result({"content": []})

    async with raw_web(ok=ok) as web:
        web.methods["resources/subscribe"] = subscribe
        web.capabilities = {"tools": {}, "resources": {"subscribe": offers}}
        async with connected(web.url) as connection:
            for uri in ("ui://a", "ui://b"):
                connection.watch_resource(uri)
            if offers:
                await both.wait()
            web.session = "two"
            with pytest.raises(ConnectionLostError):
                await connection.call_tool("ok")
            await connection.call_tool("ok")
            if offers:
                await again.wait()
    assert sorted(subscribed) == (["ui://a", "ui://a", "ui://b", "ui://b"] if offers else [])


async def test_a_stream_that_is_opened_again_reports_what_may_have_changed_to_its_user() -> None:
    reported: list[ServerEvent] = []
    opened = 0

    @asynccontextmanager
    async def listen(**kinds: Any) -> AsyncIterator[AsyncIterator[object]]:
        nonlocal opened
        opened += 1

        async def changes() -> AsyncIterator[object]:
            if opened == 1:
                raise SubscriptionLost("lost")
            await anyio.sleep_forever()
            yield None

        yield changes()

    capabilities = SimpleNamespace(resources=None)
    client = SimpleNamespace(protocol_version="2026-07-28", server_capabilities=capabilities, listen=listen)
    subscriptions = Subscriptions(
        "crm", "alice", cast(Client, client), Attempt(), WatchedResources(), reported.append, lambda number: 0.0, 60.0
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(subscriptions.run)
        with anyio.fail_after(20):
            while len(reported) < 2:  # noqa: ASYNC110  the fake client has no event for it
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert reported == [ResourcesChanged("crm", user="alice"), PromptsChanged("crm", user="alice")]
