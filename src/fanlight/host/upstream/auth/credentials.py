"""The credentials of users: what a program returns for a user and a server, and the target that they lead to."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import httpx2

from fanlight.host.upstream.config import Command, Target, Url
from fanlight.host.validation import shown
from fanlight.protocol.errors import ArgumentError

Credential = Mapping[str, str] | httpx2.Auth | None
"""Headers or an `httpx2.Auth` for a server at a URL, environment variables for a command, or None for neither."""

Credentials = Callable[[str, str], Awaitable[Credential]]
"""`async (user, server)`: returns the credential of a user for a server."""


def with_credential(target: Target, credential: Credential, server: str) -> Target:
    """Return the target of a server for a user with this credential."""
    match target, credential:
        case Url(), httpx2.Auth():
            return replace(target, auth=credential)
        case Url(), Mapping() if _is_text(credential):
            return replace(target, headers={**(target.headers or {}), **credential})
        case Command(), Mapping() if _is_text(credential):
            return replace(target, env={**(target.env or {}), **credential})
    expected = {Url: "headers (a dict of strings), an httpx2.Auth or None", Command: "environment variables or None"}
    raise ArgumentError(
        f"credentials returned {shown(type(credential))} for the server {server!r}, which is {target}. "
        f"Expected {expected.get(type(target), 'None')}."
    )


def _is_text(credential: Mapping[str, str]) -> bool:
    return all(isinstance(text, str) for pair in credential.items() for text in pair)
