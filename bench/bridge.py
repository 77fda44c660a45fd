"""`bridge`: calls of a View to its server's tools, through the host and back."""

import statistics
from dataclasses import dataclass, field
from typing import Any

from bench import documents
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import percentile, ratio, rotated
from bench.tour import OWN, PEER, REMOTE, Stop, touring

ROUNDS = 8
QUICK_ROUNDS = 2
KIND = "talk"
HOSTS = (OWN, REMOTE, PEER)
WAIT_LIMITS = {OWN: 0.35, REMOTE: 1.0}
OWN_CALLS = 3


@dataclass
class Talked:
    """One entry for each page: the median and the 99th percentile of a call in milliseconds, and calls per second."""

    half: list[float] = field(default_factory=list)
    tail: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)

    def add(self, report: dict[str, Any]) -> None:
        self.half.append(percentile(report["waits"], 50))
        self.tail.append(percentile(report["waits"], 99))
        self.per_second.append(report["perSecond"])


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    say(f"bridge: {rounds} rounds of {len(HOSTS)} hosts in Chromium")
    stops = [Stop(host, KIND, 0) for turn in range(rounds) for host in rotated(HOSTS, turn)]
    measured = {host: Talked() for host in HOSTS}
    with touring({KIND: documents.with_fanlight("talk.html")}, 1) as tour:
        for stop, found in tour.found(stops):
            measured[stop.host].add(found[0]["reported"])
    return _report(measured)


def _report(measured: dict[str, Talked]) -> Report:
    table = Table(
        "bridge: calls of a View to a tool of its server (medians)",
        ["host", "p50 ms", "p99 ms", f"p50 / {PEER}", "calls/s, 8 at a time", f"/ {PEER}"],
    )
    report = Report([table])
    peer = measured[PEER]
    for host, one in measured.items():
        wait, calls = ratio(one.half, peer.half), ratio(one.per_second, peer.per_second)
        cells = [f"{statistics.median(one.half):.2f}", f"{statistics.median(one.tail):.2f}", str(wait)]
        table.rows.append([host, *cells, f"{statistics.median(one.per_second):,.0f}", str(calls)])
        if host in WAIT_LIMITS:
            report.goals.append(Goal.of(f"bridge: one call: {host} / {PEER}", wait, WAIT_LIMITS[host]))
        report.figures[host] = {"p50_ms": one.half, "p99_ms": one.tail, "calls_per_second": one.per_second}
    # Inverted, because a goal is an upper limit.
    seconds = ratio(peer.per_second, measured[OWN].per_second)
    report.goals.append(Goal.of(f"bridge: time for many calls: {OWN} / {PEER}", seconds, 1 / OWN_CALLS))
    return report
