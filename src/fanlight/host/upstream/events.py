"""What a connection tells those who listen to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["connecting", "ready", "retrying", "failed", "closed"]


@dataclass(frozen=True)
class Status:
    """The state of the connection to a server: `host.servers[name].status`."""

    state: State
    """`connecting`, `ready`, `retrying`, `failed` (permanently) or `closed`."""
    reason: str | None = None
    """What went wrong last, or that the server does not answer, and what to do about it; or None."""
    attempt: int = 1
    """The number of the current attempt, from 1."""
    delay: float | None = None
    """While `retrying`: the seconds until the next attempt, or None if there is none before `restart()`."""


@dataclass(frozen=True)
class StatusChanged:
    server: str
    status: Status


@dataclass(frozen=True)
class ToolsChanged:
    """The tools were listed anew; `Connection.tools` has them."""

    server: str


@dataclass(frozen=True)
class ResourcesChanged:
    server: str


@dataclass(frozen=True)
class ResourceUpdated:
    server: str
    uri: str


@dataclass(frozen=True)
class PromptsChanged:
    server: str


News = StatusChanged | ToolsChanged | ResourcesChanged | ResourceUpdated | PromptsChanged
Listener = Callable[[News], None]
