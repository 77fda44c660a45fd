"""Profiles that restrict a host, and the taps and interceptors for developer tools."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import Host, Profile, ServerError, Timeouts
from fanlight.host.host import runtime_of
from fanlight.host.upstream.servers import Servers
from fanlight.host.web.origins import HostNames
from support.calls import call_tool
from support.page import Page

pytestmark = pytest.mark.anyio

ORIGINS = HostNames().origins("http", "localhost:8000")
HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


def counter() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("counter")
    apps = Apps(server)
    apps.view(View.html("<!doctype html><title>x</title>", uri="ui://counter/view"))

    @apps.tool(view="ui://counter/view")
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    return server


async def shown(host: Host) -> tuple[Page, dict[str, Any], str]:
    """Open the View of a call, and return its page, the result of ui/initialize, and its id."""
    call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
    assert call.view is not None
    page = Page()
    await page.open(host, call.view, call.token, context={"theme": "light"})
    page.shown = await page.next()
    answer = await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    return page, answer["result"], call.view


async def received(page: Page, method: str) -> dict[str, Any]:
    with anyio.fail_after(60):
        while True:
            frame = await page.next()
            if frame["type"] == "message" and frame["message"].get("method") == method:
                params: dict[str, Any] = frame["message"]["params"]
                return params


async def test_a_profile_restricts_the_capabilities_of_a_view() -> None:
    profile = Profile(
        capabilities={"openLinks": {}, "sampling": {}},
        refused=["serverResources"],
        display_modes=["inline"],
        withheld=["toolInfo", "platform"],
        suppressed=["ui/notifications/tool-input", "ui/notifications/tool-result"],
    )
    async with Host({"counter": counter()}, profile=profile) as host:
        page, welcome, view = await shown(host)
        assert welcome["hostCapabilities"] == {"openLinks": {}}  # this host has no sampling
        assert welcome["hostContext"]["availableDisplayModes"] == ["inline"]
        assert not {"toolInfo", "platform"} & welcome["hostContext"].keys()
        served = await page.ask("tools/list", {})  # not declared, but served
        assert [tool["name"] for tool in served["result"]["tools"]] == ["add"]
        refused = await page.ask("resources/read", {"uri": "ui://counter/view"})
        assert "does not offer serverResources" in refused["error"]["message"]
        with pytest.raises(ValueError, match="mode is 'pip', expected one of inline"):
            await host.show_as(view, "pip")


async def test_a_suppressed_method_is_never_sent_and_teardown_does_not_wait_for_it() -> None:
    profile = Profile(suppressed=["ui/notifications/tool-input", "ui/resource-teardown"])
    async with Host({"counter": counter()}, profile=profile, timeouts=Timeouts(teardown=300)) as host:
        page, _, view = await shown(host)
        first = await page.next()
        assert first["message"]["method"] == "ui/notifications/tool-result"
        with anyio.fail_after(60):
            await host.close_view(view)
        assert (await page.next())["type"] == "closed"


async def test_pinned_context_overrides_the_page_until_it_is_unpinned() -> None:
    async with Host({"counter": counter()}) as host:
        runtime_of(host).views.pin_context({"theme": "dark"})
        page, welcome, _ = await shown(host)
        assert welcome["hostContext"]["theme"] == "dark"
        await page.receive_by_host({"type": "context", "context": {"theme": "light", "locale": "de"}, "n": 3})
        assert await received(page, "ui/notifications/host-context-changed") == {"locale": "de"}
        runtime_of(host).views.pin_context({"safeAreaInsets": {"top": 40, "right": 0, "bottom": 0, "left": 0}})
        changed = await received(page, "ui/notifications/host-context-changed")
        assert changed["safeAreaInsets"]["top"] == 40
        runtime_of(host).views.pin_context({"theme": None})
        assert await received(page, "ui/notifications/host-context-changed") == {"theme": "light"}


async def test_without_the_extension_a_server_offers_no_views() -> None:
    async with Host({"counter": counter()}) as host:
        connection = host.servers["counter"]
        await connection.ready()
        assert "ui" in connection.tools[0]["_meta"]
        runtime_of(host).set_profile(Profile(extension=False))
        with anyio.fail_after(60):
            while "ui" in connection.tools[0].get("_meta", {}):  # noqa: ASYNC110 (there is no event for it)
                await anyio.sleep(0.01)
        assert "ui" not in connection.tools[0].get("_meta", {})
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        assert call.view is None


async def test_an_initial_profile_connects_once() -> None:
    connected = 0

    def count(news: Any) -> None:
        nonlocal connected
        connected += getattr(getattr(news, "status", None), "state", None) == "ready"

    host = Host({"counter": counter()}, profile=Profile(extension=False))
    host.servers.add_listener(count)
    async with host:
        await call_tool(host, "counter", "add", {"a": 1, "b": 2})
    assert connected == 1


async def test_a_tap_receives_both_directions(child: list[str]) -> None:
    messages: list[tuple[str, dict[str, Any]]] = []
    servers = Servers({"child": child})
    servers["child"].observe_messages(lambda direction, message: messages.append((direction, message)))
    async with servers:
        await servers["child"].ready()
        listed = [message for direction, message in messages if message.get("method") == "tools/list"]
        assert listed
        answers = [message for direction, message in messages if direction == "received" and "result" in message]
        assert any(message["id"] == listed[0]["id"] and "tools" in message["result"] for message in answers)


async def test_an_interceptor_can_answer_delay_or_fail_requests() -> None:
    async with Host({"counter": counter()}) as host:
        connection = host.servers["counter"]
        asked: list[tuple[str, dict[str, Any]]] = []

        async def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
            asked.append((method, params))
            if params["arguments"]["a"] == 7:
                raise ServerError("counter", -32603, "made to fail")
            return {"content": [], "structuredContent": {"sum": 99}} if params["arguments"]["a"] == 5 else None

        connection.intercept(answer)
        assert (await connection.call_tool("add", {"a": 5, "b": 1}))["structuredContent"] == {"sum": 99}
        assert (await connection.call_tool("add", {"a": 1, "b": 1}))["structuredContent"] == {"sum": 2}
        assert asked[0] == ("tools/call", {"name": "add", "arguments": {"a": 5, "b": 1}})
        call = await call_tool(host, "counter", "add", {"a": 7, "b": 1})
        assert call.result is not None
        assert call.result["isError"]


def test_an_invalid_profile_raises() -> None:
    with pytest.raises(TypeError, match=r"profile is 'ChatGPT', expected a Profile"):
        Host({"x": str(Path("x"))}, profile="ChatGPT")  # type: ignore[arg-type]
