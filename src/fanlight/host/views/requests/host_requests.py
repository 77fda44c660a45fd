"""The requests that the host sends to a View."""

from collections.abc import Awaitable, Callable

import anyio

from fanlight.host.errors import RequestError
from fanlight.host.views.requests.pending import Pending
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.events import ResponseReceived
from fanlight.protocol.jsonrpc import REFUSED, JSONObject


class HostRequests:
    """Sends requests to a View, and waits for their responses.

    Args:
        bridge: Makes the requests.
        flush: Delivers what the bridge sends.
    """

    def __init__(self, bridge: Bridge, flush: Callable[[], Awaitable[None]]) -> None:
        self._bridge = bridge
        self._flush = flush
        self._pending: dict[int, Pending] = {}

    async def run(self, method: str, params: JSONObject, seconds: float) -> JSONObject:
        """Send a request and return its result. Raise RequestError if it failed or timed out."""
        id = self._bridge.request(method, params)
        pending = self._pending[id] = Pending()
        await self._flush()
        try:
            with anyio.fail_after(seconds):
                return await pending.result()
        except TimeoutError:
            raise RequestError(f"The View did not answer {method} in {seconds:g} seconds.") from None
        finally:
            if self._pending.pop(id, None) is not None:
                self._bridge.cancel_request(id)
                await self._flush()

    async def tear_down(self, reason: str | None, seconds: float) -> None:
        """Ask the View to tear down (TDN-01), and wait for its response for at most some seconds (TDN-03)."""
        if (id := self._bridge.teardown(reason)) is None:
            return
        pending = self._pending[id] = Pending()
        await self._flush()
        with anyio.move_on_after(seconds):
            await pending.wait()

    def receive(self, response: ResponseReceived) -> None:
        """Complete a request with the View's response. Does nothing if the request was given up."""
        if (pending := self._pending.pop(response.id, None)) is not None:
            error = None if response.error is None else _view_error(response.error)
            pending.settle(response.result or {}, error)

    def fail(self, reason: str) -> None:
        """Fail all requests that have no response yet."""
        for pending in self._pending.values():
            pending.fail(reason)


def _view_error(error: JSONObject) -> RequestError:
    code = error.get("code")
    message = error.get("message")
    return RequestError(
        message if isinstance(message, str) else "The View answered with an error.",
        code if isinstance(code, int) else REFUSED,
        error.get("data"),
    )
