"""The code in README and docs, run as written.

A block whose fence names a file (```python server.py) is that file. Blocks without a name are run one after
the other in the page's own namespace, in which the page's server is `server` and its apps are `apps`.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

import fanlight
from fanlight import Apps
from support.stage import chromium, on_stage
from support.wire import NO_UI, UI, in_memory, over_stdio

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "examples" / "README.md"]
FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]+\]\((?!https?://|#)([^)#]+)(#[^)]*)?\)")


def blocks(page: Path) -> list[tuple[str, str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def write_files(page: Path, folder: Path) -> dict[str, Path]:
    files = {}
    for _, name, code in blocks(page):
        if name:
            files[name] = folder / name
            files[name].write_text(code, encoding="utf-8")
    return files


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target, _ in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


async def test_the_fifteen_lines_of_the_readme_work(tmp_path: Path) -> None:
    files = write_files(ROOT / "README.md", tmp_path)
    assert set(files) == {"server.py", "clock.html"}
    async with over_stdio(files["server.py"], "2025-11-25", NO_UI) as client:
        assert "UTC" in (await client.call("get_time"))["content"][0]["text"]
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client, chromium() as browser:
        html = (await client.read("ui://clock/clock"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("get_time", {"zone": "Asia/Tokyo"})
            await stage.view.get_by_text("+09:00").wait_for()
            await stage.view.get_by_role("button", name="Refresh").click()
            await stage.view.get_by_text("+00:00").wait_for()
            assert stage.problems == []


async def test_the_tutorial_works(tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "tutorial" / "your-first-app.md", tmp_path)
    async with over_stdio(files["server.py"], "2026-07-28", UI) as client, chromium() as browser:
        html = (await client.read("ui://dice/dice"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("roll", {"sides": 1, "count": 3})
            await stage.view.get_by_text("1 1 1").wait_for()
            await stage.view.get_by_role("button", name="Roll again").click()
            (call,) = await stage.said("tools/call", 1)
            assert call["arguments"] == {"sides": 1, "count": 3}
            assert stage.problems == []


async def test_the_lowlevel_server_works(tmp_path: Path) -> None:
    files = write_files(ROOT / "docs" / "how-to" / "lowlevel-server.md", tmp_path)
    async with over_stdio(files["server.py"], "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"hello", "poke"}
        assert "Hello" in (await client.read("ui://hello/view"))["text"]
    async with over_stdio(files["server.py"], "2025-11-25", NO_UI) as client:
        assert set(await client.tools()) == {"hello"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
async def test_unnamed_python_blocks_run(page: Path, tmp_path: Path) -> None:
    server: MCPServer[Any] = MCPServer("docs")
    document = "<!doctype html><title>x</title>"
    for name in ("map.html", "dice.html"):
        (tmp_path / name).write_text(document, encoding="utf-8")
    namespace: dict[str, Any] = {name: getattr(fanlight, name) for name in fanlight.__all__}
    namespace |= {"server": server, "apps": Apps(server), "__name__": "docs", "__file__": str(tmp_path / "docs.py")}
    for language, name, code in blocks(page):
        if language == "python" and not name:
            exec(compile(code, str(page), "exec"), namespace)
    async with in_memory(server, "2025-11-25", UI) as client:
        await client.tools()
