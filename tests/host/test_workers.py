"""Several workers of one host: two `Host` objects with one store and a real Redis, as two processes would have."""

import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
import redis
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import BusError, Host, MemoryStore, Policy, Timeouts
from fanlight.host.errors import (
    CallCancelledError,
    CredentialsRejectedError,
    ElsewhereError,
    NotConnectedError,
    SignInRequiredError,
    StoreError,
    UnknownViewError,
)
from fanlight.host.host import runtime_of
from fanlight.protocol.errors import ArgumentError
from support.databases import RedisServer
from support.page import WITH_TOOLS, Page, continued, shown

pytestmark = [pytest.mark.anyio, pytest.mark.process]

WAVE = {"name": "wave", "description": "Waves.", "inputSchema": {"type": "object"}}


class Notes:
    """A server that records calls. `write` returns from "slow" after `release`."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.release = anyio.Event()
        self.server: MCPServer[Any] = MCPServer("notes")
        apps = Apps(self.server)
        apps.view(View.html("<!doctype html><title>x</title>", uri="ui://notes/view"))

        @apps.tool(view="ui://notes/view")
        async def show(text: str = "") -> str:
            self.calls.append(text)
            if text == "slow":
                await self.release.wait()
            return text

        @self.server.tool()
        async def write(text: str) -> str:
            self.calls.append(text)
            if text == "slow":
                await self.release.wait()
            return f"written: {text}"


Start = Callable[..., Awaitable[Host]]


@pytest.fixture
async def notes() -> Notes:
    return Notes()


@pytest.fixture
async def start(redis_server: RedisServer, tmp_path: Path, notes: Notes) -> AsyncIterator[Start]:
    """Starts workers that share a store in a file, and a bus."""
    redis_server.clear()
    async with AsyncExitStack() as stack:

        async def start_one(**options: Any) -> Host:
            defaults: dict[str, Any] = {
                "store": f"sqlite:///{tmp_path / 'host.db'}",
                "bus": redis_server.url,
                "policy": Policy({"tools": "allow", "messages": "allow", "app_tools": "allow"}),
                "timeouts": Timeouts(lease=0.6, handover=1.0),
            }
            servers = options.pop("servers", {"notes": notes.server})
            host = Host(servers, **{**defaults, **options})
            await stack.enter_async_context(host)
            for server in servers:
                await host.servers[server].ready()
            await until(lambda: is_alive(host))
            return host

        yield start_one


async def is_alive(host: Host) -> bool:
    workers = runtime_of(host).workers
    return workers.id in await workers.alive()


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """Wait until a condition holds, and return what it returned."""
    with anyio.fail_after(20):
        while not (found := await condition()):  # noqa: ASYNC110
            await anyio.sleep(0.01)
        return found


async def until_method(page: Page, method: str) -> dict[str, Any]:
    while (message := await page.message()).get("method") != f"ui/notifications/{method}":
        pass
    params: dict[str, Any] = message["params"]
    return params


async def ask(page: Page, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a request of the View, and return its response, whatever comes before it."""
    await page.say({"id": "asked", "method": method, "params": params})
    while (frame := await page.next()).get("message", {}).get("id") != "asked":
        pass
    response: dict[str, Any] = frame["message"]
    return response


def sessions(host: Host) -> int:
    return len(runtime_of(host).views)


# Calls


async def test_a_result_reaches_a_view_that_another_worker_shows(start: Start, notes: Notes) -> None:
    """Goes red if the holder is not notified."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call.run, {"text": "slow"})
        assert await until_method(page, "tool-input") == {"arguments": {"text": "slow"}}
        notes.release.set()
        assert (await until_method(page, "tool-result"))["content"][0]["text"] == "slow"
    assert sessions(a) == 0
    assert sessions(b) == 1


async def test_arguments_stream_to_a_view_that_another_worker_shows(start: Start) -> None:
    """Goes red if the caller does not learn which worker has the View."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    await until(lambda: _known(a, call.view))
    call.feed('{"text": "he')
    assert await until_method(page, "tool-input-partial") == {"arguments": {"text": "he"}}
    call.feed("llo")
    assert await until_method(page, "tool-input-partial") == {"arguments": {"text": "hello"}}
    await call.run({"text": "hello"})
    assert await until_method(page, "tool-input") == {"arguments": {"text": "hello"}}


async def _known(host: Host, view: str | None) -> bool:
    return runtime_of(host).holders.is_elsewhere(view or "")


async def test_a_page_that_reads_slowly_is_sent_the_newest_partial_input(start: Start) -> None:
    """Goes red if partial input is dropped while the page has not acknowledged the one before."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    runtime = runtime_of(b)
    assert call.view is not None
    runtime.views.show_partial(call.view, {"text": "a"})
    await until(lambda: _in_flight(b, call.view))
    for text in ("ab", "abc"):
        runtime.views.show_partial(call.view, {"text": text})
    # The page acknowledges the first one with `message`, and only the newest of the others was kept.
    assert await until_method(page, "tool-input-partial") == {"arguments": {"text": "a"}}
    assert await until_method(page, "tool-input-partial") == {"arguments": {"text": "abc"}}


async def _in_flight(host: Host, view: str | None) -> bool:
    session = runtime_of(host).views.session(view)
    return session is not None and session.partial_in_flight


async def test_a_cancelled_call_is_shown_by_another_worker(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    await call.cancel("The user stopped it.")
    assert await until_method(page, "tool-cancelled") == {"reason": "The user stopped it."}


async def test_large_results_do_not_travel_over_the_bus(start: Start, redis_server: RedisServer) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    await call.run({"text": "x" * 200_000})
    assert len((await until_method(page, "tool-result"))["content"][0]["text"]) == 200_000
    assert longest_message(redis_server) < 1000


def longest_message(redis_server: RedisServer) -> int:
    """Return the length of the longest message on the bus."""
    with redis.Redis.from_url(redis_server.url) as client:
        streams: list[Any] = [client.xrange(key) for key in client.scan_iter("fanlight:bus:worker:*")]
    return max(len(fields[b"m"]) for stream in streams for _, fields in stream)


async def test_calls_of_a_worker_that_died_are_cancelled_for_all(start: Start, notes: Notes) -> None:
    """Goes red if no other worker looks for calls without a living caller."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    failed: list[CallCancelledError] = []

    async def run() -> None:
        try:
            await call.run({"text": "slow"})
        except CallCancelledError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await until_method(page, "tool-input")
        await partition(a)
        assert "restarted" in (await until_method(page, "tool-cancelled"))["reason"]
        # The worker was only cut off. The View keeps its first outcome, and the program gets the same.
        notes.release.set()
    record = await runtime_of(b).store.load(str(call.view))
    assert record is not None
    assert record.result is None
    assert [error.message for error in failed] == [record.cancelled]


async def test_a_call_whose_beginning_failed_half_way_is_cancelled(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if a worker does not look for calls that are recorded as its own and that it does not have."""
    host = await start()
    runtime = runtime_of(host)

    async def fail(view: str) -> str:
        raise StoreError("no connection")

    monkeypatch.setattr(runtime.tokens, "issue", fail)
    chat = host.conversation("c1")
    with pytest.raises(StoreError):
        await chat.begin("notes__show")
    monkeypatch.undo()
    kept = await chat.begin("notes__show")

    async def is_cancelled() -> bool:
        return [view.call for view in await chat.views()] == ["cancelled", "running"]

    assert not await is_cancelled()
    await until(is_cancelled)
    await kept.run({"text": "x"})


async def partition(host: Host) -> None:
    """Cut a worker off from the bus: it renews no lease and receives nothing."""
    workers = runtime_of(host).workers
    bus: Any = workers._bus
    bus._url = "redis://127.0.0.1:1"
    worker = str(workers.id)
    await bus.leave(worker)
    client, bus._client = bus._client, None
    await client.aclose()


async def test_a_worker_that_starts_leaves_the_calls_of_others_alone(start: Start, notes: Notes) -> None:
    """Goes red if a start cancels all unfinished calls."""
    a = await start()
    call = await a.conversation("c1").begin("notes__show")
    b = await start()
    await anyio.sleep(1.5)  # longer than a lease, after which dead workers are looked for
    page = await shown(b, call.view, call.token)
    await call.run({"text": "x"})
    assert (await until_method(page, "tool-result"))["content"][0]["text"] == "x"


async def test_a_result_arrives_although_the_message_about_it_was_lost(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if a worker never compares the calls of its Views with the store."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)

    async def lose(*arguments: Any) -> bool:
        return False

    monkeypatch.setattr(runtime_of(a).workers, "notify", lose)
    await call.run({"text": "x"})
    assert (await until_method(page, "tool-result"))["content"][0]["text"] == "x"


async def test_the_outcome_of_a_call_is_stored_after_the_store_failed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if an outcome that cannot be stored is given up: the View would wait for ever."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    store = runtime_of(a).store
    change, failures = store.change, [True, True]

    async def fail_twice(id: str, changes: Any, *rest: Any) -> Any:
        if "result" in changes and failures:
            failures.pop()
            raise StoreError("The database is being restarted.")
        return await change(id, changes, *rest)

    monkeypatch.setattr(store, "change", fail_twice)
    await call.run({"text": "x"})
    assert call.text == "x"
    assert (await until_method(page, "tool-result"))["content"][0]["text"] == "x"


class Outage:
    """Lets a worker fail to store the results of calls, as if it was cut off from the store, too."""

    def __init__(self, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_over = False
        self.failed = anyio.Event()
        self._change = runtime_of(host).store.change
        monkeypatch.setattr(runtime_of(host).store, "change", self)

    async def __call__(self, id: str, changes: Any, *rest: Any) -> Any:
        if "result" in changes and not self.is_over:
            self.failed.set()
            raise StoreError("The database cannot be reached.")
        return await self._change(id, changes, *rest)


async def test_a_worker_that_was_cut_off_returns_no_result_for_a_call_that_is_shown_as_cancelled(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if `run` returns before the result is stored: others count the worker as dead, and cancel the call."""
    a, b = await start(), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    outage, failed = Outage(a, monkeypatch), []

    async def run() -> None:
        with pytest.raises(CallCancelledError) as error:
            await call.run({"text": "x"})
        failed.append(error.value.message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await outage.failed.wait()
        await partition(a)
        reason = (await until_method(page, "tool-cancelled"))["reason"]
        outage.is_over = True
    assert failed == [reason]
    assert call.result is None


async def test_a_result_that_cannot_be_stored_in_time_is_a_store_error_and_the_view_is_told(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = await start(timeouts=Timeouts(lease=0.6, handover=1.0, outcome=0.0)), await start()
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    Outage(a, monkeypatch)
    with pytest.raises(StoreError, match="cannot be reached"):
        await call.run({"text": "x"})
    assert (await until_method(page, "tool-cancelled"))["reason"] == "The host could not store the call."


async def test_a_call_whose_result_waits_for_the_store_can_be_cancelled(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if the wait is shielded: a program could not stop for a minute."""
    host = await start()
    call = await host.conversation("c1").begin("notes__show")
    page = await shown(host, call.view, call.token)
    outage = Outage(host, monkeypatch)

    async def run() -> None:
        with pytest.raises(CallCancelledError, match=r"Stop\."):
            await call.run({"text": "x"})

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await outage.failed.wait()
            await call.cancel("Stop.")
    assert (await until_method(page, "tool-cancelled"))["reason"] == "Stop."


async def test_a_result_whose_confirmation_was_lost_reaches_the_view(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if the second attempt finds the result and takes it for that of somebody else."""
    host = await start(timeouts=Timeouts(lease=60.0))  # it compares with the store once in a lease
    call = await host.conversation("c1").begin("notes__show")
    page = await shown(host, call.view, call.token)
    store = runtime_of(host).store
    change, lost = store.change, [True]

    async def lose(id: str, changes: Any, *rest: Any) -> Any:
        changed = await change(id, changes, *rest)
        if "result" in changes and lost:
            lost.pop()
            raise StoreError("Timeout reading from the server.")
        return changed

    monkeypatch.setattr(store, "change", lose)
    await call.run({"text": "x"})
    assert (await until_method(page, "tool-result"))["content"][0]["text"] == "x"


async def test_a_worker_that_was_disconnected_declares_nobody_dead_at_once(start: Start) -> None:
    """Goes red if missing leases count right after the bus was lost: all workers lose them together."""
    a, b = await start(timeouts=Timeouts(lease=60.0)), await start()
    call = await a.conversation("c1").begin("notes__show")
    runtime_of(b).workers._connected_at = math.inf  # it has just connected, for as long as this test runs
    await runtime_of(a).workers._bus.leave(str(runtime_of(a).workers.id))  # type: ignore[union-attr]
    await anyio.sleep(1.5)  # longer than two leases of the second worker
    record = await runtime_of(b).store.load(str(call.view))
    assert record is not None
    assert record.cancelled is None


async def test_an_error_in_one_notification_does_not_lose_the_next(
    start: Start, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Goes red if an error ends the queue of a worker's notifications."""
    a, b = await start(), await start(timeouts=Timeouts(lease=60.0))  # it compares with the store once in a lease
    call = await a.conversation("c1").begin("notes__show")
    page = await shown(b, call.view, call.token)
    refresh = runtime_of(b).views.refresh_call
    failures = [True]

    async def fail_once(view: str) -> None:
        if failures:
            failures.pop()
            await anyio.sleep(0.1)  # until the next one has come
            raise RuntimeError("Not this one.")
        await refresh(view)

    monkeypatch.setattr(runtime_of(b).views, "refresh_call", fail_once)
    await call.run({"text": "x"})
    assert (await until_method(page, "tool-result"))["content"][0]["text"] == "x"
    assert "Not this one." in caplog.text


# Pages


async def test_a_page_that_opens_a_view_elsewhere_takes_it_from_the_other_page(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    first = await shown(a, call.view, call.token)
    second = await shown(b, call.view, call.token)
    await until_method(second, "tool-result")
    await until_frame(first, "elsewhere")
    assert (sessions(a), sessions(b)) == (0, 1)


async def until_frame(page: Page, kind: str) -> dict[str, Any]:
    while (frame := await page.next())["type"] != kind:
        pass
    return frame


async def test_a_page_that_moves_to_another_worker_continues_without_loading(start: Start, notes: Notes) -> None:
    """Goes red if the former holder is not asked to hand the View over."""
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    page.disconnect()
    again = await continued(b, page, call.view, call.token)
    assert again.shown["type"] == "resumed"
    answer = await ask(again, "tools/call", {"name": "write", "arguments": {"text": "b"}})
    assert answer["result"]["content"][0]["text"] == "written: b"
    assert notes.calls == ["x", "b"]
    assert (sessions(a), sessions(b)) == (0, 1)


async def test_a_request_that_is_being_served_gets_its_response_after_the_page_moved(
    start: Start, notes: Notes
) -> None:
    """Goes red if the former holder hands over without waiting for responses."""
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    await page.say({"id": 9, "method": "tools/call", "params": {"name": "write", "arguments": {"text": "slow"}}})
    await until(lambda: _called(notes, "slow"))
    page.disconnect()

    async def release_later() -> None:
        await anyio.sleep(0.2)
        notes.release.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(release_later)
        again = await continued(b, page, call.view, call.token, requests=[{"id": 9, "method": "tools/call"}])
    answer = await again.message()
    assert answer["id"] == 9
    assert answer["result"]["content"][0]["text"] == "written: slow"
    assert notes.calls.count("slow") == 1


async def test_a_request_of_a_view_may_run_until_the_drain_of_its_worker_ends(
    start: Start, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if a worker that stops gives up the request after the handover limit of the next worker."""
    timeouts = Timeouts(lease=0.6, handover=0.5)
    a, b = await start(timeouts=timeouts), await start(timeouts=timeouts)
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    await page.say({"id": 9, "method": "tools/call", "params": {"name": "write", "arguments": {"text": "slow"}}})
    await until(lambda: _called(notes, "slow"))
    request, hand_overs = runtime_of(b).workers.request, []

    async def count(worker: str, message: Any, *more: Any) -> Any:
        hand_overs.append(message)
        if len(hand_overs) == 3:  # the limit has passed twice
            notes.release.set()
        return await request(worker, message, *more)

    monkeypatch.setattr(runtime_of(b).workers, "request", count)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(a.drain, 60.0)
        page.disconnect()
        again = await continued(b, page, call.view, call.token, requests=[{"id": 9, "method": "tools/call"}])
    answer = await again.message()
    assert answer["id"] == 9
    assert answer["result"]["content"][0]["text"] == "written: slow"


async def test_a_request_of_a_view_is_answered_with_an_error_when_the_drain_of_its_worker_ends(
    start: Start, notes: Notes
) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    await page.say({"id": 9, "method": "tools/call", "params": {"name": "write", "arguments": {"text": "slow"}}})
    await until(lambda: _called(notes, "slow"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(a.drain, 1.5)
        page.disconnect()
        again = await continued(b, page, call.view, call.token, requests=[{"id": 9, "method": "tools/call"}])
    answer = await again.message()
    assert answer["id"] == 9
    assert "error" in answer


async def _called(notes: Notes, text: str) -> bool:
    return text in notes.calls


async def test_a_page_cannot_resume_a_view_that_another_page_shows_elsewhere(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    first = await shown(a, call.view, call.token)
    await shown(b, call.view, call.token)
    with pytest.raises(ElsewhereError):
        await continued(a, first, call.view, call.token)
    assert (sessions(a), sessions(b)) == (0, 1)


async def test_a_worker_that_lost_a_view_writes_nothing_and_lets_its_page_know(start: Start) -> None:
    """Goes red if what a session knows is written without comparing the holder."""
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    first = await shown(a, call.view, call.token)
    await until_method(first, "tool-result")
    # The other worker takes the View without being able to ask for it.
    await runtime_of(b).records.change(str(call.view), {"holder": runtime_of(b).workers.id})
    update = {"content": [{"type": "text", "text": "stale"}]}
    await first.say({"id": 9, "method": "ui/update-model-context", "params": update})
    await until_frame(first, "elsewhere")
    assert await a.conversation("c1").context() == []
    assert sessions(a) == 0


async def test_a_stale_session_is_not_resumed_by_the_page_that_left_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goes red if a worker trusts its own session without comparing the holder in the store."""
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    page.disconnect()
    stale = runtime_of(a).views.session(call.view)

    async def get_no_answer(*arguments: Any) -> bool:
        return False

    # As if the first worker had been frozen and never saw that it lost the View.
    monkeypatch.setattr(runtime_of(b).holders, "_taken_over", get_no_answer)
    moved = await continued(b, page, call.view, call.token)
    assert await ask(moved, "tools/call", {"name": "write", "arguments": {"text": "b"}})
    moved.disconnect()
    back = await continued(a, moved, call.view, call.token)
    assert back.shown["type"] == "resumed"
    assert runtime_of(a).views.session(call.view) not in (None, stale)
    assert sessions(b) == 0


async def test_a_dead_holder_does_not_keep_a_view(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(a, call.view, call.token)
    await until_method(page, "tool-result")
    await partition(a)
    again = await continued(b, page, call.view, call.token)
    assert again.shown == {"type": "resumed", "seen": 0, "restarted": True}
    answer = await ask(again, "tools/call", {"name": "write", "arguments": {"text": "b"}})
    assert answer["result"]["content"][0]["text"] == "written: b"


# What an agent does


async def test_tools_of_a_view_are_listed_and_called_by_another_worker(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await Page().open(b, call.view, call.token)
    await page.next()
    await page.ask("ui/initialize", WITH_TOOLS, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    await answer_requests(page, "tools/list", {"tools": [WAVE]})
    chat = a.conversation("c1")

    async def offered() -> str | None:
        return next((tool.name for tool in await chat.tools() if tool.name.endswith("wave")), None)

    name = await until(offered)
    assert await a.conversation("c2").tools() != await chat.tools()
    result: list[Any] = []

    async def wave() -> None:
        result.append((await chat.call_tool(name, {})).text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wave)
        await answer_requests(page, "tools/call", {"content": [{"type": "text", "text": "waved"}]})
    assert result == ["waved"]
    # A page that is gone takes the View's tools with it.
    page.disconnect(closed=True)

    async def withdrawn() -> bool:
        return await offered() is None

    await until(withdrawn)


async def answer_requests(page: Page, method: str, result: dict[str, Any]) -> None:
    """Answer the next request of the host with a method."""
    while (message := await page.message()).get("method") != method:
        pass
    await page.say({"id": message["id"], "result": result})


async def test_context_is_given_once_whichever_worker_asks(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(b, call.view, call.token)
    await until_method(page, "tool-result")
    await ask(page, "ui/update-model-context", {"content": [{"type": "text", "text": "chosen"}]})
    both: list[str] = []

    async def take(host: Host) -> None:
        both.extend(update.text for update in await host.conversation("c1").context())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(take, a)
        tasks.start_soon(take, b)
    assert both == ["chosen"]


async def test_a_view_is_closed_by_another_worker(start: Start) -> None:
    a, b = await start(), await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    page = await shown(b, call.view, call.token)
    await until_method(page, "tool-result")
    view = str(call.view)
    assert (await a.view(view)).state == "shown"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(a.close_view, view)
        await answer_requests(page, "ui/resource-teardown", {})
        await until_frame(page, "closed")
    assert (await b.view(view)).state == "closed"
    assert sessions(b) == 0
    with pytest.raises(UnknownViewError):
        await a.close_view(view)


async def test_a_view_that_no_page_has_shown_can_be_closed(start: Start) -> None:
    a = await start()
    call = await a.conversation("c1").call_tool("notes__show", {"text": "x"})
    await a.close_view(str(call.view))
    assert (await a.view(str(call.view))).state == "closed"


async def test_erasing_a_user_ends_the_sessions_of_all_workers(start: Start) -> None:
    def identify(connection: Any) -> str:
        return "alice"

    a, b = await start(user=identify), await start(user=identify)
    call = await a.conversation("c1", user="alice").call_tool("notes__show", {"text": "x"})
    page = await Page().open(b, call.view, call.token, user="alice")
    assert (await page.next())["type"] == "show"
    await a.forget(user="alice")
    await until_frame(page, "closed")
    assert sessions(b) == 0


async def test_pages_of_a_user_are_disconnected_by_another_worker(start: Start) -> None:
    def identify(connection: Any) -> str:
        return "alice"

    a, b = await start(user=identify), await start(user=identify)
    call = await a.conversation("c1", user="alice").call_tool("notes__show", {"text": "x"})
    page = await Page().open(b, call.view, call.token, user="alice")
    await a.disconnect("alice")

    async def is_closed() -> bool:
        return page.closed is not None

    await until(is_closed)


# Servers that keep state

COUNTER = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("counter")
counts = []


@server.tool()
async def count(text: str, ctx: Context) -> str:
    counts.append(text)
    await ctx.report_progress(1, 2, "half")
    if text == "fail":
        raise ValueError("No.")
    return " ".join(counts) + "." * (100_000 if text == "long" else 0)


server.run("stdio")
"""


@pytest.fixture
def counter(tmp_path: Path) -> dict[str, Any]:
    script = tmp_path / "counter.py"
    script.write_text(COUNTER)
    return {"command": sys.executable, "args": [str(script)], "affinity": "conversation"}


async def count(host: Host, conversation: str, text: str) -> str:
    """Let the counter of a conversation count a text, and return all that it has counted."""
    return (await host.conversation(conversation).call_tool("counter__count", {"text": text})).text


async def test_with_affinity_a_conversation_uses_the_process_of_one_worker(
    start: Start, counter: dict[str, Any], redis_server: RedisServer
) -> None:
    """Goes red if requests are sent to the process of the worker that they come from."""
    # A worker that is too busy to renew its lease would lose the conversation.
    options = {"servers": {"counter": counter}, "timeouts": Timeouts(lease=60.0)}
    a, b = await start(**options), await start(**options)
    assert await count(a, "c1", "1") == "1"
    assert await count(b, "c1", "2") == "1 2"
    assert await count(b, "c2", "x") == "x"
    assert await count(a, "c2", "y") == "x y"
    failed = await b.conversation("c1").call_tool("counter__count", {"text": "fail"})
    assert failed.result is not None
    assert failed.result["isError"] is True
    # A result that is too large for the bus goes through the store.
    assert len(await count(b, "c1", "long")) > 100_000
    assert longest_message(redis_server) < 70_000
    # Another worker owns the conversation when its owner has ended, with a process that knows nothing of it.
    await partition(a)

    async def has_ended() -> bool:
        return runtime_of(a).workers.id not in await runtime_of(b).workers.alive()

    await until(has_ended)  # a may have renewed its lease while it was cut off
    assert await count(b, "c1", "3") == "x y 3"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            CredentialsRejectedError("counter", "alice", 403),
            "counter does not accept your sign-in any more. Sign in again.",
        ),
        (SignInRequiredError("counter", "alice", "https://accounts.example"), "Sign in to counter first."),
        (NotConnectedError("counter", "not connected."), "counter cannot be reached at the moment."),
    ],
)
async def test_an_error_of_the_owner_of_a_conversation_is_the_same_at_every_worker(
    start: Start,
    counter: dict[str, Any],
    error: CallCancelledError,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goes red if rejected credentials come as a server that cannot be reached."""
    options = {"servers": {"counter": counter}, "timeouts": Timeouts(lease=60.0)}
    a, b = await start(**options), await start(**options)
    await count(a, "c1", "1")

    async def fail(*arguments: Any) -> Any:
        raise error

    monkeypatch.setattr(runtime_of(a).router, "_call_tool", fail)
    with pytest.raises(CallCancelledError) as raised:
        await count(b, "c1", "2")
    assert type(raised.value) is type(error)
    assert str(raised.value) == str(error)
    assert raised.value.user_message == words
    assert vars(raised.value) == vars(error)


async def test_commands_without_affinity_are_reported_when_workers_share_a_bus(
    start: Start, counter: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    del counter["affinity"]
    await start(servers={"counter": counter})
    assert "Each worker starts its own process of counter." in caplog.text
    caplog.clear()
    await start(servers={"counter": {**counter, "affinity": "none"}})
    assert "Each worker starts" not in caplog.text


async def test_programs_with_other_stores_ignore_each_other_on_one_bus(start: Start, tmp_path: Path) -> None:
    """Goes red if all workers of a bus count as one program: they would erase each other's users."""
    a, b = await start(), await start(store=f"sqlite:///{tmp_path / 'other.db'}")
    for host in (a, b):
        workers = runtime_of(host).workers
        assert list(await workers.alive()) == [workers.id]
    call = await b.conversation("c1", user="alice").call_tool("notes__show", {})
    page = await Page().open(b, call.view, call.token, user="alice")
    await a.disconnect("alice")
    assert page.closed is None
    await b.disconnect("alice")
    await until(lambda: is_closed(page))


async def is_closed(page: Page) -> bool:
    return page.closed is not None


async def test_workers_with_the_same_store_and_other_servers_warn(
    start: Start, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    await start()
    await start(servers={"other": Notes().server})

    async def are_warned() -> bool:
        found = [record.getMessage() for record in caplog.records if "has other servers" in record.getMessage()]
        return {text.partition(": ")[2].partition(". ")[0] for text in found} == {
            "other instead of notes",
            "notes instead of other",
        }

    await until(are_warned)
    assert "?namespace=chat" in caplog.text


async def test_workers_with_the_same_servers_do_not_warn(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    await start()
    await start()
    await anyio.wait_all_tasks_blocked()
    assert "has other servers" not in caplog.text


async def test_forgetting_without_the_bus_raises_a_bus_error(start: Start) -> None:
    """Goes red if the error comes as a group, which no program catches."""
    a = await start()
    await partition(a)
    with pytest.raises(BusError, match=r"^Redis: "):
        await a.forget(user="alice")


# Retention


async def test_an_old_view_that_another_worker_shows_is_kept(start: Start) -> None:
    """Goes red if a worker keeps only the Views of its own sessions."""
    a, b = await start(), await start(timeouts=Timeouts(lease=0.6, handover=1.0, linger=0.05))
    kept = await a.conversation("c1").call_tool("notes__show", {})
    left = await a.conversation("c1").call_tool("notes__show", {})
    page = await shown(b, kept.view, kept.token)
    (await shown(b, left.view, left.token)).disconnect()
    chat = a.conversation("c1")

    async def is_erased() -> bool:
        await a.forget(older_than=timedelta(0))
        return [view.id for view in await chat.views()] == [kept.view]

    # A View whose session has ended, because no page shows it any more, is not kept.
    await until(is_erased)
    assert (await ask(page, "ping", {}))["result"] == {}


# Configuration


def test_a_bus_needs_a_store_that_is_shared() -> None:
    for store in (None, MemoryStore()):
        with pytest.raises(ArgumentError, match="the store is in memory"):
            Host({}, store=store, bus="redis://localhost")


@pytest.mark.parametrize("lease", [0, 0.01, math.inf])
def test_a_lease_has_a_length(lease: float) -> None:
    with pytest.raises(ArgumentError, match=r"lease is .*, expected a number of seconds from 0\.1 up\."):
        Timeouts(lease=lease)


def test_a_bus_is_a_redis() -> None:
    with pytest.raises(ArgumentError, match=r"bus is 'amqp://localhost', expected"):
        Host({}, store="sqlite:///x.db", bus="amqp://localhost")


@pytest.mark.parametrize("option", ["store", "bus"])
def test_errors_have_no_password(option: str) -> None:
    options: dict[str, Any] = {"store": "sqlite:///x.db", option: "amqp://chat:p@ss/word@localhost"}
    with pytest.raises(ArgumentError, match=r"is 'amqp://\.\.\.@localhost', expected"):
        Host({}, **options)


def test_a_store_in_redis_is_the_bus_too(redis_server: RedisServer) -> None:
    assert runtime_of(Host({}, store=redis_server.url)).workers.has_bus
