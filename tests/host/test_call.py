"""Calls of the model: results that the program got by other means."""

import anyio
import pytest
from mcp.server import MCPServer

from fanlight.host import CallCancelledError, Host, StoreError, Timeouts
from fanlight.host.host import runtime_of
from fanlight.protocol.errors import StateError
from host.test_host import open_view, running
from support.calls import begin

pytestmark = pytest.mark.anyio


async def test_a_result_from_elsewhere_is_shown_without_calling_the_tool() -> None:
    async with running() as host:
        call = await begin(host, "counter", "fail")
        page = await open_view(host, call.view, call.token)
        await call.show_result({"a": 1}, {"content": [], "structuredContent": {"sum": 3}})
        assert (await page.message())["params"] == {"arguments": {"a": 1}}
        assert (await page.message())["params"] == {"content": [], "structuredContent": {"sum": 3}}
        assert call.result == {"content": [], "structuredContent": {"sum": 3}}


async def test_a_result_from_elsewhere_opens_the_views_that_it_embeds() -> None:
    resource = {"uri": "ui://shop/form", "mimeType": "text/html", "text": "<p>Form</p>"}
    result = {"content": [{"type": "resource", "resource": resource}]}
    async with running() as host:
        call = await begin(host, "shop", "plain")
        assert call.view is None
        await call.show_result({}, result)
        assert [view.uri for view in call.views] == ["ui://shop/form"]
        page = await open_view(host, call.view, call.token)
        assert (await page.message())["method"] == "ui/notifications/tool-input"
        assert (await page.message())["params"] == result


async def test_a_call_runs_once_or_shows_one_result() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        await call.show_result({}, {"content": []})
        with pytest.raises(StateError, match=r"run\(\) came after"):
            await call.run({"a": 1, "b": 2})
        with pytest.raises(StateError, match=r"show_result\(\) came after"):
            await call.show_result({}, {"content": []})
        with pytest.raises(StateError, match=r"feed\(\) came after"):
            call.feed("{}")


async def test_a_call_that_took_too_long_does_not_delay_the_end_of_the_host() -> None:
    """Goes red if a call that raised counts as running: the host would wait for it until the deadline."""
    server = MCPServer("slow")

    @server.tool()
    async def hang() -> str:
        await anyio.sleep_forever()
        return ""

    async with Host({"slow": server}, timeouts=Timeouts(call=0.05)) as host:
        await host.servers["slow"].ready()
        call = await begin(host, "slow", "hang")
        with pytest.raises(CallCancelledError):
            await call.run({})
        assert not call.is_running
        assert call.cancelled
        with anyio.fail_after(20):
            await host.drain(300)


async def test_a_call_that_has_ended_cannot_be_cancelled() -> None:
    async with running() as host:
        call = await begin(host, "counter", "add")
        await call.run({"a": 1, "b": 2})
        await call.cancel("too late")
        assert call.cancelled is None
        other = await begin(host, "counter", "add")
        await other.cancel("first")
        await other.cancel("second")
        assert other.cancelled == "first"


async def test_a_call_whose_arguments_cannot_be_stored_does_not_run_and_is_shown_as_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goes red if the tool runs although nothing would be known of it after a crash."""
    async with running() as host:
        call = await begin(host, "counter", "add")
        page = await open_view(host, call.view, call.token)
        executed: list[object] = []

        async def fail(*arguments: object, **options: object) -> None:
            raise StoreError("The database is locked.")

        monkeypatch.setattr(runtime_of(host).calls, "show_input", fail)
        monkeypatch.setattr(call, "_execute", executed.append)
        with pytest.raises(StoreError):
            await call.run({"a": 1, "b": 2})
        assert (await page.message())["method"] == "ui/notifications/tool-cancelled"
        assert executed == []
