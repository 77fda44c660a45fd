"""`fanlight chat` running, and its page in a browser."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from playwright.async_api import Browser, FrameLocator, Locator, Page, expect

from fanlight.chat.program import ChatLimits, ChatProgram
from fanlight.dev.targets import Served
from fanlight.host.upstream.config import parse_target
from support.browser import PATIENCE, problems_of
from support.wire import serving_built


@dataclass
class Chatting:
    """A chat that runs."""

    program: ChatProgram
    address: str

    @asynccontextmanager
    async def page(self, browser: Browser, place: str = "", **options: Any) -> AsyncIterator["ChatPage"]:
        """Open the page."""
        options.setdefault("viewport", {"width": 1200, "height": 1300})
        page = await browser.new_page(**options)
        problems = problems_of(page)
        await page.goto(f"{self.address}/?token={self.program.guard.token}")
        if place:
            await page.goto(f"{self.address}/{place}")
        yield ChatPage(page, problems)
        await page.close()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Open an HTTP client that has the cookie, and the origin of the page."""
        async with httpx2.AsyncClient(base_url=self.address, headers={"origin": self.address}, timeout=60) as http:
            assert (await http.get(f"/?token={self.program.guard.token}")).status_code == 303
            yield http


@dataclass
class ChatPage:
    """The page of a chat."""

    page: Page
    problems: list[str]

    @property
    def field(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message", exact=True)

    @property
    def turns(self) -> Locator:
        return self.page.get_by_role("log").get_by_role("article")

    @property
    def last(self) -> Locator:
        return self.turns.last

    @property
    def sidebar(self) -> Locator:
        return self.page.get_by_role("navigation", name="Conversations")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def view(self, number: int = -1) -> FrameLocator:
        """Return the View of a conversation, the last by default."""
        app = self.page.locator("mcp-app").nth(number)
        return app.locator("iframe").content_frame.locator("iframe").content_frame

    async def say(self, text: str) -> None:
        """Send a message, and do not wait for the answer."""
        await self.field.fill(text)
        await self.field.press("Enter")
        await expect(self.field).to_have_value("")

    async def ask(self, text: str) -> None:
        """Send a message, and wait for the end of the answer."""
        count = await self.turns.count()
        await self.say(text)
        await expect(self.turns).to_have_count(count + 1)
        await self.finished()

    async def finished(self) -> None:
        """Wait for the end of the answer."""
        await expect(self.last.locator("footer .figures")).to_be_visible()


async def answered(http: httpx2.AsyncClient, conversation: str) -> None:
    """Wait until the last turn of a conversation has ended."""
    with anyio.fail_after(PATIENCE):
        while True:
            found = (await http.get("/api/conversation", params={"conversation": conversation})).json()
            if found["turns"][-1]["state"] != "running":
                return
            await anyio.sleep(0.02)


def served(**servers: object) -> dict[str, Served]:
    """Return servers that are objects of this program, or anything else that `Host` accepts."""
    return {name: Served(parse_target(server)) for name, server in servers.items()}


@contextmanager
def chatting(
    servers: Mapping[str, Served],
    store: Path,
    *,
    model: str | None = "model",
    base_url: str | None = None,
    limits: ChatLimits | None = None,
) -> Iterator[Chatting]:
    """Run a chat. `base_url` is that of a model of `support.openai_server`."""
    built: list[ChatProgram] = []

    def build(address: str) -> Any:
        origin = address.replace("127.0.0.1", "localhost")
        built.append(ChatProgram(servers, origin=origin, store=store, model=model, base_url=base_url, limits=limits))
        return built[0].app

    with serving_built(build, sockets=True) as address:
        try:
            yield Chatting(built[0], address.replace("127.0.0.1", "localhost"))
        finally:
            built[0].close_streams()
