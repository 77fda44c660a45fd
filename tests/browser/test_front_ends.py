"""`Host.relay` and `follow(relay=)` with the published packages of front ends that render MCP Apps, in Chromium."""

import functools
import hashlib
import os
import runpy
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.encoder import EventEncoder
from playwright.async_api import Browser, FrameLocator, Page, Route, expect
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route as WebRoute

import fanlight
from fanlight.agents.ag_ui import follow
from fanlight.host import Conversation, Host, Limits, Question
from support.browser import problems_of
from support.calls import context_of
from support.chat import eventually
from support.docs import ROOT, write_files
from support.node import run_esbuild
from support.wire import serving_pages

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PAGE = ROOT / "docs" / "how-to" / "use-a-chat-front-end.md"
FRONT_ENDS = Path(__file__).with_name("front_ends")
PRODUCTION = '--define:process.env.NODE_ENV="production"'

# Stands in for the page of assistant-ui at scf.auiusercontent.com: shows the document that it is sent, at its origin.
SHIM = """<!doctype html><script>
addEventListener("message", ({ data, ports: [port] }) => {
  if (!port) return;
  const html = new TextDecoder().decode(data.body);
  document.open(); document.write(html); document.close();
  port.postMessage({ type: "msg" });
}, { once: true });
parent.postMessage({ type: "ready" }, "*");
</script>"""


@functools.cache
def built(source: str) -> str:
    """Bundle the script of a page, as a user's own tools would."""
    return run_esbuild("--bundle", "--format=iife", "--jsx=automatic", "--loader=jsx", PRODUCTION, input=source)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the how-to."""
    folder = tmp_path_factory.mktemp("front-ends")
    write_files(PAGE.with_name("use-an-agent-framework.md"), folder)
    write_files(PAGE, folder)
    return folder


@pytest.fixture(autouse=True)
def environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let "python server.py" mean the Python of this test, with its Fanlight."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "users", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(fanlight.__file__).parents[1]))


@contextmanager
def program(folder: Path, name: str, script: str) -> Iterator[tuple[Host, str]]:
    """Serve a program of the how-to with the script of its page."""
    (folder / "page.js").write_text(built((folder / script).read_text(encoding="utf-8")), encoding="utf-8")
    assert len((folder / name).read_text(encoding="utf-8").splitlines()) < 45
    loaded = runpy.run_path(str(folder / name))
    with serving_pages(loaded["app"]) as address:
        yield loaded["host"], address


async def serve_shim(route: Route) -> None:
    await route.fulfill(body=SHIM, content_type="text/html")


async def open_page(page: Page, address: str) -> list[str]:
    await page.route("https://*.scf.auiusercontent.com/**", serve_shim)
    problems = problems_of(page)
    await page.goto(address)
    return problems


async def use_view(view: FrameLocator) -> None:
    """Let the View show its order, and cancel it with a tool that only Views may call."""
    await expect(view.get_by_role("status")).to_have_text("Order 7 is packed.")
    await view.get_by_role("button").click()
    await expect(view.get_by_role("status")).to_have_text("Order 7 is cancelled.")


BLOCKED = """() => new Promise((done) => {
  addEventListener("securitypolicyviolation", ({ effectiveDirective }) => done(effectiveDirective));
  fetch("https://evil.example/").then(() => done("reached"), () => setTimeout(() => done("no violation"), 5_000));
})"""


async def told(host: Host, page: Page) -> str:
    """Return what the View wants the model to know."""
    (cookie,) = await page.context.cookies()
    user = hashlib.sha256(cookie["value"].encode()).hexdigest()
    (update,) = await eventually(lambda: context_of(host, "c1", user))
    return str(update["content"][0]["text"])


async def ask(page: Page) -> None:
    await page.get_by_label("Message").fill("Where is my order?")
    await page.get_by_role("button", name="Send").click()


async def test_a_view_in_assistant_ui_calls_a_tool_and_gets_its_result(page: Page, folder: Path) -> None:
    with program(folder, "assistant_ui.py", "assistant-ui.jsx") as (host, address):
        problems = await open_page(page, address)
        await ask(page)
        await use_view(page.frame_locator("iframe"))
        assert await told(host, page) == "The user cancelled the order."
        assert problems == []
        # The sandbox of assistant-ui has no policy, but the document has.
        assert await page.frames[1].evaluate(BLOCKED) == "connect-src"


async def test_a_view_in_the_ai_sdk_calls_a_tool_and_gets_its_result(page: Page, folder: Path) -> None:
    with program(folder, "ai_sdk.py", "ai-sdk.jsx") as (host, address):
        problems = await open_page(page, address)
        await page.get_by_role("button", name="Send").click()
        await use_view(page.frame_locator("iframe").frame_locator("iframe"))
        assert await told(host, page) == "The user cancelled the order."
    assert problems == []


def cookie(connection: HTTPConnection) -> str | None:
    return connection.cookies.get("user")


async def chat_of(host: Host, request: Request) -> Conversation:
    await host.servers["orders"].ready()
    return host.conversation("c1", user=cookie(request))


@contextmanager
def serving(host: Host, folder: Path, script: str) -> Iterator[str]:
    """Serve a host with the page of a front end, for the users that its cookie names."""

    async def page_script(request: Request) -> Response:
        return Response(script, media_type="text/javascript")

    async def answer(request: Request) -> Response:
        chat = await chat_of(host, request)
        call = await chat.call_tool("orders__show_order", {"id": 7})
        app = await chat.relay_app(call.views[0].view)
        return JSONResponse({"toolName": "show_order", "args": {"id": 7}, "result": call.result, "app": app})

    async def run(request: Request) -> Response:
        run_input = RunAgentInput.model_validate(await request.json())
        chat = await chat_of(host, request)

        async def events() -> AsyncIterator[str]:
            async for event in follow(chat, agent(chat, run_input), relay=run_input):
                yield EventEncoder().encode(event)

        return StreamingResponse(events(), media_type="text/event-stream")

    routes = [
        WebRoute("/", lambda request: HTMLResponse(CHAT)),
        WebRoute("/page.js", page_script),
        WebRoute("/answer", answer, methods=["POST"]),
        WebRoute("/run", run, methods=["POST"]),
        WebRoute("/api/mcp-apps", host.relay()),
    ]
    with serving_pages(host.wrap(Starlette(routes=routes))) as address:
        yield address


async def agent(chat: Conversation, run_input: RunAgentInput) -> AsyncIterator[BaseEvent]:
    """An agent whose model calls the tool."""
    yield RunStartedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)
    yield ToolCallStartEvent(tool_call_id="a", tool_call_name="orders__show_order")
    yield ToolCallArgsEvent(tool_call_id="a", delta='{"id": 7}')
    yield ToolCallEndEvent(tool_call_id="a")
    call = await chat.run_call("a", "orders__show_order", {"id": 7})
    yield ToolCallResultEvent(message_id="m", tool_call_id="a", content=call.text)
    yield RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


CHAT = """<!doctype html><title>Chat</title><link rel="icon" href="data:,"><button id="send">Start</button>
<div id="root"></div><script src="/page.js"></script>"""


def hosted(server: str = "server.py", **options: Any) -> Host:
    """Return a host with the server of the how-to, or of another file, in this process."""
    return Host({"orders": runpy.run_path(server)["server"]}, user=cookie, **options)


async def signed_in(browser: Browser, address: str, user: str) -> Page:
    page = await browser.new_page(viewport={"width": 900, "height": 900})
    await page.context.add_cookies([{"name": "user", "value": user, "url": address}])
    return page


@pytest.mark.parametrize(
    ("server", "answer", "options", "shown"),
    [
        ("server.py", "once", {}, "Order 7 is cancelled."),
        ("server.py", "deny", {}, "The user denied this."),
        ("server.py", None, {}, "this page cannot ask"),
        ("model_only.py", "once", {}, "Views may not call: 'cancel_order'"),
        (
            "server.py",
            "once",
            {"limits": Limits(message_bytes=104)},
            "larger than 104 bytes",
        ),
    ],
    ids=["consent", "denied", "nobody to ask", "only for the model", "too large"],
)
async def test_a_view_in_assistant_ui_may_do_what_the_host_allows(
    server: str, answer: Any, options: dict[str, Any], shown: str, browser: Browser, folder: Path
) -> None:
    source = (folder / "server.py").read_text(encoding="utf-8")
    (folder / "model_only.py").write_text(source.replace('["app"]', '["model"]'), encoding="utf-8")
    host = hosted(server, **options)
    asked: list[Question] = []

    def ask_user(question: Question) -> Any:
        asked.append(question)
        return answer

    if answer is not None:
        host.on_question(ask_user)
    with serving(host, folder, built((folder / "assistant-ui.jsx").read_text(encoding="utf-8"))) as address:
        page = await signed_in(browser, address, "alice")
        await open_page(page, address)
        await ask(page)
        view = page.frame_locator("iframe")
        await view.get_by_role("button").click()
        await expect(view.get_by_role("status")).to_contain_text(shown)
        await page.close()
    assert [question.user for question in asked] == (["alice"] if shown[:5] in ("Order", "The u") else [])


POST = """async (body) => {
  const headers = { "content-type": "application/json" };
  const response = await fetch("/api/mcp-apps", { method: "POST", headers, body: JSON.stringify(body) });
  return [response.status, await response.json()];
}"""


async def test_a_view_in_copilotkit_has_its_own_origin_and_uses_the_dialog_of_the_host(
    browser: Browser, folder: Path
) -> None:
    host = hosted()
    with serving(host, folder, built((FRONT_ENDS / "copilotkit.js").read_text(encoding="utf-8"))) as address:
        page = await signed_in(browser, address, "alice")
        problems = await open_page(page, address)
        await page.locator("#send").click()
        frame = page.frame_locator("iframe").frame_locator("iframe")
        view = frame.locator("mcp-app").frame_locator("iframe").frame_locator("iframe")
        await expect(view.get_by_role("status")).to_have_text("Order 7 is packed.")
        await view.get_by_role("button").click()
        await frame.get_by_role("button", name="Allow once").click()
        await expect(view.get_by_role("status")).to_have_text("Order 7 is cancelled.")
        origin = await view.locator("html").evaluate("() => window.origin")
        assert ".sandbox.localhost:" in origin
        reach = "() => { try { return window.top.document.title; } catch (error) { return error.name; } }"
        assert await view.locator("html").evaluate(reach) == "SecurityError"
        await eventually(lambda: page.locator("iframe").evaluate("frame => frame.offsetHeight !== 100"))
        assert problems == []

        (shown,) = await host.conversation("c1", user="alice").views()
        # As for a renderer that sends requests itself, without a dialog: the answer for this View is known.
        call = {"name": "cancel_order", "arguments": {"id": 8}}
        request = {"serverId": shown.id, "serverHash": shown.id, "method": "tools/call", "params": call}
        result = await page.evaluate("proxied", request)
        assert result["structuredContent"] == {"state": "Order 8 is cancelled."}
        refused = await page.evaluate("proxied", {**request, "params": {"name": "nonsense"}})
        assert refused["isError"]
        assert "Views may not call" in refused["content"][0]["text"]

        # Bob has the id of the View of Alice.
        bob = await signed_in(browser, address, "bob")
        await open_page(bob, address)
        stolen = await bob.evaluate("proxied", request)
        assert stolen["isError"]
        assert "no open View" in stolen["content"][0]["text"]
        read = {**request, "method": "resources/read", "params": {"uri": "ui://orders/order"}}
        assert await bob.evaluate("proxied", read) is None
        assert "no open View" in await bob.evaluate("failures[0]")
        status, _ = await bob.evaluate(POST, {"method": "tools/call", "params": {"serverId": shown.id, **call}})
        assert status == 404
        await bob.close()
        await page.close()
