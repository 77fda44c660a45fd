"""A store in one SQLite file.

A committed write survives a crash of the process. Only a crash of the operating system can lose the last writes.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from fanlight.host.errors import StoreError
from fanlight.host.store.base import ErasedView, Selection
from fanlight.host.store.schema import migrate
from fanlight.host.store.sql import Row, SqlStore, Statement
from fanlight.host.store.worker_thread import WorkerThread
from fanlight.protocol.errors import sentence

Result = TypeVar("Result")


class SqliteStore(SqlStore):
    """A `Store` in one SQLite file. After `close`, the next use opens the file again.

    The database is used in a thread, so that a slow disk and a lock of another process do not block the event loop.

    Args:
        path: The file. It is created, readable for its owner only, if it does not exist.
        timeout: How many seconds to wait for a lock of another process before `StoreError` is raised.
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        self._path = str(path)
        with self._reporting():
            self._database = SqliteDatabase(self._path, timeout)
        self._thread: WorkerThread | None = None

    async def _query(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        return await self._in_thread(self._database.query, query, values)

    async def _write(self, statements: Sequence[Statement]) -> None:
        await self._in_thread(self._database.write, statements)

    async def _in_thread(self, work: Callable[..., Result], *arguments: Any) -> Result:
        if self._thread is None:
            self._thread = WorkerThread(f"fanlight {self._path}")
        try:
            return await self._thread.run(work, *arguments)
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """Raise StoreError if the file cannot be used: it is missing, locked, damaged, or not a database."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.DatabaseError) -> Exception:
        if type(error) not in (sqlite3.DatabaseError, sqlite3.OperationalError):  # a mistake of ours
            return error
        folder = Path(self._path).parent
        missing = "" if folder.is_dir() else f" There is no folder {str(folder)!r}: create it."
        return StoreError(f"{self._path}: {sentence(error)}{missing}")

    async def erase_views(self, selection: Selection) -> list[ErasedView]:
        erased = await super().erase_views(selection)
        await self._empty_log()
        return erased

    async def erase_user(self, user: str) -> None:
        await super().erase_user(user)
        await self._empty_log()

    async def erase_records(self, selection: Selection, pseudonym: str | None) -> None:
        await super().erase_records(selection, pseudonym)
        await self._empty_log()

    async def _empty_log(self) -> None:
        """Remove what was erased from the write-ahead log, too, unless another process reads it now."""
        await self._query("pragma wal_checkpoint(truncate)")

    async def close(self) -> None:
        if self._thread is not None:
            await self._in_thread(self._database.close)
            thread, self._thread = self._thread, None
            thread.stop()
        self._database.close()


class SqliteDatabase:
    """A connection to a SQLite file, for one thread at a time."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = self._connect()

    def _connect(self) -> sqlite3.Connection:
        if not Path(self._path).exists():
            # It will have what users see, and their credentials. SQLite gives its other files the same mode.
            with suppress(OSError):  # SQLite reports what is wrong with the path
                Path(self._path).touch(mode=0o600)
        connection = sqlite3.connect(self._path, timeout=self._timeout, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            # The log of writes is moved into the file when it has this many pages, 16 MB. It is the only time at which
            # a write waits for the disk, and with SQLite's default of 1000 pages that is every 200th record.
            connection.execute("pragma wal_autocheckpoint = 4000")
            connection.execute("pragma secure_delete = on")  # what is erased is overwritten in the file
            migrate(connection, self._path)
        except BaseException:
            connection.close()
            raise
        return connection

    def query(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        """Execute one statement and return its rows."""
        with self._lock:
            return self._open().execute(query, values).fetchall()

    def write(self, statements: Sequence[Statement]) -> None:
        """Execute statements, all or none of them."""
        with self._lock:
            connection = self._open()
            if len(statements) == 1:
                connection.execute(*statements[0])
                return
            connection.execute("begin immediate")
            try:
                for statement in statements:
                    connection.execute(*statement)
            except BaseException:
                connection.execute("rollback")
                raise
            connection.execute("commit")

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def close(self) -> None:
        """Close the connection. The next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
