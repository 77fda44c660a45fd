"""The requests of a View that have no response yet."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Final

import anyio

from fanlight.host.consent.policy import App
from fanlight.host.errors import STORE_UNAVAILABLE, RequestError, StoreError
from fanlight.host.views.interfaces import MessageLog, Tasks
from fanlight.host.views.requests.message import ViewMessage
from fanlight.host.views.requests.tracing import mark_asks, mark_crashed, mark_ok, mark_refused, request_span
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.jsonrpc import INTERNAL_ERROR, JSONObject, Message, RequestId

logger = logging.getLogger(__name__)

_INTERRUPTED: Final = "The host was interrupted. The request may have been carried out, so it was not repeated."

current_request: ContextVar[RequestId | None] = ContextVar("current_request", default=None)
"""The id of the View's request that the current task serves."""


class OpenRequests:
    """Serves each request of a View in a task of its own, and records its response.

    Args:
        app: The View, with its server and its owner.
        bridge: Is given the responses.
        flush: Delivers what the bridge sends.
        log: Records responses and cancellations.
        tasks: Runs the tasks.
        labels: Attributes of the trace spans.
    """

    def __init__(
        self,
        app: App,
        bridge: Bridge,
        flush: Callable[[], Awaitable[None]],
        log: MessageLog,
        tasks: Tasks,
        labels: Mapping[str, str],
    ) -> None:
        self.app = app
        """The View, with its server and its owner."""
        self._bridge = bridge
        self._flush = flush
        self._log = log
        self._tasks = tasks
        self._labels = {"fanlight.view": app.view, **labels}
        self._messages: dict[RequestId, ViewMessage] = {}
        self._scopes: dict[RequestId, anyio.CancelScope] = {}
        self._changed: anyio.Event | None = None

    def add(self, id: RequestId, request: ViewMessage) -> None:
        """Add a request. An id that is in use stays with its first request."""
        if id not in self._bridge.open_requests:
            self._messages[id] = request

    def serve(self, id: RequestId, work: Awaitable[JSONObject]) -> None:
        """Respond to a request with what `work` returns or raises. The task is cancelled when the request is."""
        scope = self._scopes[id] = anyio.CancelScope()

        async def task() -> None:
            current_request.set(id)
            with scope:
                await self._respond(id, work)
            if self._scopes.get(id) is scope:
                del self._scopes[id]

        self._tasks.start_soon(task)

    async def serve_now(self, id: RequestId, work: Awaitable[Awaitable[JSONObject] | JSONObject]) -> None:
        """Respond to a request without a task. If `work` returns what takes longer, serve that in a task.

        The View's next message is not read before `work` has returned.
        """
        try:
            await self._respond(id, work)
        except anyio.get_cancelled_exc_class():  # by the web server, with the page's socket
            self._bridge.respond_error(id, _INTERRUPTED)
            raise

    async def _respond(self, id: RequestId, work: Awaitable[Awaitable[JSONObject] | JSONObject]) -> None:
        request = self._messages.get(id)
        with request_span("ui" if request is None else request.method, self._labels) as span:
            try:
                result = await work
            except RequestError as failed:
                mark_refused(span, failed.reason)
                if request is not None:
                    request.failure = failed.reason
                self._bridge.respond_error(id, str(failed), failed.code, failed.data)
            except StoreError as error:
                logger.warning("View %s: a request failed with the store: %s", self.app.view, error)
                mark_crashed(span, error)
                self._bridge.respond_error(id, STORE_UNAVAILABLE, INTERNAL_ERROR)
            except Exception as error:
                logger.exception("View %s: unhandled error while serving a request", self.app.view)
                mark_crashed(span, error)
                self._bridge.respond_error(id, "The host failed to answer.", INTERNAL_ERROR)
            else:
                if not isinstance(result, dict):
                    mark_asks(span)
                    self.serve(id, result)
                    return
                mark_ok(span)
                self._bridge.respond(id, result)
        await self._flush()

    async def record(self, response: Message, size: int) -> None:
        """Record a response before it is sent. Does nothing if that was done."""
        id = response["id"]
        request = self._messages.get(id)
        if request is not None:
            await self._log.log_response(self.app, request, response, size)
            if self._messages.get(id) is request:
                del self._messages[id]
        self._announce_change()

    async def wait_for_change(self) -> None:
        """Wait until a request was answered or cancelled."""
        self._changed = self._changed or anyio.Event()
        await self._changed.wait()

    def _announce_change(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    def stop_serving(self, id: RequestId) -> None:
        """Cancel the task of a request that is answered in another way."""
        if (scope := self._scopes.pop(id, None)) is not None:
            scope.cancel()

    def cancel(self, id: RequestId) -> None:
        """Cancel a request that the View has given up."""
        self._messages.pop(id, None)
        self.stop_serving(id)
        self._announce_change()

    def cancel_all(self) -> None:
        """Cancel all requests, and record those that get no response."""
        for request in self._messages.values():
            self._log.log_cancelled(self.app, request)
        self._messages.clear()
        for scope in self._scopes.values():
            scope.cancel()
        self._scopes.clear()
        self._announce_change()
