"""`workers`: a host with each store, one worker and two, the operations of a message, and a worker that is killed."""

import json
import logging
import os
import selectors
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from bench.processes import Process, running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import percentile
from bench.socket_client import Page, SocketClient, framed
from bench.views import allow_files

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # its databases

from support.databases import PostgresServer, RedisServer, running_postgres, running_redis

VIEWS = 1000
QUICK_VIEWS = 100
FIRST = 50
IDLE_SECONDS = 10
QUICK_IDLE_SECONDS = 2
TALKING = 32
SECONDS = 5.0
QUICK_SECONDS = 1.0
KILLS = 5
QUICK_KILLS = 1
SETTLE = 1.0
PATIENCE = 60

UNTIL = {
    "resumed": "the View goes on at another worker",
    "answered": "its next tools/call is answered",
    "cancelled": "the call of the dead worker is shown as cancelled",
}
# `Timeouts.handover` is 2 seconds. A lease is 10, and dead workers are looked for three times in a lease.
LIMITS = {"resumed": 3.0, "cancelled": 15.0}

MESSAGES: dict[str, dict[str, Any]] = {
    "ping": {"method": "ping"},
    "ui/update-model-context": {
        "method": "ui/update-model-context",
        "params": {"content": [{"type": "text", "text": "The user looks at Oslo. " * 8}]},
    },
    "tools/call": {"method": "tools/call", "params": {"name": "add", "arguments": {"a": 1, "b": 2}}},
}


@dataclass
class Talk:
    """What came of some Views that send one request after the other."""

    seconds: float
    worker_cpu: float
    engine_cpu: float
    waits: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.waits) / self.seconds

    @property
    def cells(self) -> list[str]:
        count = len(self.waits)
        milliseconds = [f"{percentile(self.waits, percent) * 1e3:.1f}" for percent in (50, 99)]
        cpu = [f"{seconds / count * 1e6:.0f}" for seconds in (self.worker_cpu, self.engine_cpu)]
        return [f"{self.rate:,.0f}", *milliseconds, *cpu]

    def to_json(self) -> dict[str, float]:
        return {
            "messages_per_second": self.rate,
            "p50_ms": percentile(self.waits, 50) * 1e3,
            "p99_ms": percentile(self.waits, 99) * 1e3,
            "worker_cpu_us": self.worker_cpu / len(self.waits) * 1e6,
            "engine_cpu_us": self.engine_cpu / len(self.waits) * 1e6,
        }


@dataclass
class Found:
    """What one worker with a store needs for its open Views."""

    bytes_each: float
    idle_percent: float
    talks: dict[str, Talk]


class Engines:
    """A Redis and a PostgreSQL server with durable settings, and files for SQLite."""

    def __init__(self, folder: Path, redis: RedisServer, postgres: PostgresServer) -> None:
        self._folder = folder
        self._redis = redis
        self._postgres = postgres
        self.bus = redis.url
        self.stores = {
            "memory": "-",
            "SQLite": f"sqlite:///{folder / 'host.db'}",
            "PostgreSQL": postgres.url,
            "Redis": redis.url,
        }

    def clear(self) -> None:
        self._redis.clear()
        self._postgres.clear()
        for path in self._folder.glob("host.db*"):
            path.unlink()

    def cpu(self) -> float:
        """Return the CPU seconds of both servers, with the processes of PostgreSQL's connections."""
        return sum(_tree_cpu(server.pid) for server in (self._redis, self._postgres))


@contextmanager
def engines() -> Iterator[Engines]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        (Path(folder) / "redis").mkdir()
        redis = stack.enter_context(running_redis(Path(folder) / "redis"))
        yield Engines(Path(folder), redis, stack.enter_context(running_postgres(fsync=True)))


def run(options: Options) -> Report:
    allow_files(2 * VIEWS + 200)
    load = os.getloadavg()[0]
    with engines() as found:
        stores = {}
        for name, url in found.stores.items():
            say(f"workers: one worker with {name}")
            found.clear()
            stores[name] = _measure_store(found, url, options)
        talks = {}
        for count in (1, 2):
            say(f"workers: {count} of them, with PostgreSQL and a bus")
            found.clear()
            talks[count] = _measure_workers(found, count, options)
        say("workers: operations of a message")
        found.clear()
        with tempfile.TemporaryDirectory() as folder:
            counts = anyio.run(_count, f"{folder}/host.db", found.bus)
        say("workers: a worker is killed")
        kills = [_measure_kill(found) for _ in range(options.choose(KILLS, QUICK_KILLS))]
    report = Report([_store_table(stores, options), _talk_table(talks), _operations_table(counts), _kill_table(kills)])
    report.notes.append(
        f"The load of this machine with {os.cpu_count()} cores was {load:.1f} before the run. Redis writes with "
        "appendfsync always, PostgreSQL with fsync. The client runs on the same machine."
    )
    for key, limit in LIMITS.items():
        longest = max(kill[key] for kill in kills)
        report.goals.append(Goal(f"workers: kill -9: {UNTIL[key]}", longest, limit, unit="s"))
    report.figures = {
        "load": load,
        "stores": {
            name: {
                "bytes_each": round(one.bytes_each),
                "idle_percent": one.idle_percent,
                "messages": {message: talk.to_json() for message, talk in one.talks.items()},
            }
            for name, one in stores.items()
        },
        "workers": {
            str(count): {message: talk.to_json() for message, talk in one.items()} for count, one in talks.items()
        },
        "operations": {name: dict(operations) for name, operations in counts.items()},
        "kills": kills,
    }
    return report


# Stores


def _measure_store(engines: Engines, url: str, options: Options) -> Found:
    views = QUICK_VIEWS if options.quick else VIEWS
    idle = QUICK_IDLE_SECONDS if options.quick else IDLE_SECONDS
    bus = ["-"] if url == "-" else [engines.bus]
    with running("bench.worker_process", url, *bus) as process:
        port = process.answer()["port"]
        pages = _opened(process, port, FIRST)
        _attend(pages, SETTLE)
        before = process.memory()
        while len(pages) < views:
            pages += _opened(process, port, FIRST)
            _attend(pages, 0)
        _attend(pages, SETTLE)
        each = (process.memory() - before) / (views - FIRST)
        cpu = process.cpu()
        _attend(pages, idle)
        share = 100 * (process.cpu() - cpu) / idle
        talks = {}
        for name in MESSAGES:
            talks[name] = _talk([process], pages[:TALKING], name, engines, options)
            _attend(pages, 0)
        for page in pages:
            page.socket.close()
    return Found(each, share, talks)


def _opened(process: Process, port: int, count: int) -> list[Page]:
    pages = []
    for view, token in process.order(count)["views"]:
        page = Page(port, view, token)
        for _ in range(2):  # the input and the result of the call
            page.read(page.socket.receive())
        pages.append(page)
    return pages


def _attend(pages: list[Page], seconds: float) -> None:
    """Answer the pings of the server, which closes sockets that do not."""
    deadline = time.perf_counter() + seconds
    with selectors.DefaultSelector() as selector:
        for page in pages:
            selector.register(page.socket, selectors.EVENT_READ, page)
        while ready := selector.select(max(deadline - time.perf_counter(), 0)):
            for key, _ in ready:
                for text in key.data.socket.arrived():
                    key.data.read(text)


def _talk(processes: list[Process], pages: list[Page], name: str, engines: Engines, options: Options) -> Talk:
    """Let each View send a request as soon as it has the response to the one before."""
    seconds = QUICK_SECONDS if options.quick else SECONDS
    sent = [0.0] * len(pages)
    waits: list[float] = []
    numbers = iter(range(1, 10**9))

    def send(number: int) -> None:
        sent[number] = time.perf_counter()
        message = {"jsonrpc": "2.0", "id": next(numbers), **MESSAGES[name]}
        pages[number].socket.send(pages[number].frame(message))

    with selectors.DefaultSelector() as selector:
        for number, page in enumerate(pages):
            selector.register(page.socket, selectors.EVENT_READ, number)
        cpu, engine_cpu = sum(process.cpu() for process in processes), engines.cpu()
        started = time.perf_counter()
        for number in range(len(pages)):
            send(number)
        waiting = len(pages)
        while waiting:
            ready = selector.select(PATIENCE)
            if not ready:
                raise RuntimeError(f"{waiting} responses to {name} never came")
            for key, _ in ready:
                for text in pages[key.data].socket.arrived():
                    answer = pages[key.data].read(text).get("message", {})
                    if "id" not in answer or "method" in answer:
                        continue
                    if "error" in answer:
                        raise RuntimeError(f"the host refused {name}: {answer}")
                    now = time.perf_counter()
                    waits.append(now - sent[key.data])
                    if now < started + seconds:
                        send(key.data)
                    else:
                        waiting -= 1
        elapsed = time.perf_counter() - started
        cpu = sum(process.cpu() for process in processes) - cpu
    return Talk(elapsed, cpu, engines.cpu() - engine_cpu, waits)


# Several workers


def _measure_workers(engines: Engines, count: int, options: Options) -> dict[str, Talk]:
    with ExitStack() as stack:
        url = engines.stores["PostgreSQL"]
        processes = [stack.enter_context(running("bench.worker_process", url, engines.bus)) for _ in range(count)]
        ports = [process.answer()["port"] for process in processes]
        pages: list[Page] = []
        # Each View is called by one worker and shown by the next.
        for number, port in enumerate(ports):
            pages += _opened(processes[number - 1], port, TALKING // count)
        return {name: _talk(processes, pages, name, engines, options) for name in MESSAGES}


async def _count(path: str, bus: str) -> "dict[str, Counter[str]]":
    from bench.operations import count

    logging.disable(logging.WARNING)  # the servers of this process print what they do
    return await count(path, bus)


# A worker that is killed


class ResumablePage(Page):
    """A page with one View that can connect to another worker and go on."""

    def __init__(self, port: int, view: str, token: str) -> None:
        self.view, self.token = view, token
        super().__init__(port, view, token)

    def resume(self, port: int) -> dict[str, Any]:
        """Open the View at another worker, and return the first frame."""
        self.socket = SocketClient(port, "/apps/socket")
        request = {
            "type": "open",
            "view": self.view,
            "token": self.token,
            "seen": self._seen,
            "epoch": self.shown["epoch"],
            "sent": self._sent,
            "mode": "inline",
            "requests": [],
        }
        self.socket.send(framed(json.dumps(request).encode()))
        first: dict[str, Any] = json.loads(self.socket.receive())
        return first

    def until(self, method: str) -> None:
        while self.read(self.socket.receive()).get("message", {}).get("method") != method:
            pass


def _measure_kill(engines: Engines) -> dict[str, float]:
    """Kill the worker that has a page's socket and runs a call, and connect the page to the other one."""
    engines.clear()
    url = engines.stores["PostgreSQL"]
    with (
        running("bench.worker_process", url, engines.bus) as first,
        running("bench.worker_process", url, engines.bus) as second,
    ):
        ports = [process.answer()["port"] for process in (first, second)]
        [(view, token)] = first.order({"begin": 1})["views"]
        page = ResumablePage(ports[0], view, token)
        page.until("ui/notifications/tool-input")
        page.ask({"jsonrpc": "2.0", "id": 1, **MESSAGES["ui/update-model-context"]})
        time.sleep(SETTLE)
        page.socket.close()
        started = time.perf_counter()
        first.kill()
        answer = page.resume(ports[1])
        if answer["type"] != "resumed":
            raise RuntimeError(f"the View does not go on: {answer}")
        resumed = time.perf_counter() - started
        page.ask({"jsonrpc": "2.0", "id": 2, **MESSAGES["tools/call"]})
        answered = time.perf_counter() - started
        page.until("ui/notifications/tool-cancelled")
        return {"resumed": resumed, "answered": answered, "cancelled": time.perf_counter() - started}


# The report


def _store_table(stores: dict[str, Found], options: Options) -> Table:
    views = QUICK_VIEWS if options.quick else VIEWS
    table = Table(
        f"workers: one worker, {views:,} open Views, of which {TALKING} send requests without a pause",
        ["store", "kB each", "idle, % of a core", "request", "a second", "p50 ms", "p99 ms", "worker us", "store us"],
    )
    for name, found in stores.items():
        for message, talk in found.talks.items():
            table.rows.append(
                [name, f"{found.bytes_each / 1e3:.1f}", f"{found.idle_percent:.1f}", message, *talk.cells]
            )
    return table


def _talk_table(talks: dict[int, dict[str, Talk]]) -> Table:
    table = Table(
        f"workers: {TALKING} Views with PostgreSQL and a bus, by one worker and by two (us: CPU for one message)",
        ["workers", "request", "a second", "p50 ms", "p99 ms", "workers us", "engines us"],
    )
    for count, found in talks.items():
        table.rows += [[str(count), message, *talk.cells] for message, talk in found.items()]
    return table


def _operations_table(counts: "dict[str, Counter[str]]") -> Table:
    from bench.operations import REPEATS

    table = Table(
        "workers: operations of the store and the bus, the caller and the page at different workers",
        ["what", "store", "bus", "which"],
    )
    for name, operations in counts.items():
        sums = [
            sum(count for key, count in operations.items() if key.startswith(part)) / REPEATS
            for part in ("store.", "bus.")
        ]
        which = ", ".join(f"{key} {count / REPEATS:g}" for key, count in sorted(operations.items()))
        table.rows.append([name, *(f"{each:g}" for each in sums), which])
    return table


def _kill_table(kills: list[dict[str, float]]) -> Table:
    table = Table(
        f"workers: seconds after kill -9 of the worker with the socket, {len(kills)} times (median, longest)",
        ["until", "median", "longest"],
    )
    for key, text in UNTIL.items():
        values = [kill[key] for kill in kills]
        table.rows.append([text, f"{statistics.median(values):.2f}", f"{max(values):.2f}"])
    return table


def _tree_cpu(pid: int) -> float:
    """Return the CPU seconds of a process and its children that are alive."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if path.parent.name == str(pid) or values[1] == str(pid):
            total += int(values[11]) + int(values[12])
    return total / os.sysconf("SC_CLK_TCK")
