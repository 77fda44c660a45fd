"""Ends the calls that no worker runs any more: their worker died, or the store failed when they began."""

import logging
from time import monotonic
from typing import Final

import anyio

from fanlight.host.bus.workers import Workers
from fanlight.host.calls.begun import BegunCalls
from fanlight.host.calls.call import NOT_STORED
from fanlight.host.calls.runner import CallRunner
from fanlight.host.errors import BusError, StoreError
from fanlight.host.store.base import Store
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.records import ViewRecords
from fanlight.host.views.registry import ViewRegistry

logger = logging.getLogger(__name__)

_RESTARTED: Final = "The host was restarted before the call finished."


class OrphanedCalls:
    """Cancels orphaned calls, and notifies their Views.

    Args:
        store: Has the calls that have not finished.
        records: The records of Views.
        views: The sessions of this worker.
        holders: The workers that have the other sessions.
        workers: The other workers.
        begun: The calls of this worker.
        calls: Shows the Views of this worker's calls what came of them.
        lease: After how many seconds without a sign of life a worker counts as dead.
    """

    def __init__(
        self,
        store: Store,
        records: ViewRecords,
        views: ViewRegistry,
        holders: ViewHolders,
        workers: Workers,
        begun: BegunCalls,
        calls: CallRunner,
        lease: float,
    ) -> None:
        self._store = store
        self._records = records
        self._views = views
        self._holders = holders
        self._workers = workers
        self._begun = begun
        self._calls = calls
        self._lease = lease
        self._abandoned: set[str] = set()

    async def cancel_all(self) -> None:
        """Cancel all calls that have not finished, when the only process of a host starts."""
        await self._records.cancel_unfinished((), _RESTARTED)

    async def run(self) -> None:
        """Cancel the calls of workers that have ended without a word, until cancelled."""
        seen: frozenset[str] = frozenset()
        checked = monotonic()
        while True:
            await anyio.sleep(self._lease / 3)
            try:
                alive = frozenset(await self._workers.alive())
                # After a failure of the bus, others may need as long as this worker to renew their leases.
                knows_the_dead = self._workers.id in alive and self._workers.connected_for > self._lease
                has_changed = knows_the_dead and (not seen or bool(seen - alive))
                if has_changed or monotonic() - checked >= self._lease:
                    if knows_the_dead:
                        for view, holder in await self._records.cancel_unfinished(alive, _RESTARTED):
                            await self._show_cancelled(view, holder)
                    await self._cancel_abandoned()
                    await self._views.refresh_unfinished()
                    checked = monotonic()
                if knows_the_dead:
                    seen = alive
            except (BusError, StoreError) as error:
                logger.warning("The calls of ended workers cannot be cancelled now: %s", error)

    async def _cancel_abandoned(self) -> None:
        """Cancel calls that are recorded as this worker's and that it does not have: the store failed meanwhile."""
        known = self._begun.views | self._calls.unstored
        unfinished = await self._store.unfinished()
        abandoned = {view for view, caller in unfinished if caller == self._workers.id and view not in known}
        for view in abandoned & self._abandoned:  # not at once: a call is recorded before it can be known here
            await self._calls.show_cancelled(view, NOT_STORED)
        self._abandoned = abandoned

    async def _show_cancelled(self, view: str, holder: str | None) -> None:
        if (session := self._views.session(view)) is not None:
            session.tool_cancelled(_RESTARTED)
        await self._holders.call_changed(view, holder)
