"""`users`: what a user with credentials of their own costs, beside a bare client of the `mcp` package for each user."""

import time
from dataclasses import dataclass

from bench.processes import running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.views import allow_files

USERS = 300
QUICK_USERS = 60
FIRST = 20
SETTLE = 0.5

RATIO_LIMIT = 1.5
HOST, SDK = "host", "bare mcp client"


@dataclass
class Cost:
    """What one user costs."""

    memory: float
    files: float
    cpu: float


def run(options: Options) -> Report:
    users = QUICK_USERS if options.quick else USERS
    allow_files(users * 10 + 200)
    found: dict[str, Cost] = {}
    with running("bench.users_process", "server") as server:
        url = f"http://127.0.0.1:{server.answer()['port']}/mcp"
        for subject, kind in ((HOST, "host"), (SDK, "sdk")):
            say(f"users: {users} users of {subject}")
            found[subject] = _measure(kind, url, users)
    return _report(found, users)


def _measure(kind: str, url: str, users: int) -> Cost:
    with running("bench.users_process", kind, url) as process:
        process.answer()
        before = process.order(FIRST)["files"]
        time.sleep(SETTLE)
        memory, cpu = process.memory(), process.cpu()
        files = process.order(users)["files"]
        time.sleep(SETTLE)
        return Cost((process.memory() - memory) / users, (files - before) / users, (process.cpu() - cpu) / users)


def _report(found: dict[str, Cost], users: int) -> Report:
    table = Table(f"{users} users, each connected and one call made", ("", "memory", "descriptors", "CPU"))
    for subject, cost in found.items():
        table.rows.append((subject, f"{cost.memory / 1000:.0f} kB", f"{cost.files:.1f}", f"{cost.cpu * 1000:.1f} ms"))
    ours, bare = found[HOST], found[SDK]
    goals = [
        Goal("a user: memory, over a bare mcp client", ours.memory / bare.memory, RATIO_LIMIT),
        Goal("a user: descriptors, over a bare mcp client", ours.files / bare.files, 1.0),
        Goal("a user: CPU, over a bare mcp client", ours.cpu / bare.cpu, RATIO_LIMIT),
    ]
    return Report([table], goals, figures={subject: vars(cost) for subject, cost in found.items()})
