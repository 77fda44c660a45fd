"""Two workers of one host, with a bus in memory: what one asks of the other, and what each does without the bus."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp.server import MCPServer

from fanlight import Apps, View
from fanlight.host import BusError, Call, Host, Policy, RequestError, StoreError, Timeouts, UnknownViewError
from fanlight.host.bus.messages import CallAppTool, PartialInput, ViewHeld, ViewsReloaded
from fanlight.host.bus.peers import PeerRequests
from fanlight.host.errors import ViewRefusedError
from fanlight.host.host import runtime_of
from support.memory_bus import MemoryBus, Network
from support.page import Page

pytestmark = pytest.mark.anyio

HELLO = {"protocolVersion": "2026-01-26", "appInfo": {"name": "V", "version": "1"}, "appCapabilities": {}}


class Pair(NamedTuple):
    """Two workers with one store and one bus."""

    network: Network
    a: Host
    b: Host
    buses: tuple[MemoryBus, MemoryBus]
    html: list[str]
    """The document of the View, as the server has it now."""


def notes(html: list[str]) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("notes")
    apps = Apps(server)
    apps.view(View(lambda: html[0], uri="ui://notes/view"))

    @apps.tool(view="ui://notes/view")
    def show(text: str = "") -> str:
        return text

    return server


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    network, html = Network(), ["<!doctype html><title>one</title>"]
    buses = network.bus(), network.bus()
    timeouts = Timeouts(lease=60.0, handover=0.5, teardown=0.2, linger=60.0)

    def worker(bus: MemoryBus) -> Host:
        store = f"sqlite:///{tmp_path / 'host.db'}"
        return Host({"notes": notes(html)}, store=store, bus=bus, timeouts=timeouts, policy=Policy({"tools": "allow"}))

    async with worker(buses[0]) as a, worker(buses[1]) as b:
        for host in (a, b):
            await host.servers["notes"].ready()
        await until(lambda: len(network.leases) == 2)
        yield Pair(network, a, b, buses, html)


async def until(condition: Callable[[], Any]) -> None:
    with anyio.fail_after(60):
        while not condition():  # noqa: ASYNC110  there is no event for it
            await anyio.sleep(0.01)


async def opened(host: Host, call: Call) -> Page:
    """Open the View of a call, and let it connect."""
    page = await Page().open(host, call.view, call.token)
    assert (await page.next())["type"] == "show"
    await page.ask("ui/initialize", HELLO, id=0)
    await page.say({"method": "ui/notifications/initialized"})
    await page.message()  # the input
    await page.message()  # the result
    return page


async def called(host: Host) -> Call:
    return await host.conversation("c1").call_tool("notes__show", {"text": "x"})


def peer(host: Host) -> PeerRequests:
    return PeerRequests(runtime_of(host))


async def ignore(progress: float, total: float | None, message: str | None) -> None:
    pass


def has_session(host: Host, call: Call) -> bool:
    return runtime_of(host).views.session(call.view) is not None


async def test_views_of_all_workers_are_reloaded(pair: Pair) -> None:
    page = await opened(pair.b, await called(pair.a))
    await pair.a.reload_views("notes")
    assert (await page.next())["type"] == "reload"


async def test_only_views_with_a_changed_document_are_reloaded(pair: Pair) -> None:
    page = await opened(pair.b, await called(pair.a))
    await runtime_of(pair.b).reload_views("notes", only_changed=True)
    assert page.frames.empty()
    pair.html[0] = "<!doctype html><title>two</title>"
    await pair.a.reload_views("notes", changed=True)
    assert (await page.next())["type"] == "reload"


async def test_a_document_that_is_gone_does_not_reload_its_view(pair: Pair) -> None:
    page = await opened(pair.b, await called(pair.a))
    pair.html[0] = "not a document"
    await peer(pair.b).notify("a", ViewsReloaded("notes", only_changed=True))
    await peer(pair.b).notify("a", ViewsReloaded("another", only_changed=False))
    assert page.frames.empty()


async def test_the_display_mode_is_changed_by_the_worker_that_has_the_page(pair: Pair) -> None:
    call = await called(pair.a)
    page = await opened(pair.b, call)
    assert call.view is not None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pair.a.show_as, call.view, "fullscreen")
        command = await page.next()
        assert (command["type"], command["mode"]) == ("set-display-mode", "fullscreen")
        await page.tell({"type": "command-result", "id": command["id"], "result": {"mode": "fullscreen"}})
    changed = await page.message()
    assert changed["params"]["displayMode"] == "fullscreen"
    await page.tell({"type": "display-mode", "mode": "inline"})
    assert (await page.message())["params"]["displayMode"] == "inline"


async def test_calls_that_wait_for_their_arguments_end_with_their_conversation_on_every_worker(pair: Pair) -> None:
    call = await pair.b.conversation("c1").begin("notes__show")
    await pair.a.conversation("c1").close()
    assert call.cancelled is not None
    assert not call.is_begun


async def test_a_request_for_a_view_that_has_ended_or_of_another_version_is_an_error(pair: Pair) -> None:
    with pytest.raises(RequestError, match="No open View has the id 'gone'"):
        await peer(pair.a).serve("b", CallAppTool("gone", "wave", {}), ignore)
    with pytest.raises(RequestError, match="does not serve such a request"):
        await peer(pair.a).serve("b", ViewHeld("v1"), ignore)
    with pytest.raises(UnknownViewError, match="No open View has the id 'gone'"):
        await pair.a.show_as("gone", "inline")


async def test_notifications_about_views_that_are_not_here_change_nothing(pair: Pair) -> None:
    page = await opened(pair.b, await called(pair.a))
    for message in (ViewHeld("gone"), PartialInput("gone", {}), PartialInput("gone", {"text": "x"})):
        await peer(pair.b).notify("a", message)
    assert page.frames.empty()


async def test_a_worker_that_lost_its_lease_disconnects_its_pages(pair: Pair) -> None:
    call = await called(pair.a)
    page = await opened(pair.b, call)
    assert pair.buses[1].lose is not None
    await pair.buses[1].lose()
    await until(lambda: page.closed is not None)
    assert page.closed == 1012  # it connects again, to a worker with a lease


async def test_a_worker_that_is_back_ends_the_sessions_that_others_have_taken(pair: Pair) -> None:
    """Goes red if a worker keeps a View that another one has taken while it could not be reached."""
    kept, taken = await called(pair.a), await called(pair.a)
    await opened(pair.b, kept)
    await opened(pair.b, taken)
    store = runtime_of(pair.a).store
    await store.change(str(taken.view), {"holder": runtime_of(pair.a).workers.id}, {})
    await peer(pair.b).resynchronise()
    assert has_session(pair.b, kept)
    assert not has_session(pair.b, taken)


async def test_a_view_is_closed_although_its_worker_does_not_answer(pair: Pair) -> None:
    call = await called(pair.a)
    await opened(pair.b, call)
    workers = runtime_of(pair.b).workers
    pair.network.leases[str(workers.id)] = lambda text, age: None  # it hears nothing
    with anyio.fail_after(60):
        await pair.a.close_view(str(call.view))
    assert (await pair.a.view(str(call.view))).state == "closed"


async def test_without_the_bus_a_worker_answers_what_it_can(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    call = await called(pair.a)
    await opened(pair.b, call)
    pair.network.is_down = True
    try:
        (info,) = await pair.a.conversation("c1").views()
        assert info.id == call.view
        assert "Which workers are alive is not known: The network is down." in caplog.text
        assert await runtime_of(pair.a).unreadiness() == ["The bus failed."]
        record = await runtime_of(pair.a).records.find(str(call.view))
        # It is not known whether the worker of the View is alive, so the View is not taken from it.
        assert await runtime_of(pair.a).holders.holder(record) == runtime_of(pair.b).workers.id
        with pytest.raises(BusError):
            await pair.a.disconnect("alice")
    finally:
        pair.network.is_down = False


async def test_partial_input_is_not_sent_to_a_worker_that_has_ended(pair: Pair) -> None:
    holders = runtime_of(pair.a).holders
    holders.held_by("v1", "dead")
    await holders.send_partial("v1", {"text": "x"})
    assert not holders.is_elsewhere("v1")


async def test_a_view_that_is_erased_while_a_page_opens_it_is_refused(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = await called(pair.a)
    records = runtime_of(pair.a).records

    async def gone(*arguments: Any, **options: Any) -> None:
        return None

    monkeypatch.setattr(records, "change", gone)
    monkeypatch.setattr(records, "refresh", gone)
    with pytest.raises(ViewRefusedError, match="This View was closed"):
        await Page().open(pair.a, call.view, call.token)


async def test_a_store_that_fails_while_the_page_leaves_does_not_end_the_session(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    call = await called(pair.a)
    page = await opened(pair.b, call)

    async def fail(*arguments: Any, **options: Any) -> Awaitable[None]:
        raise StoreError("The database is locked.")

    with monkeypatch.context() as patch:
        patch.setattr(runtime_of(pair.b).records, "change_held", fail)
        page.disconnect()
        await until(lambda: "that no page shows it cannot be stored now: The database is locked." in caplog.text)
    assert has_session(pair.b, call)
