"""`socket`: what the host adds to the CPU time of each message of a View, over a bare echo of JSON."""

import json
import statistics
from typing import Any, Protocol

from bench.processes import Process, running
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import ratio, rotated
from bench.socket_client import Page, SocketClient, framed

GENERATIONS = 6
ROUNDS = 60
QUICK_ROUNDS = 8
BATCH = 100
WARM_UP = 500
LIMIT = 1.25

ECHO = "bare echo"
HOST = "Fanlight's host"
MESSAGES: dict[str, dict[str, Any]] = {
    "ping": {"method": "ping"},
    "ui/update-model-context": {
        "method": "ui/update-model-context",
        "params": {"content": [{"type": "text", "text": "The user looks at Oslo. " * 8}]},
    },
}

Figures = dict[tuple[str, str], list[float]]


class End(Protocol):
    """One socket to a subject."""

    def exchange(self, message: dict[str, Any]) -> None: ...


class EchoEnd:
    def __init__(self, process: Process) -> None:
        self._socket = SocketClient(process.answer()["port"], "/")

    def exchange(self, message: dict[str, Any]) -> None:
        frame = {"type": "message", "message": message, "n": message["id"], "ack": message["id"]}
        self._socket.send(framed(json.dumps(frame, separators=(",", ":")).encode()))
        self._socket.receive()


class HostEnd:
    def __init__(self, process: Process) -> None:
        port = process.answer()["port"]
        [(view, token)] = process.order(1)["views"]
        self._page = Page(port, view, token)

    def exchange(self, message: dict[str, Any]) -> None:
        answer = self._page.ask(message)
        if "result" not in answer:
            raise RuntimeError(f"the host refused {message['method']}: {answer}")


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    generations = 1 if options.quick else GENERATIONS
    figures: Figures = {}
    for generation in range(generations):
        turns = range(rounds * generation // generations, rounds * (generation + 1) // generations)
        say(f"socket: rounds {turns.start + 1} to {turns.stop} of {rounds}")
        _measure(turns, figures)
    return _report(figures)


def _measure(turns: range, figures: Figures) -> None:
    with running("bench.host_process", "echo") as echo, running("bench.host_process", "host") as host:
        ends: dict[str, tuple[Process, End]] = {ECHO: (echo, EchoEnd(echo)), HOST: (host, HostEnd(host))}
        for name in MESSAGES:
            for process, end in ends.values():
                _cpu(process, end, name, WARM_UP)
        for process, _ in ends.values():
            process.order("freeze")
        for turn in turns:
            for name in MESSAGES:
                for subject in rotated(list(ends), turn):
                    figures.setdefault((name, subject), []).append(_cpu(*ends[subject], name, BATCH))


def _cpu(process: Process, end: End, name: str, count: int) -> float:
    """Return the CPU seconds of one message and its answer."""
    started = process.cpu_at_rest()
    for number in range(count):
        end.exchange({"jsonrpc": "2.0", "id": number + 1, **MESSAGES[name]})
    return (process.cpu_at_rest() - started) / count


def _report(figures: Figures) -> Report:
    table = Table(
        "socket: CPU of the server for one message of a View and its answer, in microseconds (medians)",
        ["message", ECHO, HOST, "ratio"],
    )
    report = Report([table])
    for name in MESSAGES:
        echo, host = figures[name, ECHO], figures[name, HOST]
        estimate = ratio(host, echo)
        table.rows.append([name, *(f"{statistics.median(values) * 1e6:.1f}" for values in (echo, host)), str(estimate)])
        report.goals.append(Goal.of(f"socket: {name}: {HOST} / {ECHO}", estimate, LIMIT))
        report.figures[name] = {
            "echo_us": [round(value * 1e6, 2) for value in echo],
            "host_us": [round(value * 1e6, 2) for value in host],
        }
    return report
