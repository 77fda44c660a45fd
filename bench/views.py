"""`views`: many open Views in one process: the memory of each, and the work when all of them talk."""

import json
import resource
import selectors
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from bench.processes import Process, running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import percentile
from bench.socket_client import Page, SocketClient, framed
from bench.sockets import ECHO, HOST, MESSAGES

VIEWS = 4000
QUICK_VIEWS = 500
MESSAGES_PER_SECOND = 4000
SECONDS = {"ping": 10, "ui/update-model-context": 3}
QUICK_SECONDS = {"ping": 2, "ui/update-model-context": 1}
FIRST = 50
SETTLE = 0.5
PATIENCE = 10
SPARE_FILES = 200

MEMORY_LIMIT = 40_000
CPU_LIMIT = 50.0
MESSAGE = "ping"


@dataclass
class Talk:
    """What came of talking for some seconds."""

    sent: int = 0
    answered: int = 0
    cpu: float = 0.0
    waits: list[float] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The CPU time in per cent of one core, of the seconds in which so many messages are due."""
        return 100 * self.cpu / (self.answered / MESSAGES_PER_SECOND)


@dataclass
class Found:
    views: int
    bytes_each: float
    talks: dict[str, Talk]


class EchoView:
    """A socket to the echo that sends what a View would."""

    def __init__(self, port: int) -> None:
        self.socket = SocketClient(port, "/")

    def frame(self, message: dict[str, Any]) -> bytes:
        frame = {"type": "message", "message": message, "n": message["id"], "ack": message["id"]}
        return framed(json.dumps(frame, separators=(",", ":")).encode())

    def read(self, text: bytes) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(text)
        return frame


View = EchoView | Page


def run(options: Options) -> Report:
    views = QUICK_VIEWS if options.quick else VIEWS
    seconds = QUICK_SECONDS if options.quick else SECONDS
    allow_files(views + SPARE_FILES)
    found = {}
    for subject, kind in ((ECHO, "echo"), (HOST, "host")):
        say(f"views: {views} open Views of {subject}")
        with running("bench.host_process", kind) as process:
            found[subject] = _measure(process, kind, views, seconds)
    return _report(found)


def allow_files(count: int) -> None:
    """Let this process, and those that it starts, open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        raise RuntimeError(f"{count} open files are needed, and this system allows {hard}: ulimit -Hn {count}")
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def _measure(process: Process, kind: str, count: int, seconds: dict[str, int]) -> Found:
    port = process.answer()["port"]
    views = opened(process, kind, port, FIRST)
    time.sleep(SETTLE)
    before = process.memory()
    views += opened(process, kind, port, count - FIRST)
    time.sleep(SETTLE)
    each = (process.memory() - before) / (count - FIRST)
    talks = {name: _talk(process, views, name, seconds[name]) for name in MESSAGES}
    for view in views:
        view.socket.close()
    return Found(count, each, talks)


def opened(process: Process, kind: str, port: int, count: int) -> list[View]:
    if kind == "echo":
        return [EchoView(port) for _ in range(count)]
    pages: list[View] = []
    for view, token in process.order(count)["views"]:
        page = Page(port, view, token)
        # The input and the result of the call.
        for _ in range(2):
            page.read(page.socket.receive())
        pages.append(page)
    return pages


def _talk(process: Process, views: list[View], name: str, seconds: int) -> Talk:
    """Let one View after the other send a message, so many a second in all, and read the answers as they come."""
    talk = Talk()
    pending: list[deque[float]] = [deque() for _ in views]
    with selectors.DefaultSelector() as selector:
        for number, view in enumerate(views):
            selector.register(view.socket, selectors.EVENT_READ, number)
        total = MESSAGES_PER_SECOND * seconds
        cpu, started = process.cpu(), time.perf_counter()
        last_answer = started
        while talk.answered < total and (now := time.perf_counter()) < last_answer + PATIENCE:
            due = min(total, int((now - started) * MESSAGES_PER_SECOND))
            while talk.sent < due:
                number = talk.sent % len(views)
                view = views[number]
                message = {"jsonrpc": "2.0", "id": talk.sent + 1, **MESSAGES[name]}
                pending[number].append(time.perf_counter())
                view.socket.send(view.frame(message))
                talk.sent += 1
            for key, _ in selector.select(0.0005):
                last_answer = now
                view = views[key.data]
                for text in view.socket.arrived():
                    answer = view.read(text).get("message", {})
                    if "id" in answer and "error" not in answer:
                        talk.answered += 1
                        talk.waits.append(time.perf_counter() - pending[key.data].popleft())
        talk.cpu = process.cpu() - cpu
    return talk


def _report(found: dict[str, Found]) -> Report:
    count = found[HOST].views
    rate = MESSAGES_PER_SECOND / count
    table = Table(
        f"views: {count:,} open Views, {rate:g} message(s) a second from each",
        ["subject", "kB each", "message", "% of a core", "answered", "lost", "p50 ms", "p99 ms"],
    )
    report = Report([table])
    for subject, one in found.items():
        for name, talk in one.talks.items():
            waits = [f"{percentile(talk.waits, percent) * 1e3:.1f}" for percent in (50, 99)]
            counts = [f"{talk.answered:,}", f"{talk.sent - talk.answered:,}"]
            table.rows.append([subject, f"{one.bytes_each / 1e3:.1f}", name, f"{talk.share:.0f}", *counts, *waits])
        report.figures[subject] = {
            "views": one.views,
            "bytes_each": round(one.bytes_each),
            "talks": {
                name: {"percent_of_a_core": talk.share, "sent": talk.sent, "answered": talk.answered}
                for name, talk in one.talks.items()
            },
        }
    ours = found[HOST]
    talk = ours.talks[MESSAGE]
    report.goals += [
        Goal("views: memory of an open View", ours.bytes_each, MEMORY_LIMIT, unit="bytes"),
        Goal(f"views: {MESSAGES_PER_SECOND:,} messages a second, {MESSAGE}", talk.share, CPU_LIMIT, unit="% of a core"),
        Goal("views: messages lost", sum(one.sent - one.answered for one in ours.talks.values()), 0, unit="messages"),
    ]
    return report
