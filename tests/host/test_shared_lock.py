"""`SharedLock`: those that wait for the same work share its failure."""

import anyio
import pytest

from fanlight.host.shared_lock import SharedLock

pytestmark = pytest.mark.anyio


class Work:
    """Work that fails as often as `failures` says, and can be made to wait."""

    def __init__(self, failures: int = 0) -> None:
        self.lock = SharedLock()
        self.go_on = anyio.Event()
        self.runs = 0
        self.outcomes: list[str] = []
        self._failures = failures

    async def run(self) -> None:
        try:
            async with self.lock.hold():
                self.runs += 1
                await self.go_on.wait()
                if self.runs <= self._failures:
                    raise ValueError(f"failure {self.runs}")
                self.outcomes.append("done")
        except ValueError as error:
            self.outcomes.append(str(error))


async def test_those_that_wait_get_the_error_of_the_one_that_works() -> None:
    """Goes red if each of them tries again, one after the other."""
    work = Work(failures=3)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(work.run)
        await anyio.wait_all_tasks_blocked()
        work.go_on.set()
    assert work.outcomes == ["failure 1"] * 3
    assert work.runs == 1


async def test_one_that_comes_after_a_failure_tries_again() -> None:
    work = Work(failures=1)
    work.go_on.set()
    await work.run()
    await work.run()
    assert work.outcomes == ["failure 1", "done"]


async def test_a_success_leaves_the_work_to_the_next() -> None:
    work = Work()
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(work.run)
        await anyio.wait_all_tasks_blocked()
        work.go_on.set()
    assert work.outcomes == ["done", "done"]


async def test_one_that_is_cancelled_leaves_the_work_to_the_next() -> None:
    work = Work()
    async with anyio.create_task_group() as tasks:
        cancelled = anyio.CancelScope()

        async def first() -> None:
            with cancelled:
                await work.run()

        tasks.start_soon(first)
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(work.run)
        await anyio.wait_all_tasks_blocked()
        cancelled.cancel()
        work.go_on.set()
    assert (work.outcomes, work.runs) == (["done"], 2)


async def test_it_is_held_while_work_is_under_way() -> None:
    lock = SharedLock()
    async with lock.hold():
        assert lock.is_held
    assert not lock.is_held
