"""Who makes the current request: the authenticated user, else the MCP session, else nobody in particular."""

import hashlib
import json
import secrets
from contextvars import ContextVar
from typing import Any, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken, principal_components
from mcp.server.context import ServerRequestContext
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from fanlight.protocol.errors import StateError

current_request: Final[ContextVar[ServerRequestContext[Any, Any] | None]] = ContextVar("fanlight_request", default=None)
"""The request that the server handles now, in this task and in the threads that it starts. Set by the negotiation."""

Caller = tuple[object, ...]
"""A key that two requests of one user, or of one session, have in common."""

_KEY: Final = "fanlight.caller"


def current_caller() -> Caller | None:
    """Return the key of the user or the session that makes the current request, or None if it has neither.

    A user counts across sessions. A request of protocol 2026-07-28 has no session, nor has one to a stateless server.
    """
    context = current_request.get()
    if context is None:
        return None
    token = _access_token(context)
    return ("user", *principal_components(token)) if token is not None else _session(context)


def caller_key() -> str | None:
    """Return a key for the user of the current request, else for its MCP session, or None if it has neither.

    The key is printable, has at most 80 characters and is safe to use in dicts, file names and databases. It starts
    with `user-` if an access token names the user: then it is the same in all sessions, clients and processes. It
    starts with `session-` for a session, which ends with its connection. It reveals nothing of the token or session.

    None means that nothing tells two users apart, as over HTTP without authorization, from clients of protocol
    2026-07-28 or on a stateless server. Call it in a tool or resource of a server that has `Apps`.
    """
    context = current_request.get()
    if context is None:
        raise StateError(
            "caller_key() was called outside of a request. Call it in a tool of a server that has Apps(server)."
        )
    token = _access_token(context)
    # A client id is not enough: all users of one program may share it.
    user = None if token is None else token.subject or (token.claims or {}).get("sub")
    caller = _session(context) if token is None or not user else ("user", (token.claims or {}).get("iss"), user)
    if caller is None:
        return None
    kind, *parts = caller
    text = json.dumps([None if part is None else str(part) for part in parts])
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()}"


def _session(context: ServerRequestContext[Any, Any]) -> Caller | None:
    """Return the key of the session, which the server itself has opened. What a client claims does not count."""
    connection = getattr(context.session, "_connection", None)
    if connection is None or context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        return None
    if connection.session_id is not None:
        return ("session", connection.session_id)
    # Without a session id, as over stdio, the connection that had the handshake is the session. On a stateless server,
    # each request has a connection of its own, without a handshake.
    if connection.client_params is None:
        return None
    return ("session", connection.state.setdefault(_KEY, secrets.token_hex(16)))


def _access_token(context: ServerRequestContext[Any, Any]) -> AccessToken | None:
    # The request knows better than the context variable, which a session keeps from its first request.
    scope = getattr(context.request, "scope", None) or {}
    user = scope.get("user")
    return user.access_token if isinstance(user, AuthenticatedUser) else get_access_token()
