"""The dashboard: correct or missing metrics, and no polling while it is not visible."""

import os
import platform
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Frame, expect

from support.examples import Refusing, client_of, namespace_of, showing
from support.stage import Stage
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

# Takes the View's own timer (2 seconds; the SDK's are longer) into the test's hands: `planned` is what it waits for.
HOLD_TIME = """{
  const [plan, forget] = [window.setTimeout, window.clearTimeout];
  window.planned = null;
  window.setTimeout = (work, time) => (time === 2000 ? ((window.planned = work), -1) : plan(work, time));
  window.clearTimeout = (id) => (id === -1 ? (window.planned = null) : forget(id));
}"""
PASS_TIME = "() => { const work = window.planned; window.planned = null; work(); }"


@asynccontextmanager
async def holding_time(browser: Browser) -> AsyncIterator[Stage]:
    """Show the dashboard with its first sample, and with the next poll scheduled for when the test lets time pass."""
    async with showing(browser, "dashboard", init_script=HOLD_TIME) as stage:
        await expect(stage.view.locator(".card")).to_have_count(4)
        await expect_samples(stage, 1)
        yield stage


def frame_of(stage: Stage) -> Frame:
    return stage.page.frames[1]


async def polls(stage: Stage) -> bool:
    planned: bool = await frame_of(stage).evaluate("window.planned !== null")
    return planned


async def expect_samples(stage: Stage, count: int) -> None:
    await expect(stage.view.get_by_role("img", name=re.compile(f"CPU.*last {count} samples"))).to_be_visible()


async def measured() -> dict[str, Any]:
    async with client_of("dashboard") as client:
        sample: dict[str, Any] = (await client.call("show_dashboard"))["structuredContent"]
        return sample


async def test_the_metrics_are_those_of_this_computer() -> None:
    sample = await measured()
    cpu, memory, disk, load = sample["metrics"]
    assert [metric["name"] for metric in sample["metrics"]] == ["CPU", "Memory", "Disk", "Load"]
    assert all(0 <= metric["share"] <= 1 for metric in (memory, disk, load))
    assert cpu["detail"].startswith(f"of {os.cpu_count()} core")
    usage = shutil.disk_usage(Path.cwd().anchor)
    assert disk["share"] == pytest.approx(usage.used / usage.total, abs=0.02)
    assert platform.system() in sample["system"]


async def test_the_text_for_the_model_has_the_same_metrics() -> None:
    async with client_of("dashboard", NO_UI) as client:
        assert set(await client.tools()) == {"show_dashboard"}
        text = (await client.call("show_dashboard"))["content"][0]["text"]
    assert re.search(r"^CPU: \d+% \(of \d+ cores?\)$", text, re.MULTILINE)
    assert re.search(r"^Memory: \d+% \(.+ of .+ used\)$", text, re.MULTILINE)
    assert re.search(r"^Load: \d+\.\d\d", text, re.MULTILINE)


async def test_a_metric_that_cannot_be_measured_has_a_placeholder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "getloadavg")  # as on Windows
    example = namespace_of("dashboard")
    example["sample"].__globals__["PROC"] = tmp_path  # no /proc, as everywhere but on Linux
    sample = await example["sample"](2)
    assert [metric.name for metric in sample.metrics if metric.share is None] == ["CPU", "Memory", "Load"]
    assert f"CPU: – (Python alone cannot measure this on {platform.system()}.)" in sample.text
    assert "Disk: " in sample.text


async def test_the_load_is_the_share_of_time_without_idle_time(tmp_path: Path) -> None:
    example = namespace_of("dashboard")
    example["sample"].__globals__["PROC"] = tmp_path
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 1\n", encoding="ascii")
    processor = example["Processor"](before=(0.0, 0.0))
    assert await processor.share() == 0.5
    stat.write_text("cpu  175 0 0 125 0 0 0 0 0 0\n", encoding="ascii")
    processor.sampled = 0.0
    assert await processor.share() == 0.75
    stat.write_text("cpu  999 0 0 125 0 0 0 0 0 0\n", encoding="ascii")
    assert await processor.share() == 0.75  # too soon for a new value


async def test_the_view_polls_the_app_only_tool(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("Live, every 2 seconds")
        for count in (2, 3):
            await frame_of(stage).evaluate(PASS_TIME)
            await expect_samples(stage, count)
        asked = await stage.sent("tools/call", 2)
        assert [(call["name"], call["arguments"]) for call in asked] == [("take_sample", {"every": 2})] * 2
        assert await polls(stage)


async def test_the_view_does_not_poll_while_paused_and_updates_the_model_context(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        await stage.view.get_by_role("button", name="Pause").click()
        await expect(stage.view.get_by_role("status")).to_have_text("Paused")
        assert not await polls(stage)
        model_context = (await stage.sent("ui/update-model-context", 1))[-1]["content"][0]["text"]
        assert model_context.startswith("The user has paused the dashboard at:\n")
        assert "CPU: " in model_context


async def test_the_view_does_not_poll_while_its_tab_is_hidden(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        hide = "(now) => { Object.defineProperty(document, 'hidden', { get: () => now, configurable: true });"
        hide += " document.dispatchEvent(new Event('visibilitychange')); }"
        await frame_of(stage).evaluate(hide, True)
        assert not await polls(stage)
        await frame_of(stage).evaluate(hide, False)
        await expect_samples(stage, 2)


async def test_the_view_does_not_poll_while_scrolled_out_of_view(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        away = "(pixels) => { document.getElementById('view').style.marginTop = pixels; }"
        await stage.page.evaluate(away, "5000px")
        for _ in range(200):
            if not await polls(stage):
                break
            await stage.page.evaluate("new Promise(requestAnimationFrame)")
        assert not await polls(stage)
        await stage.page.evaluate(away, "0")
        await expect_samples(stage, 2)


async def test_the_view_stops_polling_at_teardown(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        assert await stage.ask("ui/resource-teardown", {"reason": "The chat was closed."}) == {"result": {}}
        assert not await polls(stage)


async def test_a_failed_sample_pauses_polling_until_it_is_resumed(browser: Browser) -> None:
    async with holding_time(browser) as stage:
        client, stage.client = stage.client, Refusing()
        await frame_of(stage).evaluate(PASS_TIME)
        await expect(stage.view.get_by_role("status")).to_have_text("Paused: The host refuses.")
        assert not await polls(stage)
        stage.client = client
        await stage.view.get_by_role("button", name="Resume").click()
        await expect(stage.view.get_by_role("status")).to_have_text("Live, every 2 seconds")


async def test_high_and_missing_values_are_also_shown_as_text(browser: Browser) -> None:
    metrics = [
        {"name": "CPU", "shown": "97%", "detail": "of 1 core", "share": 0.97},
        {"name": "Load", "shown": "–", "detail": "Python alone cannot measure this on Windows.", "share": None},
    ]
    sample = {"taken": "2026-01-01T00:00:00+00:00", "system": "X", "every": 60, "metrics": metrics, "text": ""}
    async with showing(browser, "dashboard") as stage:
        await stage.notify("ui/notifications/tool-result", {"content": [], "structuredContent": sample})
        await expect(stage.view.locator(".card.high h2")).to_have_text("CPU")
        assert "high" in await stage.view.locator(".card.high h2").evaluate(
            "h2 => getComputedStyle(h2, '::after').content"
        )
        await expect(stage.view.locator(".card.unknown")).to_contain_text("cannot measure")


async def test_cancelled_and_failed_calls_are_shown(browser: Browser) -> None:
    async with showing(browser, "dashboard") as stage:
        await stage.notify("ui/notifications/tool-cancelled", {"reason": "The user stopped it."})
        await expect(stage.view.get_by_role("status")).to_have_text("Cancelled: The user stopped it.")
        failed = {"content": [{"type": "text", "text": "It broke."}], "isError": True}
        await stage.notify("ui/notifications/tool-result", failed)
        await expect(stage.view.get_by_role("status")).to_have_text("It broke.")
