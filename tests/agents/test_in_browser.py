"""One conversation with each framework, its Views in Chromium, and a scripted model."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest
import uvicorn
from agents import set_tracing_disabled
from mcp.server import MCPServer
from playwright.async_api import FrameLocator, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host import Conversation, Host, Message, Policy
from support.adapters import (
    Adapter,
    pydantic_ai_events,
    with_ag_ui,
    with_langchain,
    with_openai_agents,
    with_pydantic_ai,
)
from support.agents import until
from support.browser import problems_of
from support.ledger import HTML
from support.openai_server import Hold, OpenAIServer, ToolCall, openai_server

pytestmark = pytest.mark.anyio

FRAMEWORKS = [
    pytest.param(with_pydantic_ai, id="pydantic-ai"),
    pytest.param(with_openai_agents, id="openai-agents"),
    pytest.param(with_langchain, id="langchain"),
    pytest.param(with_ag_ui(pydantic_ai_events), id="ag-ui"),
]
TEXT = "a text that is long enough to come in pieces"


@pytest.fixture(autouse=True, scope="module")
def _no_tracing() -> Iterator[None]:
    set_tracing_disabled(True)
    yield
    set_tracing_disabled(False)


def notes(is_called: anyio.Event) -> MCPServer[Any]:
    """Return a server with a View that can do everything, and tools that fail or hang."""
    server: MCPServer[Any] = MCPServer("notes")
    apps = Apps(server)
    apps.view(View(HTML, uri="ui://notes/view"))

    @apps.tool(view="ui://notes/view")
    def show(text: str) -> dict[str, str]:
        """Show a text."""
        return {"text": text}

    @apps.tool(view="ui://notes/view")
    def fail(text: str) -> str:
        """Fail."""
        raise ValueError(text)

    @apps.tool(view="ui://notes/view")
    async def hang(text: str) -> str:
        """Never answer."""
        is_called.set()
        await anyio.sleep_forever()
        return text

    @apps.tool(view="ui://notes/view", visibility=["app"])
    def write(text: str, gate: str = "") -> dict[str, str]:
        """Write a text."""
        return {"text": f"written: {text}"}

    return server


class _Web(uvicorn.Server):
    """A web server that leaves the signals to pytest."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving_page(host: Host, chat: Conversation) -> AsyncIterator[str]:
    """Serve a page with all Views of a conversation, in the event loop of the test, where the agent runs."""

    async def page(request: Request) -> Response:
        views = [(view.id, await chat.token(view.id)) for view in await chat.views()]
        apps = "".join(f'<mcp-app src="/apps" view="{view}" token="{token}"></mcp-app>' for view, token in views)
        script = '<script type="module" src="/apps/mcp-app.js"></script>'
        return HTMLResponse(f'<!doctype html><link rel="icon" href="data:,"><title>Chat</title>{script}{apps}')

    app = host.wrap(Starlette(routes=[Route("/", page)]))
    web = _Web(uvicorn.Config(app, log_level="warning", ws="websockets-sansio", timeout_graceful_shutdown=1))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listener])
            try:
                yield f"http://localhost:{listener.getsockname()[1]}"
            finally:
                web.should_exit = True


def last_view(page: Page) -> FrameLocator:
    return page.locator("mcp-app").last.locator("iframe").content_frame.locator("iframe").content_frame


async def use(view: FrameLocator, script: str, outcome: str) -> None:
    """Let the View do something, and wait until it has its response."""
    clear = "document.querySelector('#answer').textContent = ''"  # the response before can be the same
    await view.locator("body").evaluate(f"() => {{ {clear}; void {script}; }}")
    await expect(view.locator("#answer")).to_have_text(outcome)


def sent(model: OpenAIServer) -> str:
    """Return what the model was given in its last step."""
    return json.dumps(model.requests[-1])


@pytest.mark.parametrize("adapter", FRAMEWORKS)
async def test_views_do_everything_in_a_browser(adapter: Adapter, page: Page) -> None:
    is_called, is_answered, hold = anyio.Event(), anyio.Event(), Hold(5)
    policy = Policy({"tools": "allow", "messages": "allow", "app_tools": "allow"})
    host = Host({"notes": notes(is_called)}, policy=policy)
    chat, problems = host.conversation("c1"), problems_of(page)
    with openai_server(ToolCall("notes__show", {"text": TEXT}, hold), "There you are.") as model:
        async with serving_page(host, chat) as address, adapter(chat, model) as say:
            await page.goto(address)  # the host runs

            @host.on_message
            async def start_turn(message: Message) -> None:
                await say(message.text)
                is_answered.set()

            # The arguments stream into the View.
            turn = asyncio.create_task(say("Show it."))
            await until(chat.views)
            await page.reload()
            view = last_view(page)
            await expect(view.locator("#partial")).to_have_text(re.compile("^a text that"))
            hold.release.set()
            await turn
            await expect(view.locator("#shown")).to_have_text(re.compile("input result$"))

            # The View calls a tool that only Views may call.
            await use(view, "write('by the View')", "ok: written: by the View")

            # A message of the View starts a turn, with the turn before it in its history.
            model.steps.append("You are welcome.")
            await use(view, "send('Thanks!')", "ok: ")
            with anyio.fail_after(60):
                await is_answered.wait()
            assert "Thanks!" in sent(model)
            assert "Show it." in sent(model)

            # What the View shares is in the next turn, and marked.
            model.steps.append("I see.")
            await use(view, "share('The city is Bergen.')", "ok: ")
            await say("And now?")
            assert "The city is Bergen." in sent(model)
            assert "The user did not write it" in sent(model)

            # The model calls a tool of the View.
            (fill_in,) = [tool.name for tool in await chat.tools() if tool.name.endswith("fill_in")]
            model.steps += [ToolCall(fill_in, {"text": "by the model"}), "It is filled in."]
            await say("Fill it in.")
            await expect(view.locator("#typed")).to_have_value("by the model")
            assert "filled in: by the model" in sent(model)

            # A tool that fails: the model and the View get the error.
            model.steps += [ToolCall("notes__fail", {"text": "no paper"}), "It failed."]
            await say("Fail.")
            assert "no paper" in sent(model)
            await page.reload()
            await expect(last_view(page).locator("#shown")).to_have_text(re.compile("input error$"))

            # The model writes invalid JSON: the call is not run, and its View says so.
            model.steps += [ToolCall("notes__show", '{"text": Oslo'), "I give up."]
            await say("Once more.")
            await page.reload()
            await expect(last_view(page).locator("#shown")).to_have_text(re.compile("cancelled$"))

            # The user stops a turn while a tool runs.
            model.steps.append(ToolCall("notes__hang", {"text": "x"}))
            turn = asyncio.create_task(say("Wait."))
            with anyio.fail_after(60):
                await is_called.wait()
            await page.reload()
            await expect(last_view(page).locator("#shown")).to_have_text(re.compile("input$"))
            turn.cancel()
            await asyncio.wait([turn], timeout=60)
            await expect(last_view(page).locator("#shown")).to_have_text(re.compile("input cancelled$"))

            # The Views come back with a page that is loaded again.
            await page.reload()
            await expect(page.locator("mcp-app")).to_have_count(4)
            first = page.locator("mcp-app").first.locator("iframe").content_frame.locator("iframe").content_frame
            await expect(first.locator("#shown")).to_have_text(re.compile("input result$"))
    assert problems == []
