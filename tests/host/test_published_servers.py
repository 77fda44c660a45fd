"""Published servers in our host: their Views in a real browser, over stdio and HTTP."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Browser, Frame, Page, expect

from fanlight.host import Host, Policy, RequestError
from fanlight.host.errors import ConnectionLostError
from support.browser import colours, until, view_frame
from support.calls import app_tools_of, call_app_tool, context_of
from support.program import Program, program_of
from support.published import Published

pytestmark = pytest.mark.anyio

NAMES = ("basic-vanillajs", "basic-react", "debug", "budget-allocator", "threejs")
TRANSPORTS = ("stdio", "http")

Messages = list[tuple[str | None, str, list[dict[str, Any]]]]

# A lit sphere before a background of one colour.
SCENE = """
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
renderer.setSize(width, height);
renderer.setClearColor(0x336699);
const scene = new THREE.Scene();
const camera = new THREE.PerspectiveCamera(75, width / height, 0.1, 1000);
camera.position.z = 3;
scene.add(new THREE.Mesh(new THREE.SphereGeometry(1, 32, 32), new THREE.MeshStandardMaterial({ color: 0xff2200 })));
const light = new THREE.DirectionalLight(0xffffff, 3);
light.position.set(2, 2, 2);
scene.add(light);
renderer.render(scene, camera);
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Published]]:
    made = {
        f"{name}-{transport}": Published(f"@modelcontextprotocol/server-{name}", tmp_path_factory.mktemp(name))
        for name in NAMES
        for transport in TRANSPORTS
    }
    try:
        for name, server in made.items():
            if name.endswith("-http"):
                server.start()
        yield made
    finally:
        for server in made.values():
            server.stop()


@pytest.fixture(scope="module")
def program(published: dict[str, Published]) -> Iterator[Program]:
    servers = {name: each.url() if name.endswith("-http") else each.command() for name, each in published.items()}
    kinds = ("tools", "app_tools", "links", "downloads", "messages", "sampling")
    compat = {name: {"profile": "compat"} for name in servers if name.startswith("threejs")}
    host = Host(servers, policy=Policy({**dict.fromkeys(kinds, "allow"), "servers": compat}))
    with program_of(host) as made:
        yield made


@pytest.fixture
def messages(program: Program) -> Messages:
    """The messages that Views send during the test."""
    received: Messages = []
    program.host.on_message(lambda message: received.append((message.conversation, message.role, message.content)))
    return received


async def noted(page: Page) -> None:
    """Let the page record messages of the host to the View, and links instead of opening them."""
    await page.evaluate(
        """() => {
          window.fromHost = []; window.links = [];
          addEventListener("mcp-message", ({detail}) => detail.from === "host" && fromHost.push(detail.message));
          addEventListener("mcp-link", (event) => { event.preventDefault(); links.push(event.detail.url); });
        }"""
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", ["basic-vanillajs", "basic-react"])
async def test_a_time_server_shows_the_time_and_a_click_shows_a_later_one(
    name: str, transport: str, browser: Browser, program: Program, messages: Messages
) -> None:
    async with program.shown(browser, f"{name}-{transport}", "get-time", {}) as (page, problems):
        view = await view_frame(page)
        shown = view.locator("p", has_text="Server Time:").locator("code")
        first = program.call.for_model[0]["text"]
        await expect(shown).to_have_text(first)
        await expect(shown).to_be_visible()

        await noted(page)
        await view.get_by_role("button", name="Get Server Time").click()
        await expect(shown).not_to_have_text(first)
        (answer,) = [message["result"] for message in await page.evaluate("fromHost") if "result" in message]
        assert answer["content"][0]["text"] > first
        await expect(shown).to_have_text(answer["content"][0]["text"])

        await view.get_by_role("textbox").first.fill("What time is it?")
        await view.get_by_role("button", name="Send Message").click()
        await view.get_by_role("button", name="Open Link").click()
        await page.wait_for_function("links.length === 1")
        assert await page.evaluate("links") == ["https://modelcontextprotocol.io/"]
        assert messages == [(f"{name}-{transport}", "user", [{"type": "text", "text": "What time is it?"}])]
        assert problems == []


# The debug View logs every event.


async def logged(view: Frame, kind: str, count: int = 1) -> Any:
    """Wait until the log of the View has this many entries of a kind, and return the content of the last."""
    entries = view.locator(".log-entry", has=view.locator(f".log-type.{kind}"))
    await expect(entries).to_have_count(count)
    await entries.last.locator(".log-entry-header").click()
    await expect(entries.last.locator("pre")).to_be_visible()
    return json.loads(await entries.last.locator("pre").inner_text())


@pytest.mark.usefixtures("messages")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_debug_view_shows_arguments_and_result_of_the_call(
    transport: str, browser: Browser, program: Program, published: dict[str, Published]
) -> None:
    server, asked = f"debug-{transport}", {"contentType": "mixed", "largeInput": "x" * 1000, "simulateError": True}
    async with program.shown(browser, server, "debug-tool", asked) as (page, problems):
        view = await view_frame(page)
        assert await logged(view, "ontoolinput") == {"arguments": asked}
        result = await logged(view, "ontoolresult")
        assert result == program.call.result
        assert (result["isError"], result["structuredContent"]["largeInputLength"]) == (True, 1000)
        facts = (await view.locator("#host-info-content").inner_text()).split("\n")
        for name, value in {"Theme": "light", "Display Mode": "inline", "Width": "684px", "openLinks": "✓"}.items():
            assert facts[facts.index(name) + 1] == value
        for capability in ("serverTools", "serverResources", "logging", "message", "updateModelContext"):
            assert facts[facts.index(capability) + 1] == "✓"
        # The View has written the same into the server's own log, by a tool that the model does not see.
        lines = [json.loads(line) for line in published[server].log.read_text(encoding="utf-8").splitlines()]
        assert {"ontoolinput", "ontoolresult"} <= {line["type"] for line in lines}
        tools = await program.inside(program.host.conversation().tools())
        assert [tool.tool for tool in tools if tool.server == server] == ["debug-tool"]
        assert problems == []


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_each_button_of_the_debug_view_gets_a_response_of_the_host(
    transport: str, browser: Browser, program: Program, messages: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    server = f"debug-{transport}"
    async with program.shown(browser, server, "debug-tool", {}, height=2400) as (page, problems):
        view = await view_frame(page)
        await expect(view.locator(".log-type.ontoolresult")).to_have_count(1)
        await noted(page)

        async def press(name: str) -> None:
            await view.get_by_role("button", name=name, exact=True).click()

        await view.locator("#message-text").fill("Hello, model")
        await press("Send Text")
        assert await logged(view, "send-message-result") == {}
        await press("Send Test Image")
        assert await logged(view, "send-message-result", 2) == {}
        assert messages[0] == (server, "user", [{"type": "text", "text": "Hello, model"}])
        assert (messages[1][2][0]["type"], len(messages)) == ("image", 2)

        async def model_context() -> dict[str, Any]:
            (context,) = [each for each in await context_of(program.host, server) if each["view"] == program.call.view]
            return context

        await view.locator("#context-text").fill("Seen by the model")
        await press("Update (Text)")
        await logged(view, "update-context")
        assert (await model_context())["content"] == [{"type": "text", "text": "Seen by the model"}]
        await press("Update (Structured)")
        await logged(view, "update-context", 2)
        assert ((await model_context())["content"], list((await model_context())["structuredContent"])) == (
            [],
            ["debugState"],
        )
        await press("Update (Image)")
        await logged(view, "update-context", 3)
        assert (await model_context())["content"][0]["mimeType"] == "image/png"

        await view.locator("#log-data").fill("Something odd")
        await press("warning")
        assert await logged(view, "send-log") == {"level": "warning", "data": "Something odd"}
        await press("Open Link")
        assert await logged(view, "open-link-result") == {}
        assert await page.evaluate("links") == ["https://modelcontextprotocol.io/"]
        (line,) = [record for record in caplog.records if record.name == "fanlight.views"]
        assert (line.levelname, line.message) == ("WARNING", f"{program.call.view}: 'Something odd'")

        await press("400x300")
        await expect(page.locator("mcp-app [part=frame]")).to_have_css("height", "300px")
        for count, (name, mode) in enumerate([("Fullscreen", "fullscreen"), ("PiP", "pip"), ("Inline", "inline")], 1):
            await press(name)
            assert await logged(view, "display-mode-result", count) == {"mode": mode, "result": {"mode": mode}}
            assert await page.evaluate("document.querySelector('mcp-app').displayMode") == mode
            await until(view, f"document.querySelector('#host-context-info').innerText.includes('{mode}')")

        await view.locator("#tool-content-type").select_option("image")
        await view.get_by_label("Simulate error").check()
        await press("Call debug-tool")
        result = await logged(view, "server-tool-result")
        assert (result["isError"], [block["type"] for block in result["content"]]) == (True, ["image"])
        await press("Call debug-refresh")
        again = await logged(view, "server-tool-result", 2)
        assert again["structuredContent"]["counter"] == result["structuredContent"]["counter"]
        await expect(view.locator(".log-type.error, .log-type.onerror")).to_have_count(0)
        assert problems == []


async def test_arguments_are_streamed_and_the_model_calls_only_tools_of_the_view(
    browser: Browser, program: Program
) -> None:
    async with program.shown(browser, "debug-stdio", "debug-tool", None) as (page, problems):
        view = await view_frame(page)
        await expect(view.locator(".log-type.connected")).to_have_count(1)
        call = program.call
        program.soon(call.feed, '{"contentType": "text", "largeInput": "gro')
        grown = {"contentType": "text", "largeInput": "gro"}
        assert await logged(view, "ontoolinputpartial") == {"arguments": grown}
        await program.inside(call.run(grown | {"largeInput": "grown"}))
        assert (await logged(view, "ontoolresult"))["structuredContent"]["largeInputLength"] == 5
        assert call.view is not None
        assert app_tools_of(program.host, "debug-stdio") == []
        with pytest.raises(RequestError, match="offers no tool 'anything'"):  # although the View would answer any name
            await program.inside(call_app_tool(program.host, call.view, "anything", {"a": 1}))
        assert problems == []


# The budget View has sliders, and tools of its own.


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_budget_view_shows_data_and_is_changed_by_user_and_model(
    transport: str, browser: Browser, program: Program
) -> None:
    server = f"budget-allocator-{transport}"
    async with program.shown(browser, server, "get-budget-data", {}) as (page, problems):
        view = await view_frame(page)
        rows = view.locator(".slider-row")
        await expect(rows).to_have_count(5)
        assert program.call.result is not None
        for category in program.call.result["structuredContent"]["config"]["categories"]:
            row = rows.filter(has_text=category["name"])
            await expect(row.locator(".percent")).to_have_text(f"{category['defaultPercent']:.1f}%")
            await expect(row.get_by_role("slider")).to_have_value(str(category["defaultPercent"]))
        status = view.locator("#status-bar")
        await expect(status).to_have_text("Allocated: $100,000 / $100,000")
        chart = await colours(page, await view.locator("#budget-chart").screenshot())
        assert {"#3b82f6", "#10b981", "#f59e0b", "#ef4444", "#8b5cf6"} <= {*chart}

        marketing = rows.filter(has_text="Marketing")
        await marketing.get_by_role("slider").focus()
        for _ in range(5):
            await page.keyboard.press("ArrowRight")
        await expect(marketing.locator(".percent")).to_have_text("30.0%")
        await expect(status).to_have_text(re.compile(r"\$105,000 / \$100,000\s+Over"))

        tools = {tool.name: tool for tool in app_tools_of(program.host, server)}
        assert {"get-allocations", "set-allocation"} <= {*tools}
        tool = tools["set-allocation"]
        asked = {"categoryId": "sales", "percent": 10}
        answer = await program.inside(call_app_tool(program.host, tool.view, tool.name, asked))
        assert answer["content"][0]["text"] == "Set Sales allocation to 10.0% ($10,000)"
        await expect(rows.filter(has_text="Sales").get_by_role("slider")).to_have_value("10")
        await expect(status).to_have_text("Allocated: $100,000 / $100,000")
        answer = await program.inside(call_app_tool(program.host, tool.view, "get-allocations", {}))
        assert answer["structuredContent"]["allocations"]["marketing"] == {"percent": 30, "amount": 30_000}
        assert problems == []


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_threejs_scene_is_drawn(transport: str, browser: Browser, program: Program) -> None:
    asked = {"code": SCENE, "height": 300}
    async with program.shown(browser, f"threejs-{transport}", "show_threejs_scene", asked) as (page, problems):
        canvas = (await view_frame(page)).locator("canvas")
        await expect(canvas).to_have_css("height", "300px")
        for _ in range(50):
            drawn = await colours(page, await canvas.screenshot())
            if "#336699" in drawn:
                break
        assert drawn["#336699"] > sum(drawn.values()) / 2
        # The light on the sphere has many shades of red.
        assert len([name for name in drawn if int(name[1:3], 16) > int(name[3:5], 16) + 50]) > 50
        assert problems == []


# Servers that crash


async def refreshed(view: Frame, count: int = 1) -> Any:
    """Let the debug View send a request: when its response arrives, earlier requests have reached the server."""
    await view.get_by_role("button", name="Call debug-refresh").click()
    return await logged(view, "server-tool-result", count)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_model_call_is_cancelled_when_the_server_dies_and_later_calls_work(
    transport: str, browser: Browser, program: Program, published: dict[str, Published]
) -> None:
    server = f"debug-{transport}"
    async with program.shown(browser, server, "debug-tool", None, height=2400) as (page, _):
        view = await view_frame(page)
        call = asyncio.create_task(program.inside(program.call.run({"delayMs": 100_000})))
        assert await logged(view, "ontoolinput") == {"arguments": {"delayMs": 100_000}}
        await refreshed(view)
        published[server].kill()
        assert f"The connection to {server} was lost" in (await logged(view, "ontoolcancelled"))["reason"]
        with pytest.raises(ConnectionLostError):
            await call
        await expect(view.locator(".log-type.ontoolresult")).to_have_count(0)
        published[server].start_again()
        assert (await refreshed(view, 2))["structuredContent"]["counter"] == 0
    async with program.shown(browser, server, "debug-tool", {}) as (page, problems):
        view = await view_frame(page)
        assert (await logged(view, "ontoolresult"))["structuredContent"]["counter"] == 1
        assert problems == []


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_view_call_fails_when_the_server_dies_and_later_calls_work(
    transport: str, browser: Browser, program: Program, published: dict[str, Published]
) -> None:
    server = f"debug-{transport}"
    async with program.shown(browser, server, "debug-tool", {}, height=2400) as (page, _):
        view = await view_frame(page)
        await logged(view, "ontoolresult")
        await view.locator("#tool-delay-ms").fill("100000")
        await view.get_by_role("button", name="Call debug-tool").click()
        await refreshed(view)
        published[server].kill()
        assert (await logged(view, "error"))["code"] == -32000
        published[server].start_again()
        assert (await refreshed(view, 2))["structuredContent"]["counter"] == 0


async def test_a_click_after_the_server_was_killed_waits_for_its_restart(
    browser: Browser, program: Program, published: dict[str, Published]
) -> None:
    server = "basic-react-stdio"
    async with program.shown(browser, server, "get-time", {}) as (page, problems):
        view = await view_frame(page)
        shown = view.locator("p", has_text="Server Time:").locator("code")
        first = program.call.for_model[0]["text"]
        await expect(shown).to_have_text(first)
        before = published[server].info()["pid"]
        published[server].kill()
        async with asyncio.timeout(60):
            while program.host.servers[server].status.state == "ready":
                await page.wait_for_timeout(10)
        await view.get_by_role("button", name="Get Server Time").click()
        await expect(shown).not_to_have_text(first)
        assert await shown.inner_text() > first
        assert published[server].info()["pid"] != before
        assert problems == []
