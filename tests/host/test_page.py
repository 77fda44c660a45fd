"""The pages of one View: a page that lost its socket, a page that let the View go, and two pages at once."""

from typing import Any

import anyio
import pytest

from fanlight.host import Host, RequestError, Timeouts
from fanlight.host.errors import ElsewhereError, ViewRefusedError
from fanlight.host.host import runtime_of
from fanlight.host.views.page.frames import OpenView, SetDisplayMode
from host.test_host import counter, initialize, open_view, running
from support.calls import call_tool, context_of
from support.page import Page

pytestmark = pytest.mark.anyio

ELSEWHERE = {"type": "elsewhere"}


async def resumed(host: Host, call: Any, page: Page) -> Page:
    """Let a page reconnect, as `<mcp-app>` does after a lost socket."""
    again = Page()
    await again.open(host, call.view, call.token, seen=page.seen, epoch=page.epoch)
    again.seen, again.epoch, again._last = page.seen, page.epoch, page._last
    return again


async def skip_data(page: Page) -> None:
    """Read the input and the result of the call, which a loaded View gets first."""
    assert (await page.message())["method"] == "ui/notifications/tool-input"
    assert (await page.message())["method"] == "ui/notifications/tool-result"


async def test_a_page_that_lost_its_socket_does_not_get_into_the_session_of_another_page() -> None:
    """Goes red without the epoch: the numbers of both pages fit, so page 1 gets page 2's answers, and page 2 none."""
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token)
        await skip_data(first)
        first.disconnect()
        second = await open_view(host, call.view, call.token)
        await skip_data(second)
        for id in range(1, 4):
            assert (await second.ask("ping", {}, id=id))["id"] == id
        with pytest.raises(ElsewhereError):
            await resumed(host, call, first)
        # The other page goes on, and gets all answers.
        assert (await second.ask("ping", {}, id=9))["id"] == 9
        assert first.frames.empty()
        assert second.frames.empty()


async def test_a_page_that_lost_its_socket_loads_the_view_again_if_the_other_page_has_gone() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token)
        await skip_data(first)
        first.disconnect()
        second = await open_view(host, call.view, call.token)
        await skip_data(second)
        second.disconnect(closed=True)
        again = await resumed(host, call, first)
        assert (await again.next())["type"] == "show"
        assert again.epoch not in (first.epoch, second.epoch)


async def test_requests_under_way_when_another_page_takes_the_view_are_recorded_as_cancelled() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token)
        await skip_data(first)
        await first.say({"id": 5, "method": "tools/call", "params": {"name": "hang", "arguments": {}}})
        await open_view(host, call.view, call.token)
        outcomes = [(record.name, record.outcome) async for record in host.audit()]
        assert ("tools/call", "cancelled") in outcomes


async def test_the_newest_page_has_the_view_and_the_other_is_notified() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token)
        await skip_data(first)
        second = await open_view(host, call.view, call.token)
        assert await first.next() == ELSEWHERE
        await first.say({"id": 1, "method": "ping"})
        assert first.frames.empty()
        await skip_data(second)
        # The first page takes it back.
        third = await open_view(host, call.view, call.token)
        assert await second.next() == ELSEWHERE
        await skip_data(third)
        second.disconnect(closed=True)
        assert (await third.ask("ping", {}, id=2))["id"] == 2


async def test_two_pages_that_wait_for_the_same_document_do_not_share_a_session() -> None:
    """Goes red if a session that has no document yet keeps the frames of the page that it had before."""
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token, greet=False)
        second = await open_view(host, call.view, call.token, greet=False)
        assert await first.next() == ELSEWHERE
        await first.say({"id": 0, "method": "ui/initialize", "params": {}})
        assert second.frames.empty()
        await initialize(second)
        await skip_data(second)
        assert first.frames.empty()


async def test_a_page_that_is_too_slow_to_receive_anything_does_not_hold_up_the_next_one() -> None:
    class Stalled(Page):
        stalled = False

        async def send(self, text: str) -> None:
            if self.stalled:
                await anyio.sleep_forever()
            await super().send(text)

    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = Stalled()
        await first.open(host, call.view, call.token)
        first.stalled = True
        with anyio.fail_after(60):
            second = await open_view(host, call.view, call.token)
            await skip_data(second)


async def test_a_view_that_was_let_go_comes_back_with_its_data_and_what_it_shared_with_the_model() -> None:
    """Its page left, and its session ended; the View is not closed."""
    async with running(timeouts=Timeouts(linger=0.0)) as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2}, conversation="c1")
        first = await open_view(host, call.view, call.token)
        await skip_data(first)
        update = {"content": [{"type": "text", "text": "Three left"}]}
        await first.say({"id": 7, "method": "ui/update-model-context", "params": update})
        assert (await first.next())["update"] == update
        first.disconnect(closed=True)
        with anyio.fail_after(60):
            while runtime_of(host).views.session(call.view) is not None:  # noqa: ASYNC110  nobody tells
                await anyio.sleep(0.01)
        assert [context["content"] for context in await context_of(host, "c1")] == [update["content"]]
        second = await open_view(host, call.view, call.token, greet=False)
        assert (await second.next()) == {"type": "model-context", "update": update}
        await initialize(second)
        await skip_data(second)


async def test_a_view_that_shared_nothing_shows_nothing_as_shared() -> None:
    async with Host({"counter": counter()}) as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        await skip_data(page)
        assert page.frames.empty()


async def test_a_page_closes_its_view_and_changes_its_display_mode() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        await skip_data(page)
        await page.tell({"type": "display-mode", "mode": "pip"})
        assert (await page.message())["params"] == {"displayMode": "pip"}
        await page.tell({"type": "close"})
        teardown = await page.message()
        assert teardown["method"] == "ui/resource-teardown"
        await page.say({"id": teardown["id"], "result": {}})
        assert (await page.next())["type"] == "closed"
        assert (await host.view(str(call.view))).state == "closed"


async def test_a_page_closes_a_view_that_it_does_not_show_with_its_token_only() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        opener = runtime_of(host).opener
        with pytest.raises(ViewRefusedError):
            await opener.close(OpenView(str(call.view), "wrong"))
        assert (await host.view(str(call.view))).state != "closed"
        await opener.close(OpenView(str(call.view), call.token))
        assert (await host.view(str(call.view))).state == "closed"


async def test_the_views_of_a_server_are_reloaded() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        await skip_data(page)
        gone = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        (await open_view(host, gone.view, gone.token)).disconnect()
        await host.reload_views("shop")
        await host.reload_views("counter", changed=True)
        assert page.frames.empty()
        await host.reload_views("counter")
        assert (await page.next())["type"] == "reload"


async def test_a_command_fails_if_no_page_can_run_it() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        page.disconnect(closed=True)
        with pytest.raises(RequestError, match="No page shows this View now"):
            await host.show_as(str(call.view), "pip")


async def test_a_command_fails_if_its_page_does_not_come_back_in_time() -> None:
    async with running(timeouts=Timeouts(browser=0.1)) as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        page = await open_view(host, call.view, call.token)
        await skip_data(page)
        session = runtime_of(host).views.live(str(call.view))
        failures: list[str] = []

        async def change() -> None:
            try:
                await session._command(SetDisplayMode(mode="pip"), 3600)
            except RequestError as error:
                failures.append(str(error))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(change)
                assert (await page.next())["type"] == "set-display-mode"
                page.disconnect()
        assert failures == ["The page was lost."]


async def test_a_second_page_is_not_disconnected_by_the_end_of_the_first() -> None:
    async with running() as host:
        call = await call_tool(host, "counter", "add", {"a": 1, "b": 2})
        first = await open_view(host, call.view, call.token)
        second = await open_view(host, call.view, call.token)
        first.disconnect(closed=True)
        session = runtime_of(host).views.live(str(call.view))
        assert session.attached
        assert session.away_since is None
        second.disconnect()
        assert not session.attached
