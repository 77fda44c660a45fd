"""kill -9 at every phase of a call and of a View's request, and random faults while two users work.

`make test` runs a few random faults with a fixed seed, and `make faults RUNS=200 SEED=7` as many as you like. A failure
prints its seed, and what happened when.
"""

import os
from collections.abc import AsyncIterator, Callable

import anyio
import httpx2
import pytest
from playwright.async_api import Browser, expect

from support.chat import Chat, ShownView, eventually
from support.cluster import TIMEOUTS, Cluster
from support.faults import FAULTS, WORKERS, Load, stop_workers
from support.network import sockets_to

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]

SEED = int(os.environ.get("FAULT_SEED", "1"))
RUNS = int(os.environ.get("FAULT_RUNS", "6"))
"""How many faults happen in all, half of them with each store."""
EPISODES = 3
"""How many faults happen to the same pages, one after the other."""
SEEDS = range(SEED, SEED + max(RUNS // (2 * EPISODES), 1))

NOT_REPEATED = "may have been carried out, so it was not repeated"


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """The workers. Sockets of pages are on `b`, and on any other once `b` is gone."""
    cluster.route(sockets_to("b"))
    return cluster


async def view_of(chat: Chat, worker: str) -> tuple[int, ShownView]:
    """Begin a call on a worker, and show its View in a page on `b`."""
    call, id = await chat.begin(worker)
    view = await chat.shown(id)
    await view.type("typed by a user")
    return call, view


async def check(chat: Chat, view: ShownView, *outcomes: str) -> None:
    """Check that a View has one of these outcomes, works, and that nothing was executed twice."""

    async def has_outcome() -> bool:
        return (await view.frame.locator("#shown").inner_text()).split(" ")[-1] in outcomes

    await eventually(has_outcome)
    text = chat.text("after")
    written = await view.write(text)
    if "restarted before it answered" in written:  # the page had not yet noticed that its worker was killed
        text = chat.text("again")
        written = await view.write(text)
    assert written == f"ok: {text}"
    await view.was_not_loaded_again("typed by a user")
    assert chat.repeated() == []

    async def recorded() -> bool:
        states = {(await chat.cluster[name].control("view", view=view.id))["call"] for name in ("a", "c")}
        shown = (await view.frame.locator("#shown").inner_text()).split(" ")[-1]
        return states == {"done" if shown == "result" else "cancelled"}

    await eventually(recorded)


# Phases of a call. The caller is `a`, the page is on `b`; or both are on `b`.

CALLERS = pytest.mark.parametrize("caller", ["a", "b"], ids=["another worker", "the worker with the page"])


async def kill_and_check(chat: Chat, caller: str, view: ShownView, *outcomes: str) -> None:
    chat.cluster[caller].kill()
    chat.cluster.balancer.flow(caller).cut()
    if caller == "a":
        await chat.cluster.start("a")
    await check(chat, view, *outcomes)


@CALLERS
@pytest.mark.parametrize("kind", ["postgres"])
async def test_kill_9_after_a_call_was_begun(caller: str, chat: Chat) -> None:
    _, view = await view_of(chat, caller)
    await kill_and_check(chat, caller, view, "cancelled")


@CALLERS
@pytest.mark.parametrize("kind", ["redis"])
async def test_kill_9_while_arguments_are_streamed(caller: str, chat: Chat, cluster: Cluster) -> None:
    call, view = await view_of(chat, caller)
    await cluster[caller].control("feed", call=call, delta='{"text": "half of')
    await expect(view.frame.locator("#partial")).to_have_text("half of")
    await kill_and_check(chat, caller, view, "cancelled")


@CALLERS
@pytest.mark.parametrize("kind", ["postgres"])
async def test_kill_9_while_a_call_runs(caller: str, chat: Chat, cluster: Cluster) -> None:
    call, view = await view_of(chat, caller)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, chat, caller, call, "never")
        await eventually(lambda: cluster.record.has("start", chat.text("x")))
        await kill_and_check(chat, caller, view, "cancelled")


@CALLERS
@pytest.mark.parametrize("kind", ["redis"])
async def test_kill_9_after_the_result_was_stored_and_before_the_page_got_it(
    caller: str, chat: Chat, cluster: Cluster
) -> None:
    call, view = await view_of(chat, caller)
    cluster.balancer.flow("b").pause(there=False)
    await run(chat, caller, call)
    cluster[caller].kill()
    cluster.balancer.flow("b").cut()
    cluster.balancer.flow("b").go_on()
    await cluster.start(caller)
    await check(chat, view, "result")


@CALLERS
@pytest.mark.parametrize("kind", ["postgres"])
async def test_kill_9_after_the_result_was_shown(caller: str, chat: Chat) -> None:
    call, view = await view_of(chat, caller)
    await run(chat, caller, call)
    await view.has_received("input", "result")
    await kill_and_check(chat, caller, view, "result")
    await view.has_received("input", "result")


async def run(chat: Chat, worker: str, call: int, gate: str = "") -> None:
    """Run a call, which may end with its worker."""
    try:
        await chat.cluster[worker].control("run", call=call, arguments={"text": chat.text("x"), "gate": gate})
    except httpx2.TransportError:
        return


# Phases of a request of a View


@pytest.fixture
async def view(chat: Chat) -> ShownView:
    view = await chat.shown(await chat.call("a", "first"))
    await view.has_received("input", "result")
    await view.type("typed by a user")
    return view


async def test_kill_9_after_a_request_was_sent_and_before_the_worker_got_it(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    cluster.balancer.flow("b").pause(back=False)
    await view.start("write", chat.text("r"))
    await view.page.has_sent("tools/call")
    cluster["b"].kill()
    cluster.balancer.flow("b").cut()
    outcome = await view.outcome(chat.text("r"))
    assert NOT_REPEATED in outcome, "the page cannot know that the worker did not get it"
    assert cluster.record.starts()[chat.text("r")] == 0
    await check(chat, view, "result")


async def test_kill_9_while_the_server_executes_a_request(chat: Chat, cluster: Cluster, view: ShownView) -> None:
    await view.start("write", chat.text("r"), "never")
    await eventually(lambda: cluster.record.has("start", chat.text("r")))
    cluster["b"].kill()
    assert NOT_REPEATED in await view.outcome(chat.text("r"))
    await check(chat, view, "result")


async def test_kill_9_after_a_request_was_answered_and_before_the_page_got_the_response(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    cluster.balancer.flow("b").pause(there=False)
    await view.start("write", chat.text("r"))

    async def is_audited() -> bool:
        records = await cluster["a"].control("audit", view=view.id, name="tools/call")
        return [record["outcome"] for record in records] == ["ok"]

    await eventually(is_audited)
    cluster["b"].kill()
    cluster.balancer.flow("b").cut()
    assert NOT_REPEATED in await view.outcome(chat.text("r"))
    await check(chat, view, "result")


async def test_kill_9_after_the_page_got_the_response(chat: Chat, cluster: Cluster, view: ShownView) -> None:
    assert await view.write(chat.text("r")) == f"ok: {chat.text('r')}"
    cluster["b"].kill()
    await check(chat, view, "result")
    assert (await view.outcomes())[chat.text("r")] == f"ok: {chat.text('r')}"


# Random faults


@pytest.fixture
async def patient_cluster(cluster: Cluster) -> AsyncIterator[Cluster]:
    """Three workers that wait for each other, however busy the machine is: none of them is going to crash."""
    await cluster.remove(*WORKERS)
    for name in WORKERS:
        cluster.add(name, timeouts={**TIMEOUTS, "handover": 20.0, "drain": 20.0, "record": 20.0})
    await cluster.start(*WORKERS)
    yield cluster
    await cluster.remove(*WORKERS)


@pytest.mark.parametrize("kind", ["postgres"])
async def test_a_rolling_restart_under_load_loses_nothing(patient_cluster: Cluster, browser: Browser) -> None:
    """Not even one request fails: the workers stop in order."""
    patient_cluster.route()
    async with Load.opened(patient_cluster, browser, SEED) as load:
        await load.episode("rolling restart", stop_workers, nothing_fails=True)


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_random_fault_breaks_an_invariant(
    seed: int, cluster: Cluster, browser: Browser, record_property: Callable[[str, object], None]
) -> None:
    cluster.route()
    async with Load.opened(cluster, browser, seed) as load:
        for name in load.random.sample(sorted(FAULTS), EPISODES):
            await load.episode(f"{name}, seed {seed}", FAULTS[name])
    record_property("faults", {"faults": EPISODES, "answered": load.answered, "failed": load.failed})
