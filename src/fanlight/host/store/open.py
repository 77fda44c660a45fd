"""Opens the store of `Host(store=...)`."""

from fanlight.host.store.base import Store
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.sqlite import SqliteStore
from fanlight.host.validation import check_methods
from fanlight.protocol.errors import ArgumentError


def open_store(store: Store | str | None) -> Store:
    """Return the store for `Host(store=...)`: an object of the user, "sqlite:///path", or None for memory."""
    if store is None:
        return MemoryStore()
    if isinstance(store, str):
        if not store.startswith("sqlite:///") or store == "sqlite:///":
            raise ArgumentError(
                f'store is {store!r}, expected "sqlite:///path/to/file.db", a Store, or None for memory.'
            )
        return SqliteStore(store.removeprefix("sqlite:///"))
    check_methods("store", store, Store, 'Write "sqlite:///path/to/file.db", or None for memory.')
    return store
