"""What is known of each View: its record in the store, in memory while the View is open."""

import secrets
from dataclasses import replace
from typing import Any

from fanlight.host.consent.policy import App
from fanlight.host.store.base import Store, ViewRecord


class ViewRecords:
    """The records of Views by id. Every change is written to the store at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._open: dict[str, ViewRecord] = {}

    def create(self, server: str, tool: str, uri: str, conversation: str | None) -> ViewRecord:
        """Add the record of a new View, with a new id and token."""
        record = ViewRecord(secrets.token_urlsafe(12), secrets.token_urlsafe(24), server, tool, uri, conversation)
        self._store.add(record)
        return record

    def find(self, id: str) -> ViewRecord | None:
        """Return the record of a View, open or not, or None if there is no such View."""
        return self._open.get(id) or self._store.load(id)

    def __getitem__(self, id: str) -> ViewRecord:
        """Return the record of an open View."""
        record = self.find(id)
        assert record is not None, "an open View has its record"
        return record

    def change(self, id: str, **changes: Any) -> None:
        """Set fields of a View's record."""
        self._store.change(id, changes)
        if id in self._open:
            self._open[id] = replace(self._open[id], **changes)

    def keep(self, record: ViewRecord) -> None:
        """Keep the record of a View in memory while the View is open."""
        self._open[record.id] = record

    def discard(self, id: str) -> None:
        """Drop a record from memory. It stays in the store."""
        self._open.pop(id, None)


def app_of(record: ViewRecord, sha256: str | None = None) -> App:
    """Build the `App` (the subject of a policy decision) from a View's record."""
    return App(record.id, record.server, record.uri, record.tool, record.conversation, sha256)
