"""What the stores in SQL databases have in common: the queries, and how records become rows."""

import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from fanlight.host.store.base import (
    NO_CONDITION,
    QUERY_FIELDS,
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
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Any]]
"""A query and its values. Each `?` in the query stands for one of them."""

COLUMNS: Final = (
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
    "session",
    "caller",
    "holder",
    "shown",
    "tools",
)
"""The fields of a `ViewRecord`, which are the columns of `views`."""

_FIELDS: Final = frozenset(COLUMNS)
_JSON: Final = frozenset({"arguments", "result", "context", "state", "session", "tools", "data"})
_FLAGS: Final = frozenset({"context_is_new", "closed", "shown"})
_SUMMARY: Final = (
    'id, server, tool, uri, conversation, "user", created,'
    " case when result is not null then 'done' when cancelled is not null then 'cancelled' else 'running' end, closed,"
    " holder, shown"
)
_PAGE_SIZE: Final = 1000
_BATCH: Final = 50
"""How many audit records one statement writes at most. A statement has few enough values for every database."""


class SqlStore(ABC):
    """A `Store` in a SQL database. Subclasses connect to it and execute statements."""

    _next_seen = "(select coalesce(max(seen), 0) + 1 from views)"
    """The expression for `seen`, which orders Views by their age."""

    @abstractmethod
    async def _query(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute one statement and return its rows."""

    @abstractmethod
    async def _write(self, statements: Sequence[Statement]) -> None:
        """Execute statements, all or none of them."""

    @abstractmethod
    async def close(self) -> None: ...

    # Views

    async def add(self, record: ViewRecord) -> None:
        names = ", ".join(map(_quoted, COLUMNS))
        values = [to_column(column, getattr(record, column)) for column in COLUMNS]
        query = f"insert into views ({names}, seen) values ({places(COLUMNS)}, {self._next_seen})"  # noqa: S608  constant
        await self._write([(query, values)])

    async def change(
        self, id: str, changes: Mapping[str, Any], only_if: Mapping[str, Any] = NO_CONDITION
    ) -> Changed | None:
        check_changes(changes)
        check_changes(only_if)
        fields = ", ".join(f"{_quoted(column)} = ?" for column in changes)
        values = [to_column(column, value) for column, value in changes.items()]
        where, expected = _equal(id=id, **{column: to_column(column, value) for column, value in only_if.items()})
        query = f"update views set {fields} where {where} returning holder"  # noqa: S608  checked above
        rows = await self._query(query, [*values, *expected])
        return Changed(rows[0][0]) if rows else None

    async def load(self, id: str) -> ViewRecord | None:
        rows = await self._query(f"select {', '.join(map(_quoted, COLUMNS))} from views where id = ?", [id])  # noqa: S608
        return to_record(dict(zip(COLUMNS, rows[0], strict=True))) if rows else None

    async def views(self, user: str | None, conversation: str | None) -> list[ViewSummary]:
        owned, values = _equal(user=user, conversation=conversation)
        rows = await self._query(f"select {_SUMMARY} from views where {owned} and closed = 0 order by seen", values)  # noqa: S608
        return [ViewSummary._make((*row[:8], bool(row[8]), row[9], bool(row[10]))) for row in rows]

    async def contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        owned, values = _equal(user=user, conversation=conversation)
        rows = await self._query(
            f"select id, server, tool, context, context_is_new from views where {owned}"  # noqa: S608  constant names
            " and context is not null and closed = 0 order by seen",
            values,
        )
        return [
            StoredContext(id, server, tool, json.loads(context), bool(is_new))
            for id, server, tool, context, is_new in rows
        ]

    async def take_contexts(self, user: str | None, conversation: str | None) -> list[StoredContext]:
        owned, values = _equal(user=user, conversation=conversation)
        rows = await self._query(
            f"update views set context_is_new = 0 where {owned} and context_is_new = 1"  # noqa: S608  constant names
            " and context is not null and closed = 0 returning seen, id, server, tool, context",
            values,
        )
        return [
            StoredContext(id, server, tool, json.loads(context), True)
            for _, id, server, tool, context in sorted(rows, key=lambda row: row[0])
        ]

    async def offered_tools(self, user: str | None, conversation: str | None) -> list[OfferedTools]:
        owned, values = _equal(user=user, conversation=conversation)
        rows = await self._query(
            f"select id, server, holder, tools from views where {owned} and closed = 0"  # noqa: S608  constant names
            " and shown = 1 and tools is not null and holder is not null order by seen",
            values,
        )
        return [OfferedTools(id, server, holder, json.loads(tools)) for id, server, holder, tools in rows]

    async def unfinished(self) -> list[UnfinishedCall]:
        rows = await self._query(
            "select id, caller from views where result is null and cancelled is null and closed = 0"
        )
        return [UnfinishedCall._make(row) for row in rows]

    async def add_token(self, digest: str, view: str, expires: float) -> None:
        statement = (
            "insert into tokens values (?, ?, ?) on conflict (digest) do update set expires = excluded.expires",
            [digest, view, expires],
        )
        await self._write([statement])

    async def has_token(self, digest: str, view: str, now: float) -> bool:
        query = "select 1 from tokens where digest = ? and view = ? and expires > ?"
        return bool(await self._query(query, [digest, view, now]))

    # Users

    async def grant(self, grant: Grant) -> None:
        await self._write([("insert into grants values (?, ?, ?, ?, ?) on conflict do nothing", _grant_row(grant))])

    async def is_granted(self, grant: Grant) -> bool:
        query = 'select 1 from grants where "user" = ? and server = ? and uri = ? and kind = ? and key = ?'
        return bool(await self._query(query, _grant_row(grant)))

    async def grants(self, user: str | None) -> list[Grant]:
        rows = await self._query('select server, uri, kind, key from grants where "user" = ?', [user or ""])
        return [Grant(server, uri, kind, key, user) for server, uri, kind, key in sorted(rows)]

    async def revoke(self, grant: Grant) -> None:
        query = 'delete from grants where "user" = ? and server = ? and uri = ? and kind = ? and key = ?'
        await self._write([(query, _grant_row(grant))])

    async def pin(self, server: str, uri: str, sha256: str, user: str | None) -> None:
        statement = (
            'insert into pins values (?, ?, ?, ?) on conflict ("user", server, uri)'
            " do update set sha256 = excluded.sha256",
            [user or "", server, uri, sha256],
        )
        await self._write([statement])

    async def pinned(self, server: str, uri: str, user: str | None) -> str | None:
        query = 'select sha256 from pins where "user" = ? and server = ? and uri = ?'
        rows = await self._query(query, [user or "", server, uri])
        return rows[0][0] if rows else None

    async def secret(self) -> str:
        new = secrets.token_hex(32)
        await self._write([("insert into settings values ('secret', ?) on conflict do nothing", [new])])
        ((value,),) = await self._query("select value from settings where name = 'secret'")
        return str(value)

    async def set_credentials(self, user: str, server: str, credentials: JSONObject) -> None:
        statement = (
            'insert into credentials values (?, ?, ?) on conflict ("user", server) do update set data = excluded.data',
            [user, server, json.dumps(credentials)],
        )
        await self._write([statement])

    async def credentials(self, user: str, server: str) -> JSONObject | None:
        rows = await self._query('select data from credentials where "user" = ? and server = ?', [user, server])
        return json.loads(rows[0][0]) if rows else None

    # Documents

    async def add_document(self, document: StoredDocument) -> None:
        statement = (
            'insert into documents (label, address, body, headers, expires, "user") values (?, ?, ?, ?, ?, ?)'
            " on conflict (label, address) do update set expires = excluded.expires",
            [*document[:3], json.dumps(dict(document.headers)), document.expires, document.user],
        )
        await self._write([statement])

    async def document(self, label: str, address: str, now: float) -> StoredDocument | None:
        query = 'select body, headers, expires, "user" from documents where label = ? and address = ? and expires >= ?'
        rows = await self._query(query, [label, address, now])
        if not rows:
            return None
        body, headers, expires, user = rows[0]
        return StoredDocument(label, address, bytes(body), json.loads(headers), expires, user)

    async def remove_documents(self, expired_before: float) -> None:
        await self._write([("delete from documents where expires < ?", [expired_before])])

    # Messages between workers

    async def put_payload(self, key: str, body: bytes, expires: float) -> None:
        insert = (
            "insert into payloads (key, body, expires) values (?, ?, ?)"
            " on conflict (key) do update set body = excluded.body, expires = excluded.expires"
        )
        await self._write([("delete from payloads where expires < ?", [time.time()]), (insert, [key, body, expires])])

    async def take_payload(self, key: str) -> bytes | None:
        rows = await self._query("delete from payloads where key = ? returning body, expires", [key])
        return bytes(rows[0][0]) if rows and rows[0][1] > time.time() else None

    # The audit

    async def record(self, records: Sequence[AuditRecord]) -> None:
        await self._write([_insertion(records[start : start + _BATCH]) for start in range(0, len(records), _BATCH)])

    async def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        names = [name for name in QUERY_FIELDS if getattr(query, name) is not None]
        terms = [f"{_quoted(name)} = ?" for name in names]
        values = [getattr(query, name) for name in names]
        for value, term in ((query.since, "time >= ?"), (query.until, "time < ?")):
            if value is not None:
                terms.append(term)
                values.append(value)
        where = f" and {' and '.join(terms)}" if terms else ""
        columns = ", ".join(map(_quoted, AuditRecord._fields))
        last, left = 0, -1 if query.limit is None else query.limit
        while left:
            # In pages, so that a long history neither fills the memory nor blocks writers.
            page = _PAGE_SIZE if left < 0 else min(left, _PAGE_SIZE)
            rows = await self._query(
                f"select id, {columns} from audit where id > ?{where} order by id limit ?",  # noqa: S608  constant names
                [last, *values, page],
            )
            for row in rows:
                data = None if row[-1] is None else json.loads(row[-1])
                yield AuditRecord._make((*row[1:-1], data))
            if len(rows) < page:
                return
            last, left = rows[-1][0], left if left < 0 else left - page

    # Erasing

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        where, values = _selected(selection, "created")
        rows = await self._query(f"select id, holder from views where {where}", values)  # noqa: S608  constant names
        erased = [ErasedView(id, holder) for id, holder in rows if not selection.keeps(id, holder)]
        statements = [statement for each in erased for statement in erasure_of(each.view)]
        if selection.before is not None:
            statements.append(("delete from tokens where expires < ?", [selection.before]))
        await self._write(statements)
        return erased

    async def erase_user(self, user: str) -> None:
        await self._write(
            [
                (f'delete from {table} where "user" = ?', [user])  # noqa: S608  constant names
                for table in ("grants", "pins", "credentials", "documents")
            ]
        )

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        where, values = _selected(selection, "time")
        if pseudonym is None:
            await self._write([(f"delete from audit where {where}", values)])  # noqa: S608  constant names
        else:
            query = f'update audit set "user" = ?, data = null where {where}'  # noqa: S608  constant names
            await self._write([(query, [pseudonym, *values])])


def check_changes(changes: Mapping[str, Any]) -> None:
    """Raise unless all changes are of fields of a `ViewRecord`."""
    if not changes.keys() <= _FIELDS:
        unknown = ", ".join(sorted(changes.keys() - _FIELDS))
        raise ArgumentError(f"changes has {unknown}, expected fields of ViewRecord: {', '.join(COLUMNS)}.")


def erasure_of(view: str) -> list[Statement]:
    """Return the statements that erase a View with its tokens."""
    return [("delete from views where id = ?", [view]), ("delete from tokens where view = ?", [view])]


def places(names: Iterable[str]) -> str:
    """Return a `?` for each name."""
    return ", ".join("?" for _ in names)


def encodable(value: Any) -> Any:
    """Return a value that UTF-8 can encode: half a surrogate pair is replaced by its escape."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def to_column(column: str, value: Any) -> Any:
    """Return the value of a record's field as it is stored."""
    if column in _FLAGS:
        return int(value)
    if column not in _JSON or value is None:
        return encodable(value)
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number of more than 64 bits
        return json.dumps(value, separators=(",", ":"))


def to_record(row: dict[str, Any]) -> ViewRecord:
    """Return the record of which these are the stored values."""
    for column in _JSON & row.keys():
        if row[column] is not None:
            row[column] = json.loads(row[column])
    return ViewRecord(**{**row, **{column: bool(int(row[column] or 0)) for column in _FLAGS}})


def _quoted(column: str) -> str:
    return '"user"' if column == "user" else column  # a reserved word in PostgreSQL


_AUDIT_COLUMNS: Final = ", ".join(map(_quoted, AuditRecord._fields))
_AUDIT_PLACES: Final = f"({places(AuditRecord._fields)})"


def _insertion(records: Sequence[AuditRecord]) -> Statement:
    """Return the statement that writes audit records."""
    rows = ", ".join([_AUDIT_PLACES] * len(records))
    values = [value for record in records for value in (*map(encodable, record[:-1]), to_column("data", record.data))]
    return f"insert into audit ({_AUDIT_COLUMNS}) values {rows}", values  # noqa: S608  constant names


def _grant_row(grant: Grant) -> list[Any]:
    # An empty user means none, because a primary key treats each null as different.
    return [grant.user or "", grant.server, grant.uri, grant.kind, grant.key]


def _equal(**values: Any) -> tuple[str, list[Any]]:
    """Return the condition that columns have these values, of which None is one like any other."""
    terms = [f"{_quoted(name)} is null" if value is None else f"{_quoted(name)} = ?" for name, value in values.items()]
    return " and ".join(terms), [value for value in values.values() if value is not None]


def _selected(selection: Selection, time_column: str) -> tuple[str, list[Any]]:
    """Return the condition of a query for what a selection selects, and its values."""
    terms = {
        '"user" = ?': selection.user,
        "conversation = ?": selection.conversation,
        f"{time_column} < ?": selection.before,
    }
    given = {term: value for term, value in terms.items() if value is not None}
    return " and ".join(given) or "false", list(given.values())
