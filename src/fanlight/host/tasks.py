"""The background tasks of a host. An error in one is logged, and ends no other."""

import logging
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from fanlight.protocol.errors import StateError

logger = logging.getLogger(__name__)


class HostTasks:
    """Runs background tasks while the `async with` block is open, and cancels them at its end.

    An exception in a task is logged and ends nothing else. The block may be entered again after its end.
    """

    def __init__(self) -> None:
        self._group: TaskGroup | None = None
        self._thread = 0

    async def __aenter__(self) -> Self:
        if self._group is not None:
            raise StateError(
                "This host is already running. Leave its `async with` block first, or create another Host."
            )
        self._group = await anyio.create_task_group().__aenter__()
        self._thread = threading.get_ident()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        group = self._running_group()
        group.cancel_scope.cancel()
        try:
            return await group.__aexit__(kind, error, traceback)
        finally:
            self._group = None

    @property
    def running(self) -> bool:
        """Whether tasks can be started now."""
        return self._group is not None

    def check_running(self) -> None:
        """Raise StateError unless the host runs."""
        self._running_group()

    def check_thread(self) -> None:
        """Raise StateError if the host runs in another thread, and so in another event loop."""
        if self._thread != threading.get_ident():
            raise StateError(
                "This host is already running in another event loop, as when two test clients are open at once. "
                "Close the first one before the second, or make a Host for each."
            )

    def start_soon(self, work: Callable[..., Awaitable[object]], *arguments: object) -> None:
        """Start a task that nothing waits for."""
        self._running_group().start_soon(_log_errors, work, *arguments)

    def cancel(self) -> None:
        """Cancel all tasks."""
        self._running_group().cancel_scope.cancel()

    def _running_group(self) -> TaskGroup:
        if self._group is None:
            raise StateError(
                "This host is not running. Serve what host.wrap(app) returns, with its lifespan (with Starlette's "
                "TestClient that means `with TestClient(app) as client:`), or use `async with host:`."
            )
        return self._group


async def _log_errors(work: Callable[..., Awaitable[object]], *arguments: object) -> None:
    """Await some work, and log its error instead of raising it."""
    try:
        await work(*arguments)
    except Exception:
        logger.exception("Unhandled error in the background task %s", getattr(work, "__qualname__", work))
