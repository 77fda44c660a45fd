"""The errors of the host. `fanlight.protocol.errors` draws the tree that they belong to."""

from typing import Any

from fanlight.protocol.errors import LocalError, NotFoundError, RefusedError, RemoteError
from fanlight.protocol.jsonrpc import REFUSED


class UnknownServerError(NotFoundError):
    """The host has no server of this name. Also a KeyError."""


class UnknownToolError(NotFoundError):
    """The server has no tool of this name. Also a KeyError."""


class UnknownViewError(NotFoundError):
    """No open View has this id. Also a KeyError."""


class ConfigError(LocalError, ValueError):
    """The configuration of a server is invalid. The message says what to write instead. Also a ValueError."""


class PolicyError(LocalError):
    """The rules of a policy are invalid. The message says where, and what to write instead."""


class ServerStartError(LocalError):
    """The command of a server cannot be started. The message says why."""


class StoreError(LocalError):
    """The file of a store cannot be used. The message says why."""


class BusError(LocalError):
    """The bus between workers cannot be used. The message says why."""


class ServerError(RemoteError):
    """The server answered with a JSON-RPC error. `Conversation.call_tool` returns a result with `isError` instead."""

    def __init__(self, server: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{server}: {message} ({code})")
        self.server = server
        """The name of the server."""
        self.code = code
        """The JSON-RPC error code."""
        self.message = message
        """The message of the server."""
        self.data = data
        """The `data` of the JSON-RPC error, or None."""


class InvalidResponseError(ServerError):
    """The server's response is not valid MCP."""


class CallCancelledError(RemoteError):
    """A call did not finish. Its View gets a cancellation."""

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"{server}: {message}")
        self.server = server
        """The name of the server."""
        self.message = message
        """Why the call did not finish."""


class CallTimeoutError(CallCancelledError):
    """The server did not answer within `Timeouts.call`. It was notified of the cancellation."""


class ConnectionLostError(CallCancelledError):
    """The connection ended while the call ran, or a gateway answered 502, 503 or 504. The tool may have run."""


class NotConnectedError(ConnectionLostError):
    """There was no connection within `Timeouts.connect`, so the call was never sent."""


class CredentialsRejectedError(NotConnectedError):
    """A server rejected the credentials of a user, or of the host, with HTTP 401 or 403.

    The program should let the user sign in again. The next call asks `Host(credentials=...)` for new ones.
    """

    def __init__(self, server: str, user: str | None, status: int, message: str | None = None) -> None:
        owner = "its credentials" if user is None else f"the credentials of {user}"
        super().__init__(server, message or f"the server rejected {owner} (HTTP {status}). Sign in again.")
        self.user = user
        """The user, or None for a connection that all users share."""
        self.status = status
        """The HTTP status: 401 or 403."""


class SignInRequiredError(NotConnectedError):
    """A user has to sign in to a server first. The sign-in can be finished for `Timeouts.sign_in`."""

    def __init__(self, server: str, user: str, url: str) -> None:
        super().__init__(server, f"{user} has to sign in to {server} first.")
        self.user = user
        """The user."""
        self.url = url
        """The page of the authorization server, to show to this user as a link."""


class ViewError(RemoteError):
    """A View cannot be shown."""


class ViewUnavailableError(ViewError):
    """A View could not be read just now; another attempt may succeed."""


class RequestError(RemoteError):
    """A request to or from a View failed or was refused."""

    def __init__(self, message: str, code: int = REFUSED, data: Any = None) -> None:
        self.code = code
        """The JSON-RPC error code."""
        self.data = data
        """The `data` of the JSON-RPC error, or None."""
        super().__init__(message)


class WorkerLostError(RequestError):
    """Another worker of the host did not answer. What was requested may have been carried out."""


class ViewRefusedError(RefusedError):
    """A page may not open a View. The message says why."""


class ElsewhereError(RefusedError):
    """Another page shows the View that a page wants to resume."""


class DeclinedError(RefusedError):
    """Raise it in `on_server_sampling` or `on_elicitation` to refuse a server's request.

    Args:
        message: The reason, which the server gets.
        code: The JSON-RPC error code. -1 is MCP's code for a refusal by the user.
        data: The `data` of the JSON-RPC error.
    """

    def __init__(self, message: str = "The user declined.", code: int = -1, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
