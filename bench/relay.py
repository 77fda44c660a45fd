"""`relay`: what a tool's result costs on its way through the host, from the server's answer to the View's frame.

A result's cost is what its calls take more than those with an empty one, so what every call costs falls out.
"""

import itertools
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp_types import methods

from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import ratio, rotated
from bench.serving import freeze
from bench.stage import TOOL, VERSION, Page, Stage

ROUNDS = 40
QUICK_ROUNDS = 8
LIMIT = 0.2

EMPTY = "empty"
SIZES = {"2 kB": 2_000, "200 kB": 200_000}
CALLS = {EMPTY: 150, "2 kB": 150, "200 kB": 5}

HOST = "Fanlight's host"
ORJSON = "orjson alone"
PYDANTIC = "pydantic"
SESSION = "the SDK's session"
PARSER = "the SDK's parser"
SUBJECTS = (HOST, ORJSON, PYDANTIC, SESSION, PARSER)

JSONObject = dict[str, Any]
Figures = dict[tuple[str, str], list[float]]


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    say(f"relay: {rounds} rounds of two results")
    return _report(anyio.run(_measure, {name: _result(size) for name, size in SIZES.items()}, rounds))


def _result(size: int) -> JSONObject:
    """Return a typical tool result: rows, and the same as text."""
    rows: list[JSONObject] = []
    content: list[JSONObject] = []
    length = 0
    for number in itertools.count():
        if length >= size:
            break
        low, high = number - 1.5, number * 1.25
        rows.append({"id": number, "place": f"Station {number}", "low": low, "high": high, "rain": number % 2 == 0})
        content.append({"type": "text", "text": f"Station {number}: {low} to {high} degrees, wind from the north"})
        length += len(json.dumps([rows[-1], content[-1]]))
    return {"content": content, "structuredContent": {"rows": rows}, "isError": False}


async def _measure(results: dict[str, JSONObject], rounds: int) -> Figures:
    figures: Figures = {}
    answers = {EMPTY: {"content": []}, **results}
    async with Stage(answers) as stage:
        page = await stage.open(await stage.call({"name": EMPTY}))
        for name, result in answers.items():
            await _call(page, name, result)
        freeze()
        for turn in range(rounds):
            times = {name: await _call(page, name, answers[name]) for name in rotated(list(answers), turn)}
            for name, result in results.items():
                figures.setdefault((name, HOST), []).append(times[name] - times[EMPTY])
                for peer, work in _peers(result).items():
                    figures.setdefault((name, peer), []).append(_time(work, CALLS[name]))
    return figures


async def _call(page: Page, name: str, result: JSONObject) -> float:
    """Return the CPU seconds of one call of the View that gets this result."""
    params = {"name": TOOL, "arguments": {"name": name}}
    started = time.process_time()
    for _ in range(CALLS[name]):
        text = await page.ask("tools/call", params)
    elapsed = (time.process_time() - started) / CALLS[name]
    assert json.loads(text)["message"]["result"] == result
    return elapsed


def _peers(result: JSONObject) -> dict[str, Callable[[], object]]:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, separators=(",", ":"))
    model = types.CallToolResult
    return {
        ORJSON: lambda: orjson.dumps({"type": "message", "message": {"id": 1, "result": result}}).decode(),
        PYDANTIC: lambda: model.model_validate(result).model_dump_json(by_alias=True, exclude_none=True),
        SESSION: lambda: methods.validate_server_result("tools/call", VERSION, result),
        PARSER: lambda: types.jsonrpc_message_adapter.validate_json(text, by_name=False),
    }


def _time(work: Callable[[], object], count: int) -> float:
    started = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - started) / count


def _report(figures: Figures) -> Report:
    table = Table(
        "relay: CPU for a result, from the server's parsed answer to the frame for the View, in microseconds (medians)",
        ["result", *SUBJECTS, f"{HOST} / {PYDANTIC}", f"{ORJSON} / {PYDANTIC}"],
    )
    report = Report([table])
    for size in SIZES:
        ours, floor = (ratio(figures[size, name], figures[size, PYDANTIC]) for name in (HOST, ORJSON))
        medians = [f"{statistics.median(figures[size, name]) * 1e6:,.1f}" for name in SUBJECTS]
        table.rows.append([size, *medians, str(ours), str(floor)])
        report.goals.append(Goal.of(f"relay: {size}: {HOST} / {PYDANTIC}", ours, LIMIT))
        report.figures[size] = {name: [round(one * 1e6, 2) for one in figures[size, name]] for name in SUBJECTS}
    return report
