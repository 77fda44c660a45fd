"""The code in README and docs, run as written.

A block whose fence names a file (```python server.py) is that file. Blocks without a name are run one after
the other in the page's own namespace, in which the page's server is `server` and its apps are `apps`.
"""

import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Literal

import pytest
from fastmcp import FastMCP
from fastmcp.server import create_proxy
from mcp.server import MCPServer
from playwright.async_api import Browser, Page, expect

import fanlight
from fanlight import Apps, View, negotiate
from fanlight.check import check
from support.docs import ROOT, blocks, write_files
from support.openai_page import on_openai
from support.stage import on_stage
from support.wire import NO_UI, UI, WireError, in_memory, over_stdio, serving_pages

pytestmark = pytest.mark.anyio

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples" / "README.md"]
LINK = re.compile(r"\[[^\]]+\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


async def test_the_fifteen_lines_of_the_readme_work(browser: Browser, tmp_path: Path) -> None:
    files = write_files(ROOT / "README.md", tmp_path)
    assert set(files) == {"server.py", "clock.html"}
    async with over_stdio(files["server.py"], "2025-11-25", NO_UI) as client:
        assert "UTC" in (await client.call("get_time"))["content"][0]["text"]
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        html = (await client.read("ui://clock/clock"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("get_time", {"utc_offset": 9})
            await stage.view.get_by_text("+09:00").wait_for()
            await stage.view.locator("#t").evaluate("t => (t.textContent = 'old')")
            await stage.view.get_by_role("button", name="Refresh").click()
            await stage.view.get_by_text("+09:00").wait_for()
            await stage.run("get_time", {"utc_offset": 99})
            await stage.view.get_by_text("Error executing tool get_time").wait_for()
            assert stage.problems == []


async def test_a_test_can_import_the_server_of_the_readme_and_check_has_nothing_to_say(
    browser: Browser, tmp_path: Path
) -> None:
    server = runpy.run_path(str(write_files(ROOT / "README.md", tmp_path)["server.py"]))["server"]
    report = await check(server, browser=browser)
    assert report.findings == ()


async def test_the_tutorial_works(browser: Browser, tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "tutorial" / "your-first-app.md", tmp_path)
    async with over_stdio(files["server.py"], "2026-07-28", UI) as client:
        html = (await client.read("ui://dice/dice"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("roll", {"sides": 1, "count": 3})
            await stage.view.get_by_text("1 1 1").wait_for()
            await stage.view.get_by_role("button", name="Roll again").click()
            (call,) = await stage.sent("tools/call", 1)
            assert call["arguments"] == {"sides": 1, "count": 3}
            assert stage.problems == []


@pytest.mark.process
async def test_the_lowlevel_server_works(tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "how-to" / "lowlevel-server.md", tmp_path)
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"hello", "poke"}
        assert "Hello" in (await client.read("ui://hello/view"))["text"]
        assert "You called poke." in (await client.call("poke"))["content"][0]["text"]
        with pytest.raises(WireError, match="Unknown tool: other"):
            await client.call("other")
        with pytest.raises(WireError, match="Unknown resource: ui://hello/other"):
            await client.read("ui://hello/other")
    async with over_stdio(files["server.py"], "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"hello"}
        with pytest.raises(WireError, match=r"Unknown tool: poke$"):
            await client.call("poke")
        with pytest.raises(WireError, match=r"Unknown resource: ui://hello/view$"):
            await client.read("ui://hello/view")


async def test_the_fastmcp_server_works(browser: Browser, tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "how-to" / "use-fastmcp.md", tmp_path)
    async with over_stdio(files["server.py"], "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"show_poll", "ask"}
        assert (await client.call("ask"))["content"][0]["text"] == "Ask the user: tea or coffee?"
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        assert "Call show_poll" in (await client.call("ask"))["content"][0]["text"]
        async with on_stage(browser, (await client.read("ui://poll/poll"))["text"], client) as stage:
            await stage.run("show_poll", {})
            await stage.view.get_by_text("Tea 0, coffee 0").wait_for()
            await stage.view.get_by_role("button", name="Tea").click()
            await stage.view.get_by_text("Tea 1, coffee 0").wait_for()
            assert stage.problems == []


@pytest.mark.process
async def test_a_server_that_moved_from_the_sdks_apps_is_the_same_to_a_host(tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "explanation" / "compared.md", tmp_path)
    seen = []
    for name in ("before.py", "after.py"):
        async with over_stdio(files[name], "2025-11-25", UI) as client:
            tool = (await client.tools())["show_map"]
            seen.append((tool["description"], tool["_meta"]["ui"], await client.read("ui://map/view")))
    assert seen[0] == seen[1]


async def test_the_server_that_came_from_mcp_ui_works(browser: Browser, tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "how-to" / "bring-an-mcp-ui-server.md", tmp_path)
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        html = (await client.read("ui://shop/cart"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("show_cart", {})
            await stage.view.get_by_role("button", name="Pay").click()
            await stage.view.get_by_text("Paid.").wait_for()
            assert stage.problems == []


async def test_a_host_shows_what_a_server_with_mcp_ui_returns_as_its_page_says(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    document = ROOT / "docs" / "how-to" / "bring-an-mcp-ui-server.md"
    files = write_files(document, tmp_path)
    text = " ".join(document.read_text(encoding="utf-8").split())
    # "python cards.py" means the Python of this test, and it uses its Fanlight.
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(Path(fanlight.__file__).parents[1]))
    program = runpy.run_path(str(files["app.py"]))
    monkeypatch.setitem(sys.modules, "app", types.SimpleNamespace(host=program["host"]))
    with serving_pages(program["app"]) as address:
        await page.goto(address)
        views = page.locator("mcp-app")
        await expect(views).to_have_count(3)
        view = views.nth(0).frame_locator("iframe").frame_locator("iframe")
        await expect(view.get_by_role("heading")).to_have_text("Hello")
        refused = await views.nth(1).get_by_role("alert").text_content()
        assert refused is not None
        assert f'"{refused.removeprefix("The View is not shown. ")}"' in text
        view = views.nth(2).frame_locator("iframe").frame_locator("iframe")
        await expect(view.get_by_role("note")).to_contain_text("which this host does not run")
        await runpy.run_path(str(files["audit.py"]))["print_audit"]()
    lines = capsys.readouterr().out.splitlines()
    (printed,) = [code for language, _, code in blocks(document) if language == "text"]
    for line in printed.splitlines():
        assert any(found.startswith(line.removesuffix("…")) for found in lines), line


METRICS = """
import anyio, httpx2, socket
from metrics import serve_metrics
from fanlight.host import Host

taken = socket.create_server(("127.0.0.1", 0))  # by another worker
first = taken.getsockname()[1]
port = serve_metrics(first)
assert port > first

async def main():
    host = Host({}, store="sqlite:///host.db")
    async with host, httpx2.AsyncClient() as http:
        await host.conversation().views()
        print((await http.get(f"http://127.0.0.1:{port}/metrics")).text)

anyio.run(main)
"""


@pytest.mark.process
def test_prometheus_reads_the_metrics_as_the_page_says(tmp_path: Path) -> None:
    write_files(ROOT / "docs" / "how-to" / "run-in-production.md", tmp_path)
    path = os.pathsep.join([str(Path(fanlight.__file__).parents[1]), str(tmp_path)])
    command = [sys.executable, "-c", METRICS]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert 'fanlight_store_duration_seconds_count{operation="views"' in done.stdout, done.stderr


async def test_one_app_serves_chatgpt_and_everyone_else(browser: Browser, tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "how-to" / "chatgpt-and-everyone-else.md", tmp_path)
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        tools = await client.tools()
        assert tools["get_weather"]["_meta"]["openai/toolInvocation/invoked"] == "Looked at the sky"
        assert tools["refresh"]["_meta"]["openai/visibility"] == "private"
        read = await client.read("ui://weather/weather")
        assert read["_meta"]["openai/widgetPrefersBorder"] is True
        async with on_stage(browser, read["text"], client) as stage:
            await stage.run("get_weather", {"city": "Oslo"})
            await stage.view.get_by_text("Oslo: sunny").wait_for()
            await stage.view.get_by_role("button", name="Again").click()
            await stage.view.get_by_text("Oslo: still sunny").wait_for()
            assert stage.problems == []
        async with on_openai(browser, read["text"], client) as widget:
            await widget.set(toolOutput={"city": "Oslo", "weather": "sunny"})
            await widget.view.get_by_text("Oslo: sunny").wait_for()
            await widget.view.get_by_role("button", name="Again").click()
            await widget.view.get_by_text("Oslo: still sunny").wait_for()
            assert widget.problems == []


@pytest.mark.parametrize("asks", [True, False], ids=["with apps", "without apps"])
async def test_a_proxy_that_negotiates_shows_the_apps_of_a_backend_that_always_does(asks: bool) -> None:
    capabilities = UI if asks else NO_UI
    cases: list[tuple[Literal["always", "strict"], bool]] = [("always", asks), ("strict", False)]
    for mode, shown in cases:
        backend: FastMCP[Any] = FastMCP("backend")
        apps = Apps(backend, negotiate=mode)
        apps.tool("show", view=View.html("<!doctype html><title>x</title>", uri="ui://x/y"))(lambda: "text")
        proxy = create_proxy(backend, name="front")
        negotiate(proxy)
        async with in_memory(proxy, "2025-11-25", capabilities) as client:
            assert ("ui" in (await client.tools())["show"]["_meta"]) is shown
            assert set(await client.resources()) == ({"ui://x/y"} if shown else set())


# tests/show/test_how_to.py runs the blocks of this page, which need its templates.
RUN_HERE = [page for page in PAGES if page.name != "render-pages.md"]


@pytest.mark.parametrize("page", RUN_HERE, ids=lambda page: str(page.relative_to(ROOT)))
async def test_unnamed_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for what a page writes
    server: MCPServer[Any] = MCPServer("docs")
    document = "<!doctype html><title>x</title>"
    for name in ("clock.html", "dice.html", "map.html"):
        (tmp_path / name).write_text(document, encoding="utf-8")
    namespace: dict[str, Any] = {name: getattr(fanlight, name) for name in fanlight.__all__}
    namespace |= {"server": server, "apps": Apps(server), "__name__": "docs", "__file__": str(tmp_path / "docs.py")}
    for language, name, code in blocks(page):
        if language == "python" and not name:
            exec(compile(code, str(page), "exec"), namespace)
    async with in_memory(server, "2025-11-25", UI) as client:
        await client.tools()
