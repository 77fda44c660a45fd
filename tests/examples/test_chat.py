"""The chat of several users, with pydantic-ai, in real browsers: one context for each user."""

import asyncio
import inspect
import json
import re
import runpy
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, Page, expect
from pydantic_ai import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from starlette.types import Receive, Scope, Send

from fanlight.host import Host
from support.browser import view_frame, view_frames
from support.examples import EXAMPLES
from support.wire import serving_pages

pytestmark = [pytest.mark.anyio, pytest.mark.process]

Pieces = AsyncIterator[str | dict[int, DeltaToolCall]]


async def until(is_true: Callable[[], bool | Awaitable[bool]]) -> None:
    for _ in range(3000):
        result = is_true()
        if await result if inspect.isawaitable(result) else result:
            return
        await anyio.sleep(0.02)
    raise AssertionError("the condition did not become true")


class Chat:
    """The running example."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.host: Host = names["host"]
        self.rooms = names["rooms"]
        self.write = sys.modules["model"].write
        self.address = ""
        self._names = names
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._loop = asyncio.get_running_loop()
        await self._names["app"](scope, receive, send)

    async def clear(self) -> None:
        """Sign everybody out, and forget what they said."""

        async def clear() -> None:
            for user in self.rooms:
                # Not the whole user, whose processes would start again.
                await self.host.forget(user=user, conversation="main")
                for grant in await self.host.grants(user):
                    await self.host.revoke(grant)
                self.rooms[user] = self._names["Room"](user)
            self._names["sessions"].clear()

        await self.ready()
        await self._run(clear())

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the event loop of the example, after it has started."""
        await until(lambda: self._loop is not None)
        assert self._loop is not None
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def answer_with(self, write: Callable[[list[ModelMessage], AgentInfo], Pieces]) -> None:
        for room in self.rooms.values():
            room.agent.model = FunctionModel(stream_function=write)

    async def ready(self) -> None:
        """Wait for the servers of each user, because the model gets the tools of those that are ready."""

        async def connect() -> None:
            for user in self.rooms:
                for name in self.host.servers:
                    await (await self.host.servers.connect(name, user)).ready(60)

        await self._run(connect())

    @asynccontextmanager
    async def page_of(self, user: str, browser: Browser) -> AsyncIterator[Page]:
        """Sign in as a user, in a browser context of their own."""
        context = await browser.new_context(viewport={"width": 800, "height": 1200})
        page = await context.new_page()
        await page.goto(self.address)
        await page.get_by_role("button", name=user).click()
        await expect(page.get_by_role("heading", name=f"Hello {user}")).to_be_visible()
        yield page
        await context.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Chat]:
    """The example with its servers, whose start takes most of the time of a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "chat"))
        patch.delitem(sys.modules, "model", raising=False)
        chat = Chat(runpy.run_path(str(EXAMPLES / "chat" / "app.py")))
        with serving_pages(chat) as chat.address:
            yield chat
        del sys.modules["model"]


@pytest.fixture
async def chat(running: Chat) -> Chat:
    await running.clear()
    return running


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_label("Message")).to_be_empty()


async def view_of(page: Page) -> tuple[str, str]:
    """Return the id and the token of the only View of a page."""
    found: list[str] = await page.locator("mcp-app").evaluate(
        "app => [app.getAttribute('view'), app.getAttribute('token')]"
    )
    view, token = found
    return view, token


async def test_the_chart_is_drawn_while_the_model_writes_its_arguments(chat: Chat, browser: Browser) -> None:
    go_on = threading.Event()

    async def write(messages: list[ModelMessage], info: AgentInfo) -> Pieces:
        text = ""
        async for piece in chat.write(messages, info):
            yield piece
            text += (piece[0].json_args or "") if isinstance(piece, dict) else ""
            if "Kangch" in text:
                await asyncio.to_thread(go_on.wait, 60)

    chat.answer_with(write)
    try:
        async with chat.page_of("Alice", browser) as page:
            await say(page, "Chart the highest mountains.")
            view = await view_frame(page)
            await expect(view.locator("dt").first).to_have_text("Everest")
            await expect(view.get_by_role("status")).to_contain_text("so far…")
            go_on.set()
            await expect(view.locator("dt")).to_have_count(5)
            await expect(view.get_by_role("status")).to_have_text("5 values, in m")
            await expect(page.get_by_text("The five highest mountains (largest: Everest)")).to_be_visible()
    finally:
        go_on.set()


async def test_each_user_sees_only_their_own_conversation_and_views(chat: Chat, browser: Browser) -> None:
    async with chat.page_of("Alice", browser) as alice, chat.page_of("Bob", browser) as bob:
        await say(alice, "Chart the highest mountains.")
        await expect((await view_frame(alice)).locator("dt")).to_have_count(5)
        await say(bob, "Book me a meeting room.")
        await expect((await view_frame(bob)).get_by_text("When do you meet?")).to_be_visible()
        await bob.reload()
        await expect((await view_frame(bob)).get_by_text("When do you meet?")).to_be_visible()
        await expect(bob.locator("#log > p")).to_have_text(["Book me a meeting room."])
        await expect(alice.locator("#log > p")).to_have_text(["Chart the highest mountains."])
        await expect(alice.locator("mcp-app")).to_have_count(1)


@pytest.mark.parametrize("with_token", [False, True], ids=["without a token", "with the token"])
async def test_bob_cannot_open_a_view_of_alice(with_token: bool, chat: Chat, browser: Browser) -> None:
    open_view = """([view, token]) => {
      const app = document.createElement("mcp-app");
      for (const [name, value] of Object.entries({ src: "/apps", token, view })) app.setAttribute(name, value);
      document.querySelector("#log").append(app);
    }"""
    async with chat.page_of("Alice", browser) as alice, chat.page_of("Bob", browser) as bob:
        await say(alice, "Chart the highest mountains.")
        await expect((await view_frame(alice)).locator("dt")).to_have_count(5)
        view, token = await view_of(alice)
        await bob.evaluate(open_view, [view, token if with_token else ""])
        await expect(bob.get_by_role("alert")).to_contain_text("This View cannot be opened")
        await view_frames(bob, 0)
        await expect(alice.get_by_text("This View is open in another window.")).to_have_count(0)
        await expect((await view_frame(alice)).locator("dt")).to_have_count(5)


async def test_a_reload_brings_text_and_views_back_with_a_new_token(chat: Chat, browser: Browser) -> None:
    async with chat.page_of("Alice", browser) as page:
        await say(page, "Chart the highest mountains.")
        await expect(page.get_by_text("(largest: Everest)")).to_be_visible()
        view, token = await view_of(page)
        await page.reload()
        await expect((await view_frame(page)).locator("dt")).to_have_count(5)
        await expect(page.get_by_text("(largest: Everest)")).to_be_visible()
        again, new_token = await view_of(page)
        assert again == view
        assert new_token != token


async def test_a_message_of_a_view_starts_a_turn_and_its_context_is_in_the_prompt(chat: Chat, browser: Browser) -> None:
    async with chat.page_of("Alice", browser) as page:
        await say(page, "Play four in a row with me.")
        view = await view_frame(page)
        allow = page.get_by_role("dialog").get_by_role("button", name="Allow once")
        await view.get_by_role("button", name="Column 4").click()
        await allow.click()  # the move
        await expect(view.locator(".cell .user")).to_have_count(1)
        await say(page, "Hello")
        await expect(page.locator("#log")).to_contain_text("The user did not write it")
        await view.get_by_role("button", name="Ask the model to move").click()
        await allow.click()  # the message
        await expect(page.locator("#log > p").last).to_have_attribute("title", "From a View of game")
        # The model plays with the tool of the View, which calls `play` again: that was allowed for this View.
        await expect(page.get_by_role("dialog")).to_contain_text("drop_disc")
        await allow.click()
        await expect(view.locator(".cell .model")).to_have_count(1)
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(page.locator("#log > span").last).to_contain_text("Four in a row, game")


async def test_a_call_that_the_model_does_not_finish_is_cancelled_with_its_turn(chat: Chat, browser: Browser) -> None:
    async def write(messages: list[ModelMessage], info: AgentInfo) -> Pieces:
        if len(messages) > 1:
            yield "I give up."
        else:
            yield {0: DeltaToolCall("chart__draw_chart", json.dumps({"title": "Half"})[:-3])}

    chat.answer_with(write)
    async with chat.page_of("Alice", browser) as page:
        await say(page, "Chart the highest mountains.")
        await expect(page.get_by_text("I give up.")).to_be_visible()
        view, _ = await view_of(page)

        async def is_cancelled() -> bool:
            return (await chat.host.view(view)).call == "cancelled"

        await until(is_cancelled)


async def test_a_tool_that_does_not_exist_does_not_end_the_turn(chat: Chat, browser: Browser) -> None:
    async def write(messages: list[ModelMessage], info: AgentInfo) -> Pieces:
        yield "I was wrong." if len(messages) > 1 else {0: DeltaToolCall("chart__imagined", "{}")}

    chat.answer_with(write)
    async with chat.page_of("Alice", browser) as page:
        await say(page, "Chart the highest mountains.")
        await expect(page.get_by_text("I was wrong.")).to_be_visible()


async def test_the_page_is_not_wider_than_its_window(chat: Chat, browser: Browser) -> None:
    async with chat.page_of("Alice", browser) as page:
        await say(page, "Chart the highest mountains. " + "long" * 100)
        await expect(page.get_by_text(re.compile("largest: Everest"))).to_be_visible()
        for width in (1400, 390):
            await page.set_viewport_size({"width": width, "height": 800})
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
