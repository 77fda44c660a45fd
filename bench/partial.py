"""`partial`: reading a tool's arguments while a model writes them, and what a View is posted meanwhile."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Literal

import jiter
import orjson
import pydantic_core

from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import Estimate, ratio
from bench.stage import SERVER, TOOL, Stage
from fanlight.protocol.partial import PartialArguments

ROUNDS = 15
QUICK_ROUNDS = 4
PIECE = 20
WHOLE = 1_000_000
TENTH = WHOLE // 10
# Parsers that start over at each piece take minutes for the whole; their cost is measured up to here.
SHORT = 40_000
PEERS_EVERY = 4
GROWTH = 1.05
SECONDS_PER_PIECE = 0.01

Kind = Literal["rows", "one long string"]
LIMITS: dict[Kind, float] = {"rows": 60, "one long string": 100}
TENFOLD_LIMIT = 12
POSTED_LIMIT = 25

Parser = Callable[[bytes], object]
PEERS: dict[str, Parser] = {
    "pydantic_core": lambda text: pydantic_core.from_json(text, allow_partial="trailing-strings"),
    "jiter": lambda text: jiter.from_json(text, partial_mode="trailing-strings"),
}


@dataclass(frozen=True)
class Document:
    """The arguments as a model writes them."""

    text: str

    @classmethod
    def of(cls, kind: Kind, size: int) -> "Document":
        return cls(_rows(size) if kind == "rows" else _string(size))

    @property
    def pieces(self) -> list[str]:
        return [self.text[at : at + PIECE] for at in range(0, len(self.text), PIECE)]


@dataclass
class Peer:
    """Seconds of a parser that starts over: for each piece of a short document, and for each update of the whole."""

    short: list[float] = field(default_factory=list)
    half: list[float] = field(default_factory=list)
    paced: list[float] = field(default_factory=list)


@dataclass
class Measured:
    """Seconds in each round, and characters posted to a View as a multiple of the document."""

    parse: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    tenth: list[float] = field(default_factory=list)
    peers: dict[str, Peer] = field(default_factory=lambda: {name: Peer() for name in PEERS})
    posted: float = 0.0
    posts: int = 0


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    measured = {}
    for kind in LIMITS:
        say(f"partial: {rounds} rounds of {kind}")
        measured[kind] = _measure(kind, rounds)
        measured[kind].posted, measured[kind].posts = _posted(Document.of(kind, WHOLE // 5 if options.quick else WHOLE))
    return _report(measured)


def _rows(size: int) -> str:
    row = '{{"id": {0}, "place": "Station {0}", "low": {1}, "high": {2}, "rain": {3}, "note": null}}'
    rows = (
        row.format(number, number - 1.5, number * 1.25, "true" if number % 2 else "false")
        for number in itertools.count()
    )
    return '{"title": "Stations", "rows": [' + ", ".join(_filling(rows, size)) + "]}"


def _string(size: int) -> str:
    lines = (f'Day {number}: the wind turns to the north, with "rain" at 4 °C.\n' for number in itertools.count())
    return json.dumps({"title": "Report", "text": "".join(_filling(lines, size))}, ensure_ascii=False)


def _filling(lines: Iterable[str], size: int) -> list[str]:
    """Return as many lines as fit into this many characters."""
    taken: list[str] = []
    length = 0
    for line in lines:
        if length >= size:
            break
        taken.append(line)
        length += len(line)
    return taken


def _measure(kind: Kind, rounds: int) -> Measured:
    whole, tenth, short, half = (Document.of(kind, size) for size in (WHOLE, TENTH, SHORT, SHORT // 2))
    assert _fed(whole) == orjson.loads(whole.text)
    measured = Measured()
    for turn in range(rounds):
        measured.parse.append(_time(lambda: orjson.loads(whole.text)))
        measured.ours.append(_time(lambda: _fed(whole)))
        measured.tenth.append(_time(lambda: _fed(tenth)))
        if turn % PEERS_EVERY == 0:
            for name, parse in PEERS.items():
                peer = measured.peers[name]
                peer.short.append(_time(partial(_reparsed, short, parse)))
                peer.half.append(_time(partial(_reparsed, half, parse)))
                peer.paced.append(_time(partial(_reparsed, whole, parse, GROWTH)))
    return measured


def _fed(document: Document) -> Any:
    """Read a document piece by piece; parse it whenever it has grown by 5 %."""
    arguments = PartialArguments()
    fed, seen = 0, 0.0
    for piece in document.pieces:
        arguments.feed(piece)
        fed += len(piece)
        if fed > seen * GROWTH:
            seen = fed
            _ = arguments.arguments
    return arguments.arguments


def _reparsed(document: Document, parse: Parser, growth: float = 1.0) -> None:
    """Parse everything received so far, after each piece or whenever it has grown by a factor."""
    text = document.text.encode()
    seen = 0.0
    for end in range(PIECE, len(text) + PIECE, PIECE):
        if end > seen * growth:
            seen = end
            parse(text[:end])


def _time(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


class Clock(asyncio.SelectorEventLoop):
    """An event loop with a simulated clock, so that minutes of streaming take seconds."""

    now = 0.0

    def time(self) -> float:
        return self.now


def _posted(document: Document) -> tuple[float, int]:
    """Stream a document to an open View; return the characters posted over those of the document, and how often."""

    async def stream() -> tuple[float, int]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Clock)
        posts = []
        async with Stage({}) as stage:
            call = await stage.host.conversation().begin(f"{SERVER}__{TOOL}")
            page = await stage.open(call)
            for piece in document.pieces:
                loop.now += SECONDS_PER_PIECE
                call.feed(piece)
                await asyncio.sleep(0)
                for text in page.arrived():
                    posts.append(len(text))
                    page.say({"type": "ack", "ack": json.loads(text).get("n", 0)})
        return sum(posts) / len(document.text), len(posts)

    with asyncio.Runner(loop_factory=Clock) as runner:
        return runner.run(stream())


def _report(measured: dict[Kind, Measured]) -> Report:
    table = Table(
        f"partial: 1 MB of arguments in pieces of {PIECE} characters",
        ["arguments", "one parse ms", "Fanlight ms", "/ one parse", "10 x the size", "posted / size", "posts"],
    )
    peers = Table(
        f"partial: parsers that start over at each piece, measured at {SHORT // 1000} kB and extrapolated to 1 MB",
        [
            "arguments",
            "parser",
            f"{SHORT // 1000} kB ms",
            "2 x the size",
            "1 MB, extrapolated",
            "/ Fanlight",
            "1 MB at our pace ms",
            "/ Fanlight",
        ],
    )
    report = Report([table, peers])
    for kind, one in measured.items():
        over, growth = ratio(one.ours, one.parse), ratio(one.ours, one.tenth)
        parse, ours = _middle(one.parse), _middle(one.ours)
        cells = [f"{parse * 1e3:.2f}", f"{ours * 1e3:.1f}", _times(over), _times(growth), f"{one.posted:.1f}"]
        table.rows.append([kind, *cells, str(one.posts)])
        report.goals += [
            Goal.of(f"partial: {kind}: Fanlight / one parse by orjson", over, LIMITS[kind]),
            Goal.of(f"partial: {kind}: ten times the size", growth, TENFOLD_LIMIT),
            Goal(f"partial: {kind}: posted / size of the arguments", one.posted, POSTED_LIMIT),
        ]
        for name, peer in one.peers.items():
            # Quadratic, as the doubling shows: so many pieces, each so much longer.
            whole = _middle(peer.short) * (WHOLE / SHORT) ** 2
            cells = [f"{_middle(peer.short) * 1e3:.0f}", _times(ratio(peer.short, peer.half)), f"{whole:,.0f} s"]
            cells += [f"{whole / ours:,.0f}", f"{_middle(peer.paced) * 1e3:.0f}", f"{_middle(peer.paced) / ours:.2f}"]
            peers.rows.append([kind, name, *cells])
        report.figures[kind] = {
            "parse_s": one.parse,
            "fanlight_s": one.ours,
            "fanlight_tenth_s": one.tenth,
            "posted_ratio": one.posted,
            "posts": one.posts,
            "reparsing_s": {name: asdict(peer) for name, peer in one.peers.items()},
        }
    return report


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _times(estimate: Estimate) -> str:
    return f"{estimate.figure:.1f} ±{estimate.doubt:.1f}"
