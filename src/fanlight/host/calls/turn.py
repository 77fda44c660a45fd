"""The calls that a model makes in one turn, by the ids that an agent framework gives them."""

from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import anyio

from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.errors import NotConnectedError, UnknownToolError
from fanlight.host.views.records import Owner
from fanlight.protocol.errors import ArgumentError, StateError
from fanlight.protocol.jsonrpc import JSONObject

ViewHandler = Callable[[str, CallView], None]

_REMEMBERED_CALLS: Final = 1_000
"""Frameworks write a call to their history right after it has run, so the newest ones are enough."""


class Turns:
    """The open turns of a host, and the Views of its newest calls by the ids of agent frameworks."""

    def __init__(self) -> None:
        self._open: list[tuple[Owner, Turn]] = []
        self._views: OrderedDict[tuple[Owner, str], tuple[CallView, ...]] = OrderedDict()

    def add(self, owner: Owner, turn: "Turn") -> None:
        """Add a turn that has begun."""
        self._open.append((owner, turn))

    def remove(self, turn: "Turn") -> None:
        """Remove a turn that has ended."""
        self._open = [each for each in self._open if each[1] is not turn]

    def find(self, owner: Owner, call_id: str) -> "Turn | None":
        """Return the open turn of a conversation that has a call, otherwise the newest one, or None."""
        turns = [turn for its_owner, turn in self._open if its_owner == owner]
        return next((turn for turn in turns if turn.has(call_id)), turns[-1] if turns else None)

    def is_taken(self, owner: Owner, call_id: str, by_other_than: "Turn") -> bool:
        """Return whether another open turn of a conversation has a call."""
        turn = self.find(owner, call_id)
        return turn is not None and turn is not by_other_than and turn.has(call_id)

    def keep_view(self, owner: Owner, call_id: str, view: CallView) -> None:
        """Remember a View of a call."""
        self._views[owner, call_id] = (*self._views.pop((owner, call_id), ()), view)
        while len(self._views) > _REMEMBERED_CALLS:
            self._views.popitem(last=False)

    def views(self, owner: Owner, call_id: str) -> tuple[CallView, ...]:
        """Return the Views of a call."""
        return self._views.get((owner, call_id), ())


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
        turns: Turns,
        owner: Owner,
    ) -> None:
        self._begin = begin
        self._begin_or_fail = begin_or_fail
        self._on_view = on_view
        self._turns = turns
        self._owner = owner
        self._calls: dict[str, tuple[str, Call]] = {}
        self._beginning: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._unknown: set[str] = set()
        self._ended = False

    async def __aenter__(self) -> Self:
        self._turns.add(self._owner, self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended = True
        self._turns.remove(self)
        with anyio.CancelScope(shield=True):
            for _, call in self._calls.values():
                await call.cancel_if_begun()

    async def feed(self, call_id: str, name: str | None, delta: str) -> None:
        """Add the next piece of a call's JSON text, and begin the call with its first piece.

        `name` may be None after the first piece. A tool that is not known does not raise here: `run` reports it. Pieces
        of a call that has run, or that another open turn of the conversation has, are ignored: events of a framework
        can arrive later than its calls, or twice.
        """
        self._check("feed")
        async with self._beginning[call_id]:
            if call_id in self._unknown or self._turns.is_taken(self._owner, call_id, by_other_than=self):
                return
            if call_id not in self._calls:
                try:
                    if name is None:
                        raise UnknownToolError("The first piece of a call has no tool name.")
                    self._add(call_id, name, await self._begin(name))
                except (UnknownToolError, NotConnectedError):
                    self._unknown.add(call_id)
                    return
        call = self._calls[call_id][1]
        if call.is_begun:
            call.feed(delta)

    async def run(self, call_id: str, name: str, arguments: JSONObject) -> Call:
        """Run a call with its complete arguments, whether or not it was fed, and return it with its result.

        A tool that does not exist becomes a result with `isError`. Otherwise, `run` raises what `call_tool` raises.
        """
        self._check("run")
        # What follows the events of a framework may be another task than what runs its tools.
        async with self._beginning[call_id]:
            if call_id not in self._calls:
                self._add(call_id, name, await self._begin_or_fail(name))
        begun, call = self._calls[call_id]
        if begun != name:
            raise ArgumentError(f"run() got the tool {name!r} for the call {call_id!r}, which began as {begun!r}.")
        known = len(call.views)
        await call.run(arguments)
        self._show(call_id, call.views[known:])
        return call

    @property
    def is_waiting(self) -> bool:
        """Whether a call waits for `run` or `cancel`."""
        return any(call.is_begun for _, call in self._calls.values())

    def has(self, call_id: str) -> bool:
        """Return whether the turn has a call with this id."""
        return call_id in self._calls

    async def show_result(self, call_id: str, arguments: JSONObject, result: JSONObject) -> None:
        """Show a result that the framework got by other means. Does nothing if the call was run here, or not begun."""
        if call_id in self._calls and self._calls[call_id][1].is_begun:
            call = self._calls[call_id][1]
            await call.show_result(arguments, result)
            self._show(call_id, call.views[1:])

    async def cancel(self, call_id: str, reason: str | None = None) -> None:
        """Cancel a call that the framework will not run, as with invalid arguments. Does nothing if it has run."""
        if call_id in self._calls and self._calls[call_id][1].is_begun:
            await self._calls[call_id][1].cancel(reason)

    def _add(self, call_id: str, name: str, call: Call) -> None:
        self._calls[call_id] = name, call
        self._show(call_id, call.views)

    def _show(self, call_id: str, views: tuple[CallView, ...]) -> None:
        for view in views:
            self._turns.keep_view(self._owner, call_id, view)
            if self._on_view is not None:
                self._on_view(call_id, view)

    def _check(self, method: str) -> None:
        if self._ended:
            raise StateError(f"{method}() came after the end of the turn. Start another one with chat.turn().")
