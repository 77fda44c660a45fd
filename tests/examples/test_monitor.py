"""The monitor: a log by a cursor, what the user follows and filters, and alerts that reach the model."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import until
from support.examples import Refusing, client_of, namespace_of, showing
from support.stage import Stage
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

BEGAN = datetime(2026, 1, 1, 12, tzinfo=UTC)
# Takes the timer of the View (a second, or at once) into the test's hands; the SDK's are longer.
HOLD_TIME = """() => {
  const [plan, forget] = [window.setTimeout, window.clearTimeout];
  window.planned = null;
  window.setTimeout = (work, time) => (time === 1000 || time === 0 ? ((window.planned = work), -1) : plan(work, time));
  window.clearTimeout = (id) => (id === -1 ? (window.planned = null) : forget(id));
}"""
PASS_TIME = "() => { const work = window.planned; window.planned = null; work(); }"


class Feed:
    """Answers the View's calls in place of the server: each read gets the next page."""

    def __init__(self, *pages: dict[str, Any]) -> None:
        self.pages = list(pages)
        self.cursors: list[int] = []

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert (method, params["name"]) == ("tools/call", "read_log")
        self.cursors.append(params["arguments"]["cursor"])
        return {"content": [], "structuredContent": self.pages.pop(0)}


def page_of(first: int, *levels: str, missed: int = 0, more: bool = False) -> dict[str, Any]:
    lines = [
        {
            "number": number,
            "at": (BEGAN + timedelta(seconds=number / 4)).isoformat(),
            "level": level,
            "source": "web",
            "text": f"line {number}",
        }
        for number, level in zip(itertools.count(first), levels, strict=False)
    ]
    return {"lines": lines, "cursor": first + len(levels) - 1, "missed": missed, "more": more}


async def watch(stage: Stage, feed: Feed, first: dict[str, Any]) -> None:
    """Show the View a first page; from then on the feed answers, whenever the test lets time pass."""
    await stage.page.frames[1].evaluate(HOLD_TIME)
    stage.client = feed  # type: ignore[assignment]
    structured = {"level": "info", "contains": "", "limit": 4, "page": first}
    await stage.notify("ui/notifications/tool-result", {"content": [], "structuredContent": structured})
    await until(stage.page.frames[1], "window.planned")


async def read(stage: Stage) -> None:
    frame = stage.page.frames[1]
    await frame.evaluate(PASS_TIME)
    await until(frame, "window.planned")


def test_lines_are_read_by_a_cursor_in_pages_and_lost_ones_are_counted() -> None:
    example = namespace_of("monitor")
    clock = [1000.0]
    log = example["Log"](clock=lambda: clock[0])
    newest = log.newest()
    assert newest == 200
    first = log.read(50)
    assert ([first.lines[0].number, first.lines[-1].number], first.cursor, first.more) == ([51, 150], 150, True)
    rest = log.read(first.cursor)
    assert (rest.lines[-1].number, rest.missed, rest.more) == (200, 0, False)
    nothing = log.read(rest.cursor)
    assert (nothing.lines, nothing.cursor, nothing.missed) == ([], 200, 0)
    clock[0] += 1000  # the user comes back a quarter of an hour later
    later = log.read(200)
    assert (later.missed, later.lines[0].number, len(later.lines)) == (4200 - 600 - 200, 3601, 100)


async def test_the_text_for_the_model_has_counts_and_the_latest_errors_and_no_lines_twice() -> None:
    async with client_of("monitor", NO_UI) as client:
        assert set(await client.tools()) == {"watch_log"}
        summary, header, *errors = (await client.call("watch_log"))["content"][0]["text"].splitlines()
        assert summary.startswith("The last 45 seconds have 180 lines: ")
        assert header == "The latest errors (UTC):"
        assert len(errors) == 5
        assert "the bank did not answer" in "".join(errors)


async def test_the_view_follows_the_log_from_where_the_last_page_ended(browser: Browser) -> None:
    async with showing(browser, "monitor") as stage:
        many = ["info"] * 60
        feed = Feed(page_of(60, *many, more=True), page_of(120, "info", "warning"), page_of(500, "info", missed=378))
        await watch(stage, feed, page_of(0, *many))
        log = stage.view.get_by_role("log", name="Log")
        await read(stage)
        await expect(stage.view.locator("#status")).to_have_text("Catching up…")
        await read(stage)
        await expect(stage.view.locator("#status")).to_have_text("Live")
        at_end = "log => log.scrollTop + log.clientHeight > log.scrollHeight - 8"
        assert await log.evaluate(at_end)
        await log.evaluate("log => (log.scrollTop = 0)")
        await until(stage.page.frames[1], "document.querySelector('#log').scrollTop === 0")
        await log.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        await read(stage)
        await expect(log).to_contain_text("378 lines were dropped meanwhile")
        await stage.view.get_by_role("button", name="2 new lines").click()
        assert await log.evaluate(at_end)
        assert feed.cursors == [59, 119, 121]


async def test_the_view_does_not_read_while_paused_or_hidden(browser: Browser) -> None:
    async with showing(browser, "monitor") as stage:
        await watch(stage, Feed(page_of(1, "info"), page_of(2, "info")), page_of(0, "info"))
        frame = stage.page.frames[1]
        await stage.view.get_by_role("button", name="Pause").click()
        assert await frame.evaluate("window.planned") is None
        await stage.view.get_by_role("button", name="Resume").click()
        await read(stage)
        hide = "(now) => { Object.defineProperty(document, 'hidden', { get: () => now, configurable: true });"
        hide += " document.dispatchEvent(new Event('visibilitychange')); }"
        await frame.evaluate(hide, True)
        assert await frame.evaluate("window.planned") is None
        await frame.evaluate(hide, False)
        await read(stage)
        await expect(stage.view.get_by_role("log").get_by_role("listitem")).to_have_count(3)
        assert await stage.ask("ui/resource-teardown", {}) == {"result": {}}
        assert await frame.evaluate("window.planned") is None


async def test_many_errors_are_an_alert_for_the_user_and_the_model_until_they_are_over(browser: Browser) -> None:
    async with showing(browser, "monitor") as stage:
        await watch(stage, Feed(page_of(20, *["error"] * 5), page_of(80, "info")), page_of(0, *["info"] * 20))
        await expect(stage.view.get_by_text("Alert: ")).to_have_count(0)
        await stage.ask("ping", {})  # what the View sent before has arrived: the log of the server begins with an alert
        await stage.page.evaluate("messages.splice(0)")
        await read(stage)
        await expect(stage.view.get_by_text("Alert: more than 4 errors in 5 seconds")).to_be_visible()
        await expect(stage.view.get_by_role("img", name="Errors every 5 seconds")).to_have_accessible_name(
            "Errors every 5 seconds, oldest first: " + "0, " * 11 + "5"
        )
        alert = (await stage.sent("ui/update-model-context", 1))[-1]["content"][0]["text"]
        assert alert.startswith("Alert in the log of the shop: 5 errors within 15 seconds.")
        assert "12:00:05 UTC web: line 20" in alert
        await stage.view.get_by_role("button", name="Ask what happened").click()
        (message,) = await stage.sent("ui/message", 1)
        assert message["content"][0]["text"].startswith("What happened in the shop? 5 errors")
        await read(stage)
        await expect(stage.view.get_by_role("button", name="Ask what happened")).to_be_hidden()
        over = (await stage.sent("ui/update-model-context", 2))[-1]["content"][0]["text"]
        assert over == "The alert in the log of the shop is over."


async def test_lines_are_filtered_by_level_and_text(browser: Browser) -> None:
    async with showing(browser, "monitor") as stage:
        await watch(stage, Feed(page_of(4, "error", "info")), page_of(0, "info", "warning", "error", "info"))
        rows = stage.view.get_by_role("log").get_by_role("listitem")
        await stage.view.get_by_label("Level").select_option("warning")
        await expect(rows).to_have_count(2)
        await read(stage)
        await expect(rows).to_have_count(3)
        await stage.view.get_by_role("searchbox", name="Filter").fill("LINE 4")
        await expect(rows).to_have_count(1)
        await stage.view.get_by_role("searchbox", name="Filter").fill("lamp")
        await expect(rows).to_have_count(0)


async def test_a_failed_read_pauses_until_it_is_resumed(browser: Browser) -> None:
    async with showing(browser, "monitor") as stage:
        feed = Feed(page_of(1, "info"))
        await watch(stage, feed, page_of(0, "info"))
        stage.client = Refusing()
        await stage.page.frames[1].evaluate(PASS_TIME)
        await expect(stage.view.locator("#status")).to_have_text("Paused: The host refuses.")
        stage.client = feed  # type: ignore[assignment]
        await stage.view.get_by_role("button", name="Resume").click()
        await read(stage)
        await expect(stage.view.locator("#status")).to_have_text("Live")
