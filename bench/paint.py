"""`paint`: how long a View takes from its frame's address being set until the tool result is painted."""

import json
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

from bench import documents
from bench.browser import Answers, Document, browser, serving
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import mean_ratio

ROUNDS = 40
QUICK_ROUNDS = 8
WARM_UP = 3
LIMIT = 1.15
PATIENCE = 180

EMPTY = "empty View"
ASKING = "empty View, one round trip"
OURS = "Fanlight's App"
PEER = "ext-apps' App"

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    views = _views()
    say(f"paint: {rounds} rounds of {len(views)} Views in Chromium")
    return _report(_measure(views, rounds), views)


def _views() -> dict[str, str]:
    return {
        EMPTY: documents.page("empty.html"),
        ASKING: documents.page("asking.html"),
        OURS: documents.with_fanlight("view.html"),
        PEER: documents.with_ext_apps("view.html"),
    }


def _measure(views: Mapping[str, str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    answers = Answers()
    served = {
        f"/{number}.html": Document("text/html", html.encode(), POLICY) for number, html in enumerate(views.values())
    }
    with serving(served, answers) as view_port:
        addresses = {name: f"http://127.0.0.1:{view_port}/{number}.html" for number, name in enumerate(views)}
        plan = {"views": addresses, "rounds": rounds, "warmUp": WARM_UP}
        host = {
            "/": Document("text/html", (documents.FOLDER / "host.html").read_bytes()),
            "/host.js": Document("text/javascript", (documents.FOLDER / "host.js").read_bytes()),
            "/plan.json": Document("application/json", json.dumps(plan).encode()),
        }
        with serving(host, answers) as host_port, browser(f"http://127.0.0.1:{host_port}/"):
            measured: dict[str, list[dict[str, Any]]] = answers.next(PATIENCE)
    return measured


def _report(found: dict[str, list[dict[str, Any]]], views: Mapping[str, str]) -> Report:
    times = {name: [one["elapsed"] for one in shown] for name, shown in found.items()}
    table = Table(
        "paint: milliseconds from setting a frame's address to the tool result painted (medians)",
        ["View", "kB", "script began", "result shown", "first frame", "painted", f"/ {EMPTY}"],
    )
    for name, values in times.items():
        size = f"{len(views[name].encode()) / 1000:.1f}"
        marks = [_median(one["marks"][mark] for one in found[name]) for mark in ("script", "shown", "frame")]
        table.rows.append([name, size, *marks, _median(values), str(mean_ratio(values, times[EMPTY]))])
    goal = Goal.of(f"paint: {OURS} / {EMPTY}", mean_ratio(times[OURS], times[EMPTY]), LIMIT)
    return Report([table], [goal], figures={"milliseconds": times})


def _median(values: Iterable[float]) -> str:
    return f"{statistics.median(values):.1f}"
