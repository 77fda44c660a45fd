"""Our examples, unchanged, where there is `window.openai` and no MCP Apps host; and where there are both."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from fanlight import View
from fanlight.mcpui import create_ui_resource
from support.openai_page import on_openai, with_openai
from support.stage import on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[2] / "examples"


def server(name: str) -> Any:
    """Load the server of an example, so that each test has its own state."""
    spec = importlib.util.spec_from_file_location(f"{name}_server", EXAMPLES / name / "server.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.server


async def document(name: str) -> str:
    html = await View(EXAMPLES / name / f"{name}.html", also=["openai"]).read()
    assert isinstance(html, str)
    return html


async def test_the_clock_runs_on_window_openai(browser: Browser) -> None:
    async with (
        in_memory(server("clock"), "2025-11-25", UI) as client,
        on_openai(browser, await document("clock"), client) as widget,
    ):
        result = await client.call("get_time", zone="Asia/Tokyo")
        await widget.set(toolInput={"zone": "Asia/Tokyo"}, toolOutput=result["structuredContent"])
        await expect(widget.view.locator("#day")).to_contain_text("Asia/Tokyo")
        await expect(widget.view.locator("html")).to_have_attribute("data-theme", "dark")
        await widget.set(theme="light")
        await expect(widget.view.locator("html")).to_have_attribute("data-theme", "light")
        await widget.view.locator("#time").evaluate("(time) => (time.textContent = 'old')")
        await widget.view.get_by_role("button", name="Refresh").click()
        await expect(widget.view.locator("#time")).not_to_have_text("old")
        assert await widget.calls("callTool") == [["get_time", {"zone": "Asia/Tokyo"}]]
        await widget.view.get_by_role("button", name="Wake me").click()
        await expect(widget.view.locator("#alarm")).to_contain_text("Alarm in")
        assert widget.problems == []


async def test_an_initial_result_is_shown(browser: Browser) -> None:
    async with in_memory(server("clock"), "2025-11-25", UI) as client:
        output = (await client.call("get_time", zone="Asia/Tokyo"))["structuredContent"]
        html = (await document("clock")).replace(
            "<meta charset", f"<script>window.openai.toolOutput = {output!r};</script><meta charset", 1
        )
        async with on_openai(browser, html, client) as widget:
            await expect(widget.view.locator("#day")).to_contain_text("Asia/Tokyo")
            assert widget.problems == []


async def test_the_to_do_list_updates_the_model_through_its_widget_state(browser: Browser) -> None:
    async with (
        in_memory(server("todo"), "2025-11-25", UI) as client,
        on_openai(browser, await document("todo"), client) as widget,
    ):
        await widget.set(toolOutput=(await client.call("show_todos"))["structuredContent"])
        await widget.view.get_by_role("checkbox", name="Read the tutorial").check()
        await expect(widget.view.locator("#status")).to_have_text("2 of 3 left")
        await widget.view.get_by_placeholder("What needs to be done?").fill("Sleep")
        await widget.view.get_by_role("button", name="Add").click()
        await expect(widget.view.locator("#status")).to_have_text("3 of 4 left")
        states = await widget.calls("setWidgetState")
        assert "[x] 1. Read the tutorial" in states[0][0]["modelContent"]
        assert "[ ] 4. Sleep" in states[1][0]["modelContent"]
        assert widget.problems == []


async def test_the_chart_goes_to_full_screen_and_back(browser: Browser) -> None:
    async with (
        in_memory(server("chart"), "2025-11-25", UI) as client,
        on_openai(browser, await document("chart"), client) as widget,
    ):
        await widget.set(toolInput={"title": "Rain", "rows": [{"label": "May", "value": 3}]})
        await expect(widget.view.locator("#title")).to_have_text("Rain")
        await widget.view.get_by_role("button", name="Full screen").click()
        await expect(widget.view.locator("html")).to_have_attribute("data-mode", "fullscreen")
        await widget.view.get_by_role("button", name="Leave full screen").click()
        await expect(widget.view.locator("html")).to_have_attribute("data-mode", "inline")
        assert await widget.calls("requestDisplayMode") == [[{"mode": "fullscreen"}], [{"mode": "inline"}]]
        assert widget.problems == []


@pytest.mark.parametrize("bridge", [None, "ext-apps-2"])
async def test_a_host_that_answers_is_preferred_to_window_openai(bridge: str | None, browser: Browser) -> None:
    html = with_openai(await document("clock"))
    async with (
        in_memory(server("clock"), "2025-11-25", UI) as client,
        on_stage(browser, html, client, bridge=bridge) as stage,
    ):
        await stage.run("get_time", {"zone": "Asia/Tokyo"})
        await expect(stage.view.locator("#day")).to_contain_text("Asia/Tokyo")
        await stage.view.get_by_role("button", name="Wake me").click()
        await expect(stage.view.locator("#alarm")).to_contain_text("Alarm in")
        assert await stage.page.frames[1].evaluate("calls") == []
        assert stage.problems == []


async def test_a_widget_written_for_mcp_ui_runs_on_window_openai(browser: Browser) -> None:
    widget_html = """<!doctype html><html><head><title>w</title></head><body>
<p id=out></p><p id=data></p><button>go</button>
<script>
addEventListener("message", ({ data }) => {
  if (data.type === "ui-message-response") out.textContent = JSON.stringify(data.payload);
  const { renderData } = data.payload;
  if (data.type === "ui-lifecycle-iframe-render-data") window.data.textContent = JSON.stringify(renderData);
});
document.querySelector("button").onclick = () => {
  const params = { zone: "Asia/Tokyo" };
  parent.postMessage({ type: "tool", messageId: "1", payload: { toolName: "get_time", params } }, "*");
  parent.postMessage({ type: "intent", payload: { intent: "sleep", params: {} } }, "*");
  parent.postMessage({ type: "prompt", payload: { prompt: "Good night" } }, "*");
};
parent.postMessage({ type: "ui-lifecycle-iframe-ready" }, "*");
</script></body></html>"""
    resource = create_ui_resource(
        uri="ui://a/b",
        content={"type": "rawHtml", "htmlString": widget_html},
        adapters={"appsSdk": {"enabled": True, "config": {"intentHandling": "ignore"}}},
    ).to_dict()["resource"]
    assert resource["mimeType"] == "text/html+skybridge"
    async with (
        in_memory(server("clock"), "2025-11-25", UI) as client,
        on_openai(browser, resource["text"], client) as widget,
    ):
        await widget.set(toolInput={"zone": "UTC"}, toolOutput={"iso": "noon"})
        await expect(widget.view.locator("#data")).to_contain_text('"toolOutput":{"iso":"noon"}')
        await expect(widget.view.locator("#data")).to_contain_text('"theme":"dark"')
        await widget.view.get_by_role("button").click()
        await expect(widget.view.locator("#out")).to_contain_text('"zone":"Asia/Tokyo"')
        assert await widget.calls("callTool") == [["get_time", {"zone": "Asia/Tokyo"}]]
        assert await widget.calls("sendFollowUpMessage") == [[{"prompt": "Good night"}]]
        assert widget.problems == []
