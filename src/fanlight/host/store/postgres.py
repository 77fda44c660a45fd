"""A store in PostgreSQL, which several processes can share."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any, Final

import anyio
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from fanlight.host.errors import StoreError
from fanlight.host.store.postgres_schema import migrate
from fanlight.host.store.sql import Row, SqlStore, Statement
from fanlight.host.store.url import check_password
from fanlight.protocol.errors import ArgumentError, sentence

_Connection = psycopg.AsyncConnection[Row]

_CAUSE_TIMEOUT: Final = 2  # the least that libpq allows

_RIGHTS: Final = (
    "The user of the URL has to own the schema fanlight, or may create it: "
    "`create schema fanlight authorization <user>`, or `grant create on database <database> to <user>`."
)

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
        check_password(url)
        try:
            self._password = str(conninfo_to_dict(url).get("password") or "")
        except psycopg.ProgrammingError:  # its message may quote the password
            raise ArgumentError(
                "The URL of the store is not one of PostgreSQL. Write postgresql://user:password@host/database, with "
                "special characters of the password escaped: urllib.parse.quote(password, safe='') does."
            ) from None
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
        except PoolTimeout as error:
            # The pool knows only that there is no connection. A connection of our own knows why.
            raise StoreError(self._explain(await self._find_cause() or error)) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise StoreError(f"{self._explain(error)} {_RIGHTS}") from error
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise StoreError(self._explain(error)) from error

    def _explain(self, error: Exception) -> str:
        text = str(error)
        return f"PostgreSQL: {sentence(text.replace(self._password, '...') if self._password else text)}"

    async def _find_cause(self) -> Exception | None:
        """Return why no connection can be opened, or None if one can."""
        try:
            options = {**self._options(), "connect_timeout": _CAUSE_TIMEOUT}
            async with await psycopg.AsyncConnection.connect(self._url, **options):
                return None
        except psycopg.Error as error:
            return error

    def _options(self) -> dict[str, Any]:
        milliseconds = int(self._timeout * 1000)
        return {
            "autocommit": True,
            "connect_timeout": max(int(self._timeout), 2),
            "options": f"-c search_path=fanlight -c statement_timeout={milliseconds}",
        }

    async def _open(self) -> AsyncConnectionPool[_Connection]:
        """Return the pool of connections. The first use creates the tables, or brings them up to date."""
        async with self._lock:
            if self._pool is None:
                # Before the pool, which would try again and again, and log why but not say it.
                async with await psycopg.AsyncConnection.connect(self._url, **self._options()) as first:
                    await migrate(first)
                pool = AsyncConnectionPool(
                    self._url,
                    connection_class=_Connection,
                    kwargs=self._options(),
                    min_size=1,
                    max_size=self._max_connections,
                    timeout=self._timeout,
                    open=False,
                    check=AsyncConnectionPool.check_connection,  # a server that was restarted has closed them all
                )
                try:
                    await pool.open(wait=True, timeout=self._timeout)
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
