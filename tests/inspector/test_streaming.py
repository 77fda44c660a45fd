"""Streamed arguments, cancelled calls, and simulated faults."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect

from support.inspecting import call, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


def place(server: str, tool: str, **arguments: object) -> str:
    return f"#/{server}/{tool}?args={quote(json.dumps(arguments))}"


async def test_streaming_can_be_paused_stepped_and_resumed(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        start = place("mirror", "mirror", words=["alpha", "beta", "gamma", "delta"])
        async with opened(browser, inspector, address, f"{start}&speed=3") as (page, problems):
            await page.get_by_label("start paused").check()
            await expect(page.get_by_text("80 characters per second")).to_be_visible()
            await call(page)
            received = view(page).locator("#received")
            await expect(received).to_contain_text("capabilities")
            step = page.get_by_role("button", name="Step")
            for _ in range(6):
                await step.click()
            await expect(page.get_by_role("article")).to_contain_text("24 of")
            await expect(received).to_contain_text('partial {"words":["alpha"')
            await expect(received).not_to_contain_text("delta")
            await page.get_by_role("button", name="Resume").click()
            await expect(received).to_contain_text('input {"words":["alpha","beta","gamma","delta"],"wait":0}')
            await expect(received).to_contain_text("result")
            assert problems == []


async def test_a_call_can_be_cancelled_while_it_streams_and_while_it_runs(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        start = place("mirror", "mirror", words=["word"] * 50, wait=30)
        async with opened(browser, inspector, address, f"{start}&speed=2") as (page, problems):
            await call(page)
            received = view(page).locator("#received")
            await expect(received).to_contain_text("partial")
            await page.get_by_role("button", name="Cancel").click()
            await expect(received).to_contain_text("cancelled Cancelled by the developer.")
            await expect(received).not_to_contain_text("input {")
            await page.locator("#speed").fill("8")
            await call(page)
            await expect(received).to_contain_text("input {")
            await page.get_by_role("button", name="Cancel").click()
            await expect(received).to_contain_text("cancelled Cancelled by the developer.")
            await expect(page.get_by_role("article").first).to_contain_text("cancelled: Cancelled by the developer.")
            assert problems == []


async def test_a_server_can_be_made_slow_failing_and_unreachable(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            received, answer = view(page).locator("#received"), view(page).locator("#answer")
            await expect(received).to_contain_text("result")
            await page.get_by_text("Server details").click()
            nav = page.get_by_role("navigation")
            await nav.get_by_label("fail requests").check()
            await view(page).locator("#more").click()
            await expect(answer).to_contain_text("error")
            await expect(answer).to_contain_text("fail requests")
            await expect(nav.locator(".mark.warn")).to_have_text("failing")
            await call(page)
            await expect(view(page).locator("#received")).to_contain_text("failed")
            await nav.get_by_label("fail requests").uncheck()
            await nav.get_by_label("lose connection").check()
            await call(page)
            await expect(page.get_by_role("article").first).to_contain_text("lose connection")
            await nav.get_by_label("lose connection").uncheck()
            await nav.get_by_label("Delay of mirror").select_option("1 s")
            await call(page)
            await expect(page.get_by_role("article").first).to_contain_text("The tool is running.")
            await expect(view(page).locator("#received")).to_contain_text("result")
            assert problems == []
