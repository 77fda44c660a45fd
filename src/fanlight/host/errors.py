"""The errors of the host. `fanlight.protocol.errors` draws the tree that they belong to."""

from typing import Any, ClassVar, Final

from fanlight.protocol.errors import LocalError, NotFoundError, RefusedError, RemoteError
from fanlight.protocol.jsonrpc import REFUSED

STORE_UNAVAILABLE: Final = "The host cannot use its store now. Try again later."
"""What Views and pages are told while the store fails. The log has the reason."""


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
    """A store cannot be used: its file, or the server that it is in. The message says why."""


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

    _needs_user: ClassVar = False

    def __init__(self, server: str, message: str) -> None:
        super().__init__(f"{server}: {message}")
        self.server = server
        """The name of the server."""
        self.message = message
        """Why the call did not finish."""

    @property
    def user_message(self) -> str:
        """Why, in words for the user of a View: without ids of users, addresses, and what a process wrote."""
        return self._user_message()

    @property
    def needs_user(self) -> bool:
        """Whether the user has to do something, such as signing in, before another attempt can succeed."""
        return self._needs_user

    def _user_message(self) -> str:
        return self.message


class CallTimeoutError(CallCancelledError):
    """The server did not answer within `Timeouts.call`. It was notified of the cancellation."""


class ConnectionLostError(CallCancelledError):
    """The connection ended while the call ran, or a gateway answered 502, 503 or 504. The tool may have run."""

    def _user_message(self) -> str:
        return f"The connection to {self.server} was lost before it answered."


class NotConnectedError(ConnectionLostError):
    """Nothing was sent: no connection within `Timeouts.connect`, or no credentials within `Timeouts.credentials`."""

    def _user_message(self) -> str:
        return f"{self.server} cannot be reached at the moment."


class CredentialsRejectedError(NotConnectedError):
    """A server rejected the credentials of a user, or of the host, with HTTP 401 or 403.

    The program should let the user sign in again. The next call asks `Host(credentials=...)` for new ones.
    """

    _needs_user = True

    def __init__(self, server: str, user: str | None, status: int, message: str | None = None) -> None:
        owner = "its credentials" if user is None else f"the credentials of {user}"
        super().__init__(server, message or f"the server rejected {owner} (HTTP {status}). Sign in again.")
        self.user = user
        """The user, or None for a connection that all users share."""
        self.status = status
        """The HTTP status: 401 or 403."""

    def _user_message(self) -> str:
        if self.user is None:
            return f"{self.server} does not accept the credentials of this program."
        return f"{self.server} does not accept your sign-in any more. Sign in again."


class SignInRequiredError(NotConnectedError):
    """A user has to sign in to a server first. The sign-in can be finished for `Timeouts.sign_in`."""

    _needs_user = True

    def __init__(self, server: str, user: str, url: str) -> None:
        super().__init__(server, f"{user} has to sign in to {server} first.")
        self.user = user
        """The user."""
        self.url = url
        """The page of the authorization server, to show to this user as a link."""

    def _user_message(self) -> str:
        return f"Sign in to {self.server} first."


class ViewError(RemoteError):
    """A View cannot be shown."""


class ViewUnavailableError(ViewError):
    """A View could not be read just now; another attempt may succeed."""

    def __init__(self, message: str, cause: CallCancelledError) -> None:
        super().__init__(message)
        self.user_message = f"The View cannot be shown: {cause.user_message}"
        """The reason in words for the user."""
        self.needs_user = cause.needs_user
        """Whether the user has to do something before another attempt can succeed."""


class RequestError(RemoteError):
    """A request to or from a View failed or was refused."""

    def __init__(self, message: str, code: int = REFUSED, data: Any = None, *, reason: str | None = None) -> None:
        self.reason = reason or message
        """The whole reason, for the log and the audit. The View gets the message only."""
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
