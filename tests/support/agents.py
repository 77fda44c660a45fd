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
from support import page
from support.page import Page

PIXEL = base64.b64encode(b"\x89PNG not really").decode()


class Weather:
    """A server with a View, an app-only tool, and tools that return an image or data only, fail, or hang."""

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
        def data() -> types.CallToolResult:
            """Return structured content and no text."""
            return types.CallToolResult(content=[], structured_content={"degrees": 21})

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
    return await page.shown(host, view, await chat.token(view), page.WITH_TOOLS)


async def answer(page: Page, method: str, result: dict[str, Any]) -> None:
    """Answer the next request of the host for the View."""
    while (frame := await page.next()).get("message", {}).get("method") != method:
        pass
    await page.say({"id": frame["message"]["id"], "result": result})


async def offer_tool(chat: Conversation, page: Page, name: str) -> str:
    """Let a View offer a tool, and return the name that the model is given for it."""
    await answer(page, "tools/list", {"tools": [{"name": name, "inputSchema": {"type": "object"}}]})
    names: list[str] = await until(lambda: _view_tools(chat))
    return names[0]


async def _view_tools(chat: Conversation) -> list[str]:
    return [tool.name for tool in await chat.tools() if tool.view is not None]


async def tell_model(chat: Conversation, page: Page, text: str) -> None:
    """Let a View say something that the model should know."""
    params = {"content": [{"type": "text", "text": text}]}
    await page.say({"id": 1, "method": "ui/update-model-context", "params": params})
    await until(lambda: chat.context(everything=True))


async def call_server_tool(page: Page, name: str, id: int = 8) -> str:
    """Let a View call a tool of its server, and return the text of the result."""
    await page.say({"id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}})
    while (frame := await page.next()).get("message", {}).get("id") != id:
        pass
    return str(frame["message"]["result"]["content"][0]["text"])


async def send_message(page: Page, text: str) -> None:
    """Let a View send a message in the user's name."""
    params = {"role": "user", "content": [{"type": "text", "text": text}]}
    await page.say({"id": 2, "method": "ui/message", "params": params})


class Shower:
    """Shows the first View of a conversation in a page, as soon as there is one, while the model writes."""

    def __init__(self, host: Host, chat: Conversation) -> None:
        self._host = host
        self._chat = chat
        self.page: Page | None = None

    async def __call__(self) -> None:
        views = await until(self._chat.views)
        if self.page is None:
            self.page = await shown(self._host, self._chat, views[0].id)

    async def arguments(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the first partial arguments that the View was given, and the complete ones."""
        assert self.page is not None
        partial, complete = await received(self.page, "tool-input-partial", "tool-input")
        return partial["arguments"], complete["arguments"]


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
