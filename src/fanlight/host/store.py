"""What the host remembers of its Views, so that one comes back after a reload or a restart with its data."""

import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import orjson

JSONObject = dict[str, Any]


@dataclass(frozen=True)
class ViewRecord:
    """One View: where it came from, what it was given, and what it told the model."""

    id: str
    token: str
    server: str
    tool: str
    uri: str
    conversation: str | None = None
    arguments: JSONObject | None = None
    result: JSONObject | None = None
    cancelled: str | None = None
    context: JSONObject | None = None
    closed: bool = False


class Store(Protocol):
    """Keeps records by id. Its methods are called from the event loop, so they should take no time to speak of."""

    def add(self, record: ViewRecord) -> None: ...

    def change(self, id: str, changes: Mapping[str, Any]) -> None:
        """Set fields of a record; of one that is not there, nothing."""

    def load(self, id: str) -> ViewRecord | None: ...

    def contexts(self, conversation: str | None) -> list[tuple[str, str, JSONObject]]:
        """Return id, server and context of each View of a conversation that is open and told the model something.

        In the order in which the Views were added.
        """

    def close(self) -> None: ...


_COLUMNS = (
    "id",
    "token",
    "server",
    "tool",
    "uri",
    "conversation",
    "arguments",
    "result",
    "cancelled",
    "context",
    "closed",
)
_JSON = frozenset({"arguments", "result", "context"})


class SqliteStore:
    """A store in one SQLite file, or in memory."""

    def __init__(self, path: str | Path | None = None) -> None:
        # One connection for all threads, used by one at a time.
        self._lock = threading.Lock()
        self._database = sqlite3.connect(str(path or ":memory:"), check_same_thread=False, isolation_level=None)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = normal")
        self._database.execute(
            "create table if not exists views (id text primary key, token text not null, server text not null,"
            " tool text not null, uri text not null, conversation text, arguments text, result text, cancelled text,"
            " context text, closed integer not null, seen integer not null)"
        )
        self._database.execute("create index if not exists by_conversation on views (conversation, seen)")

    def add(self, record: ViewRecord) -> None:
        values = [_dumped(column, getattr(record, column)) for column in _COLUMNS]
        self._execute(
            f"insert into views ({', '.join(_COLUMNS)}, seen)"  # noqa: S608  the names are our own
            f" values ({', '.join('?' * len(_COLUMNS))}, (select coalesce(max(seen), 0) + 1 from views))",
            values,
        )

    def change(self, id: str, changes: Mapping[str, Any]) -> None:
        if not set(changes) <= set(_COLUMNS):
            raise ValueError(f"A record has no {', '.join(sorted(set(changes) - set(_COLUMNS)))}.")
        places = ", ".join(f"{column} = ?" for column in changes)
        values = [_dumped(column, value) for column, value in changes.items()]
        self._execute(f"update views set {places} where id = ?", [*values, id])  # noqa: S608  checked above

    def load(self, id: str) -> ViewRecord | None:
        query = f"select {', '.join(_COLUMNS)} from views where id = ?"  # noqa: S608  the names are our own
        rows = self._execute(query, [id])
        return _record(dict(zip(_COLUMNS, rows[0], strict=True))) if rows else None

    def contexts(self, conversation: str | None) -> list[tuple[str, str, JSONObject]]:
        rows = self._execute(
            "select id, server, context from views where conversation is ? and context is not null and not closed"
            " order by seen",
            [conversation],
        )
        return [(id, server, json.loads(context)) for id, server, context in rows]

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _execute(self, query: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._database.execute(query, parameters).fetchall()


def _dumped(column: str, value: Any) -> Any:
    if column not in _JSON or value is None:
        return value
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair, or a number beyond 64 bits
        return json.dumps(value, separators=(",", ":"))


def _record(row: dict[str, Any]) -> ViewRecord:
    for column in _JSON:
        if row[column] is not None:
            row[column] = json.loads(row[column])
    return replace(ViewRecord(**row), closed=bool(row["closed"]))


def open_store(store: "Store | str | None") -> Store:
    """Return the store that `Host(store=...)` means: one of your own, "sqlite:///path", or None for memory."""
    if store is None:
        return SqliteStore()
    if isinstance(store, str):
        if not store.startswith("sqlite:///") or store == "sqlite:///":
            raise ValueError(f'store is {store!r}, expected "sqlite:///path/to/file.db", a Store, or None for memory.')
        return SqliteStore(store.removeprefix("sqlite:///"))
    return store
