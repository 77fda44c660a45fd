"""Views written with React, Preact, Solid, Vue and Svelte: the same with view.js and with the published package."""

import itertools
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, FrameLocator, Page, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host import Host, Policy
from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_file
from support.browser import problems_of, view_frames
from support.calls import call_tool
from support.node import ROOT, node, node_module, run_esbuild
from support.program import chat_page
from support.stage import on_stage
from support.wire import UI, in_memory, serving_pages

pytestmark = [pytest.mark.anyio, pytest.mark.process]

VIEWS = Path(__file__).with_name("views")
FRAMEWORKS = ("react", "preact", "solid", "vue", "svelte")
SDKS = ("ours", "published")
PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Time</title><div id="root"></div>'
COLOUR = "--color-background-primary"


@pytest.fixture(scope="module")
def scripts() -> dict[str, dict[str, str]]:
    """The script of each View as Vite builds it, with each SDK, from one run because starting it takes seconds."""
    command = [node(), str(VIEWS / "build.js")]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300).stdout
    scripts: dict[str, dict[str, str]] = json.loads(made)
    return scripts


def _document(script: str) -> str:
    escaped = script.replace("</script", r"<\/script")
    return f"{PAGE}<script type=module>{escaped}</script>"


@pytest.fixture(scope="module")
def documents(scripts: dict[str, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The Views as documents, by framework and SDK; that of React with our SDK also as the bundler makes it."""
    documents = {
        f"{framework} {sdk}": _document(script) for framework, made in scripts.items() for sdk, script in made.items()
    }
    folder = tmp_path_factory.mktemp("react")
    (folder / "node_modules").symlink_to(ROOT / "node_modules", target_is_directory=True)
    (folder / "tsconfig.json").write_text('{"compilerOptions": {"jsx": "react-jsx"}}')
    (folder / "time.jsx").write_text(VIEWS.joinpath("Time.react.jsx").read_text(encoding="utf-8"))
    (folder / "view.html").write_text(f'{PAGE}<script type="module" src="time.jsx"></script>')
    documents["react bundled"] = bundle_file(folder / "view.html", Csp()).html
    return documents


def server(html: str = PAGE) -> MCPServer[Any]:
    made: MCPServer[Any] = MCPServer("time")
    apps = Apps(made)

    @apps.tool(view=View.html(html, uri="ui://time/view"))
    def get_time(zone: str) -> str:
        return f"12:00 in {zone}"

    return made


async def expect_call(view: FrameLocator) -> None:
    """Wait until a View shows its arguments and its result, and call the tool from it."""
    await expect(view.locator("#zone")).to_have_text("Europe/Paris")
    await expect(view.locator("#time")).to_have_text("12:00 in Europe/Paris")
    await expect(view.locator("#theme")).to_have_text("light")
    await view.get_by_role("button", name="Call").click()
    await expect(view.locator("#time")).to_have_text("12:00 in UTC")
    await view.get_by_role("button", name="Send").click()
    await expect(view.locator("#log")).to_have_text("sent")


ALL = [f"{framework} {sdk}" for framework in FRAMEWORKS for sdk in SDKS] + ["react bundled"]


@pytest.mark.parametrize("name", ALL)
async def test_a_view_works_in_the_published_bridge(name: str, documents: dict[str, str], browser: Browser) -> None:
    context = {"styles": {"variables": {COLOUR: "rgb(1, 2, 3)"}, "css": {"fonts": "@font-face{font-family:x}"}}}
    async with (
        in_memory(server(), "2025-11-25", UI) as client,
        on_stage(browser, documents[name], client, bridge="ext-apps-2", context=context) as stage,
    ):
        await stage.run("get_time", {"zone": "Europe/Paris"})
        await expect_call(stage.view)
        (message,) = await stage.sent("ui/message", 1)
        assert message["content"] == [{"type": "text", "text": "What time is it?"}]
        assert await stage.sent("ui/open-link", 1) == [{"url": "https://example.com/"}]

        root = stage.view.locator(":root")
        variable = f"root => root.style.getPropertyValue('{COLOUR}')"
        assert await root.evaluate(variable) == "rgb(1, 2, 3)"
        assert "font-family:x" in await stage.view.locator("head").inner_html()
        insets = {"top": 7, "right": 0, "bottom": 0, "left": 0}
        changed = {"theme": "dark", "safeAreaInsets": insets, "styles": {"variables": {COLOUR: "rgb(4, 5, 6)"}}}
        await stage.notify("ui/notifications/host-context-changed", changed)
        await expect(stage.view.locator("#theme")).to_have_text("dark")
        await expect(stage.view.locator("main")).to_have_css("padding-top", "7px")
        await expect(root).to_have_attribute("data-theme", "dark")
        assert await root.evaluate(variable) == "rgb(4, 5, 6)"

        await stage.page.evaluate("teardown()")
        await expect(stage.view.locator("#log")).to_have_text("down")
        # The published package tries whether it may evaluate code.
        tried = "violation: script-src eval" if name.endswith(" published") else "none"
        assert [problem for problem in stage.problems if not problem.startswith(tried)] == []


@asynccontextmanager
async def hosted(
    browser: Browser, made: MCPServer[Any], tool: str, arguments: dict[str, str]
) -> AsyncIterator[tuple[FrameLocator, list[Any], list[str]]]:
    """Show a View in our host, and collect the messages to the conversation and the errors of the page."""
    host = Host({"time": made}, policy=Policy(dict.fromkeys(("tools", "links", "messages"), "allow")))
    messages: list[Any] = []
    host.on_message(lambda message: messages.append(message.content))

    async def page(request: Request) -> Response:
        call = await call_tool(host, "time", tool, arguments, conversation="c1")
        return HTMLResponse(chat_page(call))

    with serving_pages(host.wrap(Starlette(routes=[Route("/", page)]))) as address:
        shown = await browser.new_page(viewport={"width": 700, "height": 900})
        problems = problems_of(shown)
        try:
            await shown.add_init_script("addEventListener('mcp-link', event => event.preventDefault())")
            await shown.goto(address)
            await view_frames(shown)
            yield shown.locator("mcp-app").frame_locator("iframe").frame_locator("iframe"), messages, problems
        finally:
            await shown.close()


@pytest.mark.parametrize("name", ALL)
async def test_a_view_works_in_our_host(name: str, documents: dict[str, str], browser: Browser) -> None:
    made = server(documents[name])
    async with hosted(browser, made, "get_time", {"zone": "Europe/Paris"}) as (view, messages, problems):
        await expect_call(view)
        assert messages == [[{"type": "text", "text": "What time is it?"}]]
        await view.owner.page.locator("mcp-app").evaluate("element => element.setAttribute('theme', 'dark')")
        await expect(view.locator("#theme")).to_have_text("dark")
        assert problems == []


def published_server(html: str) -> MCPServer[Any]:
    """Return a server with the tool that the published examples call. Each call has a number."""
    made: MCPServer[Any] = MCPServer("time")
    apps = Apps(made)
    numbers = itertools.count(1)

    @apps.tool(name="get-time", view=View.html(html, uri="ui://time/view"))
    def get_time() -> str:
        return f"call {next(numbers)}"

    return made


async def expect_published(view: FrameLocator, framework: str) -> None:
    shown = view.locator("p", has_text="Server Time:").locator("code")
    await expect(shown).to_have_text("call 1")
    await view.get_by_role("button", name="Get Server Time").click()
    # The View for Vue keeps its App in a ref, through whose proxy the published package cannot be called.
    await expect(shown).to_have_text("[ERROR]" if framework == "vue" else "call 2")


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_view_of_a_published_example_works_in_both_hosts(framework: str, browser: Browser) -> None:
    html = node_module(f"@modelcontextprotocol/server-basic-{framework}/dist/mcp-app.html").read_text(encoding="utf-8")
    made = published_server(html)
    async with (
        in_memory(made, "2025-11-25", UI) as client,
        on_stage(browser, html, client, bridge="ext-apps-2") as stage,
    ):
        await stage.run("get-time", {})
        await expect_published(stage.view, framework)
    async with hosted(browser, published_server(html), "get-time", {}) as (view, _, _):
        await expect_published(view, framework)


def _hooks(sdk: str) -> str:
    """Build the View that uses every hook, as it is for developers: StrictMode mounts each component twice."""
    ours = ROOT / "src" / "fanlight" / "browser" / "view-react.js"
    hooks = {"ours": str(ours), "published": "ext-apps-2/react"}[sdk]
    alias = f"--alias:@modelcontextprotocol/ext-apps/react={hooks}"
    options = ("--bundle", "--format=iife", "--jsx=automatic", '--define:process.env.NODE_ENV="development"')
    return _document(run_esbuild(str(VIEWS / "hooks.jsx"), alias, *options))


@pytest.mark.parametrize("sdk", SDKS)
async def test_hooks_do_the_same_with_both_packages(sdk: str, browser: Browser) -> None:
    context = {"styles": {"variables": {COLOUR: "rgb(1, 2, 3)"}, "css": {"fonts": "@font-face{font-family:x}"}}}
    async with on_stage(browser, _hooks(sdk), context=context) as stage:
        view, root = stage.view, stage.view.locator(":root")
        await expect(view.locator("#connected")).to_have_text("true true")
        variable = f"root => root.style.getPropertyValue('{COLOUR}')"
        assert await root.evaluate(variable) == "rgb(1, 2, 3)"
        assert "font-family:x" in await view.locator("head").inner_html()
        await stage.page.wait_for_function("messages.some(({ method }) => method?.endsWith('size-changed'))")
        await expect(root).to_have_attribute("data-theme", "light")
        # StrictMode mounts the component twice, but only the second App introduces itself.
        assert len(await stage.sent("ui/initialize", 1)) == 1

        # One of two components with the same hooks goes; the other one goes on.
        await view.get_by_role("button", name="Fewer").click()
        await expect(view.locator("#theme")).to_have_count(1)
        changed = {"theme": "dark", "styles": {"variables": {COLOUR: "rgb(4, 5, 6)"}}}
        await stage.notify("ui/notifications/host-context-changed", changed)
        await expect(view.locator("#theme")).to_have_text("dark")
        assert await root.evaluate(variable) == "rgb(4, 5, 6)"

        # Unmounting closes the App: nothing listens any more.
        await view.get_by_role("button", name="Unmount").click()
        await expect(view.locator("body")).to_have_attribute("data-mounted", "false")
        await stage.notify("ui/notifications/host-context-changed", {"theme": "light"})
        await view.locator("body").evaluate("() => new Promise(done => setTimeout(done))")
        await expect(root).to_have_attribute("data-theme", "dark")
        tried = "violation: script-src eval" if sdk == "published" else "none"
        assert [problem for problem in stage.problems if not problem.startswith(tried)] == []


async def test_a_connection_that_fails_is_an_error_of_the_hook(page: Page) -> None:
    await page.set_content(_hooks("ours"))
    await expect(page.get_by_role("alert")).to_have_text("Not in a host null false")
