"""Translates what goes wrong with a request to a server into errors of the host."""

from mcp.shared.exceptions import MCPError

from fanlight.host.errors import (
    ConnectionLostError,
    CredentialsRejectedError,
    InvalidResponseError,
    ServerError,
)
from fanlight.host.upstream.diagnostics import REJECTED, explain_http_failure
from fanlight.host.upstream.transport.malformed import MalformedResponse, OversizedResponse
from fanlight.host.upstream.transport.open import Attempt, HttpFailure, ServerErrorData
from fanlight.host.upstream.transport.wire import InputRefusedError


def lost_error(server: str, attempt: Attempt, what: str) -> ConnectionLostError:
    """Return the error for a request (`what`) whose connection was lost."""
    reason = "." if attempt.reason is None else f": {attempt.reason}"
    return ConnectionLostError(server, f"the connection was lost before {what} answered{reason}")


def translate_error(
    error: MCPError, server: str, user: str | None, attempt: Attempt, what: str
) -> ConnectionLostError | ServerError:
    """Return the host's error for an error of the SDK."""
    if attempt.is_connection_loss(error) and not isinstance(error, InputRefusedError):
        return lost_error(server, attempt, what)
    match error.data:
        case HttpFailure(status=status) if status in REJECTED:
            return CredentialsRejectedError(server, user, status)
        case HttpFailure() as failure:
            reason = explain_http_failure(what, failure)
            if failure.is_gateway:
                return ConnectionLostError(server, reason)
            return ServerError(server, error.code, reason)
        case MalformedResponse(reason):
            message = f"The response of {what} cannot be parsed: {reason}."
            return InvalidResponseError(server, error.code, message)
        case OversizedResponse(max_bytes):
            message = f"The response of {what} is larger than {max_bytes:,} bytes, the limit of this host."
            return InvalidResponseError(server, error.code, message)
        case ServerErrorData(data):
            return ServerError(server, error.code, error.message, data)
    return ServerError(server, error.code, error.message, error.data)
