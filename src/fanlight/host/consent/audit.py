"""The audit: what every View said, what was decided and by whom, what was shown, and what the browser blocked.

A record of something that was answered is in the store before the answer leaves, so no end of the process loses it.
The others wait for the next such moment, or a quarter of a second.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import anyio

from fanlight.host.json_text import encode_json
from fanlight.host.store.base import AuditQuery, AuditRecord, Store
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Keep = Literal["whole", "hashed", "none"] | Callable[[str, JSONObject], Any]
"""What becomes of arguments: kept, kept as a SHA-256 digest, left out, or what a function makes of them."""

INTERVAL: Final = 0.25
_MOST_WAITING: Final = 256


class Audit:
    """Writes records to a store."""

    def __init__(self, store: Store, arguments: Keep = "hashed") -> None:
        if not callable(arguments) and arguments not in ("whole", "hashed", "none"):
            raise ArgumentError(f'audit_arguments is {arguments!r}, expected "whole", "hashed", "none" or a function.')
        self._store = store
        self._keep = arguments
        self._waiting: list[AuditRecord] = []

    async def run(self) -> None:
        """Write what waits, again and again."""
        while True:
            await anyio.sleep(INTERVAL)
            try:
                self.flush()
            except Exception:
                logger.exception("The audit cannot be written now; %d records wait", len(self._waiting))

    def note(self, record: AuditRecord) -> None:
        """Take a record of something that nobody waits for."""
        self._waiting.append(record)
        if len(self._waiting) % _MOST_WAITING == 0:
            self.flush()

    def write(self, record: AuditRecord) -> None:
        """Write a record down now, with those that wait."""
        waiting = self._waiting
        if not waiting:
            self._store.record((record,))
            return
        waiting.append(record)
        self.flush()

    def flush(self) -> None:
        """Write down what waits."""
        if self._waiting:
            self._store.record(self._waiting)
            self._waiting = []

    def arguments(self, name: str, arguments: JSONObject) -> JSONObject:
        """Return what is kept of the arguments of something."""
        if not arguments:
            return {}
        if callable(self._keep):
            return {"arguments": self._keep(name, arguments)}
        if self._keep == "whole":
            return {"arguments": arguments}
        if self._keep == "none":
            return {}
        return {"argumentsSha256": hashlib.sha256(encode_json(arguments).encode()).hexdigest()}

    def records(self, query: AuditQuery) -> Iterator[AuditRecord]:
        """Return what happened, the oldest first."""
        self.flush()
        return self._store.records(query)


def now() -> float:
    """Return the time for a record: seconds since 1970."""
    return time.time()


def json_line(record: AuditRecord) -> str:
    """Return a record as one line of JSON, without the fields that are None."""
    return encode_json({key: value for key, value in record._asdict().items() if value is not None})
