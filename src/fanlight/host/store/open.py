"""Opens the store of `Host(store=...)`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fanlight.host.store.base import Store
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.sqlite import SqliteStore
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
        return SqliteStore(url.removeprefix("sqlite:///"))
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        with _extra("postgres", "PostgreSQL"):
            from fanlight.host.store.postgres import PostgresStore
        return PostgresStore(url)
    if scheme in ("redis", "rediss"):
        with _extra("redis", "Redis"):
            from fanlight.host.store.redis import RedisStore
        return RedisStore(url)
    raise ArgumentError(f"store is {url!r}, expected {_EXPECTED}.")


@contextmanager
def _extra(extra: str, what: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ArgumentError(f"A store in {what} needs another package. Run: pip install 'fanlight[{extra}]'") from error
