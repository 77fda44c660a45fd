"""The background tasks of a host."""

import anyio
import pytest

from fanlight.host.tasks import HostTasks
from fanlight.protocol.errors import StateError

pytestmark = pytest.mark.anyio


async def test_an_exception_in_a_task_is_logged_and_ends_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    finished = anyio.Event()

    async def fail() -> None:
        raise ValueError("inside")

    async def finish() -> None:
        await anyio.lowlevel.checkpoint()
        finished.set()

    async with HostTasks() as tasks:
        tasks.start_soon(fail)
        tasks.start_soon(finish)
        with anyio.fail_after(60):
            await finished.wait()
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["inside"]


async def test_leaving_the_block_cancels_the_tasks_and_it_can_be_entered_again() -> None:
    tasks, cancelled = HostTasks(), []

    async def wait() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(True)

    for _ in range(2):
        async with tasks:
            assert tasks.running
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
        assert not tasks.running
    assert cancelled == [True, True]


async def test_tasks_are_refused_outside_the_block_and_it_is_not_entered_twice() -> None:
    tasks = HostTasks()
    with pytest.raises(StateError, match="is not running"):
        tasks.start_soon(anyio.sleep, 0)
    async with tasks:
        with pytest.raises(StateError, match="already running"):
            await tasks.__aenter__()
