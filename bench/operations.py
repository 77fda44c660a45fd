"""How many operations of the store and of the bus each message of a View takes, counted in this process.

Two hosts with one store and one bus stand for two workers. The first runs the calls, and pages are at the second.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.types import ASGIApp

from bench.stage import HELLO, UNLIMITED, Page
from bench.worker_process import SERVER, server
from fanlight.host import Call, Host, RedisBus, SqliteStore
from fanlight.host.consent.audit import INTERVAL

REPEATS = 10
# What a worker does at intervals, whether or not a View sends something.
_BACKGROUND = {"run", "unfinished"}

# What was buffered of the audit is written after this.
_AUDIT_PAUSE = INTERVAL + 0.1

Counts = dict[str, Counter[str]]


class Counted:
    """Counts the calls of the methods of a store or a bus."""

    def __init__(self, target: Any, counter: Counter[str]) -> None:
        self._target = target
        self._counter = counter

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._target, name)
        if name in _BACKGROUND:
            return method

        async def counted(*arguments: Any) -> Any:
            self._counter[name] += 1
            return await method(*arguments)

        return counted


async def count(path: str, bus: str) -> Counts:
    """Count the operations of each thing that a View or the model does. The store is a SQLite file."""
    store_counts: Counter[str] = Counter()
    bus_counts: Counter[str] = Counter()
    found: Counts = {}
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        hosts: list[Host] = []
        for _ in range(2):
            store: Any = Counted(SqliteStore(path), store_counts)
            connection: Any = Counted(RedisBus(bus), bus_counts)
            host = Host({SERVER: server()}, store=store, bus=connection, limits=UNLIMITED)
            hosts.append(await stack.enter_async_context(host))
            await host.conversation().tools()
            while len(await connection.workers()) < len(hosts):  # noqa: ASYNC110  Redis has no event for it
                await anyio.sleep(0.05)
        caller, holder = hosts
        app = holder.wrap(Starlette())

        async def counted(name: str, work: Callable[[], Awaitable[Any]]) -> list[Any]:
            await anyio.sleep(_AUDIT_PAUSE)
            store_counts.clear()
            bus_counts.clear()
            done = [await work() for _ in range(REPEATS)]
            await anyio.sleep(_AUDIT_PAUSE)
            found[name] = Counter({f"store.{key}": value for key, value in store_counts.items()})
            found[name].update({f"bus.{key}": value for key, value in bus_counts.items()})
            return done

        chat = caller.conversation("c")
        calls: list[Call] = await counted("model: begin a call", lambda: chat.begin(f"{SERVER}__forecast"))
        pages: dict[Call, Page] = {}

        async def open_next() -> None:
            call = calls[len(pages)]
            pages[call] = await _opened(tasks, app, call)

        await counted("page: open the View at another worker", open_next)
        page = pages[calls[0]]
        texts = iter(range(REPEATS))

        async def feed() -> None:
            calls[0].feed('{"place": "' if next(texts) == 0 else "Oslo ")
            await _until(page, "tool-input-partial")

        await counted("model: partial arguments", feed)
        waiting = iter(calls)

        async def run() -> None:
            call = next(waiting)
            await call.run({"place": "Oslo"})
            await _until(pages[call], "tool-result")

        await counted("model: run the call, result at the other worker", run)
        await counted("View: ping", lambda: page.ask("ping", {}))
        context = {"content": [{"type": "text", "text": "The user looks at Oslo."}]}
        await counted("View: ui/update-model-context", lambda: page.ask("ui/update-model-context", context))
        add = {"name": "add", "arguments": {"a": 1, "b": 2}}
        await counted("View: tools/call", lambda: page.ask("tools/call", add))
        await counted("model: context()", chat.context)
        await counted("model: tools()", chat.tools)
    return found


async def _opened(tasks: TaskGroup, app: ASGIApp, call: Call) -> Page:
    page = Page(tasks, app)
    page.say({"type": "open", "view": call.view, "token": call.token})
    shown = await page.receive_text()
    assert '"type":"show"' in shown, shown
    await page.ask("ui/initialize", HELLO)
    page.tell({"jsonrpc": "2.0", "method": "ui/notifications/initialized", "params": {}})
    return page


async def _until(page: Page, method: str) -> None:
    with anyio.fail_after(20):
        while f'"ui/notifications/{method}"' not in await page.receive_text():
            pass
        page.say({"type": "ack", "ack": page.received})
