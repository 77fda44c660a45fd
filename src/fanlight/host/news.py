"""What a connection tells those who listen to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["connecting", "ready", "retrying", "failed", "closed"]


@dataclass(frozen=True)
class Status:
    """Where a connection stands. `reason` is what went wrong last, in words a person can act on."""

    state: State
    reason: str | None = None
    attempt: int = 1
    delay: float | None = None
    """Seconds until the next attempt, while `retrying`."""


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
