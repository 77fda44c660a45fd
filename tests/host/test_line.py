import json
import math
from typing import Any

import anyio
import pytest

from fanlight.host.views.channel import ACK_EVERY, MOST_DEPTH, Line, decode, encode

pytestmark = pytest.mark.anyio


class Wire:
    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []

    async def send(self, text: str) -> None:
        self.frames.append(json.loads(text))

    @property
    def values(self) -> list[Any]:
        return [frame["x"] for frame in self.frames if "x" in frame]


class SlowWire(Wire):
    """A page that takes nothing until it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.go = anyio.Event()

    async def send(self, text: str) -> None:
        await self.go.wait()
        await super().send(text)


async def begun(**options: Any) -> tuple[Line, Wire]:
    line, wire = Line(**options), Wire()
    await line.begin(wire, {"type": "show"})
    return line, wire


async def test_frames_are_numbered_and_say_what_came() -> None:
    line, wire = await begun()
    assert line.take({"type": "a", "n": 1, "ack": 0})
    await line.send({"x": 1})
    await line.send({"x": 2})
    assert wire.frames == [{"type": "show"}, {"x": 1, "n": 1, "ack": 1}, {"x": 2, "n": 2, "ack": 1}]


async def test_a_new_socket_gets_what_the_page_has_not_seen_and_nothing_twice() -> None:
    line, wire = await begun()
    for x in range(1, 6):
        await line.send({"x": x})
    line.take({"type": "ack", "ack": 2})
    line.detach(wire)
    await line.send({"x": 6})
    assert line.is_whole(3)
    again = Wire()
    await line.attach(again, 3)
    assert again.frames[0] == {"type": "resumed", "seen": 0}
    assert again.values == [4, 5, 6]
    await line.send({"x": 7})
    assert again.values == [4, 5, 6, 7]
    assert wire.values == [1, 2, 3, 4, 5]


async def test_a_frame_that_comes_twice_is_news_once() -> None:
    line, _ = await begun()
    frames = [{"type": "a", "n": n, "ack": 0} for n in (1, 2, 2, 1, 3)]
    assert [line.take(frame) for frame in frames] == [True, True, False, False, True]
    assert line.seen == 3


async def test_acknowledgements_go_alone_only_when_there_is_nothing_else_to_say() -> None:
    line, wire = await begun()
    for n in range(1, 2 * ACK_EVERY + 1):
        line.take({"type": "a", "n": n, "ack": 0})
        await line.acknowledge()
    assert [frame["ack"] for frame in wire.frames[1:]] == [ACK_EVERY, 2 * ACK_EVERY]


async def test_a_line_that_keeps_too_much_is_not_whole() -> None:
    line, wire = await begun(most_kept=1000)
    for x in range(100):
        await line.send({"x": x, "pad": "y" * 50})
    assert not line.is_whole(0)
    assert line._kept_size <= 1000
    await line.begin(wire, {"type": "show"})
    assert line.is_whole(0)


@pytest.mark.parametrize("seen", [-1, 2, None, True, "1", 1.0, [], 10**30])
async def test_a_number_that_cannot_be_is_not_gone_on_with(seen: Any) -> None:
    line, _ = await begun()
    await line.send({"x": 1})
    assert not line.is_whole(seen)


async def test_numbers_that_are_none_do_no_harm() -> None:
    line, _ = await begun()
    odds: list[Any] = [None, True, "1", 1.5, [], {}, -5]
    for odd in odds:
        assert line.take({"type": "a", "n": odd, "ack": odd}) is (odd != -5)
    line.take({"type": "ack", "ack": 10**30})
    assert line.acknowledged == 0
    await line.send({"x": 1})
    assert line.is_whole(0)


async def test_what_is_withdrawn_does_not_come_again() -> None:
    line, wire = await begun()
    await line.send({"x": 1})
    number = await line.send({"x": 2})
    line.withdraw(number)
    line.withdraw(99)
    line.detach(wire)
    again = Wire()
    await line.attach(again, 0)
    assert again.values == [1]


@pytest.mark.parametrize(
    "value", ["ä\u2028😀", "\ud800", 2**70, -1.5, None, [{"a": {}}], float("nan")], ids=["text", "half", *"bcdef"]
)
def test_any_json_is_written_and_read(value: Any) -> None:
    text = encode({"x": value})
    assert "\ud800" not in text
    got = decode(text)
    assert got is not None
    value = "\ufffd" if value == "\ud800" else value
    assert got["x"] == (None if value != value else pytest.approx(value) if isinstance(value, int | float) else value)


@pytest.mark.parametrize("value", [[math.inf, -math.inf, math.nan], [10**30, math.inf]])
def test_a_number_that_json_does_not_have_is_null(value: list[Any]) -> None:
    text = encode({"x": value})
    assert json.loads(text)["x"] == [None if isinstance(number, float) else number for number in value]


def test_half_a_surrogate_pair_is_replaced_when_it_is_read() -> None:
    """No server and no store takes one. Goes red without the replacement."""
    assert decode('{"a\\udfff": ["x\\ud800y", "\\ud83d\\ude00"]}') == {"a\ufffd": ["x\ufffdy", "😀"]}


@pytest.mark.parametrize("text", ["", "x", "[]", "7", "{", "[" * 100_000, '{"a":' * 100_000])
def test_what_is_no_frame_is_none(text: str) -> None:
    assert decode(text) is None


async def test_one_sends_and_nobody_else_waits_and_the_order_stays() -> None:
    line = Line()
    slow = SlowWire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(line.begin, slow, {"type": "show"})
        await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(1):
            for x in range(5):
                await line.send({"x": x})  # waits for nobody
        assert slow.values == []
        slow.go.set()
    assert slow.values == [0, 1, 2, 3, 4]


async def test_a_new_socket_takes_over_from_one_that_hangs() -> None:
    line = Line()
    stuck, wire = SlowWire(), Wire()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(line.begin, stuck, {"type": "show"})
        await anyio.wait_all_tasks_blocked()
        await line.send({"x": 1})
        await line.attach(wire, 0)
        await line.send({"x": 2})
        assert wire.values == [1, 2]
        stuck.go.set()
    await line.send({"x": 3})
    assert wire.values == [1, 2, 3]
    assert stuck.values == []


@pytest.mark.parametrize("odd", ["", '"\\ud800"', "NaN"], ids=["plain", "half a surrogate", "no number"])
def test_a_frame_is_nested_only_so_deep_that_it_can_be_written_again(odd: str) -> None:
    lists, tables = "[" * MOST_DEPTH + odd + "]" * MOST_DEPTH, '{"a":' * MOST_DEPTH + (odd or "1") + "}" * MOST_DEPTH
    assert decode(tables) is not None
    assert decode(f'{{"a":{lists}}}') is None
    assert decode(f'{{"a":{tables}}}') is None
    wide = decode('{"a":[' + ",".join([odd or "1", *["[[[]]]"] * 1000]) + "]}")
    assert wide is not None
    assert len(wide["a"]) == 1001
