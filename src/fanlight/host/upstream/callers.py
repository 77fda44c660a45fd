"""Finds the user and the conversation that a server's request belongs to: those of the call that it works on."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Caller(NamedTuple):
    """Whose call a server works on. None means that it is not known, or that there is none."""

    user: str | None = None
    conversation: str | None = None


_UNKNOWN = Caller()

_current: ContextVar[Caller | None] = ContextVar("current_caller", default=None)
"""Set by the task that makes a call, and seen where the SDK handles what the server asks for this call."""


class Callers:
    """The calls that run on one connection.

    Args:
        user: The user that the connection belongs to, or None if all users share it.
    """

    def __init__(self, user: str | None) -> None:
        self._user = user
        self._running: list[Caller] = []

    @contextmanager
    def running(self, caller: Caller) -> Iterator[None]:
        """Count a call as running for a block. Nothing that outlives the call may be started in it."""
        self._running.append(caller)
        token = _current.set(caller)
        try:
            yield
        finally:
            _current.reset(token)
            self._running.remove(caller)

    def find(self) -> Caller:
        """Return the user and the conversation of a request of the server, as far as that is certain."""
        caller = _current.get()
        if caller is None:
            # A server with one stream for all calls does not say which one it asks for.
            found = set(self._running)
            users = {each.user for each in found}
            caller = found.pop() if len(found) == 1 else Caller(users.pop()) if len(users) == 1 else _UNKNOWN
        return caller if self._user is None else caller._replace(user=self._user)
