"""Limits of one View, which do not affect other Views."""

from typing import Any

import anyio
import pytest

from fanlight.host import Host, Limits, Policy
from fanlight.host.views.rate_limit import RateLimit
from host.test_consent import board, call, opened, view
from support.calls import context_of

pytestmark = pytest.mark.anyio

OPEN = Policy({"tools": "allow"})


def test_a_rate_limit_allows_a_burst_of_one_second() -> None:
    rate = RateLimit(10, 0.0)
    assert sum(rate.take(0.0) for _ in range(100)) == 10
    assert sum(rate.take(0.5) for _ in range(100)) == 5
    assert sum(rate.take(100.0) for _ in range(100)) == 10
    slow = RateLimit(0.5, 0.0)
    assert [slow.take(0.0), slow.take(1.0), slow.take(2.0)] == [True, False, True]


async def test_a_flooding_view_gets_errors_and_other_views_do_not() -> None:
    host = Host({"board": board()}, policy=OPEN, limits=Limits(messages_per_second=20))
    async with opened(host) as page:
        other = await view(host)
        for id in range(100, 130):
            await page.say({"id": id, "method": "ping"})
            await page.say({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        answers = [await page.message() for _ in range(30)]
        refused = [answer for answer in answers if "error" in answer]
        assert len(refused) > 10
        assert refused[0]["error"]["message"] == "This View exceeds the limit of 20 messages per second."
        assert (await other.ask("ping", {}))["result"] == {}


async def test_the_number_of_waiting_requests_is_limited() -> None:
    host = Host({"board": board()}, limits=Limits(requests_in_flight=3))
    async with opened(host) as page:
        for id in range(4):
            await call(page, "move", id)  # waits for the user
        frames = [await page.next() for _ in range(2)]
        (refused,) = [frame["message"] for frame in frames if frame["type"] == "message"]
        assert refused["id"] == 3
        assert "has 3 requests without a response" in refused["error"]["message"]


async def test_a_result_that_is_too_large_is_replaced_by_an_error() -> None:
    host = Host({"board": board()}, policy=OPEN, limits=Limits(result_characters=2000))
    async with opened(host) as page:
        await call(page, "look")
        assert "result" in await page.message()
        await call(page, "repeat", text="x" * 3000)
        error = (await page.message())["error"]
        assert "a View is given at most 2,000" in error["message"]


async def test_the_model_context_of_a_view_is_limited_in_size() -> None:
    host = Host({"board": board()}, limits=Limits(state_characters=100))
    async with opened(host) as page:
        update = {"content": [{"type": "text", "text": "x" * 100}]}
        answer = await page.ask("ui/update-model-context", update)
        assert "at most 100 are kept" in answer["error"]["message"]
        assert await context_of(host, "c1") == []


async def test_only_the_last_of_many_size_changes_is_reported() -> None:
    host = Host({"board": board()}, limits=Limits(size_changes_per_second=5))
    async with opened(host) as page:
        for height in range(1, 101):
            await page.say({"method": "ui/notifications/size-changed", "params": {"height": height}})
        heights: list[Any] = []
        while not heights or heights[-1] != 100:
            frame = await page.next()
            assert frame["type"] == "resize"
            heights.append(frame["height"])
        assert len(heights) < 20


async def test_messages_of_a_view_over_its_limit_are_throttled() -> None:
    host = Host({"board": board()}, limits=Limits(messages_per_second=5))
    async with opened(host) as page:
        with anyio.move_on_after(0.3) as scope:
            for id in range(1000, 2000):
                await page.say({"id": id, "method": "ping"})
        assert scope.cancelled_caught
