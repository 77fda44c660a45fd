"""The apps that are registered on a server, as its negotiation needs them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

FindMeta = Callable[[str], Awaitable[Mapping[str, Any] | None]]
"""Returns the `_meta` of a tool by name, or None if the tool does not exist or has no `_meta`."""


@dataclass(frozen=True)
class Registry:
    """The apps of one server. `Apps` writes it, the middleware of `fanlight.server.negotiation` reads it."""

    find_meta: FindMeta
    tools: set[str] = field(default_factory=set)
    """Names of tools whose structured results get a text fallback if they have no text."""
    unlisted: set[str] = field(default_factory=set)
    """URIs of Views that are kept out of `resources/list`."""
