"""`audit`: what writing everything down costs a View's call of a tool."""

import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import ratio, rotated
from bench.serving import freeze
from bench.stage import TOOL, Page, Stage
from fanlight.host import AuditRecord, MemoryStore, SqliteStore, Store

ROUNDS = 40
QUICK_ROUNDS = 8
CALLS = 60
LIMIT = 1.1

NOTHING = "writes nothing down"
MEMORY = "in memory, as without a store"
FILE = "in a file"


class Forgetful(MemoryStore):
    """A store that discards its records."""

    async def record(self, records: Sequence[AuditRecord]) -> None:
        return


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    say(f"audit: {rounds} rounds")
    with tempfile.TemporaryDirectory() as folder:
        return _report(anyio.run(_measure, Path(folder), rounds))


async def _measure(folder: Path, rounds: int) -> dict[str, list[float]]:
    stores: dict[str, Store] = {NOTHING: Forgetful(), MEMORY: MemoryStore(), FILE: SqliteStore(folder / "audit.db")}
    times: dict[str, list[float]] = {name: [] for name in stores}
    async with AsyncExitStack() as stack:
        pages: dict[str, Page] = {}
        for name, store in stores.items():
            stage = await stack.enter_async_context(Stage({"small": {"content": []}}, store))
            pages[name] = await stage.open(await stage.call({"name": "small"}))
            await pages[name].ask("tools/call", {"name": TOOL, "arguments": {"name": "small"}})
        freeze()
        for turn in range(rounds):
            for name in rotated(list(pages), turn):
                started = time.perf_counter()
                for _ in range(CALLS):
                    await pages[name].ask("tools/call", {"name": TOOL, "arguments": {"name": "small"}})
                times[name].append((time.perf_counter() - started) / CALLS)
    return times


def _report(times: dict[str, list[float]]) -> Report:
    table = Table("audit: a View's call of a tool that answers at once", ["store", "µs (median)", "/ nothing"])
    report = Report([table], figures={"microseconds": {name: [t * 1e6 for t in each] for name, each in times.items()}})
    for name, each in times.items():
        table.rows.append([name, f"{sorted(each)[len(each) // 2] * 1e6:.0f}", str(ratio(each, times[NOTHING]))])
    for name in (MEMORY, FILE):
        report.goals.append(Goal.of(f"audit: {name} / {NOTHING}", ratio(times[name], times[NOTHING]), LIMIT))
    return report
