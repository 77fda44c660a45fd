"""`SharedLock`: one task works, and those that wait for the same work share its failure."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class SharedLock:
    """A lock whose waiters get the error of the task that held it while they waited.

    Without it, each waiter would try again, and those behind it would wait for one time-out after the other.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._error: Exception | None = None

    @property
    def is_held(self) -> bool:
        """Whether a task holds the lock."""
        return self._lock.locked()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold the lock in the block. Raise the error of the task before, if it failed while this one waited."""
        before = self._error
        async with self._lock:
            if self._error is not None and self._error is not before:
                raise self._error
            try:
                yield
            except Exception as error:
                self._error = error if self._lock.statistics().tasks_waiting else None
                raise
