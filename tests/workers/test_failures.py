"""What happens when a worker, a database or the way between them fails while people use Views."""

import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from playwright.async_api import expect

from support import ledger
from support.chat import Chat, ShownView, eventually
from support.cluster import LEASE, Cluster, ControlError
from support.network import sockets_to

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]

NOT_REPEATED = "may have been carried out, so it was not repeated"


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """The workers. Sockets of pages are on `b`, and on any other once `b` is gone."""
    cluster.route(sockets_to("b"))
    return cluster


@pytest.fixture
async def view(chat: Chat) -> ShownView:
    """A View whose call was made on `a` and whose page is on `b`, with something typed into it."""
    view = await chat.shown(await chat.call("a", "first"))
    await view.has_received("input", "result")
    await view.type("typed by a user")
    return view


async def goes_on(chat: Chat, view: ShownView, *received: str) -> None:
    """Check that a View works, was not loaded again, and was sent what it should have been, once."""
    text = chat.text("goes on")
    assert await view.write(text) == f"ok: {text}"
    await view.was_not_loaded_again("typed by a user")
    await view.has_received(*(received or ("input", "result")))
    assert chat.repeated() == []


class Running:
    """A call of the model that runs in a worker while a test goes on."""

    def __init__(self, chat: Chat, worker: str, call: int, text: str) -> None:
        self.text = text
        self._work = chat.cluster[worker].control("run", call=call, arguments={"text": text, "gate": text})
        self.outcome: Any = None

    async def __call__(self) -> None:
        try:
            self.outcome = (await self._work)["structuredContent"]["text"]
        except ControlError as error:
            self.outcome = error.kind
        except httpx2.TransportError:
            self.outcome = "lost"

    @property
    def has_ended(self) -> bool:
        return self.outcome is not None


async def run_held(chat: Chat, worker: str, tasks: anyio.abc.TaskGroup) -> tuple[ShownView, Running]:
    """Run a call on a worker, which the server does not finish before its gate is open, and show its View."""
    call, id = await chat.begin(worker)
    view = await chat.shown(id)
    await view.type("typed by a user")
    running = Running(chat, worker, call, chat.text("held"))
    tasks.start_soon(running)
    await eventually(lambda: chat.cluster.record.has("start", chat.text("held")))
    return view, running


async def call_state(cluster: Cluster, worker: str, view: str) -> str:
    state: str = (await cluster[worker].control("view", view=view))["call"]
    return state


# kill -9


async def test_a_view_goes_on_after_kill_9_of_the_worker_that_has_its_socket(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    slow = chat.text("slow")
    await view.start("write", slow, slow)
    await eventually(lambda: cluster.record.has("start", slow))
    cluster["b"].kill()
    assert NOT_REPEATED in await view.outcome(slow)
    await goes_on(chat, view)
    records = await cluster["a"].control("audit", view=view.id, name="tools/call")
    assert [record["outcome"] for record in records] == ["lost", "ok"]


async def test_a_request_that_was_made_while_no_worker_was_there_is_served_by_the_next_one(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    for worker in ("a", "b", "c"):
        cluster[worker].kill()
    await expect(view.page.status).to_contain_text("Reconnecting…")  # until then, the page uses the lost connection
    await view.start("write", chat.text("waiting"))
    await cluster.start("c")
    assert await view.outcome(chat.text("waiting")) == f"ok: {chat.text('waiting')}"
    await goes_on(chat, view)
    await expect(view.page.status).to_be_empty()


async def test_a_call_that_a_killed_worker_ran_is_recorded_and_shown_as_cancelled(chat: Chat, cluster: Cluster) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "a", tasks)
        cluster["a"].kill()
        await view.has_received("input", "cancelled")
        assert await call_state(cluster, "c", view.id) == "cancelled"
        await eventually(lambda: running.has_ended)
    assert running.outcome == "lost"
    await goes_on(chat, view, "input", "cancelled")


async def test_a_call_whose_arguments_a_killed_worker_streamed_is_shown_as_cancelled(
    chat: Chat, cluster: Cluster
) -> None:
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    await view.type("typed by a user")
    await cluster["a"].control("feed", call=call, delta='{"text": "half of')
    await expect(view.frame.locator("#partial")).to_have_text("half of")
    cluster["a"].kill()
    await expect(view.frame.locator("#shown")).to_contain_text("cancelled")
    assert await call_state(cluster, "b", id) == "cancelled"


async def test_a_worker_that_dies_with_a_call_and_its_page_leaves_neither_waiting(chat: Chat, cluster: Cluster) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "b", tasks)
        cluster["b"].kill()
        await view.has_received("input", "cancelled")
        await eventually(lambda: running.has_ended)
    await goes_on(chat, view, "input", "cancelled")


async def test_the_only_worker_goes_on_after_kill_9_and_a_new_start(chat: Chat, cluster: Cluster) -> None:
    for name in ("a", "c"):
        cluster[name].kill()
    async with anyio.create_task_group() as tasks:
        view, _ = await run_held(chat, "b", tasks)
        cluster["b"].kill()
        await cluster.start("b")
        await view.has_received("input", "cancelled")
    await goes_on(chat, view, "input", "cancelled")


# Databases


@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
async def test_views_go_on_after_redis_was_restarted(
    crash: bool, chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await anyio.to_thread.run_sync(lambda: cluster.redis.stop(kill=crash))
    await view.start("write", chat.text("meanwhile"))
    await anyio.to_thread.run_sync(cluster.redis.start)
    await view.outcome(chat.text("meanwhile"))
    await goes_on(chat, view)
    await crosses_workers(chat, cluster)


async def test_views_wait_with_a_message_while_redis_is_gone_and_then_go_on(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    """Redis is gone for longer than every lease."""
    for worker in cluster.workers.values():
        worker.redis.flow.refuse()
    await expect(view.page.status).not_to_be_empty()
    await view.start("write", chat.text("meanwhile"))
    await anyio.sleep(LEASE)  # not a wait: the leases have to expire
    for worker in cluster.workers.values():
        worker.redis.flow.go_on()
    await view.outcome(chat.text("meanwhile"))
    await goes_on(chat, view)
    await expect(view.page.status).to_be_empty()
    await crosses_workers(chat, cluster)


async def test_a_call_that_ran_while_redis_was_gone_has_one_outcome_for_all(chat: Chat, cluster: Cluster) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "a", tasks)
        for worker in cluster.workers.values():
            worker.redis.flow.refuse()
        await anyio.sleep(LEASE * 1.5)  # not a wait: the leases have to expire
        for worker in cluster.workers.values():
            worker.redis.flow.go_on()
        cluster.record.open_gate(chat.text("held"))
        await eventually(lambda: running.has_ended)
    await agrees(cluster, view, running)


@pytest.mark.parametrize("kind", ["postgres"])
@pytest.mark.parametrize("crash", [False, True], ids=["stopped", "killed"])
async def test_views_go_on_after_postgresql_was_restarted(
    crash: bool, chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    assert cluster.postgres is not None
    await anyio.to_thread.run_sync(lambda: cluster.postgres.stop(kill=crash))  # type: ignore[union-attr]
    await view.start("write", chat.text("meanwhile"))
    await anyio.to_thread.run_sync(cluster.postgres.start)
    await view.outcome(chat.text("meanwhile"))
    await goes_on(chat, view)
    await crosses_workers(chat, cluster)


async def test_a_slow_store_delays_views_and_loses_nothing(chat: Chat, cluster: Cluster, view: ShownView) -> None:
    for forwarder in cluster.databases():
        forwarder.flow.slow(0.05)
    for number in range(3):
        await view.start("write", chat.text(f"slow {number}"))
    for number in range(3):
        text = chat.text(f"slow {number}")
        assert await view.outcome(text) == f"ok: {text}"
    other = await chat.shown(await chat.call("c", "slowly"))
    await other.has_received("input", "result")
    for forwarder in cluster.databases():
        forwarder.flow.go_on()
    await goes_on(chat, view)


async def crosses_workers(chat: Chat, cluster: Cluster) -> None:
    """Check that the bus works: a call of one worker reaches the page of another."""
    cluster.route(sockets_to("c"))
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    await cluster["a"].control("run", call=call, arguments={"text": chat.text("across")})
    await view.has_received("input", "result")


async def agrees(cluster: Cluster, view: ShownView, running: Running) -> None:
    """Check that the record, the View and the program have the same outcome of a call, and that it stays so."""

    async def states() -> set[str]:
        return {await call_state(cluster, worker, view.id) for worker in ("a", "b", "c")}

    assert running.outcome in ("CallCancelledError", "StoreError", running.text)
    expected = "done" if running.outcome == running.text else "cancelled"
    await view.has_received("input", "result" if expected == "done" else "cancelled")
    assert await states() == {expected}


# Partitions


async def test_a_frozen_worker_that_lost_its_lease_changes_nothing_when_it_comes_back(
    chat: Chat, cluster: Cluster
) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "b", tasks)
        await view.start("write", chat.text("request"), chat.text("request"))
        await eventually(lambda: cluster.record.has("start", chat.text("request")))
        cluster["b"].freeze()
        # What a balancer does with a worker that does not answer health checks.
        cluster.balancer.flow("b").refuse()
        await view.has_received("input", "cancelled")
        assert NOT_REPEATED in await view.outcome(chat.text("request"))
        cluster.record.open_gate(chat.text("held"))
        cluster.record.open_gate(chat.text("request"))
        await eventually(lambda: cluster.record.has("end", chat.text("held")))
        cluster["b"].thaw()
        await eventually(lambda: running.has_ended)
    assert running.outcome == "CallCancelledError"
    await goes_on(chat, view, "input", "cancelled")
    assert await call_state(cluster, "b", view.id) == "cancelled"
    assert await call_state(cluster, "c", view.id) == "cancelled"


@pytest.mark.parametrize("kind", ["postgres"])
async def test_the_pages_of_a_worker_without_redis_go_on_at_another_one(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    """The worker itself lives, and reaches the store and the server."""
    cluster["b"].redis.flow.refuse()
    cluster.route()  # the workers take turns, and `b` refuses the pages that come to it
    await eventually(lambda: cluster.balancer.sockets("a") + cluster.balancer.sockets("c") > 0)
    await goes_on(chat, view)
    assert not await cluster["b"].is_ready()


@pytest.mark.parametrize("kind", ["postgres"])
async def test_a_worker_that_reaches_the_store_late_does_not_overwrite_what_another_has_written(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    store = cluster["b"].postgres
    assert store is not None
    store.flow.pause(back=False)
    await view.start("share", chat.text("old"))
    await view.page.has_sent("ui/update-model-context")
    cluster.route(sockets_to("c"))
    cluster.balancer.flow("b").cut()
    await view.outcome(chat.text("old"))
    await view.start("share", chat.text("new"))
    assert await view.outcome(chat.text("new")) == "ok: "
    store.flow.go_on()

    async def has_written() -> bool:
        return bool((await cluster["b"].control("view", view=view.id))["state"] == "shown")

    await eventually(has_written)
    await goes_on(chat, view)
    assert await chat.control("a", "context") == [chat.text("new")]


@pytest.mark.parametrize("kind", ["postgres"])
async def test_a_call_of_a_worker_without_a_lease_has_one_outcome_for_all(chat: Chat, cluster: Cluster) -> None:
    """The worker still reaches the store, which has what another worker wrote about the call."""
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "a", tasks)
        cluster["a"].redis.flow.refuse()
        await view.has_received("input", "cancelled")
        cluster.record.open_gate(chat.text("held"))
        await eventually(lambda: cluster.record.has("end", chat.text("held")))
        cluster["a"].redis.flow.go_on()
        await eventually(lambda: running.has_ended)
    assert running.outcome == "CallCancelledError"
    await goes_on(chat, view, "input", "cancelled")


# Stopping


async def test_a_worker_that_is_stopped_hands_its_views_over_and_finishes_its_calls(
    chat: Chat, cluster: Cluster
) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "b", tasks)
        cluster["b"].terminate()
        await eventually(lambda: cluster.balancer.sockets("a") + cluster.balancer.sockets("c") > 0)
        text = chat.text("at another worker")
        assert await view.write(text) == f"ok: {text}"
        cluster.record.open_gate(chat.text("held"))
        await eventually(lambda: running.has_ended)
    assert running.outcome == chat.text("held")
    await cluster["b"].wait()
    await goes_on(chat, view, "input", "result")


async def test_a_drained_worker_takes_no_pages_and_cancels_its_calls_at_the_deadline(
    chat: Chat, cluster: Cluster
) -> None:
    async with anyio.create_task_group() as tasks:
        view, running = await run_held(chat, "b", tasks)
        try:
            await cluster["b"].control("drain", seconds=0.2)
            assert not await cluster["b"].is_ready()
            cluster.route()  # the workers take turns, and `b` refuses the pages that come to it
            await eventually(lambda: running.has_ended)
            assert running.outcome == "CallCancelledError"
            await goes_on(chat, view, "input", "cancelled")
        finally:
            cluster["b"].kill()


async def test_requests_that_a_stopping_worker_has_received_are_answered(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    slow = chat.text("slow")
    await view.start("write", slow, slow)
    await eventually(lambda: cluster.record.has("start", slow))
    cluster["b"].terminate()
    await eventually(lambda: cluster.balancer.sockets("a") + cluster.balancer.sockets("c") > 0)
    cluster.record.open_gate(slow)
    assert await view.outcome(slow) == f"ok: {slow}"
    await goes_on(chat, view)
    await cluster["b"].wait()


# Servers that are processes of a worker


def local_server(cluster: Cluster, **options: Any) -> dict[str, Any]:
    """Return the configuration of the server `ledger` as a process of each worker."""
    return {"local": {"command": sys.executable, "args": [str(ledger.__file__), str(cluster.folder)], **options}}


async def counted(chat: Chat, worker: str) -> tuple[int, int]:
    """Count on a worker, and return the count and the id of the server's process."""
    arguments = {"text": chat.id}
    result = (await chat.control(worker, "call_tool", tool="local__count", arguments=arguments))["result"]
    return result["structuredContent"]["count"], result["structuredContent"]["pid"]


@pytest.mark.parametrize("kind", ["redis"])
async def test_all_calls_of_a_conversation_go_to_the_worker_that_owns_it(chat: Chat, cluster: Cluster) -> None:
    """And to another one after that worker has died."""
    for name in ("d", "e"):
        cluster.add(name, servers={**cluster.servers, **local_server(cluster, affinity="conversation")})
    await cluster.start("d", "e")
    cluster.route(sockets_to("e"))
    try:
        first, pid = await counted(chat, "d")
        assert [await counted(chat, worker) for worker in ("e", "d", "e")] == [(2, pid), (3, pid), (4, pid)]
        assert first == 1
        owner = next(name for name in ("d", "e") if pid in children(cluster[name].pid))
        other = "e" if owner == "d" else "d"
        cluster[owner].kill()

        async def has_moved() -> bool:
            try:
                return await counted(chat, other) is not None
            except ControlError:
                return False

        await eventually(has_moved)
        count, new = await counted(chat, other)
        assert new in children(cluster[other].pid)
        assert count > 0
    finally:
        await cluster.remove("d", "e")


@pytest.mark.parametrize("kind", ["redis"])
async def test_a_command_without_affinity_is_warned_about_at_the_start_of_a_worker(cluster: Cluster) -> None:
    worker = cluster.add("f", servers=local_server(cluster))
    await cluster.start("f")
    try:
        log = worker.log.read_text(encoding="utf-8")
        assert "affinity" in log
        assert "local" in log
    finally:
        await cluster.remove("f")


def children(pid: int) -> set[int]:
    """Return the ids of all processes that a process has started."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found |= {int(child)} | children(int(child))
    return found
