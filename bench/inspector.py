"""`inspector`: `fanlight dev` beside MCP Inspector, from the command and from the click to a painted View."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

from bench import documents
from bench.browser import Answers, Document, browser, serving
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import Estimate, mean_ratio, rotated

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))  # what starts MCP Inspector

from support.mcp_inspector import free_ports, inspector_command, printed_address

ROOT = Path(__file__).resolve().parent.parent

OURS = "fanlight dev"
PEER = "MCP Inspector"
STARTS, QUICK_STARTS = 8, 1
ROUNDS, QUICK_ROUNDS = 12, 2
LATER = 2
SETTLE = 500
PATIENCE = 120
LIMIT = 0.5

NAMES = (OURS, PEER)
HOSTS = {OURS: "localhost", PEER: "127.0.0.1"}
"""The host names in the printed addresses, by which the extension recognises the page."""
WHEN = ("first", "later")

MANIFEST = {
    "manifest_version": 3,
    "name": "Fanlight's benchmark",
    "version": "1",
    "content_scripts": [
        {
            "matches": ["*://*/*"],
            "match_origin_as_fallback": True,
            "all_frames": True,
            "run_at": "document_start",
            "js": ["inspector.js"],
        }
    ],
}


@dataclass(frozen=True)
class Server:
    """A server, the tool that is called, and the element in which its View shows its data."""

    command: tuple[str, ...]
    ours: tuple[str, ...]
    """The arguments of `fanlight dev`."""
    tool: str
    takes_arguments: bool
    selector: str
    pattern: str


CLOCK = Server(
    (sys.executable, str(ROOT / "examples" / "clock" / "server.py")),
    (str(ROOT / "examples" / "clock"),),
    "get_time",
    True,
    "#time",
    r"^\d\d:\d\d:\d\d$",
)
NODE = str(Path(sys.executable).with_name("node"))
SCRIPT = ROOT / "node_modules" / "@modelcontextprotocol" / "server-basic-vanillajs" / "dist" / "index.js"
PUBLISHED = Server(
    (NODE, str(SCRIPT), "--stdio"),
    ("--", NODE, str(SCRIPT), "--stdio"),
    "Get Time",
    False,
    "#server-time",
    r"^\d{4}-\d\d-\d\dT",
)


Plan = dict[str, Any]
"""The buttons that lead to a View: see pages/inspector.js."""


def _plans(server: Server) -> dict[str, Plan]:
    entry = ("button[data-variant=listItem]", server.tool)
    # A tool without arguments is called by choosing it.
    peer: Plan = {
        "prepare": [("[role=switch]", ""), ("input[value=Apps]", "")],
        "choose": [entry] if server.takes_arguments else [],
        "call": ("[data-testid=open-app]", "") if server.takes_arguments else entry,
        "leave": [("button[aria-label=Close]", "")],
    }
    ours: Plan = {"prepare": [], "choose": [], "call": ("#form button.main", ""), "leave": []}
    return {OURS: ours, PEER: peer}


def _command(name: str, server: Server) -> list[str]:
    if name == OURS:
        port = free_ports(1)[0]
        return [sys.executable, "-m", "fanlight.cli", "dev", "--no-open", "--port", port, *server.ours]
    return inspector_command(server.command)


def run(options: Options) -> Report:
    starts = options.choose(STARTS, QUICK_STARTS)
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    report = Report()
    say(f"inspector: {starts} starts of {OURS} and {PEER}, and {rounds} rounds of {1 + LATER} clicks in Chromium")
    _report_starts(report, _starts(starts))
    _report_clicks(report, _clicks(rounds))
    return report


def _starts(count: int) -> dict[str, list[dict[str, float]]]:
    """Measure from the command to the painted View; milliseconds since the command began."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in NAMES}
    with _visiting(CLOCK, clicks=1, settle=0) as visits:
        # The first round is discarded: it reads the programs from the disk.
        for turn in range(count + 1):
            for name in rotated(NAMES, turn):
                began = time.time() * 1000
                with printed_address(_command(name, CLOCK)) as address:
                    printed = time.time() * 1000
                    (visit,) = visits.visit(address)
                marks = {"printed": printed, "clicked": visit["clicked"], "painted": visit["painted"]}
                if turn > 0:
                    found[name].append({mark: at - began for mark, at in marks.items()})
    return found


def _clicks(rounds: int) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Measure from the click to the painted View, with the server connected and its tools listed."""
    found: dict[tuple[str, str], list[dict[str, float]]] = {(when, name): [] for when in WHEN for name in NAMES}
    with ExitStack() as stack:
        addresses = {name: stack.enter_context(printed_address(_command(name, PUBLISHED))) for name in NAMES}
        visits = stack.enter_context(_visiting(PUBLISHED, clicks=1 + LATER, settle=SETTLE))
        for turn in range(rounds + 1):
            for name in rotated(NAMES, turn):
                results = visits.visit(addresses[name])
                times = [{mark: one[mark] - one["clicked"] for mark in ("shown", "painted")} for one in results]
                if turn > 0:
                    found["first", name].append(times[0])
                    later = {mark: statistics.fmean(one[mark] for one in times[1:]) for mark in times[0]}
                    found["later", name].append(later)
    return found


# What is shown


def _report_starts(report: Report, found: dict[str, list[dict[str, float]]]) -> None:
    table = Table(
        "inspector: milliseconds from the command to the View of examples/clock painted with its data (medians)",
        ["program", "address printed", "tool called", "painted", f"/ {PEER}"],
    )
    for name, times in found.items():
        marks = [f"{statistics.median(one[mark] for one in times):.0f}" for mark in ("printed", "clicked", "painted")]
        table.rows.append([name, *marks, str(_ratio(times, found[PEER], "painted"))])
        report.figures[f"start, {name}"] = times
    report.tables.append(table)
    ratio = _ratio(found[OURS], found[PEER], "painted")
    report.goals.append(Goal.of(f"inspector: command to painted View: {OURS} / {PEER}", ratio, LIMIT))


def _report_clicks(report: Report, found: dict[tuple[str, str], list[dict[str, float]]]) -> None:
    table = Table(
        "inspector: milliseconds from the click to the painted View of a published server (medians)",
        ["when", "program", "data shown", f"/ {PEER}", "painted", f"/ {PEER}"],
    )
    for (when, name), times in found.items():
        peers = found[when, PEER]
        cells: list[str] = []
        for mark in ("shown", "painted"):
            cells += [f"{statistics.median(one[mark] for one in times):.1f}", str(_ratio(times, peers, mark))]
        table.rows.append([when, name, *cells])
        report.figures[f"click, {when}, {name}"] = times
    report.tables.append(table)
    for when in ("first", "later"):
        ratio = _ratio(found[when, OURS], found[when, PEER], "painted")
        report.goals.append(Goal.of(f"inspector: {when} click to painted View: {OURS} / {PEER}", ratio, LIMIT))


def _ratio(ours: list[dict[str, float]], peers: list[dict[str, float]], mark: str) -> Estimate:
    return mean_ratio([one[mark] for one in ours], [one[mark] for one in peers])


# The browser


class Visits(Answers):
    """A browser that visits addresses, and returns to the collector with its measurements."""

    def __init__(self) -> None:
        super().__init__()
        self._next: Queue[str] = Queue()

    def put(self, path: str, body: Any) -> str:
        if body is not None:
            super().put(path, body)
        return self._next.get()

    def visit(self, address: str) -> list[dict[str, float]]:
        self._next.put(address)
        found: list[dict[str, float]] = self.next(PATIENCE)
        return found

    def end(self) -> None:
        """Release the browser that waits for an address."""
        self._next.put("about:blank")


@contextmanager
def _visiting(server: Server, clicks: int, settle: int) -> Iterator[Visits]:
    """Start a browser with the extension that clicks the buttons and measures the Views of a server."""
    visits = Visits()
    page = Document("text/html", documents.text("inspector.html").encode())
    with tempfile.TemporaryDirectory() as folder, serving({"/": page}, visits) as port:
        # Of the same site as the page of `fanlight dev`: a link from another site would not send its cookie.
        collector = f"http://localhost:{port}"
        given = {
            "collector": collector,
            "clicks": clicks,
            "settle": settle,
            "selector": server.selector,
            "pattern": server.pattern,
            "plans": {HOSTS[name]: plan for name, plan in _plans(server).items()},
        }
        script = documents.text("inspector.js").replace('"/* given */"', json.dumps(json.dumps(given)))
        Path(folder, "inspector.js").write_text(script, encoding="utf-8")
        Path(folder, "manifest.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
        try:
            with browser(f"{collector}/", f"--load-extension={folder}"):
                yield visits
        finally:
            visits.end()
