"""A store in memory, for programs that keep nothing when they end."""

import itertools
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from fanlight.host.store.base import (
    NO_CONDITION,
    AuditQuery,
    AuditRecord,
    Changed,
    ErasedView,
    Grant,
    OfferedTools,
    Selection,
    StoredContext,
    StoredDocument,
    UnfinishedCall,
    ViewRecord,
    ViewSummary,
)
from fanlight.host.store.sql import COLUMNS, check_changes, to_column, to_record
from fanlight.protocol.jsonrpc import JSONObject

_Row = dict[str, Any]


class MemoryStore:
    """A `Store` in memory, with bounds: the oldest records and Views are discarded.

    Args:
        max_records: How many audit records are kept.
        max_bytes: How much the Views may take, by the length of what is stored.
    """

    def __init__(self, max_records: int = 100_000, max_bytes: int = 64_000_000) -> None:
        # Exact tuples, which the garbage collector does not walk, unlike those of a subclass.
        self._records: deque[tuple[Any, ...]] = deque(maxlen=max_records)
        self._max_bytes = max_bytes
        # The Views by id, and by user and conversation, the oldest first. What can be changed by others who have it is
        # kept as JSON text, as in the other stores.
        self._rows: dict[str, _Row] = {}
        self._owned: dict[tuple[str | None, str | None], dict[str, _Row]] = {}
        self._total = 0
        self._tokens: dict[str, dict[str, float]] = {}
        self._grants: dict[Grant, None] = {}
        self._pins: dict[tuple[str | None, str, str], str] = {}
        self._credentials: dict[tuple[str, str], str] = {}
        self._payloads: dict[str, tuple[bytes, float]] = {}
        self._secret = secrets.token_hex(32)

    # Views

    async def add(self, record: ViewRecord) -> None:
        row = {column: to_column(column, getattr(record, column)) for column in COLUMNS}
        self._rows[record.id] = row
        self._owned.setdefault(_owner(row), {})[record.id] = row
        self._total += _size(row)
        self._discard_oldest()

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        check_changes(changes)
        check_changes(only_if)
        row = self._rows.get(id)
        if row is None or any(row[column] != to_column(column, value) for column, value in only_if.items()):
            return None
        new = {column: to_column(column, value) for column, value in changes.items()}
        self._total += _size(new) - _size({column: row[column] for column in new})
        owner = _owner(row)
        row.update(new)
        if _owner(row) != owner:
            self._owned.setdefault(_owner(row), {})[id] = self._owned[owner].pop(id)
        self._discard_oldest()
        return Changed(row["holder"])

    def _discard_oldest(self) -> None:
        while self._total > self._max_bytes and len(self._rows) > 1:
            self._discard(next(iter(self._rows)))

    def _discard(self, id: str) -> None:
        row = self._rows.pop(id)
        self._total -= _size(row)
        owned = self._owned[_owner(row)]
        del owned[id]
        if not owned:
            del self._owned[_owner(row)]
        self._tokens.pop(id, None)

    def _open(self, user: str | None, conversation: str | None) -> Iterator[_Row]:
        """Return the Views of a user's conversation that are not closed, the oldest first."""
        return (row for row in self._owned.get((user, conversation), {}).values() if not row["closed"])

    async def load(self, id: str) -> ViewRecord | None:
        row = self._rows.get(id)
        return None if row is None else to_record(dict(row))

    async def views(self, user: str | None, conversation: str | None) -> list[ViewSummary]:
        return [to_record(dict(row)).summary for row in self._open(user, conversation)]

    async def contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        return [_context(row) for row in self._open(user, conversation) if row["context"] is not None]

    async def take_contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        taken = []
        for row in self._open(user, conversation):
            if row["context_is_new"] and row["context"] is not None:
                taken.append(_context(row))
                row["context_is_new"] = 0
        return taken

    async def offered_tools(self, user: str | None, conversation: str | None) -> list[OfferedTools]:
        return [
            OfferedTools(row["id"], row["server"], row["holder"], json.loads(row["tools"]))
            for row in self._open(user, conversation)
            if row["shown"] and row["tools"] is not None and row["holder"] is not None
        ]

    async def unfinished(self) -> list[UnfinishedCall]:
        return [
            UnfinishedCall(id, row["caller"])
            for id, row in self._rows.items()
            if row["result"] is None and row["cancelled"] is None and not row["closed"]
        ]

    async def add_token(self, digest: str, view: str, expires: float) -> None:
        self._tokens.setdefault(view, {})[digest] = expires

    async def has_token(self, digest: str, view: str, now: float) -> bool:
        return self._tokens.get(view, {}).get(digest, now) > now

    # Users

    async def grant(self, grant: Grant) -> None:
        self._grants[grant] = None

    async def is_granted(self, grant: Grant) -> bool:
        return grant in self._grants

    async def grants(self, user: str | None) -> list[Grant]:
        found = (grant for grant in self._grants if grant.user == user)
        return sorted(found, key=lambda grant: (grant.server, grant.uri, grant.kind, grant.key))

    async def revoke(self, grant: Grant) -> None:
        self._grants.pop(grant, None)

    async def pin(self, server: str, uri: str, sha256: str, user: str | None) -> None:
        self._pins[user, server, uri] = sha256

    async def pinned(self, server: str, uri: str, user: str | None) -> str | None:
        return self._pins.get((user, server, uri))

    async def secret(self) -> str:
        return self._secret

    async def set_credentials(self, user: str, server: str, credentials: JSONObject) -> None:
        self._credentials[user, server] = json.dumps(credentials)

    async def credentials(self, user: str, server: str) -> JSONObject | None:
        text = self._credentials.get((user, server))
        return None if text is None else json.loads(text)

    # Documents

    async def add_document(self, document: StoredDocument) -> None:
        """Ignore a document: the only process that can read it has it already."""

    async def document(self, label: str, address: str, now: float) -> StoredDocument | None:
        return None

    async def remove_documents(self, expired_before: float) -> None:
        """Do nothing: no document is kept."""

    # Messages between workers

    async def put_payload(self, key: str, body: bytes, expires: float) -> None:
        now = time.time()
        for old in [each for each, (_, end) in self._payloads.items() if end < now]:
            del self._payloads[old]
        self._payloads[key] = body, expires

    async def take_payload(self, key: str) -> bytes | None:
        body, expires = self._payloads.pop(key, (None, 0.0))
        return body if expires > time.time() else None

    # The audit

    async def record(self, records: Sequence[AuditRecord]) -> None:
        self._records.extend(map(tuple, records))

    async def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        found = filter(query.matches, map(AuditRecord._make, tuple(self._records)))
        for record in itertools.islice(found, query.limit):
            yield record

    # Erasing

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        erased = [
            ErasedView(id, row["holder"])
            for id, row in self._rows.items()
            if not selection.is_empty
            and selection.user in (None, row["user"])
            and selection.conversation in (None, row["conversation"])
            and (selection.before is None or row["created"] < selection.before)
            and not selection.keeps(id, row["holder"])
        ]
        for each in erased:
            self._discard(each.view)
        if selection.before is not None:
            for view, tokens in tuple(self._tokens.items()):
                left = {digest: expires for digest, expires in tokens.items() if expires >= selection.before}
                self._tokens[view] = left
                if not left:
                    del self._tokens[view]
        return erased

    async def erase_user(self, user: str) -> None:
        self._grants = {grant: None for grant in self._grants if grant.user != user}
        self._pins = {key: sha256 for key, sha256 in self._pins.items() if key[0] != user}
        self._credentials = {key: text for key, text in self._credentials.items() if key[0] != user}

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        kept: list[AuditRecord] = []
        for each in map(AuditRecord._make, self._records):
            if not selection.selects(each):
                kept.append(each)
            elif pseudonym is not None:
                kept.append(each._replace(user=pseudonym, data=None))
        self._records = deque(map(tuple, kept), self._records.maxlen)

    async def close(self) -> None:
        """Do nothing, so that a host that is started again has what it had."""


def _owner(row: _Row) -> tuple[str | None, str | None]:
    return row["user"], row["conversation"]


def _size(row: _Row) -> int:
    """Return the length of the texts of a View's record, or of some of its fields."""
    return sum(len(value) for value in row.values() if type(value) is str)


def _context(row: _Row) -> StoredContext:
    return StoredContext(row["id"], row["server"], row["tool"], json.loads(row["context"]), bool(row["context_is_new"]))
