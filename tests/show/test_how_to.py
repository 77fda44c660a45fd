"""The how-tos, run as written."""

import runpy
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, expect

from support.docs import ROOT, blocks, write_files
from support.node import node_module
from support.stage import on_stage
from support.uploads import send
from support.wire import NO_UI, UI, in_memory

pytestmark = pytest.mark.anyio

TABLES, CHARTS, FILES, PAGES, STATE, FORMS = (
    ROOT / "docs" / "how-to" / name
    for name in (
        "show-tables.md",
        "show-charts.md",
        "handle-files.md",
        "render-pages.md",
        "keep-state.md",
        "ask-with-forms.md",
    )
)


def run_page(page: Path, folder: Path) -> dict[str, Any]:
    """Run the file of a page, then its other blocks, and return their names."""
    program = write_files(page, folder)["server.py"]
    names: dict[str, Any] = {"__name__": "page", "__file__": str(program)}
    exec(program.read_text(encoding="utf-8"), names)
    for language, name, code in blocks(page):
        if language == "python" and not name:
            exec(code, names)
    return names


async def test_the_server_of_the_page_shows_its_table(browser: Browser, tmp_path: Path) -> None:
    server = run_page(TABLES, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.tools()) == {"orders", "all_orders", "recent_orders", "fanlight_data"}
        html = (await client.read("ui://sales/fanlight-table"))["text"]
        async with on_stage(browser, html, client, width=900) as stage:
            await stage.run("orders", {"region": "north"})
            await expect(stage.view.locator(".status")).to_have_text("1–50 of 5,000 rows", timeout=60_000)
            assert stage.problems == []


async def test_the_summary_of_the_page_is_what_the_model_gets(tmp_path: Path) -> None:
    names = run_page(TABLES, tmp_path)
    expected = next(code for language, _, code in blocks(TABLES) if language == "text").strip()
    names["apps"].show("short", summary_rows=2)(names["orders"])
    async with in_memory(names["server"], "2025-11-25", UI) as client:
        assert (await client.call("short"))["content"][0]["text"] == expected
    async with in_memory(names["server"], "2025-11-25", NO_UI) as client:
        assert (await client.call("short"))["content"][0]["text"] == expected.split(" The user sees")[0]


async def test_the_server_of_the_page_shows_its_report(browser: Browser, tmp_path: Path) -> None:
    server = run_page(CHARTS, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        assert [block["type"] for block in (await client.call("swatch"))["content"]] == ["text", "image"]
        html = (await client.read("ui://sales/fanlight-show"))["text"]
        async with on_stage(browser, html, client, width=900) as stage:
            await stage.run("report", {})
            await expect(stage.view.locator(".metric strong").first).to_have_text("675", timeout=60_000)
            await expect(stage.view.locator(".scatterlayer .trace")).to_have_count(1, timeout=60_000)
            await stage.view.get_by_role("tab", name="Rows").click()
            await expect(stage.view.locator("tbody tr")).to_have_count(3)
            assert stage.problems == []


async def test_each_reader_gets_the_part_of_the_result_that_the_page_says(browser: Browser, tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "what-the-model-gets.md"
    server_file = write_files(page, tmp_path)["server.py"]
    names = runpy.run_path(str(server_file))
    for language, name, code in blocks(page):
        if language == "python" and not name:
            exec(code, names)
    await names["test_the_model_gets_a_summary"]()
    async with in_memory(names["server"], "2025-11-25", NO_UI) as client:
        assert (await client.call("forecast"))["content"][0]["text"].startswith("Oslo: 10 to 21 degrees.")
    async with (
        in_memory(names["server"], "2025-11-25", UI) as client,
        on_stage(browser, (await client.read("ui://weather/forecast"))["text"], client) as stage,
    ):
        await stage.run("forecast", {"city": "Oslo"})
        await expect(stage.view.locator("#hours")).to_have_text("48 hours", timeout=60_000)
        await expect(stage.view.locator("#station")).to_have_text("oslo-7f3a")
        assert stage.problems == []


async def test_the_server_of_the_page_takes_and_returns_files(tmp_path: Path) -> None:
    server = run_page(FILES, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        for tool, name, content, text in (
            ("import_orders", "a.csv", b"id\n1\n", "A table of 1 row and 2 columns."),
            ("import_prices", "a.csv", b"price\n1\n", "1 prices imported."),
            ("import_prices", "a.csv", b"cost\n1\n", "a.csv has no column “price”. It has: cost."),
            ("import_backup", "a.bin", b"x", "1 bytes restored."),
            ("import_slowly", "a.csv", b"x", "Imported."),
        ):
            result = await client.call(f"{tool}_upload", file=[await send(client, tool, name, content)])
            assert text in result["content"][0]["text"]
        assert (await client.call("report"))["structuredContent"]["item"]["items"][1]["name"] == "report.csv"
        assert (await client.call("export"))["structuredContent"]["item"]["name"] == "orders.csv"


async def test_a_view_of_ones_own_uploads_a_file(browser: Browser, tmp_path: Path) -> None:
    server = runpy.run_path(str(write_files(FILES, tmp_path)["album.py"]))["server"]
    async with (
        in_memory(server, "2025-11-25", UI) as client,
        on_stage(browser, (await client.read("ui://album/album"))["text"], client) as stage,
    ):
        photo: FilePayload = {"name": "beach.gif", "mimeType": "image/gif", "buffer": b"GIF89a"}
        await stage.view.get_by_label("Photo").set_input_files([photo])
        await expect(stage.view.locator("#out")).to_contain_text("beach.gif")
        await expect(stage.view.locator("#bar")).to_have_js_property("value", 1)
        assert stage.problems == []


async def test_the_server_of_the_page_renders_its_pages(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    htmx = node_module("htmx.org/dist/htmx.min.js").read_bytes()
    (tmp_path / "templates" / "htmx.min.js").write_bytes(htmx)
    server = run_page(PAGES, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        html = (await client.read("ui://tasks/tasks"))["text"]
        async with on_stage(browser, html, client) as stage:
            await stage.run("show_tasks", {})
            view = stage.view
            await view.get_by_role("button", name="Done").first.click()
            await expect(view.locator("li")).to_have_count(1)
            await view.get_by_role("button", name="Add").click()
            await expect(view.locator(".error")).to_have_text("What is there to do?")
            await view.get_by_label("New task").fill("Water the <plants>")
            await view.get_by_label("New task").press("Enter")
            await expect(view.locator("li").last).to_contain_text("Water the <plants>")
            await expect(view.get_by_label("New task")).to_have_value("")
            assert stage.problems == []
        for tool, uri in (("search", "ui://tasks/search"), ("search_with_htmx", "ui://tasks/htmx")):
            async with on_stage(browser, (await client.read(uri))["text"], client) as stage:
                await stage.run(tool, {})
                await stage.view.get_by_label("Search").fill("gr")
                await expect(stage.view.locator("#found")).to_have_text("Grace")
                assert stage.problems == []
        assert (await client.call("count_tasks"))["content"][0]["text"] == "The user sees 2 tasks."


async def test_the_server_of_the_page_keeps_the_state_of_each_session(tmp_path: Path) -> None:
    server = run_page(STATE, tmp_path)["server"]
    for _ in range(2):
        async with in_memory(server, "2025-11-25", UI) as client:
            assert (await client.call("add_note", text="a"))["content"][0]["text"] == "1 notes"
            assert (await client.call("add_note", text="b"))["content"][0]["text"] == "2 notes"
            draft = (await client.call("start_draft", text="x"))["structuredContent"]["draft"]
            assert (await client.call("read_draft", draft=draft))["content"][0]["text"] == "x"
    async with in_memory(server, "2026-07-28", UI) as client:
        assert (await client.call("add_note", text="a"))["isError"]
    async with in_memory(server, "2025-11-25", UI) as client:
        assert (await client.call("read_draft", draft=draft))["isError"]


async def test_the_form_of_the_page_is_submitted(browser: Browser, tmp_path: Path) -> None:
    server = run_page(FORMS, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", UI) as client:
        assert set(await client.tools()) == {
            "book",
            "claim",
            "rate",
            "fanlight_data",
            "fanlight_submit",
            "fanlight_upload",
        }
        html = (await client.read("ui://parcels/fanlight-form"))["text"]
        async with on_stage(browser, html, client, width=900) as stage:
            await stage.run("book", {"day": "2026-12-01", "address": {"street": "Main", "city": "Atlantis"}})
            await stage.view.get_by_label("Card number").fill("4111")
            await stage.view.get_by_role("button", name="Book").click()
            await expect(stage.view.get_by_text("We do not deliver under water.")).to_be_visible(timeout=60_000)
            await stage.view.get_by_label("City").fill("Rome")
            await stage.view.get_by_role("button", name="Book").click()
            await expect(stage.view.locator("dd").first).to_have_text("D-1")
            assert stage.problems == []


async def test_the_tool_of_the_page_that_needs_no_confirmation_runs_without_views(tmp_path: Path) -> None:
    server = run_page(FORMS, tmp_path)["server"]
    async with in_memory(server, "2025-11-25", NO_UI) as client:
        text = (await client.call("rate", stars=5))["content"][0]["text"]
    assert text.endswith("Result: Thank you for 5 stars.")
