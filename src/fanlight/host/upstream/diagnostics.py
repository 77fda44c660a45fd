"""What went wrong with a connection, in words that a person can act on."""

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import Target
from fanlight.host.upstream.transport import Attempt, Unavailable


def not_mcp(what: str, error: ValidationError) -> str:
    """Say what is wrong with an answer."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"The answer of {what} is not what MCP allows: {place}: {first['msg']}."


def cause(error: Exception) -> Exception:
    """Return the first error of a group."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def why_failed(error: Exception, to: Target, attempt: Attempt, patience: float) -> str:
    """Say why an attempt failed with an error."""
    match error:
        case ServerStartError():
            return str(error)
        case _ if attempt.reason is not None:
            return attempt.reason
        case _ if attempt.child is not None and attempt.child.exit_code is not None:
            return why_ended(to, attempt)
        case httpx2.ConnectError():
            return f"{to} refused the connection or cannot be found ({error}). Is the server running?"
        case httpx2.HTTPError():
            return f"{to} cannot be reached: {type(error).__name__} {error}".rstrip() + "."
        case TimeoutError():
            return f"{to} did not answer as an MCP server within {patience:g} seconds.{last_words(attempt)}"
        case OAuthFlowError():
            return f"{to} cannot be signed in to: {error}"
        case MCPError() if attempt.http_status in (401, 403):
            return f"{to} asks for authorization (HTTP {attempt.http_status}). Give the headers or auth it expects."
        case MCPError(data=Unavailable(status)):
            return f"{to} is not available: its gateway answers HTTP {status}. It will be tried again."
        case MCPError() if attempt.http_status is not None and attempt.http_status >= 400:
            return f"{to} answers HTTP {attempt.http_status}, not MCP. Is the path right? It is often /mcp."
        case MCPError() | ValidationError():
            return f"{to} does not answer as an MCP server: {error}{last_words(attempt)}"
    return f"{to} cannot be used: {type(error).__name__}: {error}{last_words(attempt)}"


def why_ended(to: Target, attempt: Attempt) -> str:
    """Say why an attempt ended without an error."""
    if attempt.reason is not None:
        return attempt.reason
    if attempt.child is not None and attempt.child.exit_code is not None:
        code = attempt.child.exit_code
        how = f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
        # A Python file that only defines its server ends so.
        unserved = code == 0 and not attempt.client and not attempt.served
        hint = " It ended before it served: does it call server.run()?" if unserved else ""
        return f"{to} {how}.{hint}{last_words(attempt)}"
    return f"{to} closed the connection.{last_words(attempt)}"


def why_silent(to: Target, attempt: Attempt, seconds: float) -> str:
    """Say that an attempt has led to nothing yet."""
    return f"{to} has not answered for {seconds:.0f} seconds.{last_words(attempt)}"


def last_words(attempt: Attempt) -> str:
    """Quote the last words of a child, which usually name the cause."""
    if attempt.child is None:
        return ""
    last = attempt.child.last_words()
    quoted = " It last wrote: " + " | ".join(last) if last else ""
    noise = f" It wrote to stdout what is not MCP: {attempt.child.noise}" if attempt.child.noise else ""
    return quoted + noise
