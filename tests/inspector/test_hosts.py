"""Presets that imitate known hosts."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from fanlight.dev.presets import PRESETS
from support.inspecting import call, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


async def test_a_view_is_shown_as_another_host_would(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            received, context = view(page).locator("#received"), view(page).locator("#context")
            await expect(received).to_contain_text("downloadFile")
            await page.get_by_label("Show as").select_option("VS Code")
            await expect(received).to_contain_text("capabilities downloadFile,logging,openLinks,serverResources")
            await expect(received).not_to_contain_text("message")
            await expect(context).to_contain_text('"availableDisplayModes":["inline"]')
            await expect(context).to_contain_text('"containerDimensions":{"width":494,"maxHeight":720}')
            await expect(context).not_to_contain_text("toolInfo")
            await expect(page.get_by_role("note")).to_contain_text("A View cannot add messages to the conversation.")
            assert await page.locator(".card .easel").evaluate("box => box.clientWidth") == 494
            await page.get_by_label("Show as").select_option("Goose")
            await expect(received).to_have_text(re.compile("^capabilities openLinks.?input"))
            await view(page).locator("#more").click()
            await expect(view(page).locator("#answer")).to_have_text("hey!")
            await page.get_by_label("Theme").select_option("dark")
            await page.wait_for_timeout(300)
            await expect(page.get_by_role("tabpanel")).not_to_contain_text("host-context-changed")
            assert "host=goose" in page.url
            await page.get_by_label("Show as").select_option("ChatGPT")
            await expect(context).to_contain_text('"containerDimensions":{"height":400,"maxWidth":768}')
            assert problems == []


async def test_a_host_without_views_gets_text(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await expect(page.get_by_role("navigation")).to_contain_text("app only")
            await page.get_by_label("Show as").select_option("A host without Views")
            await expect(page.get_by_role("navigation")).not_to_contain_text("more")
            await expect(page.get_by_role("navigation")).to_contain_text("respond with text")
            await page.get_by_role("navigation").get_by_role("button", name="mirror").click()
            await call(page)
            await expect(page.get_by_role("article")).to_contain_text('"words"')
            await expect(page.locator(".card mcp-app iframe")).to_have_count(0)
            assert problems == []


def test_every_preset_has_a_date_and_differences() -> None:
    assert list(PRESETS) == ["fanlight", "claude", "chatgpt", "vscode", "goose", "none"]
    for id, preset in PRESETS.items():
        assert preset.differences
        assert bool(preset.observed) == (id not in ("fanlight", "none"))
