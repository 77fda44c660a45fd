"""`WorkerThread`: one thread for what must not block the event loop, in the order of the calls.

`anyio.to_thread` takes longer to get to another thread and back, and a View waits for each of its records.
"""

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

import anyio
from anyio.lowlevel import current_token

Result = TypeVar("Result")


class _Job:
    """A function to call, and what came of it."""

    def __init__(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.work = work
        self.arguments = arguments
        self.result: Any = None
        self.error: BaseException | None = None
        self.finished = anyio.Event()
        loop: Any = current_token().native_token
        # asyncio's and trio's names for the same.
        self.call_in_loop = loop.call_soon_threadsafe if hasattr(loop, "call_soon_threadsafe") else loop.run_sync_soon


class WorkerThread:
    """Runs functions in a thread of its own, which ends with `stop`, or when nothing refers to this object."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self.stop = weakref.finalize(self, self._jobs.put, None)
        """End the thread after the calls that were made. Does nothing the second time."""
        threading.Thread(target=_work, args=(self._jobs,), name=name, daemon=True).start()

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Return what `work` returns, or raise what it raises. A call that was made is finished, cancelled or not."""
        job = _Job(work, arguments)
        self._jobs.put(job)
        with anyio.CancelScope(shield=True):
            await job.finished.wait()
        if job.error is None:
            result: Result = job.result
            return result
        try:
            raise job.error
        finally:
            del job  # the traceback of its error refers to it


def _work(jobs: "SimpleQueue[_Job | None]") -> None:
    while (job := jobs.get()) is not None:
        try:
            job.result = job.work(*job.arguments)
        except BaseException as error:
            job.error = error
        with suppress(RuntimeError):  # the loop was closed, so nothing waits any more
            job.call_in_loop(job.finished.set)
        del job  # what it holds is not kept until the next one
