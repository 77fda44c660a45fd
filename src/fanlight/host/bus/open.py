"""Opens the bus of `Host(bus=...)`."""

from typing import Final

from fanlight.host.bus.base import Bus
from fanlight.host.store.base import Store
from fanlight.host.store.memory import MemoryStore
from fanlight.host.store.open import extra
from fanlight.host.store.url import is_redis, without_password
from fanlight.host.validation import check_methods
from fanlight.protocol.errors import ArgumentError

_EXPECTED: Final = '"redis://...", a Bus, or None for one process'


def open_bus(bus: Bus | str | None, store: Store | str | None, lease: float) -> Bus | None:
    """Return the bus for `Host(bus=...)`: an object of the user, the URL of a Redis, or that of the store if it is one.

    Raise ArgumentError if the workers that it connects would not share a store.
    """
    if bus is None:
        bus = store if isinstance(store, str) and is_redis(store) else None
        if bus is None:
            return None
    elif store is None or isinstance(store, MemoryStore):
        raise ArgumentError(
            "bus connects processes that share a store, but the store is in memory. "
            'Write Host(..., store="postgresql://...", bus=...), or leave bus out in a program with one process.'
        )
    if not isinstance(bus, str):
        check_methods("bus", bus, Bus, f"Write {_EXPECTED}.")
        return bus
    if not is_redis(bus):
        raise ArgumentError(f"bus is {without_password(bus)!r}, expected {_EXPECTED}.")
    with extra("redis", "A bus in Redis"):
        from fanlight.host.bus.redis import RedisBus
    return RedisBus(bus, lease)
