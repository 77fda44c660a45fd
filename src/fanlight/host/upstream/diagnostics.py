"""Explains why a connection failed, in messages that a person can act on."""

from dataclasses import dataclass
from typing import Final, Literal

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import Target
from fanlight.host.upstream.transport.open import Attempt, HttpFailure

REJECTED: Final = (401, 403)
"""The HTTP statuses with which a server rejects credentials."""

_CONTENT_TOO_LARGE: Final = 413


@dataclass(frozen=True)
class Failure:
    """Why an attempt at a connection ended, and what the next one needs to succeed."""

    reason: str
    needs: Literal["time", "restart", "sign-in", "credentials"] = "time"
    """`restart`: the command cannot be started, or exits at once. `sign-in`: the user did not sign in."""
    http_status: int = 0
    """The status with which the server rejected the credentials."""


def diagnose(
    error: Exception | None, target: Target, attempt: Attempt, timeout: float, *, retries_exits: bool
) -> Failure:
    """Return why an attempt ended, with an error or without one.

    If `retries_exits` is false, a process that exits before it is ready needs a restart.
    """
    reason = explain_end(target, attempt) if error is None else explain_failure(error, target, attempt, timeout)
    child = attempt.child
    exited = attempt.client is None and child is not None and child.exit_code is not None
    match error:
        case ServerStartError():
            return Failure(reason, "restart")
        case OAuthFlowError() if attempt.client is None:
            return Failure(reason, "sign-in")
        case MCPError() if attempt.http_status in REJECTED:
            return Failure(reason, "credentials", attempt.http_status)
    return Failure(reason, "restart" if exited and not retries_exits else "time")


def explain_invalid(what: str, error: ValidationError) -> str:
    """Explain what is invalid in a response."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return f"The response of {what} is not valid MCP: {path}: {first['msg']}."


def first_error(error: Exception) -> Exception:
    """Return the first error of a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def explain_http_failure(what: str, failure: HttpFailure) -> str:
    """Explain why a request got an HTTP error status."""
    if failure.is_gateway:
        return f"the server is not available: its gateway answered {what} with HTTP {failure.status}. Try again later."
    if failure.status == _CONTENT_TOO_LARGE:
        return (
            f"The request of {what} has {failure.request_size:,} bytes, which is too large for the server (HTTP 413). "
            "Send less, or raise the server's limit: in the mcp SDK it is max_request_body_size, 4 MiB by default."
        )
    return f"The server answered {what} with HTTP {failure.status}, and without a JSON-RPC error."


def explain_failure(error: Exception, target: Target, attempt: Attempt, timeout: float) -> str:
    """Explain why an attempt failed with an error."""
    match error:
        case ServerStartError():
            return str(error)
        case _ if attempt.reason is not None:
            return attempt.reason
        case _ if attempt.child is not None and attempt.child.exit_code is not None:
            return explain_end(target, attempt)
        case httpx2.ConnectError():
            return f"{target} refused the connection or cannot be found ({error}). Is the server running?"
        case httpx2.HTTPError():
            return f"{target} cannot be reached: {type(error).__name__} {error}".rstrip() + "."
        case TimeoutError():
            return f"{target} did not answer as an MCP server within {timeout:g} seconds.{quote_output(attempt)}"
        case OAuthFlowError():
            return f"{target}: signing in failed: {error}"
        case MCPError() if attempt.http_status in REJECTED:
            return (
                f"{target} asks for authorization (HTTP {attempt.http_status}). Give it the headers that it expects: "
                '{"url": ..., "headers": {"Authorization": "Bearer ..."}} in Python, or '
                '--header "Authorization: Bearer ..." on the command line.'
            )
        case MCPError(data=HttpFailure(is_gateway=True, status=status)):
            return f"{target} is not available: its gateway answers HTTP {status}. The host will try again."
        case MCPError() if attempt.http_status is not None and attempt.http_status >= 400:
            return f"{target} answers HTTP {attempt.http_status}, not MCP. Is the path right? It is often /mcp."
        case MCPError() | ValidationError():
            return f"{target} does not answer as an MCP server: {error}{quote_output(attempt)}"
    return f"{target} cannot be used: {type(error).__name__}: {error}{quote_output(attempt)}"


def explain_end(target: Target, attempt: Attempt) -> str:
    """Explain why an attempt ended without an error."""
    if attempt.reason is not None:
        return attempt.reason
    if attempt.child is not None and attempt.child.exit_code is not None:
        code = attempt.child.exit_code
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        # A Python file that defines a server without running it exits like this.
        never_served = code == 0 and not attempt.client and not attempt.answered
        hint = " It exited before it answered: does it call server.run()?" if never_served else ""
        return f"{target} {how}.{hint}{quote_output(attempt)}"
    return f"{target} closed the connection.{quote_output(attempt)}"


def explain_silence(target: Target, attempt: Attempt, seconds: float) -> str:
    """Explain that an attempt has had no response yet."""
    return f"{target} has not answered for {seconds:.0f} seconds.{quote_output(attempt)}"


def quote_output(attempt: Attempt) -> str:
    """Quote the last lines that a child process wrote to stderr, which usually name the cause, and invalid output."""
    if attempt.child is None:
        return ""
    lines = attempt.child.last_stderr()
    quoted = " It last wrote: " + " | ".join(lines) if lines else ""
    invalid = attempt.child.invalid_output
    return quoted + (f" It wrote to stdout what is not MCP: {invalid}" if invalid else "")
