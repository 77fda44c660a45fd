"""A response that has not come yet."""

import anyio

from fanlight.host.errors import RequestError
from fanlight.protocol.jsonrpc import JSONObject


class Pending:
    """A response that has not come yet. The first outcome counts."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._result: JSONObject = {}
        self._error: RequestError | None = None

    def settle(self, result: JSONObject, error: RequestError | None = None) -> None:
        """Set the result, or the error."""
        if not self._event.is_set():
            self._result, self._error = result, error
            self._event.set()

    def fail(self, reason: str) -> None:
        """Set an error with this reason."""
        self.settle({}, RequestError(reason))

    async def wait(self) -> None:
        """Wait for the outcome."""
        await self._event.wait()

    async def result(self) -> JSONObject:
        """Wait for the outcome, and return the result or raise the error."""
        await self._event.wait()
        if self._error is not None:
            raise self._error
        return self._result
