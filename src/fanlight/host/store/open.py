"""Opens the store of `Host(store=...)`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fanlight.host.store.base import Store
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.url import is_redis, without_password
from fanlight.host.validation import check_methods
from fanlight.protocol.errors import ArgumentError

_EXPECTED: Final = '"sqlite:///path/to/file.db", "postgresql://...", "redis://...", a Store, or None for memory'


def open_store(store: Store | str | None) -> Store:
    """Return the store for `Host(store=...)`: an object of the user, the URL of a database, or None for memory."""
    if store is None:
        return MemoryStore()
    if isinstance(store, str):
        return _open_url(store)
    check_methods("store", store, Store, f"Write {_EXPECTED}.")
    return store


def _open_url(url: str) -> Store:
    if url.startswith("sqlite:///") and url != "sqlite:///":
        from fanlight.host.store.sqlite import SqliteStore  # takes a while, and a store in memory needs none of it

        return SqliteStore(url.removeprefix("sqlite:///"))
    if url.partition("://")[0] in ("postgresql", "postgres"):
        with extra("postgres", "A store in PostgreSQL"):
            from fanlight.host.store.postgres import PostgresStore
        return PostgresStore(url)
    if is_redis(url):
        with extra("redis", "A store in Redis"):
            from fanlight.host.store.redis import RedisStore
        return RedisStore(url)
    raise ArgumentError(f"store is {without_password(url)!r}, expected {_EXPECTED}.")


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Name the extra to install if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise ArgumentError(f"{what} needs another package. Run: pip install 'fanlight[{name}]'") from error
