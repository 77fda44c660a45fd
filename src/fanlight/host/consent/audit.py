"""The audit log: the messages of Views, decisions, shown documents, and what browsers blocked.

The record of a response is in the store before the response is sent, so a crash cannot lose it. Other records are
buffered and written together with the next such record, or after a quarter of a second.
"""

import hashlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final, Literal

import anyio

from fanlight.host.errors import StoreError
from fanlight.host.json_text import encode_json
from fanlight.host.store.base import AuditQuery, AuditRecord, Store
from fanlight.host.store.memory import MemoryStore
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Keep = Literal["whole", "hashed", "none"] | Callable[[str, JSONObject], Any]
"""How arguments are recorded: whole, as a SHA-256 digest, not at all, or as a function returns them."""

INTERVAL: Final = 0.25


class Audit:
    """Writes audit records to a store."""

    def __init__(self, store: Store, arguments: Keep = "hashed") -> None:
        if not callable(arguments) and arguments not in ("whole", "hashed", "none"):
            raise ArgumentError(f'audit_arguments is {arguments!r}, expected "whole", "hashed", "none" or a function.')
        self._store = store
        self._keep = arguments
        self._buffer: list[AuditRecord] = []
        self._written = 0
        self._is_writing = False
        self._write_ended: anyio.Event | None = None
        # A scope costs more than a record in memory, which is never interrupted.
        self._is_in_memory = isinstance(store, MemoryStore)

    async def run(self) -> None:
        """Write buffered records at intervals, until cancelled."""
        while True:
            await anyio.sleep(INTERVAL)
            try:
                await self.flush()
            except StoreError as error:
                logger.warning("The audit cannot be written; %d records are buffered: %s", len(self._buffer), error)
            except Exception:
                logger.exception("The audit cannot be written; %d records are buffered", len(self._buffer))

    def buffer(self, record: AuditRecord) -> None:
        """Write a record soon."""
        self._buffer.append(record)

    def write(self, record: AuditRecord) -> Coroutine[Any, Any, None]:
        """Write a record now, after the buffered ones. It is in the store when this was awaited."""
        self._buffer.append(record)
        return self.flush()

    def flush(self) -> Coroutine[Any, Any, None]:
        """Write the buffered records."""
        return self._write_through(self._written + len(self._buffer))

    async def _write_through(self, number: int) -> None:
        """Write the records up to a number, counted from the first one.

        The records of all callers that wait at the same time are written together.
        """
        while self._written < number:
            if self._is_writing:
                self._write_ended = self._write_ended or anyio.Event()
                await self._write_ended.wait()
                continue
            self._is_writing = True
            records = self._buffer[:]
            try:
                if self._is_in_memory:
                    await self._store.record(records)
                else:
                    with anyio.CancelScope(shield=True):  # so that no record is written twice
                        await self._store.record(records)
                del self._buffer[: len(records)]
                self._written += len(records)
            finally:
                self._is_writing = False
                if self._write_ended is not None:
                    self._write_ended.set()
                    self._write_ended = None

    def arguments(self, name: str, arguments: JSONObject) -> JSONObject:
        """Return how the arguments of a request are recorded."""
        if not arguments:
            return {}
        if callable(self._keep):
            return {"arguments": self._keep(name, arguments)}
        if self._keep == "whole":
            return {"arguments": arguments}
        if self._keep == "none":
            return {}
        return {"argumentsSha256": hashlib.sha256(encode_json(arguments).encode()).hexdigest()}

    async def records(self, query: AuditQuery) -> AsyncIterator[AuditRecord]:
        """Return the records that match a query, the oldest first."""
        await self.flush()
        async for record in self._store.records(query):
            yield record


def now() -> float:
    """Return the time of a record, in seconds since 1970."""
    return time.time()


def json_line(record: AuditRecord) -> str:
    """Return a record as one line of JSON, without the fields that are None."""
    return encode_json({key: value for key, value in record._asdict().items() if value is not None})
