"""What was submitted: a form that is submitted twice, by a double click or by a host that tries again, runs once."""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final

import anyio
from mcp_types import CallToolResult

MOST: Final = 1_000
SECONDS: Final = 3_600.0


@dataclass
class _Entry:
    done: anyio.Event
    at: float
    result: CallToolResult | None = None


class Submissions:
    """The last submissions of a server, by key, with the results of those that succeeded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    async def once(self, key: Hashable, run: Callable[[], Awaitable[CallToolResult]]) -> CallToolResult:
        """Return the result of the submission with this key, and run it if there is none.

        A submission that failed is forgotten, so that it can be made again.
        """
        while (entry := self._entries.get(key)) is not None:
            await entry.done.wait()
            if entry.result is not None:
                return entry.result
        entry = self._entries[key] = _Entry(anyio.Event(), self._clock())
        try:
            result = await run()
            if not result.is_error:
                entry.result = result
            return result
        finally:
            if entry.result is None:
                del self._entries[key]
            entry.done.set()
            self._drop()

    def _drop(self) -> None:
        oldest = self._clock() - SECONDS
        for key, entry in list(self._entries.items()):
            if len(self._entries) <= MOST and entry.at >= oldest:
                break
            if entry.done.is_set():
                del self._entries[key]
