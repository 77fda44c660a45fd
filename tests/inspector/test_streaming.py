"""Arguments as a model writes them, calls that are cancelled, and servers that misbehave when told to."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect

from support.inspecting import call, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


def place(server: str, tool: str, **arguments: object) -> str:
    return f"#/{server}/{tool}?args={quote(json.dumps(arguments))}"


async def test_arguments_are_written_paused_stepped_and_go_on(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        start = place("mirror", "mirror", words=["alpha", "beta", "gamma", "delta"])
        async with opened(browser, inspector, address, f"{start}&pace=3") as (page, problems):
            await page.get_by_label("start paused").check()
            await expect(page.get_by_text("80 characters a second")).to_be_visible()
            await call(page)
            heard = view(page).locator("#heard")
            await expect(heard).to_contain_text("capabilities")
            step = page.get_by_role("button", name="Step")
            for _ in range(6):
                await step.click()
            await expect(page.get_by_role("article")).to_contain_text("24 of")
            await expect(heard).to_contain_text('partial {"words":["alpha"')
            await expect(heard).not_to_contain_text("delta")
            await page.get_by_role("button", name="Go on").click()
            await expect(heard).to_contain_text('input {"words":["alpha","beta","gamma","delta"],"wait":0}')
            await expect(heard).to_contain_text("result")
            assert problems == []


async def test_a_call_is_cancelled_while_it_is_written_and_while_it_runs(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        start = place("mirror", "mirror", words=["word"] * 50, wait=30)
        async with opened(browser, inspector, address, f"{start}&pace=2") as (page, problems):
            await call(page)
            heard = view(page).locator("#heard")
            await expect(heard).to_contain_text("partial")
            await page.get_by_role("button", name="Cancel").click()
            await expect(heard).to_contain_text("cancelled Cancelled by the developer.")
            await expect(heard).not_to_contain_text("input {")
            await page.locator("#pace").fill("8")
            await call(page)
            await expect(heard).to_contain_text("input {")
            await page.get_by_role("button", name="Cancel").click()
            await expect(heard).to_contain_text("cancelled Cancelled by the developer.")
            await expect(page.get_by_role("article").first).to_contain_text("cancelled: Cancelled by the developer.")
            assert problems == []


async def test_a_server_is_slow_failing_and_lost_by_switches(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            heard, answer = view(page).locator("#heard"), view(page).locator("#answer")
            await expect(heard).to_contain_text("result")
            await page.get_by_text("More of this server").click()
            nav = page.get_by_role("navigation")
            await nav.get_by_label("failing").check()
            await view(page).locator("#more").click()
            await expect(answer).to_contain_text("error")
            await expect(answer).to_contain_text("failing")
            await expect(nav.locator(".mark.warn")).to_have_text("failing")
            await call(page)
            await expect(view(page).locator("#heard")).to_contain_text("failed")
            await nav.get_by_label("failing").uncheck()
            await nav.get_by_label("lost").check()
            await call(page)
            await expect(page.get_by_role("article").first).to_contain_text("lost")
            await nav.get_by_label("lost").uncheck()
            await nav.get_by_label("Slow mirror").select_option("1 s late")
            await call(page)
            await expect(page.get_by_role("article").first).to_contain_text("The tool runs.")
            await expect(view(page).locator("#heard")).to_contain_text("result")
            assert problems == []
