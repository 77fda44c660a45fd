"""Requests and notifications between workers, over a bus in memory: what each end does when the other one fails."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from fanlight.host import BusError, MemoryStore, RequestError, WorkerLostError
from fanlight.host.bus.messages import (
    CallChanged,
    CancelBegun,
    CloseView,
    PartialInput,
    ViewHeld,
    WorkerMessage,
    from_json,
)
from fanlight.host.bus.workers import OnProgress, Workers
from fanlight.host.tasks import HostTasks
from support.memory_bus import Network

pytestmark = pytest.mark.anyio

CLOSE = CloseView("v1")


class Peer:
    """One worker, with a handler that records what it gets."""

    def __init__(self, network: Network, max_bytes: int) -> None:
        self.tasks = HostTasks()
        self.bus = network.bus()
        self.workers = Workers(self.bus, STORE, self.tasks, max_bytes)
        self.notified: list[WorkerMessage] = []
        self.arrived = anyio.Event()
        self.cancelled = anyio.Event()
        self.answer: Any = {}
        """The result of each request, an exception to raise, or None to answer never."""
        self.disconnected = anyio.Event()

    @property
    def id(self) -> str:
        assert self.workers.id is not None
        return self.workers.id

    async def notify(self, sender: str, message: WorkerMessage) -> None:
        self.notified.append(message)
        self.arrived.set()

    async def serve(self, sender: str, message: WorkerMessage, progress: OnProgress) -> dict[str, Any]:
        self.arrived.set()
        await progress(1.0, 2.0, "half")
        if self.answer is None:
            try:
                await anyio.sleep_forever()
            finally:
                self.cancelled.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: dict[str, Any] = self.answer
        return answer

    async def disconnect_pages(self) -> None:
        self.disconnected.set()

    async def resynchronise(self) -> None:
        pass


STORE = MemoryStore()


@asynccontextmanager
async def two_peers(max_bytes: int = 65_536) -> AsyncIterator[tuple[Network, Peer, Peer]]:
    network = Network()
    a, b = Peer(network, max_bytes), Peer(network, max_bytes)
    async with a.tasks, b.tasks:
        await a.workers.start(a)
        await b.workers.start(b)
        with anyio.fail_after(60):
            while len(network.leases) < 2:  # noqa: ASYNC110  there is no event for it
                await anyio.sleep(0.001)
            yield network, a, b


async def test_a_request_returns_the_result_and_its_progress() -> None:
    async with two_peers() as (_, a, b):
        reports: list[tuple[float, float | None, str | None]] = []
        reported = anyio.Event()

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            reports.append((progress, total, message))
            reported.set()

        b.answer = {"x": 1}
        assert await a.workers.request(b.id, CLOSE, 60, on_progress) == {"x": 1}
        await reported.wait()
        assert reports == [(1.0, 2.0, "half")]


async def test_an_error_keeps_its_code_and_data() -> None:
    async with two_peers() as (_, a, b):
        b.answer = RequestError("No such View.", -32010, {"why": "closed"})
        with pytest.raises(RequestError, match=r"^No such View\.$") as raised:
            await a.workers.request(b.id, CLOSE, 60)
        assert (raised.value.code, raised.value.data) == (-32010, {"why": "closed"})


async def test_details_of_an_unexpected_error_stay_in_the_log_of_its_worker(caplog: pytest.LogCaptureFixture) -> None:
    async with two_peers() as (_, a, b):
        b.answer = ValueError("a secret of b")
        with pytest.raises(RequestError, match=r"^The host failed to answer\.$"):
            await a.workers.request(b.id, CLOSE, 60)
    assert "while serving a CloseView of another worker" in caplog.text
    assert "a secret of b" in caplog.text


async def test_a_request_that_nobody_answers_in_time_is_lost_and_its_work_is_cancelled() -> None:
    async with two_peers() as (_, a, b):
        b.answer = None
        with pytest.raises(WorkerLostError, match=r"did not answer in 0\.2 seconds"):
            await a.workers.request(b.id, CLOSE, 0.2)
        await b.cancelled.wait()


async def test_a_worker_that_dies_during_a_request_is_not_waited_for() -> None:
    async with two_peers() as (network, a, b):
        b.answer = None

        async def kill() -> None:
            await b.arrived.wait()
            del network.leases[b.id]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(kill)
            with pytest.raises(WorkerLostError, match="has ended"):
                await a.workers.request(b.id, CLOSE, 3600)


async def test_a_request_goes_on_while_it_is_not_known_whether_the_other_worker_is_alive() -> None:
    """Goes red if a failure of the bus counts as the death of a worker."""
    async with two_peers() as (network, a, b):
        b.answer = None

        async def answer() -> None:
            await b.arrived.wait()
            network.is_down = True
            while not network.failures:  # noqa: ASYNC110  until the other worker is looked for
                await anyio.sleep(0.01)
            network.is_down = False
            request = json.loads(network.sent[0][1])["id"]
            response = {"type": "Response", "request": request, "result": {"x": 1}}
            network.leases[a.id](json.dumps({"id": "1", "from": b.id, "request": False, "body": response}), 0.0)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer)
            assert await a.workers.request(b.id, CLOSE, 60) == {"x": 1}


async def test_requests_fail_at_once_to_oneself_to_the_dead_and_without_a_bus() -> None:
    async with two_peers() as (network, a, b):
        with pytest.raises(WorkerLostError, match="This process has no such session"):
            await a.workers.request(a.id, CLOSE, 3600)
        with pytest.raises(WorkerLostError, match="has ended"):
            await a.workers.request("dead", CLOSE, 3600)
        network.is_down = True
        with pytest.raises(WorkerLostError, match=r"cannot be reached: The network is down\."):
            await a.workers.request(b.id, CLOSE, 3600)


async def test_a_notification_that_cannot_be_sent_is_logged_and_raises_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two_peers() as (network, a, b):
        network.is_down = True
        assert not await a.workers.notify(b.id, CallChanged("v1"))
        assert "A CallChanged message was not sent: The network is down." in caplog.text
        with pytest.raises(BusError):
            await a.workers.broadcast(CallChanged("v1"))
        with pytest.raises(BusError):
            await a.workers.check()


async def test_a_worker_that_does_not_answer_all_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with two_peers() as (_, a, b):
        b.answer = RequestError("Busy.")
        await a.workers.request_all(lambda worker: CancelBegun(None, "c1"), 60)
    assert "A worker did not answer a CancelBegun: Busy." in caplog.text


async def test_partial_input_that_is_too_large_is_dropped_and_other_messages_go_through_the_store() -> None:
    async with two_peers(max_bytes=400) as (network, a, b):
        assert await a.workers.notify(b.id, PartialInput("v1", {"text": "x" * 1000}))
        assert network.sent == []
        assert await a.workers.notify(b.id, CallChanged("v" * 1000))
        await b.arrived.wait()
        assert b.notified == [CallChanged("v" * 1000)]
        assert max(len(text) for _, text in network.sent) < 400


async def test_a_request_of_another_version_is_answered_and_a_notification_of_it_ignored() -> None:
    async with two_peers() as (network, a, b):
        unknown = {"type": "FromTheFuture"}
        network.leases[b.id](json.dumps({"id": "1", "from": a.id, "request": False, "body": unknown}), 0.0)
        network.leases[b.id](json.dumps({"id": "2", "from": a.id, "request": True, "body": unknown}), 0.0)
        while not network.sent:  # noqa: ASYNC110  there is no event for it
            await anyio.sleep(0.001)
        ((worker, text),) = network.sent
        answer = json.loads(text)["body"]
        assert (worker, answer["request"]) == (a.id, "2")
        assert answer["error"]["message"] == "The other process is of another version of Fanlight."
    assert from_json({"type": "CloseView", "view": "v1", "unknown": 1}) is None


async def test_messages_that_nobody_waits_for_change_nothing() -> None:
    """A request that came too late, a response after the timeout, progress and a cancellation of what is over."""
    async with two_peers() as (network, a, b):
        receive = network.leases[b.id]
        envelope = {"from": a.id, "request": False}
        close = {"type": "CloseView", "view": "v1"}
        receive(json.dumps({"id": "1", "from": a.id, "request": True, "seconds": 2.0, "body": close}), 2.5)
        for number, body in enumerate(
            (
                {"type": "Response", "request": "gone", "result": {}},
                {"type": "RequestProgress", "request": "gone", "progress": 1.0, "total": None, "message": None},
                {"type": "RequestCancelled", "request": "gone"},
                {"type": "ViewHeld", "view": "v1"},
            )
        ):
            receive(json.dumps({**envelope, "id": str(number), "body": body}), 0.0)
        await b.arrived.wait()
        assert b.notified == [ViewHeld("v1")]
        assert network.sent == []


async def test_a_worker_without_a_lease_disconnects_its_pages_until_it_has_one_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two_peers() as (_, a, _b):
        assert a.bus.lose is not None
        assert a.bus.return_ is not None
        await a.bus.lose()
        await a.disconnected.wait()
        assert a.workers.is_cut_off
        await a.bus.return_()
        assert not a.workers.is_cut_off
    assert "The lease of this worker has ended" in caplog.text


async def test_a_host_without_a_bus_has_no_other_workers() -> None:
    workers = Workers(None, STORE, HostTasks(), 1000)
    assert not workers.has_bus
    assert await workers.alive() == ()
    assert await workers.owner("affinity", "notes") is None
    assert not await workers.notify("other", CallChanged("v1"))
    await workers.check()
    await workers.leave()
    assert workers.id is None
