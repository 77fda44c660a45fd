"""The calls that a model makes in one turn, by the ids that an agent framework gives them."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import anyio

from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.errors import NotConnectedError, UnknownToolError
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject

ViewHandler = Callable[[str, CallView], None]


class Turn:
    """One turn of the model, with its calls by the ids of the agent framework. `Conversation.turn` creates one.

    `feed` what the model writes and `run` what the framework decides to run, in any order and for any number of calls.
    At the end of the `async with` block, calls that were fed and never run are cancelled.
    """

    def __init__(
        self,
        begin: Callable[[str], Awaitable[Call]],
        begin_or_fail: Callable[[str], Awaitable[Call]],
        on_view: ViewHandler | None,
    ) -> None:
        self._begin = begin
        self._begin_or_fail = begin_or_fail
        self._on_view = on_view
        self._calls: dict[str, tuple[str, Call]] = {}
        self._unknown: set[str] = set()
        self._ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended = True
        with anyio.CancelScope(shield=True):
            for _, call in self._calls.values():
                await call.cancel_if_begun()

    async def feed(self, call_id: str, name: str | None, delta: str) -> None:
        """Add the next piece of a call's JSON text, and begin the call with its first piece.

        `name` may be None after the first piece. A tool that is not known does not raise here: `run` reports it.
        """
        self._check("feed")
        if call_id in self._unknown:
            return
        if call_id not in self._calls:
            try:
                if name is None:
                    raise UnknownToolError("The first piece of a call has no tool name.")
                self._add(call_id, name, await self._begin(name))
            except (UnknownToolError, NotConnectedError):
                self._unknown.add(call_id)
                return
        self._calls[call_id][1].feed(delta)

    async def run(self, call_id: str, name: str, arguments: JSONObject) -> Call:
        """Run a call with its complete arguments, whether or not it was fed, and return it with its result.

        A tool that does not exist becomes a result with `isError`. Otherwise, `run` raises what `call_tool` raises.
        """
        self._check("run")
        if call_id not in self._calls:
            self._add(call_id, name, await self._begin_or_fail(name))
        begun, call = self._calls[call_id]
        if begun != name:
            raise ArgumentError(f"run() got the tool {name!r} for the call {call_id!r}, which began as {begun!r}.")
        known = len(call.views)
        await call.run(arguments)
        self._show(call_id, call.views[known:])
        return call

    async def cancel(self, call_id: str, reason: str | None = None) -> None:
        """Cancel a call that the framework will not run, as with invalid arguments. Does nothing if it has run."""
        if call_id in self._calls and self._calls[call_id][1].is_begun:
            await self._calls[call_id][1].cancel(reason)

    def _add(self, call_id: str, name: str, call: Call) -> None:
        self._calls[call_id] = name, call
        self._show(call_id, call.views)

    def _show(self, call_id: str, views: tuple[CallView, ...]) -> None:
        if self._on_view is not None:
            for view in views:
                self._on_view(call_id, view)

    def _check(self, method: str) -> None:
        if self._ended:
            raise StateError(f"{method}() came after the end of the turn. Start another one with chat.turn().")
