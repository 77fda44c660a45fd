"""Which worker has the session of a View, and what the others ask of it.

The store has the truth: the `holder` of a View's record changes in one step, and a worker that is not the holder can
write nothing for the View's session.
"""

from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from fanlight.host.bus.messages import CallChanged, HandOver, PartialInput, ViewHeld, WorkerMessage
from fanlight.host.bus.workers import Workers
from fanlight.host.errors import BusError, ElsewhereError, RequestError, UnknownViewError
from fanlight.host.settings import Timeouts
from fanlight.host.store.base import ViewRecord
from fanlight.host.views.page.frames import OpenView
from fanlight.host.views.records import ViewRecords
from fanlight.protocol.jsonrpc import JSONObject

_MAX_ATTEMPTS: Final = 10


class Claim(NamedTuple):
    """A View of which this worker is the holder now."""

    record: ViewRecord
    """The record as the former holder left it."""
    is_new: bool
    """Whether this worker was not the holder before, so that a session that it still has is out of date."""


class ViewHolders:
    """The workers that have the sessions of Views.

    Args:
        records: The records of Views.
        workers: The other workers.
        timeouts: How long to wait for them.
    """

    def __init__(self, records: ViewRecords, workers: Workers, timeouts: Timeouts) -> None:
        self._records = records
        self._workers = workers
        self._timeouts = timeouts
        self._known: dict[str, str] = {}

    @property
    def has_others(self) -> bool:
        """Whether other workers can have the session of a View."""
        return self._workers.id is not None

    async def claim(self, record: ViewRecord, request: OpenView) -> Claim | None:
        """Make this worker the holder of a View that a page opens.

        Return None if the View is gone. Raise ElsewhereError if another page keeps the View from one that resumes, or
        if several pages open it at once.
        """
        worker, current = self._workers.id, record
        if worker is None:
            return Claim(record, is_new=False)
        held: JSONObject = {"holder": worker, "shown": True}
        for _ in range(_MAX_ATTEMPTS):
            if current.holder not in (None, worker) and await self._taken_over(current, request):
                current = await self._records.refresh(current.id) or current
            if await self._records.change(current.id, held, {"holder": current.holder}):
                break
            changed = await self._records.refresh(current.id)
            if changed is None:
                return None
            current = changed
        else:
            raise ElsewhereError
        is_new = current.holder != worker
        if current.result is not None or current.cancelled is not None:
            return Claim(replace(current, **held), is_new)
        await self._workers.notify(current.caller, ViewHeld(current.id))
        # Read again, because the call may have changed before its caller could know the new holder.
        latest = await self._records.refresh(current.id)
        return None if latest is None else Claim(latest, is_new)

    async def _taken_over(self, record: ViewRecord, request: OpenView) -> bool:
        """Ask the holder of a View to hand it over. Return whether it has; a holder that is dead or slow has not."""
        assert record.holder is not None
        message = HandOver(record.id, None if request.seen is None else request.epoch)
        try:
            done = await self._workers.request(record.holder, message, self._timeouts.handover)
            while done.get("busy"):  # a holder that stops lets requests of the View finish, until its drain ends
                done = await self._workers.request(record.holder, message, self._timeouts.handover)
        except RequestError:
            return False
        if done.get("elsewhere"):
            raise ElsewhereError
        return True

    # Calls of this worker

    def held_by(self, view: str, worker: str) -> None:
        """Send partial input of a View to this worker from now on."""
        self._known[view] = worker

    def is_elsewhere(self, view: str) -> bool:
        """Return whether another worker is known to have the session of a View."""
        return view in self._known

    async def send_partial(self, view: str, arguments: JSONObject) -> None:
        """Send the arguments that the model has written so far to the worker that has the session of a View."""
        if not await self._workers.notify(self._known.get(view), PartialInput(view, arguments)):
            self._known.pop(view, None)

    async def call_changed(self, view: str, holder: str | None) -> None:
        """Let the holder of a View know that the store has more of its call."""
        await self._workers.notify(holder, CallChanged(view))

    def forget(self, view: str) -> None:
        """Send no more partial input of a View."""
        self._known.pop(view, None)

    # Requests

    async def holder(self, record: ViewRecord | None) -> str | None:
        """Return the worker that has the session of a View and is alive, if it is another one."""
        if record is None or record.holder in (None, self._workers.id):
            return None
        with suppress(BusError):
            return record.holder if record.holder in await self._workers.alive() else None
        return record.holder

    async def request(self, view: str, message: WorkerMessage, seconds: float) -> JSONObject:
        """Send a request to the holder of a View. Raise UnknownViewError if there is none, or RequestError."""
        record = await self._records.find(view)
        holder = None if record is None or record.closed else await self.holder(record)
        if holder is None:
            raise UnknownViewError(f"No open View has the id {view!r}.")
        return await self.ask(holder, message, seconds)

    async def ask(self, holder: str, message: WorkerMessage, seconds: float) -> JSONObject:
        """Send a request to a worker. Raise RequestError if it fails."""
        return await self._workers.request(holder, message, seconds)
