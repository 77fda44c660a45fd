"""The calls that this worker has begun, of which each has to end."""

from time import monotonic
from typing import Final

import anyio

from fanlight.host.calls.call import Call
from fanlight.host.views.records import Owner

_SWEEP: Final = 5.0


class BegunCalls:
    """The calls that were begun, without those that ended a while ago.

    Args:
        timeout: After how many seconds a call that was begun and not run is cancelled.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._calls: list[Call] = []

    def add(self, call: Call) -> Call:
        """Add a call, and return it."""
        self._calls.append(call)
        return call

    @property
    def has_running(self) -> bool:
        """Whether a call runs now."""
        return any(call.is_running for call in self._calls)

    @property
    def views(self) -> set[str]:
        """The ids of the Views whose calls have not ended."""
        return {call.view for call in self._calls if call.view is not None and (call.is_begun or call.is_running)}

    async def cancel_all(self, reason: str) -> None:
        """Cancel all calls."""
        for call in self._calls:
            await call.cancel(reason)

    async def cancel_begun(self, owner: Owner) -> None:
        """Cancel the calls of a conversation that were begun and never run."""
        for call in [call for call in self._calls if (call.user, call.conversation) == owner]:
            await call.cancel_if_begun()

    async def run(self) -> None:
        """Cancel the calls that were begun and not run in time, until cancelled."""
        while True:
            await anyio.sleep(min(max(self._timeout / 4, 0.05), _SWEEP))
            oldest = monotonic() - self._timeout
            for call in self._calls:
                if call.is_begun and call.waiting_since < oldest:
                    await call.cancel_if_begun()
            self._calls = [call for call in self._calls if call.is_begun or call.is_running]
