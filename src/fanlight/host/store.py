"""What the host remembers of its Views, so that one comes back after a reload or a restart with its data."""

import json
import sqlite3
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

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
    """Keeps records by id."""

    def save(self, record: ViewRecord) -> None: ...

    def load(self, id: str) -> ViewRecord | None: ...

    def of_conversation(self, conversation: str | None) -> list[ViewRecord]: ...

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

    def save(self, record: ViewRecord) -> None:
        values = [_dumped(record, column) for column in _COLUMNS]
        places = ", ".join("?" * len(_COLUMNS))
        changes = ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS[1:])
        with self._lock:
            self._database.execute(
                f"insert into views ({', '.join(_COLUMNS)}, seen)"  # noqa: S608  the names are our own
                f" values ({places}, (select coalesce(max(seen), 0) + 1 from views))"
                f" on conflict (id) do update set {changes}",
                values,
            )

    def load(self, id: str) -> ViewRecord | None:
        rows = self._select("where id = ?", (id,))
        return rows[0] if rows else None

    def of_conversation(self, conversation: str | None) -> list[ViewRecord]:
        return self._select("where conversation is ? order by seen", (conversation,))

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _select(self, where: str, parameters: tuple[Any, ...]) -> list[ViewRecord]:
        with self._lock:
            query = f"select {', '.join(_COLUMNS)} from views {where}"  # noqa: S608  the names are our own
            rows = self._database.execute(query, parameters).fetchall()
        return [_record(dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def _dumped(record: ViewRecord, column: str) -> Any:
    value = getattr(record, column)
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")) if column in _JSON and value is not None else value
    )


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
