"""The arguments of a call while the model writes them."""

import anyio

from fanlight.host.calls.throttle import PAUSE, Throttle
from fanlight.host.tasks import HostTasks
from fanlight.host.views.holders import ViewHolders
from fanlight.host.views.registry import ViewRegistry
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.partial import PartialArguments


class ArgumentStream:
    """Parses the model's JSON text piece by piece, and sends the View the arguments as they grow."""

    def __init__(self, views: ViewRegistry, holders: ViewHolders, tasks: HostTasks, view: str | None) -> None:
        self.is_open = False
        """Whether the model has begun to write, and `stop` was not called."""
        self._views = views
        self._holders = holders
        self._tasks = tasks
        self._view = view
        self._partial = PartialArguments()
        self._throttle = Throttle()
        self._size = 0
        self._is_sending = False

    @property
    def arguments(self) -> JSONObject:
        """The arguments so far, parsed again after each `feed`."""
        return self._partial.arguments

    def feed(self, delta: str) -> None:
        """Add the next piece of the text, and send the arguments if that is due."""
        self._partial.feed(delta)
        self._size += len(delta)
        if self._view is None:
            return
        if not self.is_open:
            self.is_open = True
            if self._tasks.running:
                self._tasks.start_soon(self._send_in_pauses)
        self._send_if_due()

    def stop(self) -> None:
        """Send no more partial input."""
        self.is_open = False

    def _send_if_due(self) -> None:
        session = self._views.session(self._view)
        if session is not None:
            if self._throttle.due(self._size, anyio.current_time(), in_flight=session.partial_in_flight):
                session.tool_input_partial(self.arguments)
        elif (
            self._view is not None
            and self._holders.is_elsewhere(self._view)
            and self._throttle.due(self._size, anyio.current_time(), in_flight=self._is_sending)
        ):
            self._is_sending = True
            self._tasks.start_soon(self._send_to_holder, self._view)

    async def _send_to_holder(self, view: str) -> None:
        """Send the arguments to the worker that has the session of the View."""
        try:
            if self.is_open:
                await self._holders.send_partial(view, self.arguments)
        finally:
            self._is_sending = False

    async def _send_in_pauses(self) -> None:
        """Send the arguments also while the model pauses and no piece comes."""
        while self.is_open and (self._holders.has_others or self._views.session(self._view) is not None):
            await anyio.sleep(PAUSE)
            if self.is_open:
                self._send_if_due()
