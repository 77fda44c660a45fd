"""Closes Views for good, whichever worker has their sessions."""

from fanlight.host.bus.messages import CloseView
from fanlight.host.errors import RequestError, UnknownViewError
from fanlight.host.settings import Timeouts
from fanlight.host.tasks import HostTasks
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.records import ViewRecords
from fanlight.host.views.registry import ViewRegistry

_MARGIN = 2.0


class ViewCloser:
    """Closes Views.

    Args:
        records: The records of Views.
        views: The sessions of this worker.
        holders: The workers that have the other sessions.
        tasks: Whether the host runs.
        timeouts: How long to wait for a View to tear down.
    """

    def __init__(
        self, records: ViewRecords, views: ViewRegistry, holders: ViewHolders, tasks: HostTasks, timeouts: Timeouts
    ) -> None:
        self._records = records
        self._views = views
        self._holders = holders
        self._tasks = tasks
        self._timeouts = timeouts

    async def close_open(self, id: str) -> None:
        """Close a View. Raise UnknownViewError if it is not open, and StateError if the host does not run."""
        self._tasks.check_running()
        if self._views.session(id) is None:
            record = await self._records.find(id) if self._holders.has_others else None
            if record is None or record.closed:
                raise UnknownViewError(f"No open View has the id {id!r}.")
        await self.close(id)

    async def close(self, id: str) -> None:
        """Close a View for good, whether or not it has a session."""
        if self._views.session(id) is None and self._holders.has_others:
            holder = await self._holders.holder(await self._records.find(id))
            if holder is not None:
                try:
                    await self._holders.ask(holder, CloseView(id), self._timeouts.teardown + _MARGIN)
                    return
                except RequestError:
                    pass  # that worker is dead, or too slow: its session ends with its next write
        await self._views.close(id)
