"""A store in PostgreSQL, which several processes can share."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, Final

import anyio
import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from fanlight.host.errors import StoreError
from fanlight.host.store.postgres_schema import migrate
from fanlight.host.store.sql import Row, SqlStore, Statement

_Connection = psycopg.AsyncConnection[Row]

# PostgreSQL's texts cannot contain NUL, so it is written as a private character and a zero.
_ESCAPE: Final = "\ue000"


class PostgresStore(SqlStore):
    """A `Store` in PostgreSQL, in the schema `fanlight` of a database. Needs the extra `fanlight[postgres]`.

    Args:
        url: The database: `postgresql://user:password@host/database`.
        timeout: How many seconds to wait for a connection, and for a statement, before `StoreError` is raised.
        max_connections: How many connections are open at most.
    """

    _next_seen = "default"

    def __init__(self, url: str, timeout: float = 10.0, max_connections: int = 10) -> None:
        self._url = url
        self._timeout = timeout
        self._max_connections = max_connections
        self._lock = anyio.Lock()
        self._pool: AsyncConnectionPool[_Connection] | None = None

    async def _query(self, query: str, values: Sequence[Any] = ()) -> list[Row]:
        async with self._connection() as connection:
            cursor = await connection.execute(_translated(query), [_to_text(value) for value in values])
            rows = await cursor.fetchall() if cursor.description is not None else []
        return [tuple(_from_text(value) for value in row) for row in rows]

    async def _write(self, statements: Sequence[Statement]) -> None:
        async with self._connection() as connection, connection.transaction(), connection.cursor() as cursor:
            for query, group in groupby(statements, lambda statement: statement[0]):
                await cursor.executemany(
                    _translated(query), [[_to_text(value) for value in values] for _, values in group]
                )

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[_Connection]:
        try:
            async with (await self._open()).connection() as connection:
                yield connection
        except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout) as error:
            raise StoreError(f"PostgreSQL: {error}.") from error

    async def _open(self) -> AsyncConnectionPool[_Connection]:
        """Return the pool of connections. The first use creates the tables, or brings them up to date."""
        async with self._lock:
            if self._pool is None:
                milliseconds = int(self._timeout * 1000)
                pool = AsyncConnectionPool(
                    self._url,
                    connection_class=_Connection,
                    kwargs={
                        "autocommit": True,
                        "connect_timeout": max(int(self._timeout), 2),
                        "options": f"-c search_path=fanlight -c statement_timeout={milliseconds}",
                    },
                    min_size=1,
                    max_size=self._max_connections,
                    timeout=self._timeout,
                    open=False,
                    check=AsyncConnectionPool.check_connection,  # a server that was restarted has closed them all
                )
                try:
                    await pool.open(wait=True, timeout=self._timeout)
                    async with pool.connection() as connection:
                        await migrate(connection)
                except BaseException:
                    with anyio.CancelScope(shield=True):
                        await pool.close()
                    raise
                self._pool = pool
            return self._pool

    async def close(self) -> None:
        async with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()


def _translated(query: str) -> bytes:
    return query.replace("?", "%s").encode()


def _to_text(value: Any) -> Any:
    if isinstance(value, str) and ("\0" in value or _ESCAPE in value):
        return value.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")
    return value


def _from_text(value: Any) -> Any:
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)
    return value
