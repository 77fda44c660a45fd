"""Faults while two users work, and a recorder that finds what they broke.

A `Load` keeps pages of two users open and makes requests all the time. An episode lets one fault happen at a random
moment, repairs it, and checks the invariants: every request got one answer, nothing was executed twice, no View waits
or was loaded again, calls have one outcome, and nobody sees what belongs to another user.
"""

import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import anyio
import httpx2
from playwright.async_api import Browser

from support.chat import Chat, ChatPage, ShownView, eventually
from support.cluster import LEASE, Cluster, ControlError

USERS = ("alice", "bob")
WORKERS = ("a", "b", "c")

_SETTLE = 40.0
"""How long after a fault all requests may take to be answered."""

_RESPONSES = """(view) => {
  const counts = {};
  for (const { view: from, from: sender, message } of messages) {
    if (from !== view || message.id == null) continue;
    const count = (counts[message.id] ??= { method: null, requests: 0, responses: 0 });
    if (sender === "view" && message.method) {
      count.method = message.method;
      count.requests += 1;
    } else if (sender === "host" && !message.method) count.responses += 1;
  }
  return Object.values(counts).filter(({ requests }) => requests);
}"""


@dataclass
class ModelCall:
    """A call that the program of a user made on a worker."""

    worker: str
    text: str
    view: str | None = None
    outcome: str = "waiting"


@dataclass
class Person:
    """A user with a page that shows two Views."""

    chat: Chat
    page: ChatPage
    views: list[ShownView]
    requests: dict[str, tuple[ShownView, str]] = field(default_factory=dict)
    """The View and the function of each request of a View, by its text."""
    outcomes: dict[str, str] = field(default_factory=dict)
    """How each request of a View ended, since the last fault."""
    calls: list[ModelCall] = field(default_factory=list)


class Load:
    """What two users do at the same time, recorded."""

    def __init__(self, cluster: Cluster, source: random.Random) -> None:
        self.cluster = cluster
        self.random = source
        self.people: list[Person] = []
        self.unreachable: set[str] = set()
        """The workers that a fault has made unreachable for the program."""
        self.log: list[str] = []
        self.answered = 0
        """How many requests and calls had a result."""
        self.failed = 0
        """How many had an error, which a fault explains."""
        self._number = 0
        self._started = anyio.current_time()

    @classmethod
    @asynccontextmanager
    async def opened(cls, cluster: Cluster, browser: Browser, seed: int) -> AsyncIterator[Self]:
        """Open the pages of both users."""
        load = cls(cluster, random.Random(seed))
        async with AsyncExitStack() as stack:
            for user in USERS:
                chat = await stack.enter_async_context(Chat.opened(cluster, browser, user))
                views = [await chat.call(load._worker(), f"view {number}") for number in range(2)]
                page = await chat.page()
                load.people.append(Person(chat, page, [await page.view(view) for view in views]))
            for person in load.people:
                for view in person.views:
                    await view.has_received("input", "result")
                    await view.type(f"typed by {person.chat.user}")
            yield load

    def note(self, text: str) -> None:
        """Add a line to what a failure prints."""
        self.log.append(f"{anyio.current_time() - self._started:7.3f} {text}")

    def _worker(self) -> str:
        return self.random.choice([name for name in WORKERS if name not in self.unreachable] or WORKERS)

    def _text(self, person: Person, kind: str) -> str:
        self._number += 1
        return person.chat.text(f"{kind}-{self._number}")

    async def work(self, person: Person) -> None:
        """Make requests of Views and calls of the model, at random intervals, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._request, person)
            tasks.start_soon(self._call, person)

    async def _request(self, person: Person) -> None:
        while True:
            view = self.random.choice(person.views)
            function = self.random.choice(["write", "write", "write", "send"])
            text = self._text(person, function)
            person.requests[text] = view, function
            with anyio.CancelScope(shield=True):
                await view.start(function, text)
            await anyio.sleep(self.random.uniform(0.01, 0.1))

    async def _call(self, person: Person) -> None:
        while True:
            call = ModelCall(self._worker(), self._text(person, "call"))
            person.calls.append(call)
            with anyio.CancelScope(shield=True):
                await self.run_call(person, call)
            await anyio.sleep(self.random.uniform(0.01, 0.1))

    async def run_call(self, person: Person, call: ModelCall) -> None:
        """Stream a call on its worker, and note its outcome."""
        arguments = {"text": call.text}
        try:
            answer = await person.chat.control(call.worker, "stream_tool", tool="ledger__show", arguments=arguments)
            call.view, result = answer["view"], answer["result"]
            call.outcome = "ok" if result["structuredContent"] == {**arguments, "more": ""} else f"wrong: {result}"
        except ControlError as error:
            call.outcome = f"failed: {error}"
        except httpx2.ConnectError:
            call.outcome = "not accepted"  # as a balancer does, with another worker next time
        except httpx2.TransportError as error:
            call.outcome = f"lost: {type(error).__name__}"

    async def episode(self, name: str, fault: "Fault", *, nothing_fails: bool = False) -> None:
        """Let a fault happen while both users work, repair it, and check the invariants.

        With `nothing_fails`, no request and no call may fail either.
        """
        self.note(f"episode {name}")
        async with anyio.create_task_group() as tasks:
            for person in self.people:
                tasks.start_soon(self.work, person)
            await anyio.sleep(self.random.uniform(0.05, 0.4))  # a random moment, not a wait
            await fault(self)
            self.note("repaired")
            await anyio.sleep(self.random.uniform(0.0, 0.3))
            tasks.cancel_scope.cancel()
        self.unreachable.clear()
        await self.cluster.start(*WORKERS)
        self.note("all workers are ready")
        violations: list[str] = []
        for person in self.people:
            violations += await self.violations(person)
            accepted = {call.text: call.outcome for call in person.calls if call.outcome != "not accepted"}
            outcomes = {**person.outcomes, **accepted}
            self.answered += sum(outcome.startswith("ok") for outcome in outcomes.values())
            self.failed += sum(not outcome.startswith("ok") for outcome in outcomes.values())
            if nothing_fails:
                violations += [f"{text}: {each}" for text, each in outcomes.items() if not each.startswith("ok")]
            person.requests.clear()
            person.calls.clear()
        assert not violations, "\n".join([*self.log, *violations])

    async def violations(self, person: Person) -> list[str]:
        """Wait until all requests of a user are answered, and return what is wrong."""
        found: list[str] = []
        person.outcomes = {}
        chat, record = person.chat, self.cluster.record
        for number, view in enumerate(person.views):
            text = self._text(person, "after")
            person.requests[text] = view, "write"
            await view.start("write", text)
            found += await self._hanging(view, f"View {number} of {chat.user}")
        starts = record.starts()
        ended = Counter(event["text"] for event in record.events() if event["event"] == "end")
        handled = Counter(message["text"] for message in self.cluster.messages)
        audited = await self._audited(person)
        found += [f"{text} was executed more than once" for text in chat.repeated()]
        for view in person.views:
            found += await self._view_violations(person, view)
            outcomes = await view.outcomes()
            await view.frame.evaluate("void (window.outcomes = {})")
            person.outcomes |= outcomes
            for text, outcome in outcomes.items():
                function = person.requests[text][1]
                done, times = (ended, starts) if function == "write" else (handled, handled)
                if outcome.startswith("ok") and done[text] != 1:
                    found.append(f"{text} was answered with {outcome!r}, and was carried out {done[text]} times")
                if times[text] > 1:
                    found.append(f"{text} was carried out {times[text]} times")
                # A record whose confirmation was lost with the store is written again, so there can be two.
                if outcome.startswith("ok") and function == "write" and not audited[text]:
                    found.append(f"{text} was answered, and the audit has no record of that")
                if outcome.startswith("failed") and "-after-" in text:
                    found.append(f"{text} failed after all was repaired: {outcome}")
        found += await self._call_violations(person, starts)
        return found

    async def _hanging(self, view: ShownView, name: str) -> list[str]:
        async def settled() -> bool:
            return "waiting" not in (await view.outcomes()).values()

        try:
            await eventually(settled, _SETTLE)
        except AssertionError:
            waiting = [text for text, outcome in (await view.outcomes()).items() if outcome == "waiting"]
            status = await view.page.status.all_inner_texts()
            return [f"{name} still waits for {waiting}, and the page says {status}"]
        return []

    async def _view_violations(self, person: Person, view: ShownView) -> list[str]:
        found: list[str] = []
        user = person.chat.user
        try:
            await view.was_not_loaded_again(f"typed by {user}")
        except AssertionError as error:
            found.append(f"{view.id} of {user}: {error}")
        for each in await view.page.page.evaluate(_RESPONSES, view.id):
            if each["responses"] != 1 or each["requests"] != 1:
                found.append(f"a request of {view.id} has {each['responses']} responses: {each}")
        others = [other for other in USERS if other != user]
        seen = json.dumps([await view.received(), await view.page.page.evaluate("messages")])
        found += [f"{user} sees what belongs to {other}" for other in others if other in seen]
        kinds = await view.frame.locator("#shown").inner_text()
        if kinds not in ("input result", "input cancelled", "cancelled"):
            found.append(f"{view.id} of {user} was sent {kinds}")
        return found

    async def _audited(self, person: Person) -> Counter[str]:
        """Return how often the audit says that a request was answered, by its text."""
        owner = {"kind": "message", "name": "tools/call"}
        records = await self.cluster[WORKERS[0]].control("audit", **owner)
        mine = [record for record in records if record["conversation"] == person.chat.id]
        return Counter(_text_of(record) for record in mine if record["outcome"] == "ok")

    async def _call_violations(self, person: Person, starts: Counter[str]) -> list[str]:
        found: list[str] = []
        chat = person.chat

        async def states() -> dict[str, str] | None:
            views = await chat.control(self._worker(), "views")
            by_id = {view["id"]: view["call"] for view in views}
            return by_id if "running" not in by_id.values() else None

        try:
            known = await eventually(states, _SETTLE)
        except AssertionError:
            return [f"a call of {chat.user} is still running: {[call.__dict__ for call in person.calls]}"]
        for call in person.calls:
            state = known.get(call.view) if call.view else None
            self.note(f"{call.text} on {call.worker}: {call.outcome}, {state}")
            if call.outcome == "ok" and (state != "done" or starts[call.text] != 1):
                found.append(f"{call.text} returned its result, but is recorded as {state}")
            if call.outcome == "waiting":
                found.append(f"{call.text} on {call.worker} did not end")
            if call.outcome.startswith("wrong"):
                found.append(f"{call.text}: {call.outcome}")
            if "CallCancelledError" in call.outcome and state not in ("cancelled", None):
                found.append(f"{call.text} was cancelled, but is recorded as {state}")
            if call.view is not None and state is None:
                found.append(f"the View of {call.text} is gone")
        others = [other for other in USERS if other != chat.user]
        seen = json.dumps(
            [await chat.control(self._worker(), operation) for operation in ("views", "tools", "context")]
        )
        found += [f"the program of {chat.user} sees what belongs to {other}" for other in others if other in seen]
        return found


def _text_of(record: dict[str, Any]) -> str:
    arguments = (record.get("data") or {}).get("arguments") or {}
    return str(arguments.get("text") or (arguments.get("arguments") or {}).get("text") or "")


Fault = Callable[[Load], Awaitable[None]]


async def kill_worker(load: Load) -> None:
    """Kill a worker, and start it again."""
    name = load.random.choice(WORKERS)
    load.unreachable.add(name)
    load.note(f"kill -9 {name}")
    load.cluster[name].kill()
    await anyio.sleep(load.random.uniform(0.0, LEASE * 1.2))
    await load.cluster.start(name)


async def kill_two_workers(load: Load) -> None:
    """Kill two workers, one shortly after the other."""
    first, second = load.random.sample(WORKERS, 2)
    for name in (first, second):
        load.unreachable.add(name)
        load.note(f"kill -9 {name}")
        load.cluster[name].kill()
        await anyio.sleep(load.random.uniform(0.0, LEASE / 2))
    await load.cluster.start(first, second)


async def freeze_worker(load: Load) -> None:
    """Freeze a worker for longer than its lease, while a balancer sends its pages elsewhere."""
    name = load.random.choice(WORKERS)
    load.unreachable.add(name)
    load.note(f"freeze {name}")
    load.cluster[name].freeze()
    await anyio.sleep(load.random.uniform(0.0, 0.3))
    load.cluster.balancer.flow(name).refuse()
    await anyio.sleep(LEASE * load.random.uniform(1.1, 1.6))
    load.note(f"thaw {name}")
    load.cluster[name].thaw()


async def pause_worker(load: Load) -> None:
    """Freeze a worker for less than its lease."""
    name = load.random.choice(WORKERS)
    load.unreachable.add(name)
    load.note(f"pause {name}")
    load.cluster[name].freeze()
    await anyio.sleep(LEASE * load.random.uniform(0.1, 0.6))
    load.cluster[name].thaw()


async def stop_workers(load: Load) -> None:
    """Stop all workers in order, one after the other, and start each again."""
    for name in load.random.sample(WORKERS, 3):
        load.unreachable.add(name)
        load.note(f"SIGTERM {name}")
        load.cluster[name].terminate()
        await load.cluster[name].wait()
        await load.cluster.start(name)
        load.unreachable.discard(name)


async def cut_pages(load: Load) -> None:
    """Cut the connections of all pages."""
    load.note("cut pages")
    for name in WORKERS:
        load.cluster.balancer.flow(name).cut()
    await anyio.sleep(load.random.uniform(0.0, 0.5))


async def lose_redis(load: Load) -> None:
    """Cut all workers off from Redis, for less or more than the time of a lease."""
    seconds = load.random.choice([LEASE * 0.3, LEASE * 1.5])
    load.note(f"Redis is gone for {seconds} seconds")
    for worker in load.cluster.workers.values():
        worker.redis.flow.refuse()
    await anyio.sleep(seconds)
    for worker in load.cluster.workers.values():
        worker.redis.flow.go_on()


async def lose_redis_of_one_worker(load: Load) -> None:
    """Cut one worker off from Redis for longer than its lease."""
    name = load.random.choice(WORKERS)
    load.note(f"Redis is gone for {name}")
    load.cluster[name].redis.flow.refuse()
    await anyio.sleep(LEASE * load.random.uniform(1.1, 1.6))
    load.cluster[name].redis.flow.go_on()


async def restart_redis(load: Load) -> None:
    """Kill Redis, and start it again."""
    load.note("kill -9 Redis")
    await anyio.to_thread.run_sync(lambda: load.cluster.redis.stop(kill=True))
    await anyio.to_thread.run_sync(load.cluster.redis.start)


async def restart_postgres(load: Load) -> None:
    """Kill PostgreSQL, and start it again. With Redis as the store, restart that."""
    postgres = load.cluster.postgres
    if postgres is None:
        await restart_redis(load)
        return
    load.note("kill -9 PostgreSQL")
    await anyio.to_thread.run_sync(lambda: postgres.stop(kill=True))
    await anyio.to_thread.run_sync(postgres.start)


async def slow_store(load: Load) -> None:
    """Delay all that is sent to the databases."""
    seconds = load.random.uniform(0.05, 0.2)
    load.note(f"databases are {seconds:.2f} seconds late")
    for forwarder in load.cluster.databases():
        forwarder.flow.slow(seconds)
    await anyio.sleep(1)
    for forwarder in load.cluster.databases():
        forwarder.flow.go_on()


FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        kill_worker,
        freeze_worker,
        lose_redis,
        stop_workers,
        restart_postgres,
        slow_store,
        kill_two_workers,
        lose_redis_of_one_worker,
        restart_redis,
        pause_worker,
        cut_pages,
    )
}
