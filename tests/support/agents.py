"""The server and the page with which the adapters of agent frameworks are tested."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import Conversation, Host, Policy
from support.page import Page

HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {"tools": {}}}
PIXEL = base64.b64encode(b"\x89PNG not really").decode()


class Weather:
    """A server with a View, an app-only tool, a tool that returns an image, one that fails, and one that hangs."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_called = anyio.Event()
        """Whether `hang` was called."""
        self.server: MCPServer[Any] = MCPServer("weather")
        apps = Apps(self.server)
        apps.view(View.html("<!doctype html><title>x</title>", uri="ui://weather/view"))

        @apps.tool(view="ui://weather/view")
        def show(city: str) -> str:
            """Show the weather of a city."""
            self.calls.append(city)
            return f"It is sunny in {city}."

        @apps.tool(view="ui://weather/view", visibility=["app"])
        def refresh() -> str:
            return "secret"

        @self.server.tool()
        def picture() -> list[types.ContentBlock]:
            """Return a picture."""
            return [
                types.TextContent(type="text", text="A picture."),
                types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
            ]

        @self.server.tool()
        def fail() -> str:
            raise ValueError("No weather today.")

        @apps.tool(view="ui://weather/view")
        async def hang() -> str:
            self.is_called.set()
            await anyio.sleep_forever()
            return ""


@asynccontextmanager
async def weather_host() -> AsyncIterator[tuple[Host, Weather]]:
    """Run a host with the server, which allows Views everything."""
    weather = Weather()
    policy = Policy({"tools": "allow", "messages": "allow", "app_tools": "allow"})
    async with Host({"weather": weather.server}, policy=policy) as host:
        await host.servers["weather"].ready()
        yield host, weather


async def shown(host: Host, chat: Conversation, view: str) -> Page:
    """Show a View in a page, as one does that found its id in a history."""
    page = await Page().open(host, view, await chat.token(view))
    assert (await page.next())["type"] == "show"
    await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    return page


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait until a condition holds, and return what it returned."""
    with anyio.fail_after(20):
        while not (found := await condition()):  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return found


async def received(page: Page, *methods: str) -> list[dict[str, Any]]:
    """Return the params of the next messages with these methods, in this order, whatever comes between them."""
    found = []
    for method in methods:
        while (frame := await page.next()).get("message", {}).get("method") != f"ui/notifications/{method}":
            pass
        found.append(frame["message"]["params"])
    return found
