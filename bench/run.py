"""Run the benchmarks and print their figures beside the goals. Linux only.

python bench/run.py [--only NAME]... [--rounds N] [--quick] [--json PATH]
"""

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Options, Report

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    if not sys.platform.startswith("linux"):
        sys.exit("The benchmarks read the CPU clocks of other processes, which only Linux offers.")
    sys.path[0] = str(ROOT)
    from bench.report import Options, goals_table

    benchmarks = _benchmarks()
    arguments = _arguments(benchmarks)
    options = Options(arguments.rounds, arguments.quick)
    started = time.monotonic()
    reports: dict[str, Report] = {}
    for name in arguments.only or benchmarks:
        reports[name] = benchmarks[name](options)
        print(f"\n{reports[name]}\n", flush=True)
    print(goals_table(goal for report in reports.values() for goal in report.goals))
    print(f"\n{platform.python_implementation()} {platform.python_version()}, {time.monotonic() - started:.0f} s")
    if arguments.json is not None:
        found = {name: report.to_json() for name, report in reports.items()}
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def _benchmarks() -> "dict[str, Callable[[Options], Report]]":
    from bench import (
        audit,
        bridge,
        chat,
        click,
        flood,
        imports,
        inspector,
        paint,
        partial,
        registration,
        relay,
        sdk,
        server,
        show,
        sockets,
        users,
        views,
        workers,
    )

    return {
        "server": server.run,
        "registration": registration.run,
        "import": imports.run,
        "sdk": sdk.run,
        "paint": paint.run,
        "click": click.run,
        "inspector": inspector.run,
        "chat": chat.run,
        "show": show.run,
        "bridge": bridge.run,
        "socket": sockets.run,
        "views": views.run,
        "workers": workers.run,
        "users": users.run,
        "flood": flood.run,
        "audit": audit.run,
        "relay": relay.run,
        "partial": partial.run,
    }


def _arguments(names: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fanlight's benchmarks: ratios against its peers in one run.")
    parser.add_argument("--only", action="append", choices=list(names), help="run this one (may be given again)")
    parser.add_argument("--rounds", type=_positive, help="rounds of each benchmark, instead of its own number")
    parser.add_argument("--quick", action="store_true", help="few rounds: a look, not a measurement")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write all figures there, e.g. bench/results.json")
    return parser.parse_args()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


if __name__ == "__main__":
    main()
