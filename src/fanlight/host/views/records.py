"""What is known of each View: its record in the store, in memory while the View is open."""

import secrets
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Protocol

from fanlight.host.consent.policy import App
from fanlight.host.store.base import (
    NO_CONDITION,
    Changed,
    OfferedTools,
    Store,
    StoredContext,
    ViewRecord,
    ViewSummary,
)


class Owner(NamedTuple):
    """What a View belongs to."""

    user: str | None = None
    """The user, or None in a program with one user."""
    conversation: str | None = None
    """The user's conversation, or None."""


class ThisWorker(Protocol):
    """The worker that this process is."""

    @property
    def id(self) -> str | None:
        """Its id, or None in a program with one process."""


class ViewRecords:
    """The records of Views by id. Every change is written to the store at once.

    Args:
        store: Keeps the records.
        worker: The worker that writes them.
        on_lost: Called with the id of a View that another worker holds now, so that this one must end its session.
    """

    def __init__(self, store: Store, worker: ThisWorker, on_lost: Callable[[str], None]) -> None:
        self._store = store
        self._worker = worker
        self._on_lost = on_lost
        self._open: dict[str, ViewRecord] = {}

    async def create(self, server: str, tool: str, uri: str, owner: Owner) -> ViewRecord:
        """Add the record of a new View, with a new id."""
        id = secrets.token_urlsafe(12)
        record = ViewRecord(id, server, tool, uri, owner.conversation, owner.user, time.time(), caller=self._worker.id)
        await self._store.add(record)
        return record

    async def find(self, id: str) -> ViewRecord | None:
        """Return the record of a View, open or not, or None if there is no such View."""
        return self._open.get(id) or await self._store.load(id)

    def __getitem__(self, id: str) -> ViewRecord:
        """Return the record of an open View."""
        return self._open[id]

    def get(self, id: str | None) -> ViewRecord | None:
        """Return the record of an open View, or None if the View is not open."""
        return self._open.get(id or "")

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        """Set fields of a View's record, if other fields have these values. Return None if they have not."""
        changed = await self._store.change(id, changes, only_if)
        if changed is not None and id in self._open:
            # `dataclasses.replace` would take twice as long.
            self._open[id] = ViewRecord(**{**vars(self._open[id]), **changes})
        return changed

    async def change_held(self, id: str, **changes: Any) -> bool:
        """Set fields of a View whose session this worker has. Return False if another worker has it now."""
        only_if = NO_CONDITION if self._worker.id is None else {"holder": self._worker.id}
        if await self.change(id, changes, only_if) is not None or self._worker.id is None:
            return True
        self._on_lost(id)
        return False

    async def change_call(self, id: str, **changes: Any) -> Changed | None:
        """Set fields of the call of a View, unless it has ended. Return None if it has."""
        if self._worker.id is None:
            return await self.change(id, changes)
        return await self.change(id, changes, {"caller": self._worker.id, "result": None, "cancelled": None})

    async def refresh(self, id: str) -> ViewRecord | None:
        """Return the record of a View as it is in the store, and keep it if the View is open."""
        record = await self._store.load(id)
        if record is not None and id in self._open:
            self._open[id] = record
        return record

    async def take_contexts(self, owner: Owner) -> list[StoredContext]:
        """Return what Views want the model to know and it was not given before, and mark it as given."""
        return await self._store.take_contexts(*owner)

    async def contexts(self, owner: Owner) -> list[StoredContext]:
        """Return what Views want the model to know, given or not."""
        return await self._store.contexts(*owner)

    async def summaries(self, owner: Owner) -> list[ViewSummary]:
        """Return the Views of a conversation that are not closed, the oldest first."""
        return await self._store.views(*owner)

    async def offered_tools(self, owner: Owner) -> list[OfferedTools]:
        """Return the tools that the Views of a conversation offer to the model, whichever worker has their sessions."""
        return await self._store.offered_tools(*owner)

    async def cancel_unfinished(self, alive: Collection[str], reason: str) -> list[tuple[str, str | None]]:
        """Mark the calls as cancelled whose worker is not alive. Return each of their Views with its holder."""
        cancelled = []
        for view, caller in await self._store.unfinished():
            if caller is None or caller not in alive:
                only_if = {"caller": caller, "result": None, "cancelled": None}
                if (changed := await self.change(view, {"cancelled": reason}, only_if)) is not None:
                    cancelled.append((view, changed.holder))
        return cancelled

    @property
    def is_shared(self) -> bool:
        """Whether other workers read the records."""
        return self._worker.id is not None

    def keep(self, record: ViewRecord) -> None:
        """Keep the record of a View in memory while the View is open."""
        self._open[record.id] = record

    def discard(self, id: str) -> None:
        """Drop a record from memory. It stays in the store."""
        self._open.pop(id, None)


def app_of(record: ViewRecord, sha256: str | None = None, *, title: str | None = None) -> App:
    """Build the `App` (the subject of a policy decision) from a View's record."""
    return App(record.id, record.server, record.uri, record.tool, record.conversation, record.user, sha256, title)
