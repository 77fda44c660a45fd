"""What is known of each View: its record in the store, in memory while the View is open."""

import secrets
import time
from dataclasses import replace
from typing import Any, NamedTuple

from fanlight.host.consent.policy import App
from fanlight.host.store.base import Store, StoredContext, ViewRecord, ViewSummary


class Owner(NamedTuple):
    """What a View belongs to."""

    user: str | None = None
    """The user, or None in a program with one user."""
    conversation: str | None = None
    """The user's conversation, or None."""


class ViewRecords:
    """The records of Views by id. Every change is written to the store at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, ViewRecord] = {}

    async def create(self, server: str, tool: str, uri: str, owner: Owner) -> ViewRecord:
        """Add the record of a new View, with a new id."""
        id = secrets.token_urlsafe(12)
        record = ViewRecord(id, server, tool, uri, owner.conversation, owner.user, time.time())
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

    async def change(self, id: str, **changes: Any) -> None:
        """Set fields of a View's record."""
        await self._store.change(id, changes)
        if id in self._open:
            self._open[id] = replace(self._open[id], **changes)

    async def take_contexts(self, owner: Owner) -> list[StoredContext]:
        """Return what Views want the model to know and it was not given before, and mark it as given."""
        new = [each for each in await self._store.contexts(*owner) if each.is_new]
        for each in new:
            await self.change(each.view, context_is_new=False)
        return new

    async def contexts(self, owner: Owner) -> list[StoredContext]:
        """Return what Views want the model to know, given or not."""
        return await self._store.contexts(*owner)

    async def summaries(self, owner: Owner) -> list[ViewSummary]:
        """Return the Views of a conversation that are not closed, the oldest first."""
        return await self._store.views(*owner)

    async def cancel_unfinished(self, reason: str) -> None:
        """Mark the calls as cancelled that have not finished: those of a process that ended without closing them."""
        for id in await self._store.unfinished():
            await self.change(id, cancelled=reason)

    def keep(self, record: ViewRecord) -> None:
        """Keep the record of a View in memory while the View is open."""
        self._open[record.id] = record

    def discard(self, id: str) -> None:
        """Drop a record from memory. It stays in the store."""
        self._open.pop(id, None)


def app_of(record: ViewRecord, sha256: str | None = None, *, title: str | None = None) -> App:
    """Build the `App` (the subject of a policy decision) from a View's record."""
    return App(record.id, record.server, record.uri, record.tool, record.conversation, record.user, sha256, title)
