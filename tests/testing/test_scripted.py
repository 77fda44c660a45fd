"""`scripted_view`: a View in Python, connected by the real bridge."""

from typing import Any

import anyio
import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import Message, Policy
from fanlight.protocol.errors import FanlightError
from fanlight.testing.scripted import HostError, app_host, scripted_view
from support.calls import app_tools_of, call_app_tool

pytestmark = pytest.mark.anyio

VIEW = "<!doctype html><title>x</title>"


def shop(server: MCPServer[Any] | FastMCP[Any]) -> MCPServer[Any] | FastMCP[Any]:
    apps = Apps(server)
    view = View.html(VIEW, uri="ui://shop/view")

    @apps.tool(view=view)
    def show(item: str) -> dict[str, Any]:
        "Show an item."
        return {"item": item, "price": 3}

    @apps.tool(view=view, visibility=["app"])
    def buy(count: int) -> str:
        "Buy."
        return f"{count} bought"

    @server.tool()
    def secret() -> str:
        "Not for Views."
        return "x"

    return server


@pytest.mark.parametrize("make", [MCPServer, FastMCP])
async def test_a_scripted_view_gets_arguments_result_and_context(make: Any) -> None:
    async with scripted_view(shop(make("shop")), "show", {"item": "tea"}, context={"theme": "dark"}) as view:
        assert view.arguments == {"item": "tea"}
        assert view.result["structuredContent"] == {"item": "tea", "price": 3}
        assert view.context["theme"] == "dark"
        assert (await view.call_tool("buy", count=2))["content"][0]["text"] == "2 bought"
        assert [each.method for each in view.messages if each.by == "view"] == [
            "ui/initialize",
            "ui/notifications/initialized",
            "tools/call",
        ]


async def test_a_denied_request_raises_host_error_with_its_code() -> None:
    async with scripted_view(shop(MCPServer("shop")), "show", {"item": "tea"}) as view:
        with pytest.raises(HostError, match="no_such_tool") as raised:
            await view.call_tool("no_such_tool")
        assert raised.value.code == -32602
    async with scripted_view(shop(MCPServer("shop")), "show", {"item": "tea"}, initialize=False) as view:
        with pytest.raises(HostError, match="came before ui/initialize"):
            await view.request("ui/open-link", {"url": "https://example.com"})


async def test_links_messages_and_display_modes_follow_the_decision_of_the_user() -> None:
    policy = Policy({"links": "ask", "messages": "ask"})
    async with app_host(shop(MCPServer("shop")), policy=policy) as host:
        messages: list[Message] = []
        host.on_message(messages.append)
        async with scripted_view(host, "show", {"item": "tea"}) as view:
            with pytest.raises(HostError):
                await view.open_link("https://example.com/a")
            view.decision = "once"
            await view.open_link("https://example.com/b")
            await view.send_message("Hello")
            assert view.links == ["https://example.com/b"]
            assert len(view.questions) == 3
            assert [(each.role, each.content) for each in messages] == [("user", [{"type": "text", "text": "Hello"}])]
            assert await view.request_display_mode("fullscreen") == "fullscreen"
            assert view.context["displayMode"] == "fullscreen"


async def test_the_model_gets_the_context_of_a_view_and_calls_its_tools() -> None:
    async with app_host(shop(MCPServer("shop"))) as host:
        tools = {"tools": [{"name": "zoom", "inputSchema": {"type": "object"}}]}
        async with scripted_view(host, "show", {"item": "x"}, capabilities={"tools": {}}, initialize=False) as view:
            view.handlers["tools/list"] = lambda params: tools
            view.handlers["tools/call"] = lambda params: {"content": [{"type": "text", "text": params["name"]}]}
            await view.initialize({"tools": {}})
            await view.update_model_context("Seen", page=1)
            assert view.model_context == {
                "content": [{"type": "text", "text": "Seen"}],
                "structuredContent": {"page": 1},
            }
            with anyio.fail_after(60):
                while not app_tools_of(host):  # noqa: ASYNC110 (the host has no event for it)
                    await anyio.sleep(0.01)
            result = await call_app_tool(host, str(view.call.view), "zoom", {})
            assert result["content"][0]["text"] == "zoom"


async def test_expect_returns_a_notification_or_lists_what_was_sent() -> None:
    async with scripted_view(shop(MCPServer("shop")), "show", {"item": "tea"}, within=0.5) as view:
        view.host.set_context(theme="dark")
        assert await view.expect("ui/notifications/host-context-changed") == {"theme": "dark"}
        with pytest.raises(
            AssertionError, match=r"did not send ui/x within 0.5 seconds. The host sent: \(response\), ui/"
        ):
            await view.expect("ui/x")


async def test_a_call_that_has_not_run_can_be_cancelled() -> None:
    async with scripted_view(shop(MCPServer("shop")), "show", run=False) as view:
        await view.call.cancel("enough")
        assert (await view.expect("ui/notifications/tool-cancelled"))["reason"] == "enough"
        with pytest.raises(AssertionError, match="The View has no result"):
            view.result  # noqa: B018


async def test_a_tool_without_a_view_is_an_error() -> None:
    with pytest.raises(FanlightError, match="'secret' has no View"):
        async with scripted_view(shop(MCPServer("shop")), "secret"):
            pass


async def test_exceptions_of_the_test_are_not_wrapped() -> None:
    with pytest.raises(ZeroDivisionError):
        async with scripted_view(shop(MCPServer("shop")), "show", {"item": "tea"}):
            raise ZeroDivisionError
