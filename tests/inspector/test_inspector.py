"""`fanlight dev` in a real browser: from the first page to a rendered View, and what can be seen of it."""

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Frame, Page, expect

from fanlight.host.targets import Served, servers
from fanlight.inspector.app import Inspector
from support.stage import chromium
from support.wire import serving

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched


@contextmanager
def running(found: dict[str, Served], **options: Any) -> Iterator[tuple[Inspector, str]]:
    inspector = Inspector(found, **options)
    with serving(inspector.app, sockets=True) as address:
        yield inspector, address.replace("127.0.0.1", "localhost")


@asynccontextmanager
async def opened(
    browser: Browser, inspector: Inspector, address: str, **options: Any
) -> AsyncIterator[tuple[Page, list[str]]]:
    problems: list[str] = []
    page = await browser.new_page(**options)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    await page.goto(f"{address}/?token={inspector.token}")
    assert page.url.rstrip("/").startswith(address)
    assert inspector.token not in page.url
    yield page, problems
    await page.close()


async def view_of(page: Page, number: int = 0) -> Frame:
    for _ in range(300):
        found = [frame for frame in page.frames if "sandbox.localhost" in frame.url and "/proxy" not in frame.url]
        if len(found) > number:
            return found[number]
        await page.wait_for_timeout(50)
    raise AssertionError(f"no View: {[frame.url for frame in page.frames]}")


async def test_from_the_first_page_to_a_view_in_two_clicks(browser: Browser) -> None:
    with running(servers([])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("button", name="show_todos").click()
            await page.get_by_role("button", name="Call", exact=True).click()
            view = await view_of(page)
            await expect(view.get_by_role("listitem")).to_have_count(3)
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-result")
            await page.get_by_role("tab", name="Security").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("default-src 'none'")
            await page.get_by_role("tab", name="Result").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("structuredContent")
            await page.get_by_text("What the model sees").click()
            await expect(page.get_by_role("article")).to_contain_text("Read the tutorial")
            assert problems == []


async def test_the_form_comes_from_the_schema_and_the_address_repeats_the_call(browser: Browser) -> None:
    with running(servers([str(ROOT / "examples" / "chart")])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("button", name="draw_chart").click()
            await page.get_by_label("title").fill("Lakes")
            await page.get_by_label("rows").fill("[{]")
            await page.get_by_role("button", name="Call", exact=True).click()
            await expect(page.get_by_role("alert").filter(has_text="rows is not JSON")).to_be_visible()
            await page.get_by_label("rows").fill('[{"label": "Superior", "value": 82100}]')
            await page.get_by_role("button", name="Call", exact=True).click()
            await expect((await view_of(page)).get_by_role("heading")).to_have_text("Lakes")
            link = page.url
            await page.goto("about:blank")
            await page.goto(link)
            await expect(page.get_by_label("title")).to_have_value("Lakes")
            assert problems == []


async def test_a_changed_view_and_a_changed_server_are_loaded_anew(browser: Browser, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    folder = tmp_path / "examples" / "clock"
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await page.get_by_role("button", name="get_time").click()
            await page.get_by_role("button", name="Call", exact=True).click()
            view = await view_of(page)
            await expect(view.locator("time").first).not_to_be_empty()
            html = folder / "clock.html"
            html.write_text(
                html.read_text("utf-8").replace("<body>", "<body><p id=new>brand new</p>"), encoding="utf-8"
            )
            await expect(page.frame_locator("mcp-app iframe").frame_locator("iframe").locator("#new")).to_be_visible()
            server = folder / "server.py"
            server.write_text(server.read_text("utf-8").replace("def get_time", "def get_the_time"), encoding="utf-8")
            await expect(page.get_by_role("button", name="get_the_time")).to_be_visible()


async def test_a_server_that_does_not_start_shows_what_it_wrote(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("raise RuntimeError('no database here')", encoding="utf-8")
    with running(servers([str(path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await expect(page.get_by_role("alert")).to_contain_text("no database here")


async def test_arguments_are_streamed_and_a_call_is_cancelled(browser: Browser) -> None:
    with running(servers([str(ROOT / "examples" / "chart")])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            values = {"title": "Slow", "rows": [{"label": f"row {i}", "value": i} for i in range(40)]}
            await page.goto(f"{address}/#chart/draw_chart?{json.dumps(values)}")
            await page.reload()
            await page.locator("#pace").select_option("200")
            await page.get_by_role("button", name="Call", exact=True).click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-input-partial")
            await page.get_by_role("button", name="Cancel").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("ui/notifications/tool-cancelled")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1400, "light")])
async def test_nothing_is_wider_than_the_page(width: int, scheme: Any, browser: Browser) -> None:
    with running(servers([])) as (inspector, address):
        viewport: Any = {"width": width, "height": 800}
        async with opened(browser, inspector, address, viewport=viewport, color_scheme=scheme) as (page, problems):
            await page.get_by_role("button", name="get_time").click()
            await page.get_by_role("button", name="Call", exact=True).click()
            await view_of(page)
            for name in ("Problems", "Security", "Model", "Result"):
                await page.get_by_role("tab", name=name).click()
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
            assert problems == []


async def test_only_the_page_that_was_opened_with_the_token_is_answered() -> None:
    with running({}) as (inspector, address):
        async with httpx2.AsyncClient(base_url=address) as http:
            assert (await http.get("/")).status_code == 403
            assert (await http.get("/api/servers")).status_code == 403
            assert (await http.get("/?token=wrong")).status_code == 403
            assert (await http.get(f"/?token={inspector.token}")).status_code == 303
            assert (await http.get("/api/servers")).json() == []
            assert (await http.post("/api/context", json={})).status_code == 403
            own = {"origin": address}
            assert (await http.post("/api/context", json={}, headers=own)).status_code == 200
            other = {"host": "evil.example"}
            assert (await http.get("/api/servers", headers=other)).status_code == 421
