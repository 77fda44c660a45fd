"""`server`: what Fanlight adds to the CPU time of each request, over HTTP and in memory."""

import itertools
import math
import statistics
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench import workload
from bench.conversation import PROTOCOLS, REQUESTS, Client, Conversation, Request, check
from bench.http_client import HttpClient, parsed
from bench.processes import Process, running
from bench.progress import say
from bench.report import Goal, Options, Report, Table, Verdict
from bench.samples import percentile, ratio, rotated

Transport = Literal["http", "memory"]
TRANSPORTS: tuple[Transport, ...] = ("http", "memory")
Collector = Literal["as it is", "frozen"]

GENERATIONS = 3
ROUNDS = 45
QUICK_ROUNDS = 6
BATCH = 3
WARM_UP = 10
TAIL_BATCH = 25
TAIL_EVERY = 10

LIMITS: dict[Request, float] = {
    "tools/list": 1.10,
    "tools/call async": 1.05,
    "tools/call def": 1.05,
    "resources/read": 1.05,
}
FASTMCP_LIMIT = 0.35
TAIL_LIMIT = 3.0
MARKS: dict[Verdict, str] = {"met": "", "near": " ~", "over": " !"}


@dataclass(frozen=True)
class Lane:
    """One subject as one kind of client sees it."""

    subject: str
    client: Client = "ui"

    def __str__(self) -> str:
        return self.subject if self.client == "ui" else f"{self.subject}, no UI"

    @property
    def negotiates(self) -> bool:
        return self.subject.startswith("Fanlight")

    def refused(self, request: Request) -> bool:
        """Return whether negotiation refuses a request, so that there is nothing to compare."""
        return self.negotiates and self.client == "plain" and request == "resources/read"


SDK = Lane("MCPServer")
OURS = Lane("Fanlight on MCPServer")
OURS_PLAIN = Lane("Fanlight on MCPServer", "plain")
FASTMCP = Lane("FastMCP")
OURS_FASTMCP = Lane("Fanlight on FastMCP")
OURS_FASTMCP_PLAIN = Lane("Fanlight on FastMCP", "plain")
# In this order no process runs twice in a row, which would find its caches warm.
LANES = (SDK, OURS, FASTMCP, OURS_FASTMCP, OURS_PLAIN, OURS_FASTMCP_PLAIN)
COMPARISONS = ((OURS, SDK), (OURS_PLAIN, SDK), (OURS_FASTMCP, FASTMCP), (OURS_FASTMCP_PLAIN, FASTMCP), (OURS, FASTMCP))


@dataclass(frozen=True)
class Case:
    transport: Transport
    protocol: str
    request: Request

    def __str__(self) -> str:
        return f"{self.request}, {self.transport}, {self.protocol}"


CASES = tuple(
    Case(transport, protocol, request) for request in REQUESTS for transport in TRANSPORTS for protocol in PROTOCOLS
)


@dataclass(frozen=True)
class Single:
    """One request: the seconds that the client waited, and those that the server's CPU worked."""

    wall: float
    cpu: float


@dataclass
class Measured:
    """CPU seconds per request in each round, and single requests for tools/list over HTTP."""

    cpu: dict[tuple[Case, Lane], list[float]] = field(default_factory=dict)
    singles: dict[tuple[str, Lane, Collector], list[Single]] = field(default_factory=dict)


def run(options: Options) -> Report:
    measured = Measured()
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        workload.write_views(Path(folder))
        time.sleep(0.1)  # older than the resolution of file timestamps, as files of real servers are
        # The memory layout of a process changes its speed by some per cent, so there are several.
        generations = 1 if options.quick else GENERATIONS
        for generation in range(generations):
            turns = range(rounds * generation // generations, rounds * (generation + 1) // generations)
            say(f"server: rounds {turns.start + 1} to {turns.stop} of {rounds}")
            _measure(folder, turns, measured)
    return _report(measured)


def _measure(folder: str, turns: range, measured: Measured) -> None:
    with ExitStack() as stack:
        processes = {
            (transport, subject): stack.enter_context(running("bench.server_process", transport, subject, folder))
            for transport in TRANSPORTS
            for subject in workload.BUILDERS
        }
        ends = {subject: HttpEnd(processes["http", subject]) for subject in workload.BUILDERS}
        held = {subject: MemoryEnd(processes["memory", subject]) for subject in workload.BUILDERS}
        _warm_up("http", ends)
        _warm_up("memory", held)
        # Before the freeze, which cannot be undone.
        _measure_tails(ends, turns, "as it is", measured)
        for end in ends.values():
            end.freeze()
        _measure_tails(ends, turns, "frozen", measured)
        _measure_cpu("http", ends, turns, measured)
        _measure_cpu("memory", held, turns, measured)
        for end in ends.values():
            end.close()


def _warm_up(transport: Transport, ends: "dict[str, HttpEnd] | dict[str, MemoryEnd]") -> None:
    for case, lane in itertools.product(_cases(transport), LANES):
        ends[lane.subject].cpu(case, lane, WARM_UP)


def _measure_cpu(
    transport: Transport, ends: "dict[str, HttpEnd] | dict[str, MemoryEnd]", turns: range, measured: Measured
) -> None:
    for turn in turns:
        for case in _cases(transport):
            for lane in rotated([lane for lane in LANES if not lane.refused(case.request)], turn):
                measured.cpu.setdefault((case, lane), []).append(ends[lane.subject].cpu(case, lane, BATCH))


def _measure_tails(ends: "dict[str, HttpEnd]", turns: range, collector: Collector, measured: Measured) -> None:
    lanes = [lane for lane in LANES if lane.client == "ui"]
    for turn in range(math.ceil(len(turns) / TAIL_EVERY)):
        for protocol in PROTOCOLS:
            for lane in rotated(lanes, turn):
                singles = ends[lane.subject].singles(protocol, lane, TAIL_BATCH)
                measured.singles.setdefault((protocol, lane, collector), []).extend(singles)


def _cases(transport: Transport) -> list[Case]:
    return [case for case in CASES if case.transport == transport]


class MemoryEnd:
    """A process with a server and its clients in it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        process.answer()

    def cpu(self, case: Case, lane: Lane, count: int) -> float:
        """Return the server's CPU seconds per request, after one that warms its caches."""
        order = {"protocol": case.protocol, "client": lane.client, "request": case.request, "count": count}
        cpu: float = self._process.order(order)["cpu"]
        return cpu


class HttpEnd:
    """A server in a process of its own, and its clients here."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._port: int = process.answer()["port"]
        self._clients: dict[tuple[str, Client], HttpClient] = {}

    def freeze(self) -> None:
        """Freeze the garbage collector's heap of the server."""
        self._process.order("freeze")

    def cpu(self, case: Case, lane: Lane, count: int) -> float:
        """Return the server's CPU seconds per request, after one that warms its caches."""
        client = self._client(case.protocol, lane)
        first, *others = client.batch(case.request, count + 1)
        client.send(first)
        started = self._process.cpu_at_rest()
        for request in others:
            client.send(request)
        return (self._process.cpu_at_rest() - started) / count

    def singles(self, protocol: str, lane: Lane, count: int) -> list[Single]:
        """Measure each of `count` tools/list by itself."""
        client = self._client(protocol, lane)
        singles = []
        cpu = self._process.cpu_at_rest()
        for request in client.batch("tools/list", count):
            started = time.perf_counter()
            client.send(request)
            wall = time.perf_counter() - started
            before, cpu = cpu, self._process.cpu_at_rest()
            singles.append(Single(wall, cpu - before))
        return singles

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _client(self, protocol: str, lane: Lane) -> HttpClient:
        key = (protocol, lane.client)
        if key not in self._clients:
            client = HttpClient(self._port, Conversation(protocol, lane.client))
            self._clients[key] = client
            for request in REQUESTS:
                answer = parsed(client.send(client.batch(request, 1)[0]))
                check(request, answer, lane.client, lane.negotiates)
        return self._clients[key]


def _report(measured: Measured) -> Report:
    report = Report(figures=_figures(measured))
    report.tables += [_cpu_table(measured), _ratio_table(measured, report), _tail_table(measured, report)]
    return report


def _cpu_table(measured: Measured) -> Table:
    table = Table("server: CPU per request in microseconds (medians)", ["request", *map(str, LANES)])
    for case in CASES:
        cells = [_microseconds(measured.cpu.get((case, lane))) for lane in LANES]
        table.rows.append([str(case), *cells])
    return table


def _microseconds(seconds: list[float] | None) -> str:
    return "refused" if seconds is None else f"{statistics.median(seconds) * 1e6:,.0f}"


def _ratio_table(measured: Measured, report: Report) -> Table:
    headings = ["request", "goal", *(_heading(ours, peer) for ours, peer in COMPARISONS)]
    table = Table("server: ratios of CPU per request (median of the rounds; ! over its goal, ~ near)", headings)
    worst: dict[tuple[Request, Lane, Lane], Goal] = {}
    for case in CASES:
        cells = []
        for ours, peer in COMPARISONS:
            if ours.refused(case.request):
                cells.append("refused")
                continue
            estimate = ratio(measured.cpu[case, ours], measured.cpu[case, peer])
            limit = _limit(case, ours, peer)
            goal = Goal.of(f"{case}: {_heading(ours, peer)}", estimate, limit or 0)
            cells.append(f"{estimate}{'' if limit is None else MARKS[goal.verdict]}")
            # Of the four cases of a request (two transports, two protocols) the worst one counts.
            key = (case.request, ours, peer)
            if limit is not None and (key not in worst or goal.excess > worst[key].excess):
                worst[key] = goal
        table.rows.append([str(case), f"<= {LIMITS[case.request]:.2f}", *cells])
    report.goals += worst.values()
    return table


def _limit(case: Case, ours: Lane, peer: Lane) -> float | None:
    if peer.subject in ours.subject:
        return LIMITS[case.request]
    # Only there does FastMCP list all tools at each call, and only there was the goal's figure taken.
    lists = case.request.startswith("tools/call") and case.transport == "http" and case.protocol == PROTOCOLS[-1]
    return FASTMCP_LIMIT if lists else None


def _heading(ours: Lane, peer: Lane) -> str:
    return f"{ours} / {peer}".replace(" on MCPServer", "")


def _tail_table(measured: Measured, report: Report) -> Table:
    headings = ["request", "collector", "CPU p50 ms", "CPU p99 ms", "p99 / p50", "client p50 ms", "client p99 ms"]
    table = Table("server: single tools/list over HTTP, CPU time of the server and waiting of the client", headings)
    for (protocol, lane, collector), singles in measured.singles.items():
        half, tail = _tail([single.cpu for single in singles])
        waited = _tail([single.wall for single in singles])
        cells = [
            f"{half * 1e3:.2f}",
            f"{tail * 1e3:.2f}",
            f"{tail / half:.2f}",
            *(f"{one * 1e3:.2f}" for one in waited),
        ]
        table.rows.append([f"{lane}, {protocol}", collector, *cells])
        if lane == OURS:
            what = f"tools/list, http, {protocol}: p99 / p50 of CPU, Fanlight, collector {collector}"
            report.goals.append(Goal(what, tail / half, TAIL_LIMIT))
    return table


def _tail(values: list[float]) -> tuple[float, float]:
    return percentile(values, 50), percentile(values, 99)


def _figures(measured: Measured) -> dict[str, Any]:
    cpu = [
        {
            "transport": case.transport,
            "protocol": case.protocol,
            "request": case.request,
            "subject": lane.subject,
            "client": lane.client,
            "cpu_us": [round(value * 1e6, 1) for value in values],
        }
        for (case, lane), values in measured.cpu.items()
    ]
    singles = [
        {
            "protocol": protocol,
            "subject": lane.subject,
            "collector": collector,
            "cpu_us": [round(single.cpu * 1e6) for single in values],
            "wall_us": [round(single.wall * 1e6) for single in values],
        }
        for (protocol, lane, collector), values in measured.singles.items()
    ]
    return {"cpu": cpu, "tools_list": singles}
