"""The host in a real browser: three origins, the examples as servers, and Views by other authors."""

import re
import runpy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from fanlight import Apps, Csp, View
from fanlight.host import Host, Policy
from support.browser import view_frame
from support.calls import context_of
from support.node import run_esbuild
from support.program import program_of
from support.wire import serving

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "clock": ("get_time", {"zone": "Asia/Tokyo"}),
    "todo": ("show_todos", {}),
    "chart": ("draw_chart", {"title": "Heights", "rows": [{"label": "K2", "value": 8611}]}),
}


@asynccontextmanager
async def shown(browser: Browser, host: Host, *asked: Any) -> AsyncIterator[tuple[Page, list[str]]]:
    with program_of(host) as program:
        async with program.shown(browser, *asked) as page:
            yield page


def examples() -> dict[str, Any]:
    return {name: runpy.run_path(str(ROOT / "examples" / name / "server.py"))["server"] for name in CALLS}


async def test_a_view_is_shown_with_its_result_and_calls_its_server(browser: Browser) -> None:
    host = Host(examples())
    async with shown(browser, host, "todo", *CALLS["todo"]) as (page, problems):
        view = await view_frame(page)
        await expect(view.get_by_role("listitem")).to_have_count(3)
        await view.get_by_role("checkbox").first.check()
        question = page.get_by_role("dialog", name="(todo) wants to run toggle_todo.")
        await expect(question).to_contain_text("toggle_todo")
        await question.get_by_role("button", name="Allow once").click()
        await expect(view.get_by_role("status")).to_have_text("2 of 3 left")
        await view.get_by_role("checkbox").nth(1).check()
        await expect(view.get_by_role("status")).to_have_text("1 of 3 left")
        await expect(view.locator("body")).to_be_visible()
        context = await context_of(host, "todo")
        assert "[x] 1. Read the tutorial" in context[0]["content"][0]["text"]
        assert problems == []


@pytest.mark.case("mcp-apps-sbox-01")
async def test_page_proxy_and_view_have_isolated_origins(browser: Browser) -> None:
    async with shown(browser, Host(examples()), "clock", *CALLS["clock"]) as (page, _):
        view = await view_frame(page)
        await expect(view.locator("#day")).to_contain_text("Tokyo")
        origins = {await frame.evaluate("location.origin") for frame in page.frames}
        assert len(origins) == 3
        touch = "(name) => { try { return String(window[name].document) } catch (error) { return error.name } }"
        assert await view.evaluate(touch, "parent") == "SecurityError"
        assert await view.evaluate(touch, "top") == "SecurityError"
        assert await view.evaluate("parent !== top") is True


async def test_a_reloaded_page_restores_the_view_with_its_data(browser: Browser) -> None:
    async with shown(browser, Host(examples()), "chart", *CALLS["chart"]) as (page, problems):
        await expect((await view_frame(page)).get_by_role("heading")).to_have_text("Heights")
        await page.reload()
        await expect((await view_frame(page)).get_by_role("heading")).to_have_text("Heights")
        assert problems == []


async def test_a_rejected_socket_shows_the_reason_and_is_not_retried(browser: Browser) -> None:
    """Fails if the socket is refused before it is accepted: a browser then reports a lost connection."""
    async with shown(browser, Host(examples()), "clock", *CALLS["clock"]) as (page, _):
        sockets: list[str] = []
        page.on("websocket", lambda socket: sockets.append(socket.url))
        other = page.url.partition("/clock")[0].replace("localhost", "127.0.0.1") + "/apps"
        await page.locator("mcp-app").evaluate("(element, src) => element.setAttribute('src', src)", other)
        await expect(page.get_by_role("alert")).to_contain_text("the Host header is '127.0.0.1")
        await expect(page.get_by_role("alert")).to_contain_text("Host(origins=[...])")
        await page.wait_for_timeout(600)
        assert [url for url in sockets if "127.0.0.1" in url] == sockets[-1:]
        await expect(page.get_by_role("status")).to_be_empty()


async def test_a_missing_document_is_an_error_in_the_page(browser: Browser) -> None:
    host = Host(examples())
    async with shown(browser, host, "clock", *CALLS["clock"]) as (page, _):
        await view_frame(page)
        await page.route(re.compile("//[0-9a-f]{32}[.]sandbox"), lambda route: route.fulfill(status=404))
        await page.locator("mcp-app").evaluate("element => element.reopen()")
        await expect(page.get_by_role("alert")).to_contain_text("The View’s document cannot be loaded")
        await page.unroute_all()
        await page.get_by_role("button", name="Try again").click()
        await expect((await view_frame(page)).locator("#day")).to_contain_text("Tokyo")
        assert [record.name async for record in host.audit(kind="document")].count("failed") == 1


async def test_a_view_in_two_windows_is_live_in_the_newest_and_can_be_taken_back(browser: Browser) -> None:
    async with shown(browser, Host(examples()), "chart", *CALLS["chart"]) as (first, problems):
        await expect((await view_frame(first)).get_by_role("heading")).to_have_text("Heights")
        second = await browser.new_page(viewport=first.viewport_size)
        await second.goto(first.url)
        await expect((await view_frame(second)).get_by_role("heading")).to_have_text("Heights")
        await expect(first.get_by_role("status")).to_contain_text("This View is open in another window.")
        await first.get_by_role("button", name="Show it here").click()
        await expect((await view_frame(first)).get_by_role("heading")).to_have_text("Heights")
        await expect(second.get_by_role("status")).to_contain_text("This View is open in another window.")
        await second.close()
        assert problems == []


KEEP_SOCKETS = """
Object.assign(window, { sockets: [], isBlocked: false });
window.WebSocket = class extends WebSocket {
  constructor(url) {
    super(window.isBlocked ? "ws://localhost:1" : url);
    sockets.push(this);
  }
};
"""


async def test_a_page_that_lost_its_socket_does_not_take_the_view_from_a_newer_page(browser: Browser) -> None:
    """Fails without the epoch: both Views would have the same frames, and each gets answers of the other."""
    host = Host(examples(), policy=Policy({"tools": "allow"}))
    async with shown(browser, host, "todo", *CALLS["todo"]) as (first, _):
        await first.add_init_script(KEEP_SOCKETS)
        await first.reload()
        await expect((await view_frame(first)).get_by_role("listitem")).to_have_count(3)
        await first.evaluate("() => { isBlocked = true; sockets.at(-1).close() }")
        await expect(first.get_by_role("status")).to_contain_text("Reconnecting")
        second = await browser.new_page(viewport=first.viewport_size)
        await second.goto(first.url)
        view = await view_frame(second)
        await expect(view.get_by_role("listitem")).to_have_count(3)
        await view.get_by_role("checkbox").first.check()
        await expect(view.get_by_role("status")).to_have_text("2 of 3 left")
        await first.evaluate("isBlocked = false")
        await expect(first.get_by_role("status")).to_contain_text("This View is open in another window.")
        await view.get_by_role("checkbox").nth(1).check()
        await expect(view.get_by_role("status")).to_have_text("1 of 3 left")
        await first.get_by_role("button", name="Show it here").click()
        await expect((await view_frame(first)).get_by_role("listitem")).to_have_count(3)
        await second.close()


@pytest.mark.parametrize("how", ["closed", "left", "reloaded", "removed"])
async def test_closing_the_page_ends_a_consent_question(how: str, browser: Browser) -> None:
    host = Host(examples())
    async with shown(browser, host, "todo", *CALLS["todo"]) as (page, _):
        await (await view_frame(page)).get_by_role("checkbox").first.click()
        await page.get_by_role("dialog").wait_for()
        if how == "closed":
            await page.close()
        elif how == "left":
            await page.goto("about:blank")
        elif how == "removed":
            await page.locator("mcp-app").evaluate("element => element.remove()")
        else:
            await page.reload()
            await expect((await view_frame(page)).get_by_role("listitem")).to_have_count(3)
            await expect(page.get_by_role("dialog")).to_have_count(0)
        with anyio.fail_after(60):  # a question has two minutes
            while not (decided := [record async for record in host.audit(kind="decision", name="tool")]):  # noqa: ASYNC110  nobody tells
                await anyio.sleep(0.05)
    assert [(record.outcome, record.by) for record in decided] == [("denied", "nobody")]


async def test_a_view_that_cannot_be_read_shows_the_reason_in_the_page(browser: Browser) -> None:
    server: MCPServer[Any] = MCPServer("broken")

    @server.tool(meta={"ui": {"resourceUri": "ui://broken/none"}})
    def show() -> str:
        return "text"

    async with shown(browser, Host({"broken": server}), "broken", "show", {}) as (page, _):
        await expect(page.get_by_role("alert")).to_contain_text("cannot be shown")


@pytest.mark.parametrize("package", ["ext-apps-1", "ext-apps-2"])
async def test_the_published_app_runs_in_our_host(package: str, browser: Browser, tmp_path: Path) -> None:
    source = tmp_path / "view.js"
    source.write_text(
        f"""
        import {{ App }} from "{package}";
        const out = document.getElementById("out");
        const app = new App({{ name: "Published", version: "1" }}, {{ availableDisplayModes: ["inline"] }});
        app.ontoolinput = (params) => (out.textContent += `input ${{params.arguments.a}} `);
        app.ontoolresult = (result) => (out.textContent += `result ${{result.structuredContent.sum}} `);
        document.getElementById("go").onclick = async () => {{
          const result = await app.callServerTool({{ name: "add", arguments: {{ a: 20, b: 22 }} }});
          await app.updateModelContext({{ content: [{{ type: "text", text: "seen" }}] }});
          out.textContent += `call ${{result.structuredContent.sum}} in ${{app.getHostVersion().name}}`;
        }};
        app.connect();
        """,
        encoding="utf-8",
    )
    script = run_esbuild(str(source), "--bundle", "--format=esm", "--minify").replace("</script", "<\\/script")
    html = f'<!doctype html><p id="out"></p><button id="go">go</button><script type="module">{script}</script>'
    server: MCPServer[Any] = MCPServer("sum")
    apps = Apps(server)

    @apps.tool(view=View.html(html, uri="ui://sum/view"))
    def add(a: int, b: int) -> dict[str, int]:
        return {"sum": a + b}

    host = Host({"sum": server}, policy=Policy({"tools": "allow"}))
    async with shown(browser, host, "sum", "add", {"a": 1, "b": 2}) as (page, problems):
        view = await view_frame(page)
        await expect(view.locator("#out")).to_have_text("input 1 result 3")
        await view.get_by_role("button").click()
        await expect(view.locator("#out")).to_have_text("input 1 result 3 call 42 in fanlight")
        assert (await context_of(host, "sum"))[0]["content"] == [{"type": "text", "text": "seen"}]
        assert problems == []


async def test_only_declared_and_granted_permissions_work(browser: Browser) -> None:
    """The policy follows the declaration: one address answers, another does not, and one permission is delegated."""

    async def answer(request: Request) -> Response:
        return PlainTextResponse("hello", headers={"access-control-allow-origin": "*"})

    neighbour = Starlette(routes=[Route("/", answer)])
    with serving(neighbour) as address, serving(neighbour) as other:
        server: MCPServer[Any] = MCPServer("net")
        csp = Csp(connect_domains=[address])
        html = "<!doctype html><title>net</title><p>here</p>"
        view = View.html(html, uri="ui://net/view", csp=csp, permissions=["geolocation", "camera"])

        @Apps(server).tool(view=view)
        def show() -> str:
            return "x"

        rules = {"servers": {"net": {"permissions": ["geolocation"]}}}
        async with shown(browser, Host({"net": server}, policy=Policy(rules)), "net", "show", {}) as (page, _):
            frame = await view_frame(page)
            fetched = "url => fetch(url).then(r => r.text()).catch(() => 'blocked')"
            assert await frame.evaluate(fetched, address) == "hello"
            assert await frame.evaluate(fetched, other) == "blocked"
            allows = "name => document.featurePolicy.allowsFeature(name)"
            assert await frame.evaluate(allows, "geolocation") is True
            assert await frame.evaluate(allows, "camera") is False
            await expect(page.locator("mcp-app [part=network]")).to_contain_text(address)
