"""The registry of open Views."""

import pytest

from fanlight.host.host import runtime_of
from host.test_host import open_view, running
from support.calls import begin

pytestmark = pytest.mark.anyio


async def test_a_result_that_arrives_while_a_view_is_reloaded_is_not_lost() -> None:
    """Goes red if `renew` restores the record that the page asked for instead of the current one."""
    async with running() as host:
        runtime = runtime_of(host)
        call = await begin(host, "counter", "add")
        assert call.view is not None
        await open_view(host, call.view, call.token)
        before = runtime.records[call.view]
        await call.run({"a": 1, "b": 2})
        await runtime.views.renew(before)
        assert runtime.records[call.view].result == call.result
        page = await open_view(host, call.view, call.token)
        assert (await page.message())["params"] == {"arguments": {"a": 1, "b": 2}}
        assert (await page.message())["params"] == call.result
