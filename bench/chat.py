"""`chat`: `fanlight chat` beside a bare relay of the same stream, and a conversation of 200 turns with 50 Views."""

import asyncio
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from playwright.async_api import Browser, Page

from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import mean_ratio, percentile, rotated
from fanlight.testing.browser import launch_browser

ROOT = Path(__file__).resolve().parent.parent
OURS, BARE = "fanlight chat", "a bare relay"
ROUNDS, QUICK_ROUNDS = 30, 5
TURNS, VIEWS = 200, 50
QUICK_TURNS, QUICK_VIEWS = 40, 10
STREAMED = 150
"""The words of the answer that is streamed into a short and into the long conversation."""
PATIENCE = 120.0
FIRST_TOKEN_LIMIT, VIEW_LIMIT, FRAMES_LIMIT = 2.0, 4.0, 1.5
FRAME = 1000 / 60

_RECORD_FRAMES = """() => {
  window.frames_ = [];
  let last = performance.now();
  const tick = (now) => {
    window.frames_.push(now - last);
    last = now;
    window.recording_ = requestAnimationFrame(tick);
  };
  window.recording_ = requestAnimationFrame(tick);
}"""
_STOP_RECORDING = "() => (cancelAnimationFrame(window.recording_), window.frames_)"
_SCROLL_ALL = """async () => {
  const scroller = document.querySelector("#scroller");
  for (let top = scroller.scrollHeight; top > 0; top -= 90) {
    scroller.scrollTop = top;
    await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    turns, views = (QUICK_TURNS, QUICK_VIEWS) if options.quick else (TURNS, VIEWS)
    say(f"chat: {rounds} answers and Views of {OURS} and {BARE}, and a conversation of {turns} turns in Chromium")
    return asyncio.run(_run(rounds, turns, views))


async def _run(rounds: int, turns: int, views: int) -> Report:
    report = Report()
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(Path(sys.executable).with_name("node")))
    with _programs() as (relay, chat, token):
        async with launch_browser() as browser:
            ours, bare = await _open(browser, f"{chat}/?token={token}"), await _open(browser, relay)
            _report_latency(report, *await _latency(ours, bare, rounds))
            await ours.page.close()
            await bare.page.close()
            short, long = await _long_conversation(browser, chat, token, turns, views)
            _report_long(report, short, long, turns, views)
    return report


class _Subject:
    """A page, and what its probe has reported."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.reports: asyncio.Queue[tuple[str, float, float]] = asyncio.Queue()

    async def next(self, kind: str) -> tuple[float, float]:
        """Return when the model wrote something, and when it was painted."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found, stamp, painted = await self.reports.get()
                if found == kind:
                    return stamp, painted


async def _open(browser: Browser, address: str) -> _Subject:
    page = await browser.new_page(viewport={"width": 1200, "height": 900})
    subject = _Subject(page)
    await page.expose_binding("reportPainted", lambda _, *report: subject.reports.put_nowait(report))
    await page.add_init_script(path=ROOT / "bench" / "pages" / "chat-probe.js")
    await page.goto(address)
    if "token" in address:
        await page.get_by_role("group", name="Tools to try").get_by_role("button").first.wait_for()
    return subject


async def _ask(subject: _Subject, name: str, text: str) -> None:
    if name == BARE:
        await subject.page.evaluate("(text) => void window.ask(text)", text)
    else:
        field = subject.page.get_by_role("textbox", name="Message", exact=True)
        await field.fill(text)
        await field.press("Enter")


async def _idle(subject: _Subject, name: str) -> None:
    """Wait until an answer is complete, so that the next one begins with an idle page."""
    if name == OURS:
        await subject.page.get_by_role("button", name="Send", exact=True).wait_for()
    await asyncio.sleep(0.3)


async def _latency(
    ours: _Subject, bare: _Subject, rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return the milliseconds from the model to the screen: of the first words, and of a View after its tool's name."""
    subjects = {OURS: ours, BARE: bare}
    text: dict[str, list[float]] = {name: [] for name in subjects}
    view: dict[str, list[float]] = {name: [] for name in subjects}
    for turn in range(rounds + 2):  # the first two warm up
        for name in rotated(list(subjects), turn):
            subject = subjects[name]
            await _ask(subject, name, "say 5")
            stamp, painted = await subject.next("text")
            await _idle(subject, name)
            await _ask(subject, name, "show a view")
            _, shown = await subject.next("view")
            named = await _named(subject, name)
            await _idle(subject, name)
            if turn >= 2:
                text[name].append(painted - stamp)
                view[name].append(shown - named)
    return text, view


async def _named(subject: _Subject, name: str) -> float:
    """Return when the model named the tool: its time is the id of the call."""
    if name == BARE:
        return float((await subject.page.evaluate("document.documentElement.dataset.named"))[1:])
    turns = await subject.page.evaluate(
        "fetch('/api/conversation?conversation=' + location.hash.slice(1)).then((answer) => answer.json())"
    )
    calls = [block["id"] for turn in turns["turns"] for block in turn["blocks"] if block["type"] == "tool"]
    return float(calls[-1][1:])


async def _long_conversation(
    browser: Browser, chat: str, token: str, turns: int, views: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Measure a conversation of one turn and one of many: the frames while an answer streams, and while it scrolls."""
    async with httpx2.AsyncClient(base_url=chat, headers={"origin": chat}, timeout=PATIENCE) as http:
        await http.get("/", params={"token": token})
        conversations = [await _filled(http, 1, 0), await _filled(http, turns, views)]
    found = []
    for conversation in conversations:
        page = await browser.new_page(viewport={"width": 1200, "height": 900})
        await page.goto(f"{chat}/?token={token}")
        began = time.monotonic()
        await page.goto(f"{chat}/#{conversation}")
        await page.reload()
        await page.locator(".turn").last.wait_for()
        opened = (time.monotonic() - began) * 1000
        await asyncio.sleep(2)
        await page.evaluate(_RECORD_FRAMES)
        await page.get_by_role("textbox", name="Message", exact=True).fill(f"say {STREAMED}")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Stop", exact=True).wait_for()
        await page.get_by_role("button", name="Send", exact=True).wait_for(timeout=1000 * PATIENCE)
        streaming = await page.evaluate(_STOP_RECORDING)
        await page.evaluate(_RECORD_FRAMES)
        await page.evaluate(_SCROLL_ALL)
        scrolling = await page.evaluate(_STOP_RECORDING)
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable")
        metrics = {each["name"]: each["value"] for each in (await session.send("Performance.getMetrics"))["metrics"]}
        found.append(
            {
                "opened": opened,
                "streaming": streaming,
                "scrolling": scrolling,
                "heap": metrics["JSHeapUsedSize"] / 1e6,
                "alive": await page.locator("mcp-app").count(),
            }
        )
        await page.close()
    return found[0], found[1]


async def _filled(http: httpx2.AsyncClient, turns: int, views: int) -> str:
    """Create a conversation, with Views in some of its turns."""
    conversation: str | None = None
    every = turns // views if views else turns + 1
    for number in range(turns):
        text = "show a view" if views and number % every == 0 else "say 30"
        answer = (await http.post("/api/send", json={"text": text, "conversation": conversation})).json()
        conversation = answer["conversation"]
        async with asyncio.timeout(PATIENCE):
            while True:
                await asyncio.sleep(0.02)
                state = (await http.get("/api/conversation", params={"conversation": conversation})).json()
                if state["turns"][-1]["state"] != "running":
                    break
    assert conversation is not None
    return conversation


def _report_latency(report: Report, text: dict[str, list[float]], view: dict[str, list[float]]) -> None:
    table = Table("chat: milliseconds from the model to the screen (medians)", ["subject", "first words", "View"])
    for name in (OURS, BARE):
        table.rows.append([name, f"{statistics.median(text[name]):.1f}", f"{statistics.median(view[name]):.1f}"])
    report.tables.append(table)
    report.goals += [
        Goal.of(f"chat: first words, {OURS} / {BARE}", mean_ratio(text[OURS], text[BARE]), FIRST_TOKEN_LIMIT),
        Goal.of(f"chat: View after its tool is named, {OURS} / {BARE}", mean_ratio(view[OURS], view[BARE]), VIEW_LIMIT),
    ]
    report.figures["milliseconds"] = {"text": text, "view": view}


def _dropped(frames: Sequence[float]) -> float:
    """Return the share of frames that were not drawn in time, in percent."""
    missed = sum(round(each / FRAME) - 1 for each in frames if each > 1.5 * FRAME)
    return 100 * missed / (len(frames) + missed)


def _report_long(report: Report, short: dict[str, Any], long: dict[str, Any], turns: int, views: int) -> None:
    table = Table(
        "chat: a long conversation",
        ["conversation", "opened, ms", "streaming p95", "dropped", "scrolling p95", "dropped", "heap, MB", "Views"],
    )
    for name, found in (("1 turn", short), (f"{turns} turns, {views} Views", long)):
        frames = [cell for kind in ("streaming", "scrolling") for cell in _frames(found[kind])]
        table.rows.append([name, f"{found['opened']:.0f}", *frames, f"{found['heap']:.1f}", str(found["alive"])])
    report.tables.append(table)
    ratio = percentile(long["streaming"], 95) / percentile(short["streaming"], 95)
    report.goals.append(Goal("chat: p95 frame while streaming, long / short conversation", ratio, FRAMES_LIMIT))
    report.figures["long"] = {"short": short, "long": long}


def _frames(frames: Sequence[float]) -> tuple[str, str]:
    return f"{percentile(frames, 95):.1f}", f"{_dropped(frames):.1f} %"


@contextmanager
def _programs() -> Iterator[tuple[str, str, str]]:
    """Start the model with the relay, and the chat; yield their addresses, and the token of the chat."""
    folder = Path(tempfile.mkdtemp(prefix="fanlight-bench-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = subprocess.Popen([sys.executable, "-m", "bench.chat_process", str(port)], cwd=ROOT)
    options = ["--no-open", "--port", "0", "--store", str(folder / "chat.db"), "--model", "bench"]
    command = [sys.executable, "-m", "fanlight.cli", "chat", str(ROOT / "bench" / "chat_app" / "server.py"), *options]
    chat = subprocess.Popen(
        [*command, "--base-url", f"http://127.0.0.1:{port}/v1"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert chat.stdout is not None
        line = next(line for line in chat.stdout if "fanlight chat: " in line)
        address, _, token = line.partition("fanlight chat: ")[2].strip().partition("/?token=")
        yield f"http://127.0.0.1:{port}/", address, token
    finally:
        for process in (chat, model):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    print(json.dumps(run(Options(quick=True)).to_json()["goals"], indent=2))
