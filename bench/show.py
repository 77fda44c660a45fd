"""`show`: a frame as a table, by `apps.show` and by Prefab: code, bytes, text for the model, and time to the paint."""

import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bench import documents, ext_apps
from bench.browser import Answers, serving
from bench.conversation import Conversation
from bench.http_client import HttpClient, parsed
from bench.processes import ROOT, Process, running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import mean_ratio, ratio, rotated
from bench.show_app.orders import FIRST, load_orders

PEERS = ROOT / "bench" / ".peers" / "python"
PACKAGE, VERSION = "prefab-ui", "0.21.1"
OURS, PEER = "Fanlight", "Prefab"
PROGRAMS = {OURS: "with_fanlight", PEER: "with_prefab"}
PROTOCOL = "2025-11-25"
ROUNDS, QUICK_ROUNDS = 12, 2
QUERIES, QUICK_QUERIES = 15, 3
SMALL, LARGE = 10_000, 1_000_000
PATIENCE = 300
MOST_TO_PAINT = 20_000_000
"""A page is not shown a result with more bytes than this."""
DOCUMENT_LIMIT, RESULT_LIMIT, PAINTED_LIMIT, PAGE_LIMIT = 15_000, 100_000, 0.5, 1.3


@dataclass
class Program:
    """What was found of one program."""

    lines: int
    document: int = 0
    compressed: int = 0
    results: dict[int, "Result"] = field(default_factory=dict)
    painted: dict[int, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    size: int
    text: str
    seconds: float


def run(options: Options) -> Report:
    rounds, queries = options.choose(ROUNDS, QUICK_ROUNDS), options.choose(QUERIES, QUICK_QUERIES)
    missing = _install()
    names = [OURS] if missing is not None else [OURS, PEER]
    programs = {name: Program(_lines(PROGRAMS[name])) for name in names}
    say(f"show: {rounds} rounds of {' and '.join(names)} in Chromium, and {queries} of a page of a million rows")
    with ExitStack() as stack:
        ports = {name: stack.enter_context(_serving(name)) for name in names}
        for name, program in programs.items():
            # All rows of a million take Prefab minutes.
            sizes = (SMALL,) if options.quick and name == PEER else (SMALL, LARGE)
            _measure_messages(program, ports[name], sizes)
        _measure_paint(programs, ports, rounds)
    report = Report()
    _report_programs(report, programs)
    _report_queries(report, queries)
    if missing is not None:
        report.notes.append(f"{PEER} was not measured: {missing}")
    return report


def _lines(name: str) -> int:
    """Return how many lines with code or text a program has."""
    text = (ROOT / "bench" / "show_app" / f"{name}.py").read_text(encoding="utf-8")
    return sum(1 for line in text.splitlines() if line.strip())


@contextmanager
def _serving(name: str) -> Iterator[int]:
    """Run a program with all its rows prepared, and yield its port."""
    # The renderer of Prefab comes from a CDN by default, which this benchmark does not reach.
    settings = {"PYTHONPATH": str(PEERS), "PREFAB_BUNDLED_RENDERER": "1"} if name == PEER else {}
    with running("bench.show_process", PROGRAMS[name], environment=settings) as process:
        port: int = process.answer()["port"]
        _prepare(process)
        yield port


def _prepare(process: Process) -> None:
    for rows in (SMALL, LARGE):
        process.order(rows)


# Messages


def _measure_messages(program: Program, port: int, sizes: Sequence[int]) -> None:
    client = HttpClient(port, Conversation(PROTOCOL, "ui"), patience=PATIENCE)
    tools = _ask(client, "tools/list", {})[0]["tools"]
    uri = next(tool for tool in tools if tool["name"] == "orders")["_meta"]["ui"]["resourceUri"]
    html = _ask(client, "resources/read", {"uri": uri})[0]["contents"][0]["text"].encode()
    program.document, program.compressed = len(html), len(gzip.compress(html, 9))
    for rows in sizes:
        try:
            result, size, seconds = _ask(client, "tools/call", {"name": "orders", "arguments": {"rows": rows}})
        except OSError as error:
            say(f"show: no result for {rows:,} rows ({type(error).__name__})")
            return
        assert not result.get("isError"), result
        text = "\n".join(block.get("text", "") for block in result["content"])
        program.results[rows] = Result(size, text, seconds)
    client.close()


def _ask(client: HttpClient, method: str, params: dict[str, Any]) -> tuple[dict[str, Any], int, float]:
    """Return the result of a request, its bytes as JSON, and the seconds it took."""
    message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
    began = time.perf_counter()
    body = client.send(client.encoded(message))
    seconds = time.perf_counter() - began
    answer = parsed(body)
    if "result" not in answer:
        raise RuntimeError(f"{method} failed: {answer}")
    return answer["result"], len(body), seconds


# Paint


def _measure_paint(programs: dict[str, Program], ports: dict[str, int], rounds: int) -> None:
    """Measure from the click to the painted table: the same page, made of AppBridge and the published client."""
    kinds = [
        (name, rows)
        for rows in (SMALL, LARGE)
        for name, program in programs.items()
        if rows in program.results and program.results[rows].size <= MOST_TO_PAINT
    ]
    probe = f"<script>{documents.text('show_probe.js').replace('EXPECTED', FIRST)}</script>"
    source = documents.text("ext_apps_host.js").replace('"/* probe */"', json.dumps(probe))
    answers = Answers()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        script = Path(folder, "host.js")
        script.write_text(ext_apps.bundled(source), encoding="utf-8")
        page = stack.enter_context(running("bench.web_process", "page", str(script))).answer()["port"]
        collector = stack.enter_context(serving({}, answers))

        def address(name: str, rows: int, turn: int) -> str:
            query = {
                "tool": "orders",
                "input": json.dumps({"rows": rows}),
                "clicks": 1,
                "phase": (turn * 0.618034) % 1,
                "collector": f"http://127.0.0.1:{collector}",
                "server": f"http://127.0.0.1:{ports[name]}/mcp",
                "sandbox": f"http://127.0.0.1:{page}/sandbox",
            }
            return f"http://localhost:{page}/?{urlencode(query)}"

        # The first round is discarded: it starts the browser's own processes and fills its caches.
        stops = [(name, rows, turn) for turn in range(rounds + 1) for name, rows in rotated(kinds, turn)]
        found = answers.tour([address(*stop) for stop in stops], PATIENCE)
        for (name, rows, turn), (shown,) in zip(stops, found, strict=True):
            reported = shown["reported"]
            if turn > 0:
                painted = reported["origin"] + reported["marks"]["painted"] - shown["clicked"]
                programs[name].painted.setdefault(rows, []).append(painted)


# Pages of a million rows

Step = Callable[[], object]


def _report_queries(report: Report, rounds: int) -> None:
    table = Table(
        f"show: milliseconds for one page of {LARGE:,} rows (medians)",
        ["query", "library", "by the library itself", "by the View", "/ the library"],
    )
    for library in ("pandas", "polars"):
        for query, (own, view) in _queries(library).items():
            assert own() == view(), query
            times: dict[str, list[float]] = {"own": [], "view": []}
            for turn in range(rounds):
                for kind, step in rotated([("own", own), ("view", view)], turn):
                    began = time.perf_counter()
                    step()
                    times[kind].append(time.perf_counter() - began)
            found = ratio(times["view"], times["own"])
            medians = [f"{statistics.median(times[kind]) * 1e3:.1f}" for kind in ("own", "view")]
            table.rows.append([query, library, *medians, str(found)])
            report.figures[f"page, {library}, {query}"] = times
            report.goals.append(Goal.of(f"show: a page of {library}, {query} / {library} itself", found, PAGE_LIMIT))
    report.tables.append(table)


def _queries(library: str) -> dict[str, tuple[Step, Step]]:
    """Return pairs of the same query: by the library, and as a View asks for it. Both return the first column."""
    import polars as pl

    from fanlight.show.tables.frame import FrameTable
    from fanlight.show.tables.query import Filter, Query, Sort
    from fanlight.show.tables.table import page

    frame = load_orders(LARGE)
    native: Any = frame if library == "pandas" else pl.from_pandas(frame)
    shown = FrameTable.of(native)
    by_customer = Query(sort=(Sort(column=1), Sort(column=4, descending=True)))
    above = (Filter(column=4, op="at_least", value="500"), Filter(column=2, op="equals", value="north"))

    def view(query: Query) -> Step:
        return lambda: [row[0] for row in page(shown, shown.order(query), 0, 50, 256_000)]

    if library == "pandas":

        def chosen(frame: Any) -> Any:
            return frame[(frame["total"] >= 500) & (frame["region"].str.lower() == "north")]

        def ordered(frame: Any) -> Any:
            return frame.sort_values(["customer", "total"], ascending=[True, False], kind="stable")

        def first(frame: Any) -> list[Any]:
            return [row["order"] for row in frame.head(50).to_dict("records")]

        def searched(frame: Any) -> Any:
            columns = [
                frame[name].str.lower().str.contains("mer 17", regex=False) for name in ("customer", "region", "note")
            ]
            return frame[columns[0] | columns[1] | columns[2]]
    else:

        def chosen(frame: Any) -> Any:
            return frame.filter(pl.col("total") >= 500, pl.col("region").str.to_lowercase() == "north")

        def ordered(frame: Any) -> Any:
            return frame.sort("customer", "total", descending=[False, True], maintain_order=True)

        def first(frame: Any) -> list[Any]:
            return [row["order"] for row in frame.head(50).to_dicts()]

        def searched(frame: Any) -> Any:
            names = ("customer", "region", "note")
            columns = (pl.col(name).str.to_lowercase().str.contains("mer 17", literal=True) for name in names)
            return frame.filter(pl.any_horizontal(*columns))

    return {
        "sorted by two columns": (lambda: first(ordered(native)), view(by_customer)),
        "filtered by two columns": (lambda: first(chosen(native)), view(Query(filters=above))),
        "filtered and sorted": (
            lambda: first(ordered(chosen(native))),
            view(Query(filters=above, sort=by_customer.sort)),
        ),
        "searched": (lambda: first(searched(native)), view(Query(search="Mer 17"))),
    }


# The report


def _report_programs(report: Report, programs: dict[str, Program]) -> None:
    table = Table(
        "show: a frame with 8 columns as a table (milliseconds from the click: medians)",
        [
            "program",
            "lines",
            "document",
            "gzip",
            "rows",
            "result",
            "text for the model",
            "call ms",
            "painted",
            f"/ {PEER}",
        ],
    )
    for name, program in programs.items():
        for rows in (SMALL, LARGE):
            cells = [name, str(program.lines), _bytes(program.document), _bytes(program.compressed), f"{rows:,}"]
            result = program.results.get(rows)
            if result is None:
                table.rows.append([*cells, "none", "", "", "", ""])
                continue
            painted = program.painted.get(rows)
            peers = programs[PEER].painted.get(rows) if PEER in programs else None
            compared = str(mean_ratio(painted, peers)) if painted and peers else ""
            shown = f"{statistics.median(painted):.0f}" if painted else "not shown"
            length = f"{len(result.text):,} characters"
            table.rows.append([*cells, _bytes(result.size), length, f"{result.seconds * 1e3:.0f}", shown, compared])
        report.figures[name] = {
            "lines": program.lines,
            "document": program.document,
            "gzip": program.compressed,
            "results": {rows: result.size for rows, result in program.results.items()},
            "text": {rows: len(result.text) for rows, result in program.results.items()},
            "painted": program.painted,
        }
    report.tables.append(table)
    if PEER in programs:
        texts = {name: program.results[SMALL].text[:60] for name, program in programs.items()}
        report.notes.append("The model reads: " + "; ".join(f"{name}: {text!r}" for name, text in texts.items()))
        report.notes.append(f"Results of more than {_bytes(MOST_TO_PAINT)} are not shown to a page.")
    ours = programs[OURS]
    report.goals += [
        Goal("show: document, gzip", ours.compressed, DOCUMENT_LIMIT, unit="bytes"),
        *(
            Goal(f"show: result, {rows:,} rows", one.size, RESULT_LIMIT, unit="bytes")
            for rows, one in ours.results.items()
        ),
    ]
    for rows, painted in ours.painted.items():
        if PEER in programs and (peers := programs[PEER].painted.get(rows)):
            found = mean_ratio(painted, peers)
            report.goals.append(Goal.of(f"show: painted, {rows:,} rows: {OURS} / {PEER}", found, PAINTED_LIMIT))


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


# The peer is not part of the setup: only this benchmark uses it. FastMCP is.


def _install() -> str | None:
    """Install Prefab in an ignored folder if it is missing; return the error if that fails."""
    if next(PEERS.glob(f"prefab_ui-{VERSION}.dist-info"), None) is not None:
        return None
    say(f"show: installing {PACKAGE} {VERSION} into {PEERS.relative_to(ROOT)} (9 MB)")
    options = ["--quiet", "--no-deps", "--upgrade", "--target", str(PEERS)]
    command = [sys.executable, "-m", "pip", "install", *options, f"{PACKAGE}=={VERSION}"]
    try:
        done = subprocess.run(command, env=os.environ, timeout=300).returncode == 0
    except subprocess.TimeoutExpired:
        done = False
    return None if done else f"pip could not install {PACKAGE} {VERSION}."
