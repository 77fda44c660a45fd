"""`flood`: many Views that talk now and then, and one among them that sends as fast as it can."""

import multiprocessing
import selectors
import time

from bench.processes import running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import percentile
from bench.socket_client import Page
from bench.views import View, allow_files, opened

VIEWS = 2000
QUICK_VIEWS = 300
SECONDS = 10
QUICK_SECONDS = 3
MESSAGES_PER_SECOND = 500
ROUNDS = 3
LIMIT = 2.0
PATIENCE = 10


def run(options: Options) -> Report:
    views = QUICK_VIEWS if options.quick else VIEWS
    seconds = QUICK_SECONDS if options.quick else SECONDS
    rounds = options.choose(ROUNDS, 1)
    allow_files(views + 200)
    say(f"flood: {views} Views, {rounds} rounds")
    quiet: list[float] = []
    flooded: list[float] = []
    sent = 0
    with running("bench.host_process", "limited") as process:
        port = process.answer()["port"]
        pages = opened(process, "host", port, views)
        ((view, token),) = process.order(1)["views"]
        process.order("freeze")
        for _ in range(rounds):
            quiet += _waits(pages, seconds)
            with _Flood(port, view, token) as flood:
                flooded += _waits(pages, seconds)
            sent += flood.sent
    return _report(views, quiet, flooded, sent / (rounds * seconds))


class _Flood:
    """A View in its own process that sends without pause, and reads every response."""

    def __init__(self, port: int, view: str, token: str) -> None:
        self._count = multiprocessing.Value("q", 0)
        self._process = multiprocessing.Process(target=_send, args=(port, view, token, self._count), daemon=True)

    @property
    def sent(self) -> int:
        return int(self._count.value)

    def __enter__(self) -> "_Flood":
        self._process.start()
        while not self.sent:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join(5)


def _send(port: int, view: str, token: str, count: "multiprocessing.sharedctypes.Synchronized[int]") -> None:
    page = Page(port, view, token)
    with selectors.DefaultSelector() as selector:
        selector.register(page.socket, selectors.EVENT_READ)
        for number in range(1, 10**9):
            page.socket.send(page.frame({"jsonrpc": "2.0", "id": number, "method": "ping"}))
            count.value = number
            if selector.select(0):
                for text in page.socket.arrived():
                    page.read(text)


def _waits(pages: list[View], seconds: int) -> list[float]:
    """Send a request from one View after the other, and return how long each waited."""
    waits: list[float] = []
    asked: dict[int, float] = {}
    with selectors.DefaultSelector() as selector:
        for number, page in enumerate(pages):
            selector.register(page.socket, selectors.EVENT_READ, number)
        total, sent = MESSAGES_PER_SECOND * seconds, 0
        started = last_answer = time.perf_counter()
        while len(waits) < total and (now := time.perf_counter()) < last_answer + PATIENCE:
            while sent < min(total, int((now - started) * MESSAGES_PER_SECOND)):
                number = sent % len(pages)
                asked[number] = time.perf_counter()
                pages[number].socket.send(pages[number].frame({"jsonrpc": "2.0", "id": sent + 1, "method": "ping"}))
                sent += 1
            for key, _ in selector.select(0.0005):
                last_answer = now
                for text in pages[key.data].socket.arrived():
                    if "id" in pages[key.data].read(text).get("message", {}):
                        waits.append(time.perf_counter() - asked[key.data])
    if len(waits) < total:
        raise RuntimeError(f"{total - len(waits)} answers never came")
    return waits


def _report(views: int, quiet: list[float], flooded: list[float], rate: float) -> Report:
    table = Table(
        f"flood: {views:,} Views, {MESSAGES_PER_SECOND} messages a second in all, without and with one that floods",
        ["", "p50 ms", "p99 ms", "the flood, messages a second"],
    )
    for name, waits, sent in (("quiet", quiet, ""), ("flooded", flooded, f"{rate:,.0f}")):
        figures = [f"{percentile(waits, percent) * 1e3:.2f}" for percent in (50, 99)]
        table.rows.append([name, *figures, sent])
    ratio = percentile(flooded, 99) / percentile(quiet, 99)
    figures_ = {"quiet_p99_ms": percentile(quiet, 99) * 1e3, "flooded_p99_ms": percentile(flooded, 99) * 1e3}
    report = Report([table], figures=figures_)
    report.goals.append(Goal("flood: p99 of the others / when it is quiet", ratio, LIMIT))
    return report
