"""What a server keeps so that Views can ask for more of it: the rows of tables, large figures, and files to save."""

import secrets
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from fanlight.protocol.errors import RegistrationError
from fanlight.server.caller import Caller
from fanlight.show.files.download import Download
from fanlight.show.tables.query import Query
from fanlight.show.tables.table import Order, Table

_NO_QUERY: Final = Query()

Thing = Table | str | Download
"""What is kept: a table, the data of a figure, or a file."""


@dataclass(frozen=True)
class Keep:
    """How much a server keeps for Views that page through tables, show large figures or save files, and for how long.

    What is beyond one of the limits is dropped, the table that was used least recently first. Its View then says so,
    and offers to run the tool again.
    """

    tables: int = 100
    """The number of tables, large figures and files. Default: 100."""
    seconds: float = 3600
    """How long a table is kept after it was last used. Default: an hour."""
    bytes: int = 1_000_000_000
    """About how much memory they take together. A larger table is not kept at all: its View has the first page only.
    Default: 1 GB."""

    def __post_init__(self) -> None:
        for name in ("tables", "seconds", "bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise RegistrationError(f"Keep({name}={value!r}): expected a number above 0.")


@dataclass
class _Entry:
    thing: Thing
    size: int
    owner: Caller | None
    used: float
    query: Query = _NO_QUERY
    order: Order | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Kept:
    """Tables, texts and files by handle. A handle works only for the caller of its tool. Safe to use in threads."""

    def __init__(self, limits: Keep, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, thing: Thing, owner: Caller | None) -> str | None:
        """Keep a thing and return its handle, or None if it is too large to be kept."""
        size = _size(thing)
        if size > self._limits.bytes:
            return None
        handle = secrets.token_urlsafe(18)
        with self._lock:
            self._entries[handle] = _Entry(thing, size, owner, self._clock())
            self._drop()
        return handle

    def arranged(self, handle: str, owner: Caller | None, query: Query) -> tuple[Thing, Order | None] | None:
        """Return a thing and the order of its rows for a query; None if it is gone, or belongs to another caller.

        The last order is kept, so the pages of one query are sorted and filtered once. Only a table has rows.
        """
        with self._lock:
            self._drop()
            entry = self._entries.get(handle)
            if entry is None or entry.owner != owner:
                return None
            entry.used = self._clock()
            self._entries.move_to_end(handle)
        table = entry.thing
        if query == _NO_QUERY or isinstance(table, str | Download):
            return table, None
        query.check([column.kind for column in table.columns], [column.name for column in table.columns])
        with entry.lock:
            if entry.query != query:
                entry.order = table.order(query)
                entry.query = query
            return table, entry.order

    def _drop(self) -> None:
        oldest = self._clock() - self._limits.seconds
        size = sum(entry.size for entry in self._entries.values())
        for handle, entry in list(self._entries.items()):
            if entry.used >= oldest and size <= self._limits.bytes and len(self._entries) <= self._limits.tables:
                break
            size -= entry.size
            del self._entries[handle]


def _size(thing: Thing) -> int:
    """Return about how much memory a thing takes."""
    if isinstance(thing, str):
        return sys.getsizeof(thing)
    return thing.memory if isinstance(thing, Download) else thing.size
