"""`PageCommands`: what a session makes its page do, such as opening a link or asking the user."""

import itertools
from dataclasses import replace

import anyio

from fanlight.host.errors import RequestError
from fanlight.host.views.page.channel import PageChannel
from fanlight.host.views.page.frames import CancelCommand, CommandResult, PageCommand
from fanlight.host.views.requests.pending import Pending
from fanlight.protocol.jsonrpc import JSONObject


class PageCommands:
    """Sends commands to the page of a session, and waits for their results."""

    def __init__(self, channel: PageChannel, first_id: int = 1) -> None:
        self._channel = channel
        self._pending: dict[int, Pending] = {}
        self._ids = itertools.count(first_id)

    def __bool__(self) -> bool:
        """Return whether a command has no result yet."""
        return bool(self._pending)

    async def run(self, command: PageCommand, seconds: float) -> JSONObject:
        """Send a command to the page and return its result. Raise RequestError if it failed or timed out."""
        if not self._channel.attached:
            raise RequestError("No page shows this View now.")
        id = next(self._ids)
        pending = self._pending[id] = Pending()
        number = await self._channel.send(replace(command, id=id))
        try:
            with anyio.fail_after(seconds):
                return await pending.result()
        except TimeoutError:
            raise RequestError("The page did not answer in time.") from None
        finally:
            if self._pending.pop(id, None) is not None:
                self._channel.withdraw(number)
                with anyio.CancelScope(shield=True):
                    await self._channel.send(CancelCommand(id))

    def receive(self, result: CommandResult) -> None:
        """Complete a command with the page's result. Does nothing if the command was cancelled."""
        pending = self._pending.pop(result.id, None)
        if pending is not None:
            pending.settle(result.result or {}, None if result.error is None else RequestError(result.error))

    def fail(self, reason: str) -> None:
        """Fail all commands that have no result yet."""
        for pending in self._pending.values():
            pending.fail(reason)
