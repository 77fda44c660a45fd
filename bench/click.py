"""`click`: how long it takes from a click in a host page until the View has painted the tool's result."""

import statistics
from dataclasses import dataclass, field

from bench import documents, ext_apps
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import Estimate, mean_ratio, rotated
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
    # The first round is discarded: it starts the browser's own processes and fills its caches.
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
            times = [_times(one["clicked"], one["reported"]) for one in found]
            if stop.number > 0:
                shown = measured[stop.host, stop.kind]
                shown.first.append(times[0])
                shown.later.append({mark: statistics.fmean(one[mark] for one in times[1:]) for mark in MARKS})
    return _report(measured, {kind: len(html.encode()) for kind, html in views.items()})


def _times(clicked: float, report: dict[str, object]) -> dict[str, float]:
    assert report["text"] == TEXT, report
    origin, marks = report["origin"], report["marks"]
    assert isinstance(origin, float | int)
    assert isinstance(marks, dict)
    return {mark: origin + marks[mark] - clicked for mark in MARKS}


def _report(measured: dict[tuple[str, str], Shown], sizes: dict[str, int]) -> Report:
    table = Table(
        "click: milliseconds from the click to the tool's result painted in the View (medians)",
        ["View", "kB", "when", "host", "script began", "result shown", f"/ {PEER}", "painted", f"/ {PEER}"],
    )
    report = Report([table])
    for (kind, when), limit in LIMITS.items():
        times: dict[str, list[dict[str, float]]] = {host: getattr(measured[host, kind], when) for host in HOSTS}
        for host, ours in times.items():
            began, shown, painted = (f"{statistics.median(one[mark] for one in ours):.1f}" for mark in MARKS)
            ratios = {mark: _ratio(ours, times[PEER], mark) for mark in MARKS}
            cells = [began, shown, str(ratios["shown"]), painted, str(ratios["painted"])]
            table.rows.append([KINDS[kind], f"{sizes[kind] / 1000:.0f}", when, host, *cells])
            report.figures[f"{kind}, {when}, {host}"] = {mark: [round(one[mark], 1) for one in ours] for mark in MARKS}
        what = f"click: {KINDS[kind]}, {when}: {REMOTE} / {PEER}"
        report.goals.append(Goal.of(what, _ratio(times[REMOTE], times[PEER], "painted"), limit))
    return report


def _ratio(ours: list[dict[str, float]], peers: list[dict[str, float]], mark: str) -> Estimate:
    return mean_ratio([one[mark] for one in ours], [one[mark] for one in peers])
