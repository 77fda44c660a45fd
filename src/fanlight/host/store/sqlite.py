"""A store in SQLite: one file, or memory.

A committed write survives a crash of the process. Only a crash of the operating system can lose the last writes.
"""

import itertools
import json
import sqlite3
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from fanlight.host.store.base import (
    AuditQuery,
    AuditRecord,
    Grant,
    Selection,
    StoredContext,
    StoredDocument,
    ViewRecord,
    ViewSummary,
)
from fanlight.host.store.schema import migrate
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

_COLUMNS = (
    "id",
    "server",
    "tool",
    "uri",
    "conversation",
    "user",
    "created",
    "arguments",
    "result",
    "cancelled",
    "context",
    "context_is_new",
    "closed",
    "state",
)
_JSON = frozenset({"arguments", "result", "context", "state", "data"})
_AUDIT_FIELDS = AuditRecord._fields
_QUERY_FIELDS = ("view", "server", "conversation", "user", "kind", "name")
_SUMMARY = (
    "id, server, tool, uri, conversation, user, created,"
    " case when result is not null then 'done' when cancelled is not null then 'cancelled' else 'running' end, closed"
)
_INSERT_AUDIT = f"insert into audit ({', '.join(_AUDIT_FIELDS)}) values ({', '.join('?' * len(_AUDIT_FIELDS))})"  # noqa: S608
_PAGE_SIZE = 1000


class SqliteStore:
    """A `Store` in one SQLite file, or in memory. After `close`, the next use opens the file again.

    Args:
        path: The file. Default: in memory.
        max_records: How many audit records are kept in memory. A file keeps all.
        max_bytes: How much the Views in memory may take, by the length of what is stored. Beyond it, the oldest are
            erased. A file keeps all.
    """

    def __init__(self, path: str | Path | None = None, max_records: int = 100_000, max_bytes: int = 64_000_000) -> None:
        self._path = path
        self._max_bytes = max_bytes
        # The length of what is stored of each View in memory, the oldest first. None for a file.
        self._sizes: dict[str, int] | None = {} if path is None else None
        self._total = 0
        # None for a file, which keeps all records.
        self._records: deque[AuditRecord] | None = deque(maxlen=max_records) if path is None else None
        # All threads share one connection, one at a time.
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._open()

    def _open(self) -> sqlite3.Connection:
        if self._path is not None and not Path(self._path).exists():
            # It will have what users see, and their credentials. SQLite gives its other files the same mode.
            with suppress(OSError):  # SQLite reports what is wrong with the path
                Path(self._path).touch(mode=0o600)
        database = sqlite3.connect(str(self._path or ":memory:"), check_same_thread=False, isolation_level=None)
        try:
            database.execute("pragma journal_mode = wal")
            database.execute("pragma synchronous = normal")
            migrate(database, str(self._path))
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def add(self, record: ViewRecord) -> None:
        values = [_to_column(column, getattr(record, column)) for column in _COLUMNS]
        self._execute(
            f"insert into views ({', '.join(_COLUMNS)}, seen)"  # noqa: S608  constant names
            f" values ({', '.join('?' * len(_COLUMNS))}, (select coalesce(max(seen), 0) + 1 from views))",
            values,
        )
        self._count(record.id, values)

    def change(self, id: str, changes: Mapping[str, Any]) -> None:
        if not set(changes) <= set(_COLUMNS):
            unknown = ", ".join(sorted(set(changes) - set(_COLUMNS)))
            raise ArgumentError(f"changes has {unknown}, expected fields of ViewRecord: {', '.join(_COLUMNS)}.")
        places = ", ".join(f"{column} = ?" for column in changes)
        values = [_to_column(column, value) for column, value in changes.items()]
        self._execute(f"update views set {places} where id = ?", [*values, id])  # noqa: S608  checked above
        if self._sizes is not None and id in self._sizes:
            self._count(id, values)

    def _count(self, id: str, values: Sequence[Any]) -> None:
        """Add what was written of a View to the memory that is used, and erase the oldest Views if it is too much."""
        if self._sizes is None:
            return
        size = sum(len(value) for value in values if isinstance(value, str))
        self._sizes[id] = self._sizes.get(id, 0) + size  # what a change replaces is counted, too
        self._total += size
        while self._total > self._max_bytes and len(self._sizes) > 1:
            self._erase([next(iter(self._sizes))])

    def _erase(self, ids: Sequence[str]) -> None:
        for id in ids:
            self._execute("delete from views where id = ?", [id])
            self._execute("delete from tokens where view = ?", [id])
            if self._sizes is not None:
                self._total -= self._sizes.pop(id, 0)

    def load(self, id: str) -> ViewRecord | None:
        query = f"select {', '.join(_COLUMNS)} from views where id = ?"  # noqa: S608  constant names
        rows = self._execute(query, [id])
        return _to_record(dict(zip(_COLUMNS, rows[0], strict=True))) if rows else None

    def views(self, user: str | None, conversation: str | None) -> list[ViewSummary]:
        rows = self._execute(
            f"select {_SUMMARY} from views where user is ? and conversation is ? and not closed order by seen",  # noqa: S608  constant
            [user, conversation],
        )
        return [ViewSummary._make((*row[:-1], bool(row[-1]))) for row in rows]

    def contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        rows = self._execute(
            "select id, server, tool, context, context_is_new from views where user is ? and conversation is ?"
            " and context is not null and not closed order by seen",
            [user, conversation],
        )
        return [
            StoredContext(id, server, tool, json.loads(context), bool(is_new))
            for id, server, tool, context, is_new in rows
        ]

    def unfinished(self) -> list[str]:
        rows = self._execute("select id from views where result is null and cancelled is null and not closed", [])
        return [id for (id,) in rows]

    def add_token(self, digest: str, view: str, expires: float) -> None:
        self._execute(
            "insert into tokens values (?, ?, ?) on conflict do update set expires = excluded.expires",
            [digest, view, expires],
        )

    def has_token(self, digest: str, view: str, now: float) -> bool:
        query = "select 1 from tokens where digest = ? and view = ? and expires > ?"
        return bool(self._execute(query, [digest, view, now]))

    def grant(self, grant: Grant) -> None:
        self._execute("insert or ignore into grants values (?, ?, ?, ?, ?)", _grant_row(grant))

    def is_granted(self, grant: Grant) -> bool:
        query = "select 1 from grants where user = ? and server = ? and uri = ? and kind = ? and key = ?"
        return bool(self._execute(query, _grant_row(grant)))

    def grants(self, user: str | None) -> list[Grant]:
        query = "select server, uri, kind, key from grants where user = ? order by 1, 2, 3, 4"
        return [Grant(server, uri, kind, key, user) for server, uri, kind, key in self._execute(query, [user or ""])]

    def revoke(self, grant: Grant) -> None:
        query = "delete from grants where user = ? and server = ? and uri = ? and kind = ? and key = ?"
        self._execute(query, _grant_row(grant))

    def pin(self, server: str, uri: str, sha256: str, user: str | None) -> None:
        self._execute(
            "insert into pins values (?, ?, ?, ?) on conflict do update set sha256 = excluded.sha256",
            [user or "", server, uri, sha256],
        )

    def pinned(self, server: str, uri: str, user: str | None) -> str | None:
        query = "select sha256 from pins where user = ? and server = ? and uri = ?"
        rows = self._execute(query, [user or "", server, uri])
        return rows[0][0] if rows else None

    def erase_views(self, selection: Selection) -> list[str]:
        where, values = _selected(selection, "created")
        rows = self._execute(f"select id from views where {where}", values)  # noqa: S608  constant names
        ids = [id for (id,) in rows if id not in selection.keep]
        self._erase(ids)
        if selection.before is not None:
            self._execute("delete from tokens where expires < ?", [selection.before])
        return ids

    def erase_user(self, user: str) -> None:
        self._execute("delete from grants where user = ?", [user])
        self._execute("delete from pins where user = ?", [user])
        self._execute("delete from credentials where user = ?", [user])
        self._execute("delete from documents where user = ?", [user])

    def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        if self._records is not None:
            kept: list[AuditRecord] = []
            for each in self._records:
                if not _is_selected(each, selection):
                    kept.append(each)
                elif pseudonym is not None:
                    kept.append(each._replace(user=pseudonym, data=None))
            self._records = deque(kept, self._records.maxlen)
            return
        where, values = _selected(selection, "time")
        if pseudonym is None:
            self._execute(f"delete from audit where {where}", values)  # noqa: S608  constant names
        else:
            query = f"update audit set user = ?, data = null where {where}"  # noqa: S608  constant names
            self._execute(query, [pseudonym, *values])

    def set_credentials(self, user: str, server: str, credentials: JSONObject) -> None:
        self._execute(
            "insert into credentials values (?, ?, ?) on conflict do update set data = excluded.data",
            [user, server, json.dumps(credentials)],
        )

    def credentials(self, user: str, server: str) -> JSONObject | None:
        rows = self._execute("select data from credentials where user = ? and server = ?", [user, server])
        return json.loads(rows[0][0]) if rows else None

    def add_document(self, document: StoredDocument) -> None:
        if self._path is None:  # the only process that can read it has it already
            return
        self._execute(
            "insert into documents (label, address, body, headers, expires, user) values (?, ?, ?, ?, ?, ?)"
            " on conflict do update set expires = excluded.expires",
            [*document[:3], json.dumps(dict(document.headers)), document.expires, document.user],
        )

    def document(self, label: str, address: str, now: float) -> StoredDocument | None:
        query = "select body, headers, expires, user from documents where label = ? and address = ? and expires >= ?"
        rows = self._execute(query, [label, address, now])
        if not rows:
            return None
        body, headers, expires, user = rows[0]
        return StoredDocument(label, address, body, json.loads(headers), expires, user)

    def remove_documents(self, expired_before: float) -> None:
        self._execute("delete from documents where expires < ?", [expired_before])

    def record(self, records: Sequence[AuditRecord]) -> None:
        if self._records is not None:
            self._records.extend(records)
            return
        rows = [(*map(_encodable, record[:-1]), _to_column("data", record.data)) for record in records]
        with self._lock:
            database = self._database or self._open()
            if len(rows) == 1:
                database.execute(_INSERT_AUDIT, rows[0])
                return
            database.execute("begin")
            try:
                database.executemany(_INSERT_AUDIT, rows)
            except BaseException:
                database.execute("rollback")
                raise
            database.execute("commit")

    def records(self, query: AuditQuery) -> Iterator[AuditRecord]:
        if self._records is not None:
            found = (record for record in tuple(self._records) if _matches(record, query))
            return itertools.islice(found, query.limit)
        return self._stored_records(query)

    def _stored_records(self, query: AuditQuery) -> Iterator[AuditRecord]:
        names = [name for name in _QUERY_FIELDS if getattr(query, name) is not None]
        terms = [f"{name} = ?" for name in names]
        values = [getattr(query, name) for name in names]
        for value, term in ((query.since, "time >= ?"), (query.until, "time < ?")):
            if value is not None:
                terms.append(term)
                values.append(value)
        where = f" and {' and '.join(terms)}" if terms else ""
        last, left = 0, -1 if query.limit is None else query.limit
        while left:
            # In pages, so that a long history neither fills the memory nor blocks writers.
            page = _PAGE_SIZE if left < 0 else min(left, _PAGE_SIZE)
            rows = self._execute(
                f"select id, {', '.join(_AUDIT_FIELDS)} from audit where id > ?{where} order by id limit ?",  # noqa: S608
                [last, *values, page],
            )
            for row in rows:
                data = None if row[-1] is None else json.loads(row[-1])
                yield AuditRecord._make((*row[1:-1], data))
            if len(rows) < page:
                return
            last, left = rows[-1][0], left if left < 0 else left - page

    def close(self) -> None:
        with self._lock:
            if self._database is not None and self._path is not None:
                self._database.close()
                self._database = None

    def _execute(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._lock:
            return (self._database or self._open()).execute(query, parameters).fetchall()


def _grant_row(grant: Grant) -> list[Any]:
    return [grant.user or "", grant.server, grant.uri, grant.kind, grant.key]


def _selected(selection: Selection, time_column: str) -> tuple[str, list[Any]]:
    """Return the condition of a query for what a selection selects, and its values."""
    terms = {
        "user = ?": selection.user,
        "conversation = ?": selection.conversation,
        f"{time_column} < ?": selection.before,
    }
    given = {term: value for term, value in terms.items() if value is not None}
    return " and ".join(given) or "false", list(given.values())


def _is_selected(record: AuditRecord, selection: Selection) -> bool:
    if (selection.user, selection.conversation, selection.before) == (None, None, None):
        return False
    return (
        selection.user in (None, record.user)
        and selection.conversation in (None, record.conversation)
        and (selection.before is None or record.time < selection.before)
    )


def _matches(record: AuditRecord, query: AuditQuery) -> bool:
    if any(getattr(query, name) not in (None, getattr(record, name)) for name in _QUERY_FIELDS):
        return False
    return (query.since is None or record.time >= query.since) and (query.until is None or record.time < query.until)


def _encodable(value: Any) -> Any:
    """Return a value that UTF-8 can encode: half a surrogate pair is replaced by its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _to_column(column: str, value: Any) -> Any:
    if column not in _JSON or value is None:
        return _encodable(value)
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number of more than 64 bits
        return json.dumps(value, separators=(",", ":"))


def _to_record(row: dict[str, Any]) -> ViewRecord:
    for column in _JSON & row.keys():
        if row[column] is not None:
            row[column] = json.loads(row[column])
    return ViewRecord(**{**row, "closed": bool(row["closed"]), "context_is_new": bool(row["context_is_new"])})
