"""`click`: how long it takes from a click in a host page until the View has painted the tool's result."""

import statistics
from dataclasses import dataclass, field

from bench import documents, ext_apps
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import mean_ratio, rotated
from bench.tour import PEER, REMOTE, Stop, touring
from bench.web_process import TEXT

ROUNDS = 12
QUICK_ROUNDS = 2
CLICKS = 3
HOSTS = (REMOTE, PEER)
KINDS = {"small": "small View", "published": "published View"}
LIMITS = {("small", "first"): 0.6, ("small", "later"): 0.5, ("published", "first"): 1.0, ("published", "later"): 1.0}
MARKS = ("script", "shown", "painted")


@dataclass
class Shown:
    """Milliseconds since the click until each mark, one entry for each page; later ones are means of their page."""

    first: list[dict[str, float]] = field(default_factory=list)
    later: list[dict[str, float]] = field(default_factory=list)


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    views = {
        "small": documents.with_fanlight("view.html"),
        "published": documents.with_ext_apps("view.html", ext_apps.FORMER),
    }
    # The first round is thrown away: it starts the browser's own processes and fills its caches.
    stops = [
        Stop(host, kind, turn, CLICKS, (turn * 0.618034) % 1)
        for turn in range(rounds + 1)
        for kind in KINDS
        for host in rotated(HOSTS, turn)
    ]
    say(f"click: {rounds} rounds of {len(HOSTS)} hosts and {len(KINDS)} Views in Chromium")
    measured = {(host, kind): Shown() for host in HOSTS for kind in KINDS}
    with touring(views, rounds + 1) as tour:
        for stop, found in tour.found(stops):
            times = [_times(one["clicked"], one["said"]) for one in found]
            if stop.number > 0:
                shown = measured[stop.host, stop.kind]
                shown.first.append(times[0])
                shown.later.append({mark: statistics.fmean(one[mark] for one in times[1:]) for mark in MARKS})
    return _report(measured, {kind: len(html.encode()) for kind, html in views.items()})


def _times(clicked: float, said: dict[str, object]) -> dict[str, float]:
    assert said["text"] == TEXT, said
    origin, marks = said["origin"], said["marks"]
    assert isinstance(origin, float | int)
    assert isinstance(marks, dict)
    return {mark: origin + marks[mark] - clicked for mark in MARKS}


def _report(measured: dict[tuple[str, str], Shown], sizes: dict[str, int]) -> Report:
    table = Table(
        "click: milliseconds from the click to the tool's result painted in the View (medians)",
        ["View", "kB", "shown", "host", "script began", "result shown", "painted", f"/ {PEER}"],
    )
    report = Report([table])
    for kind, title in KINDS.items():
        for when in ("first", "later"):
            painted = {}
            for host in HOSTS:
                times: list[dict[str, float]] = getattr(measured[host, kind], when)
                painted[host] = [one["painted"] for one in times]
                report.figures[f"{kind}, {when}, {host}"] = [round(one, 1) for one in painted[host]]
            estimate = mean_ratio(painted[REMOTE], painted[PEER])
            for host in HOSTS:
                times = getattr(measured[host, kind], when)
                marks = [f"{statistics.median(one[mark] for one in times):.1f}" for mark in MARKS]
                against = str(estimate) if host == REMOTE else ""
                table.rows.append([title, f"{sizes[kind] / 1000:.0f}", when, host, *marks, against])
            goal = Goal.of(f"click: {title}, {when}: {REMOTE} / {PEER}", estimate, LIMITS[kind, when])
            report.goals.append(goal)
    return report
