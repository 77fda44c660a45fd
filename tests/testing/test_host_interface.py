"""`HostUnderTest`, driven as external test suites drive it, in process and over HTTP."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp.server import MCPServer
from playwright.async_api import Page, expect

from fanlight import Apps, View, mcpui
from fanlight.testing.host_interface import HostUnderTest, Suite, SuiteError
from support.browser import until, view_frame
from support.docs import ROOT, write_files

pytestmark = pytest.mark.anyio

PAGE = """<!doctype html><title>notes</title>
<p id="output"></p><p id="theme"></p><button id="say">say</button><button id="open">open</button>
<script type="module">
  import { App } from "fanlight";
  const output = document.getElementById("output");
  const app = new App({ name: "notes", version: "1" });
  const show = () => (document.getElementById("theme").textContent = app.getHostContext()?.theme ?? "");
  app.ontoolresult = ({ content }) => (output.textContent = content[0].text);
  app.ontoolcancelled = ({ reason }) => (output.textContent = `cancelled: ${reason}`);
  app.onhostcontextchanged = show;
  const report = (work) =>
    work.then(({ isError }) => !isError, () => false).then((done) => (output.textContent = done ? "done" : "refused"));
  document.getElementById("say").onclick = () =>
    report(app.sendMessage({ role: "user", content: [{ type: "text", text: "from the View" }] }));
  document.getElementById("open").onclick = () => report(app.openLink({ url: "https://example.com/" }));
  const inputSchema = { type: "object", properties: { n: { type: "number" } } };
  app.registerTool("double", { description: "Doubles a number.", inputSchema }, ({ n }) => ({
    content: [{ type: "text", text: String(n * 2) }],
  }));
  await app.connect();
  show();
  await app.updateModelContext({ content: [{ type: "text", text: "the secret is 42" }] });
</script>"""


def notes() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("notes")
    apps = Apps(server)

    @apps.tool(view=View.html(PAGE, uri="ui://notes/view"))
    async def show(text: str = "hello", seconds: float = 0) -> str:
        await anyio.sleep(seconds)
        return text

    @apps.tool(visibility=["app"])
    def hidden() -> str:
        return "hidden"

    @server.tool()
    def plain() -> str:
        return "plain"

    return server


@pytest.fixture
async def host() -> AsyncIterator[HostUnderTest]:
    async with HostUnderTest({"notes": notes()}) as running:
        yield running


class Remote:
    """A client of the interface over HTTP, by its method names."""

    def __init__(self, client: httpx2.AsyncClient, url: str, token: str) -> None:
        self.client, self.url, self.token = client, url, token

    async def __call__(self, method: str, **arguments: Any) -> Any:
        answer = await self.post(method, arguments)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def post(self, method: str, arguments: Any, token: str | None = None) -> httpx2.Response:
        headers = {"authorization": f"Bearer {self.token if token is None else token}"}
        return await self.client.post(f"{self.url}/test/{method}", json=arguments, headers=headers)


@pytest.fixture
async def remote(host: HostUnderTest) -> AsyncIterator[Remote]:
    async with host.serve() as url, httpx2.AsyncClient(timeout=60) as client:
        yield Remote(client, url, host.token)


async def test_a_suite_can_act_as_the_model_without_a_browser(host: HostUnderTest) -> None:
    context = await host.get_conversation_context()
    assert [tool["name"] for tool in context["tools"]] == ["notes__show", "notes__plain"]
    assert (await host.call_tool("notes/plain"))["result"]["content"][0]["text"] == "plain"
    called = await host.call_tool("notes__show", {"text": "x"})
    assert called["result"]["content"][0]["text"] == "x"
    assert called["view"] in called["url"]
    turn = await host.send_message("and now?")
    assert turn["tools"] == context["tools"]
    assert [entry["role"] for entry in turn["conversation"]] == ["assistant", "tool", "assistant", "tool", "user"]
    assert host.get_conversation() == turn["conversation"]
    with pytest.raises(SuiteError, match=r"no tool 'notes__hidden'"):
        await host.call_tool("notes__hidden")
    await host.reset_environment()
    assert host.get_conversation() == []


async def test_a_cancelled_call_is_reported_as_cancelled(host: HostUnderTest) -> None:
    called = await host.call_tool("notes/show", {"seconds": 60}, cancel_after=0.05)
    assert called["cancelled"] == "The test cancelled it."
    assert host.get_conversation()[-1] == {"role": "tool", "cancelled": "The test cancelled it."}


async def test_each_view_of_a_result_has_a_page_and_is_in_the_conversation() -> None:
    server: MCPServer[Any] = MCPServer("old")

    @server.tool()
    def cards() -> list[mcpui.UIResource]:
        content = {"type": "rawHtml", "htmlString": "<p>A card</p>"}
        return [mcpui.create_ui_resource(uri=f"ui://old/{name}", content=content) for name in ("one", "two")]

    async with HostUnderTest({"old": server}) as host, host.serve(), httpx2.AsyncClient() as client:
        called = await host.call_tool("old/cards")
        assert called["url"] == called["views"][0]["url"]
        for shown in called["views"]:
            assert shown["view"] in (await client.get(shown["url"])).text
        views = host.get_conversation()[-1]["views"]
        assert [view["uri"] for view in views] == ["ui://old/one", "ui://old/two"]
        assert [view["view"] for view in views] == [shown["view"] for shown in called["views"]]


async def test_suites_default_to_the_tools_with_views() -> None:
    async with HostUnderTest({"notes": notes()}) as host:
        assert (await host.display_test_app("notes/show")).conversation == "test-2"
        with pytest.raises(SuiteError, match=r"There are: notes/show\."):
            await host.display_test_app("core")
    suites = {"core": Suite("notes", "show", {"text": "from the suite"})}
    async with HostUnderTest({"notes": notes()}, suites=suites) as host:
        await host.display_test_app("core")
        assert host.get_conversation()[-1]["content"][0]["text"] == "from the suite"
        await host.display_test_app("core", {"text": "other"})
        assert len(host.get_conversation()) == 2, "each app has a conversation of its own"


@pytest.mark.process
async def test_a_server_that_does_not_start_is_named_in_the_error() -> None:
    async with HostUnderTest({"notes": notes(), "gone": ["no-such-command-anywhere"]}) as host:
        with pytest.raises(SuiteError, match=r"There are: notes/show\. gone is "):
            await host.display_test_app("gone/show")


async def test_confirming_an_action_that_was_not_requested_raises() -> None:
    async with HostUnderTest({"notes": notes()}, patience=0.05) as host:
        with pytest.raises(SuiteError, match="did not ask about link"):
            await host.confirm_action("link")


async def test_a_suite_drives_the_host_over_http(remote: Remote, host: HostUnderTest, page: Page) -> None:
    shown = await remote("displayTestApp", suite="notes/show", arguments={"text": "good day"})
    await page.goto(shown["url"])
    view = await view_frame(page)
    await expect(view.locator("#output")).to_have_text("good day")
    frame = page.locator(shown["frame"])
    assert {"allow-scripts", "allow-same-origin"} <= set((await frame.get_attribute("sandbox") or "").split())

    await remote("changeHostContext", theme="dark")
    await expect(view.locator("#theme")).to_have_text("dark")
    await remote("changeHostContext", theme="light")
    await expect(view.locator("#theme")).to_have_text("light")

    await view.locator("#say").click()
    asked = await remote("confirmAction", kind="message")
    assert asked["details"] == [["Message", "from the View"]]
    await expect(view.locator("#output")).to_have_text("done")
    sent = [entry for entry in await remote("getConversation") if entry.get("from") == "view"]
    assert [entry["content"][0]["text"] for entry in sent] == ["from the View"]

    await view.locator("#open").click()
    assert (await remote("confirmAction", allow=False))["kind"] == "link"
    await expect(view.locator("#output")).to_have_text("refused")

    turn = await remote("sendMessage", text="What is the secret?")
    assert turn["modelContext"][0]["content"][0]["text"] == "the secret is 42"
    context = await remote("getConversationContext")
    assert "hidden" not in str(context["tools"])

    cancelled = await remote("callTool", name="notes/show", arguments={"seconds": 60}, cancelAfter=0.05)
    await page.goto(cancelled["url"])
    await expect((await view_frame(page)).locator("#output")).to_have_text("cancelled: The test cancelled it.")

    await remote("resetEnvironment")
    assert await remote("getConversation") == []
    assert (await remote.client.get(shown["url"])).status_code == 404
    await expect(page.locator("mcp-app iframe")).to_have_count(0)


async def test_invalid_tokens_methods_and_params_are_rejected(remote: Remote) -> None:
    assert (await remote.post("getConversation", {}, token="guess")).status_code == 401
    unknown = await remote.post("getEverything", {})
    assert unknown.status_code == 404
    assert "displayTestApp" in unknown.json()["error"]["message"]
    wrong = await remote.post("displayTestApp", {"suite": "none"})
    assert (wrong.status_code, wrong.json()["error"]["message"]) == (
        400,
        "There is no suite 'none'. There are: notes/show.",
    )
    assert (await remote.post("sendMessage", {"words": "x"})).status_code == 400
    assert (await remote.post("sendMessage", [])).status_code == 400


async def test_resetting_the_environment_denies_pending_requests(remote: Remote, page: Page) -> None:
    shown = await remote("displayTestApp", suite="notes/show")
    await page.goto(shown["url"])
    view = await view_frame(page)
    await until(view, "document.getElementById('theme').textContent")
    await view.locator("#open").click()
    await remote("resetEnvironment")
    await expect(page.locator("mcp-app iframe")).to_have_count(0)


@pytest.mark.process
async def test_the_documented_program_serves_the_probe(tmp_path: Path) -> None:
    script = write_files(ROOT / "docs" / "reference" / "host-test-interface.md", tmp_path)["serve_host.py"]
    command = [sys.executable, str(script)]
    async with await anyio.open_process(command, stdin=subprocess.PIPE, stderr=None) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        with anyio.fail_after(60):
            line = await BufferedByteReceiveStream(process.stdout).receive_until(b"\n", 1000)
            url, token = line.decode().split()
            async with httpx2.AsyncClient(timeout=60) as client:
                shown = await Remote(client, url, token)("displayTestApp", suite="probe/probe_host")
                assert shown["url"].startswith(url)
            await process.stdin.aclose()
            assert await process.wait() == 0


async def test_the_model_calls_a_tool_of_a_view_by_its_full_name(host: HostUnderTest, page: Page) -> None:
    async with host.serve():
        displayed = await host.display_test_app("notes/show")
        await page.goto(displayed.url)
        view = page.frame_locator(displayed.frame).frame_locator("iframe")
        await expect(view.locator("#output")).to_have_text("hello")
        name = ""
        with anyio.fail_after(20):
            while not name:
                tools = (await host.get_conversation_context())["tools"]
                name = next((tool["name"] for tool in tools if tool["name"].endswith("__double")), "")
                await anyio.sleep(0.05)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.confirm_action, "app-tool")
            called = await host.call_tool(name, {"n": 21})
            tasks.cancel_scope.cancel()
    assert called["result"]["content"][0]["text"] == "42"
