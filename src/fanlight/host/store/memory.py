"""A store in memory, for programs that keep nothing when they end."""

import itertools
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from fanlight.host.store.base import (
    NO_CONDITION,
    AuditQuery,
    AuditRecord,
    Changed,
    ErasedView,
    Selection,
    StoredDocument,
    ViewRecord,
)
from fanlight.host.store.sql import COLUMNS, Row, SqlStore, Statement, erasure_of, to_column
from fanlight.host.store.sqlite import SqliteDatabase


class MemoryStore(SqlStore):
    """A `Store` in memory, with bounds: the oldest records and Views are discarded.

    Args:
        max_records: How many audit records are kept.
        max_bytes: How much the Views may take, by the length of what is stored.
    """

    def __init__(self, max_records: int = 100_000, max_bytes: int = 64_000_000) -> None:
        self._database = SqliteDatabase(None)
        self._records: deque[AuditRecord] = deque(maxlen=max_records)
        self._max_bytes = max_bytes
        # The length of what is stored of each View, the oldest first.
        self._sizes: dict[str, int] = {}
        self._total = 0

    async def _query(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._database.query(query, values)

    async def _write(self, statements: Sequence[Statement]) -> None:
        self._database.write(statements)

    async def add(self, record: ViewRecord) -> None:
        await super().add(record)
        self._count(record.id, {column: getattr(record, column) for column in COLUMNS})

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        changed = await super().change(id, changes, only_if)
        if changed is not None and id in self._sizes:
            self._count(id, changes)
        return changed

    def _count(self, id: str, values: Mapping[str, Any]) -> None:
        columns = (to_column(column, value) for column, value in values.items())
        size = sum(len(value) for value in columns if isinstance(value, str))
        self._sizes[id] = self._sizes.get(id, 0) + size  # what a change replaces is counted, too
        self._total += size
        while self._total > self._max_bytes and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            self._database.write(erasure_of(oldest))
            self._discard_size(oldest)

    def _discard_size(self, id: str) -> None:
        self._total -= self._sizes.pop(id, 0)

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        erased = await super().erase_views(selection)
        for each in erased:
            self._discard_size(each.view)
        return erased

    async def add_document(self, document: StoredDocument) -> None:
        """Ignore a document: the only process that can read it has it already."""

    async def record(self, records: Sequence[AuditRecord]) -> None:
        self._records.extend(records)

    async def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        found = (record for record in tuple(self._records) if query.matches(record))
        for record in itertools.islice(found, query.limit):
            yield record

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        kept: list[AuditRecord] = []
        for each in self._records:
            if not selection.selects(each):
                kept.append(each)
            elif pseudonym is not None:
                kept.append(each._replace(user=pseudonym, data=None))
        self._records = deque(kept, self._records.maxlen)

    async def close(self) -> None:
        """Do nothing, so that a host that is started again has what it had."""
