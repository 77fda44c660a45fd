"""What works whichever worker has the page: the call, the page and the documents are on three workers."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, expect

from support.chat import Chat, ChatPage, ShownView, eventually, streamed
from support.cluster import Cluster, ControlError
from support.network import sandbox_to, sockets_to

pytestmark = [pytest.mark.anyio, pytest.mark.browser, pytest.mark.process]

CLOSED = "This View was closed."
REFUSED = "This View cannot be opened"


@pytest.fixture
def cluster(cluster: Cluster) -> Cluster:
    """The workers. Sockets of pages are on `b` and documents on `c`. Tests make calls on `a`."""
    cluster.route(sockets_to("b"), sandbox_to("c"))
    return cluster


@pytest.fixture
async def view(chat: Chat) -> ShownView:
    """A View whose call was made on `a` and whose page is on `b`."""
    view = await chat.shown(await chat.call("a", "first"))
    await view.has_received("input", "result")
    return view


@pytest.fixture
async def bob(cluster: Cluster, browser: Browser) -> AsyncIterator[Chat]:
    """A conversation of another user."""
    async with Chat.opened(cluster, browser, "bob") as chat:
        yield chat


async def tools_of(chat: Chat, worker: str, view: str) -> list[str]:
    """Return the tools that a View offers, as a worker lists them."""
    prefix = f"app_{view}__"
    tools: list[str] = await chat.control(worker, "tools")
    return [name.removeprefix(prefix) for name in tools if name.startswith(prefix)]


async def offered(chat: Chat, worker: str, view: str) -> None:
    """Wait until a worker lists the tools that a View offers, each once."""

    async def are_listed() -> bool:
        return await tools_of(chat, worker, view) == ["read_back", "fill_in"]

    await eventually(are_listed)


async def move(view: ShownView, worker: str) -> None:
    """Lose the socket of a View's page, and let the page connect to another worker."""
    balancer = view.page.balancer
    balancer.route(sockets_to(worker), sandbox_to("c"))
    before = balancer.sockets(worker)
    for name in balancer.backends:
        if name != worker:
            balancer.flow(name).cut()
    await eventually(lambda: balancer.sockets(worker) > before)


async def test_a_view_is_shown_by_another_worker_than_the_one_that_ran_its_call(chat: Chat) -> None:
    view = await chat.shown(await chat.call("a", "one"))
    await view.has_received("input", "result")
    assert await view.received("result") == [{"text": chat.text("one"), "more": ""}]
    assert await view.write(chat.text("two")) == f"ok: {chat.text('two')}"
    assert view.page.problems == []


async def test_arguments_are_streamed_to_the_page_of_another_worker(chat: Chat, cluster: Cluster) -> None:
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    *pieces, last = streamed(chat.text("a text that is long enough for a few pieces"))
    for piece in pieces:
        await cluster["a"].control("feed", call=call, delta=piece)
    await expect(view.frame.locator("#partial")).to_contain_text(chat.text("a text"))
    await cluster["a"].control("feed", call=call, delta=last)
    # Pieces in between may be left out, but not the last one.
    await expect(view.frame.locator("#partial")).to_have_text(chat.text("a text that is long enough for a few pieces"))
    await view.has_received()


async def test_the_result_of_a_call_reaches_the_page_of_another_worker(chat: Chat, cluster: Cluster) -> None:
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    result = await cluster["a"].control("run", call=call, arguments={"text": chat.text("x"), "size": 300_000})
    await view.has_received("input", "result")
    assert await view.received("result") == [result["structuredContent"]]
    assert (await cluster["c"].control("view", view=id))["call"] == "done"


async def test_a_page_that_comes_later_than_the_result_gets_it_from_any_worker(chat: Chat, cluster: Cluster) -> None:
    call, id = await chat.begin("a")
    await (await chat.shown(id)).page.page.close()
    await cluster["a"].control("run", call=call, arguments={"text": chat.text("x")})
    for worker in ("b", "c", "a"):
        cluster.route(sockets_to(worker))
        view = await chat.shown(id)
        await view.has_received("input", "result")
        await view.page.page.close()


async def test_a_call_that_is_cancelled_is_shown_as_such_by_another_worker(chat: Chat, cluster: Cluster) -> None:
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    failed: list[ControlError] = []

    async def run() -> None:
        try:
            await cluster["a"].control("run", call=call, arguments={"text": chat.text("x"), "gate": "never"})
        except ControlError as error:
            failed.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await eventually(lambda: cluster.record.has("start", chat.text("x")))
        await cluster["a"].control("cancel", call=call, reason="Changed my mind.")
    assert failed[0].kind == "CallCancelledError"
    await view.has_received("input", "cancelled")
    assert await view.received("cancelled") == ["Changed my mind."]
    assert (await cluster["c"].control("view", view=id))["call"] == "cancelled"


async def test_what_a_view_shares_with_the_model_is_given_to_one_worker_and_once(chat: Chat, view: ShownView) -> None:
    await view.start("share", chat.text("news"))
    assert await view.outcome(chat.text("news")) == "ok: "
    assert await chat.control("a", "context") == [chat.text("news")]
    assert await chat.control("c", "context") == []
    assert await chat.control("b", "context") == []


async def test_the_tools_of_a_view_are_listed_once_and_called_by_any_worker(chat: Chat, view: ShownView) -> None:
    await view.type("typed by a user")
    for worker in ("a", "b", "c"):
        await offered(chat, worker, view.id)
        name = f"app_{view.id}__read_back"
        answer = await chat.control(worker, "call_tool", tool=name, arguments={"text": worker})
        assert answer["result"]["content"][0]["text"] == f"{worker}: typed by a user"


async def test_the_tool_of_a_view_that_is_closed_is_an_error_for_any_worker(chat: Chat, view: ShownView) -> None:
    await offered(chat, "a", view.id)
    await chat.cluster["c"].control("close_view", view=view.id)
    for worker in ("a", "b", "c"):
        assert await tools_of(chat, worker, view.id) == []


async def test_the_user_is_asked_in_the_page_whichever_worker_calls_a_tool_of_its_view(
    chat: Chat, view: ShownView
) -> None:
    await offered(chat, "a", view.id)
    results: list[Any] = []

    async def call() -> None:
        arguments = {"text": "by the model"}
        results.append(await chat.control("a", "call_tool", tool=f"app_{view.id}__fill_in", arguments=arguments))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await view.page.page.get_by_role("button", name="Allow once").click()
    assert results[0]["result"]["content"][0]["text"] == "filled in: by the model"
    await expect(view.frame.locator("#typed")).to_have_value("by the model")


async def test_what_a_user_always_allows_is_allowed_on_every_worker(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await view.start("remove", chat.text("asked"))
    await view.page.page.get_by_role("button", name="Always allow").click()
    assert await view.outcome(chat.text("asked")) == f"ok: {chat.text('asked')}"
    for worker in ("a", "c"):
        assert await chat.control(worker, "grants") == ["tool remove"]
        cluster.route(sockets_to(worker))
        again = await chat.shown(view.id)
        await again.start("remove", chat.text(worker))
        assert await again.outcome(chat.text(worker)) == f"ok: {chat.text(worker)}"
    await cluster["a"].control("revoke", user=chat.user)


async def test_a_view_that_another_worker_closes_is_torn_down_and_stays_closed(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await cluster["a"].control("close_view", view=view.id)
    assert await view.page.sent_to_view("ui/resource-teardown") == 1
    await expect(view.page.page.locator("mcp-app iframe")).to_have_count(0)
    for worker in ("a", "b", "c"):
        assert await chat.control(worker, "views") == []
        cluster.route(sockets_to(worker))
        await view.page.reopen(view.id)
        await expect(view.page.page.get_by_role("alert")).to_have_text(CLOSED)


async def test_a_conversation_is_ended_with_all_its_views_on_every_worker(chat: Chat, cluster: Cluster) -> None:
    first = await chat.shown(await chat.call("a", "one"))
    cluster.route(sockets_to("c"))
    call, begun = await chat.begin("a")
    second = await chat.shown(begun)
    await chat.control("b", "close")
    for view in (first, second):
        assert await view.page.sent_to_view("ui/resource-teardown") == 1
        await expect(view.page.page.locator("mcp-app iframe")).to_have_count(0)
    for worker in ("a", "b", "c"):
        assert await chat.control(worker, "views") == []
    with pytest.raises(ControlError, match=r"CallCancelledError|StateError"):
        await cluster["a"].control("run", call=call, arguments={"text": chat.text("never")})
    assert not cluster.record.events(chat.text("never"))


async def test_a_page_that_is_loaded_again_shows_the_view_from_another_worker(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await view.type("not saved")
    cluster.route(sockets_to("c"), sandbox_to("a"))
    await view.page.page.reload()
    again = await view.page.view(view.id)
    await again.has_received("input", "result")
    assert await again.write(chat.text("after")) == f"ok: {chat.text('after')}"
    await offered(chat, "a", view.id)


async def test_two_windows_with_pages_on_two_workers_show_a_view_in_turn(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    cluster.route(sockets_to("c"))
    second = await chat.shown(view.id)
    await second.has_received("input", "result")
    await expect(view.page.status).to_contain_text("This View is open in another window.")
    await offered(chat, "a", view.id)
    cluster.route(sockets_to("b"))
    await view.page.page.get_by_role("button", name="Show it here").click()
    first = await view.page.view(view.id)
    await first.has_received("input", "result")
    await expect(second.page.status).to_contain_text("This View is open in another window.")
    assert await first.write(chat.text("here")) == f"ok: {chat.text('here')}"
    await offered(chat, "a", view.id)


async def test_what_one_worker_forgets_is_gone_on_every_worker(chat: Chat, cluster: Cluster, view: ShownView) -> None:
    await chat.control("a", "forget")
    await expect(view.page.page.locator("mcp-app iframe")).to_have_count(0)
    for worker in ("a", "b", "c"):
        with pytest.raises(ControlError, match="UnknownViewError"):
            await cluster[worker].control("view", view=view.id)
        assert await cluster[worker].control("audit", view=view.id) == []
        cluster.route(sockets_to(worker))
        await view.page.reopen(view.id)
        await expect(view.page.page.get_by_role("alert")).to_contain_text(REFUSED)


async def test_pages_are_disconnected_from_every_worker_and_prove_again_who_they_are_for(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    before = cluster.balancer.sockets("b")
    await chat.control("a", "disconnect")
    await eventually(lambda: cluster.balancer.sockets("b") > before)
    assert await view.write(chat.text("still signed in")) == f"ok: {chat.text('still signed in')}"
    await view.was_not_loaded_again()
    await chat.context.clear_cookies()
    await chat.control("c", "disconnect")
    await expect(view.page.page.get_by_role("alert")).to_contain_text("You are not signed in.")


async def test_a_message_of_a_view_is_given_to_the_handler_of_exactly_one_worker(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await view.start("send", chat.text("hello"))
    assert await view.outcome(chat.text("hello")) == "ok: "
    got = [message for message in cluster.messages if message["text"] == chat.text("hello")]
    assert [(each["user"], each["conversation"]) for each in got] == [("alice", chat.id)]


async def test_every_worker_knows_whether_a_page_shows_a_view(chat: Chat, cluster: Cluster, view: ShownView) -> None:
    for worker in ("a", "b", "c"):
        assert (await cluster[worker].control("view", view=view.id))["state"] == "shown"
        assert [each["state"] for each in await chat.control(worker, "views")] == ["shown"]
    await view.page.page.close()

    async def is_not_shown() -> bool:
        return bool((await cluster["a"].control("view", view=view.id))["state"] != "shown")

    await eventually(is_not_shown)


async def test_a_view_whose_page_moves_to_another_worker_goes_on_without_being_loaded(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    await view.type("typed by a user")
    for number, worker in enumerate(("c", "a", "b", "c")):
        await move(view, worker)
        text = chat.text(f"move {number}")
        assert await view.write(text) == f"ok: {text}"
        await offered(chat, "a", view.id)
    await view.was_not_loaded_again("typed by a user")
    await view.has_received("input", "result")
    assert chat.repeated() == []


async def test_a_request_under_way_when_the_page_moves_is_answered_and_executed_once(
    chat: Chat, cluster: Cluster, view: ShownView
) -> None:
    slow = chat.text("slow")
    await view.start("write", slow, slow)
    await eventually(lambda: cluster.record.has("start", slow))
    await move(view, "c")
    assert await view.write(chat.text("next")) == f"ok: {chat.text('next')}"
    cluster.record.open_gate(slow)
    outcome = await view.outcome(slow)
    assert outcome == f"ok: {slow}" or "may have been carried out, so it was not repeated" in outcome
    assert cluster.record.starts()[slow] == 1
    await view.was_not_loaded_again()


async def test_a_result_that_comes_while_no_page_is_connected_is_shown_by_the_next_worker(
    chat: Chat, cluster: Cluster
) -> None:
    call, id = await chat.begin("a")
    view = await chat.shown(id)
    for worker in ("a", "b", "c"):
        cluster.balancer.flow(worker).refuse()
    await cluster["a"].control("run", call=call, arguments={"text": chat.text("x")})
    cluster.balancer.flow("c").go_on()
    await view.has_received("input", "result")
    await view.was_not_loaded_again()


async def test_a_view_opens_for_its_own_user_only_whichever_worker_is_asked(
    chat: Chat, bob: Chat, cluster: Cluster, view: ShownView
) -> None:
    await view.start("share", chat.text("secret"))
    await view.outcome(chat.text("secret"))
    await offered(chat, "a", view.id)
    token = await view.page.page.locator("mcp-app").get_attribute("token")
    for worker in ("a", "b", "c"):
        cluster.route(sockets_to(worker))
        page: ChatPage = await bob.page()
        await page.add(view.id, str(token))
        await expect(page.page.get_by_role("alert")).to_contain_text(REFUSED)
        assert await bob.control(worker, "context") == []
        assert await bob.control(worker, "views") == []
        assert await tools_of(bob, worker, view.id) == []
        await page.page.close()
    await view.was_not_loaded_again()
    assert await view.write(chat.text("not disturbed")) == f"ok: {chat.text('not disturbed')}"
