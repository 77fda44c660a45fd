"""`import`: what importing Fanlight costs a program, in processes of its own."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import ratio, rotated

ROUNDS = 8
QUICK_ROUNDS = 2
LIMIT = 1.25

NOTHING = "pass"
SDK = "import mcp.server"
FANLIGHT = "import fanlight"
APPS = "from fanlight import Apps"
FASTMCP = "from fastmcp import FastMCP"
STATEMENTS = (NOTHING, SDK, FANLIGHT, APPS, FASTMCP)


@dataclass(frozen=True)
class Cost:
    cpu: float
    wall: float


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    costs: dict[str, list[Cost]] = {statement: [] for statement in STATEMENTS}
    for statement in STATEMENTS:
        _cost(statement)  # writes the byte code and warms the disk
    for turn in range(rounds):
        say(f"import: round {turn + 1} of {rounds}")
        for statement in rotated(STATEMENTS, turn):
            costs[statement].append(_cost(statement))
    return _report(costs)


def _cost(statement: str) -> Cost:
    started = time.perf_counter()
    # -P: the current folder is not searched.
    process = subprocess.Popen([sys.executable, "-P", "-c", statement])
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{statement!r} failed; see its error above")
    return Cost(usage.ru_utime + usage.ru_stime, wall)


def _report(costs: dict[str, list[Cost]]) -> Report:
    table = Table("import: a fresh process that runs one statement", ["statement", "CPU ms", "wall ms", f"CPU / {SDK}"])
    cpu = {statement: [cost.cpu for cost in values] for statement, values in costs.items()}
    for statement, values in costs.items():
        cells = [_milliseconds(cpu[statement]), _milliseconds(cost.wall for cost in values)]
        table.rows.append([statement, *cells, str(ratio(cpu[statement], cpu[SDK]))])
    goals = [
        Goal.of(f"import: {FANLIGHT} / {SDK}", ratio(cpu[FANLIGHT], cpu[SDK]), LIMIT),
        Goal.of(f"import: {APPS} / {SDK}", ratio(cpu[APPS], cpu[SDK]), LIMIT),
    ]
    milliseconds = {name: [round(one * 1e3, 2) for one in values] for name, values in cpu.items()}
    return Report([table], goals, figures={"cpu_ms": milliseconds})


def _milliseconds(seconds: Iterable[float]) -> str:
    return f"{statistics.median(seconds) * 1e3:.0f}"
