"""The events of a connection, which its listeners receive.

The `user` of an event is the one that the connection belongs to, or None if all users share it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fanlight.host.errors import CredentialsRejectedError

State = Literal["idle", "connecting", "ready", "retrying", "failed", "closed"]


@dataclass(frozen=True)
class Status:
    """The state of the connection to a server: `host.servers[name].status`."""

    state: State
    """`idle` (opened on first use), `connecting`, `ready`, `retrying`, `failed` (permanently) or `closed`."""
    reason: str | None = None
    """The last failure, or that the server does not answer, and what to do about it; or None."""
    attempt: int = 1
    """The number of the current attempt, from 1."""
    delay: float | None = None
    """While `retrying`: the seconds until the next attempt, or None if only `restart()` begins one."""


@dataclass(frozen=True)
class StatusChanged:
    """The connection has another status."""

    server: str
    status: Status
    user: str | None = None


@dataclass(frozen=True)
class ToolsChanged:
    """The tools were listed again and differ; `Connection.tools` has them."""

    server: str
    user: str | None = None


@dataclass(frozen=True)
class ResourcesChanged:
    """The list of resources may have changed."""

    server: str
    user: str | None = None


@dataclass(frozen=True)
class ResourceUpdated:
    """The content of a resource changed."""

    server: str
    uri: str
    user: str | None = None


@dataclass(frozen=True)
class PromptsChanged:
    """The list of prompts may have changed."""

    server: str
    user: str | None = None


@dataclass(frozen=True)
class CredentialsRejected:
    """The server rejected the credentials of a user, or those of a connection that all users share (None)."""

    server: str
    user: str | None
    error: CredentialsRejectedError


ServerEvent = StatusChanged | ToolsChanged | ResourcesChanged | ResourceUpdated | PromptsChanged | CredentialsRejected
Listener = Callable[[ServerEvent], None]
"""Receives events. It must not block."""
