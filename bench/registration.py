"""`registration`: how long a server takes to know its tools and Views."""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import workload
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import ratio, rotated

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 20
QUICK_ROUNDS = 3
LIMIT = 1.1
PEERS = {"Fanlight on MCPServer": "MCPServer", "Fanlight on FastMCP": "FastMCP"}


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    say(f"registration: {rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        workload.write_views(Path(folder))
        orders = [subject for turn in range(rounds) for subject in rotated(list(workload.BUILDERS), turn)]
        cpu = _measure(folder, orders)
    return _report(cpu)


def _measure(folder: str, orders: list[str]) -> dict[str, list[float]]:
    command = [sys.executable, "-m", "bench.registration_process", folder]
    process = subprocess.run(command, input="\n".join(orders), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    cpu: dict[str, list[float]] = {}
    for subject, line in zip(orders, process.stdout.splitlines(), strict=True):
        cpu.setdefault(subject, []).append(json.loads(line))
    return cpu


def _report(cpu: dict[str, list[float]]) -> Report:
    table = Table(
        f"registration: {workload.TOOLS} tools and {workload.TOOLS} Views of {workload.VIEW_BYTES // 1000} kB",
        ["server", "CPU ms", "/ its peer", "/ MCPServer"],
    )
    report = Report([table], figures={"cpu_ms": {name: [one * 1e3 for one in values] for name, values in cpu.items()}})
    for subject, values in cpu.items():
        peer = PEERS.get(subject)
        beside = "" if peer is None else str(ratio(values, cpu[peer]))
        row = [subject, f"{statistics.median(values) * 1e3:.1f}", beside, str(ratio(values, cpu["MCPServer"]))]
        table.rows.append(row)
    for ours, peer in PEERS.items():
        report.goals.append(Goal.of(f"registration: {ours} / {peer}", ratio(cpu[ours], cpu[peer]), LIMIT))
    table.rows.sort(key=lambda row: list(workload.BUILDERS).index(row[0]))
    return report
