"""Requests of a server to the host: to its model (sampling) or to its user (elicitation).

A handler receives a `ServerRequest` and returns the result as it is on the wire. A server is offered only the
capabilities that have a handler.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import mcp_types as types
from mcp.client import ClientRequestContext
from mcp.client.session import ElicitationFnT, SamplingFnT
from pydantic import TypeAdapter, ValidationError

from fanlight.host.errors import DeclinedError
from fanlight.host.json_text import sendable
from fanlight.host.upstream.callers import Callers
from fanlight.host.upstream.transport.wire import to_wire
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerRequest:
    """A request of a server for sampling or elicitation."""

    server: str
    """The server, by the name that `Host` has for it."""
    user: str | None
    """The user whose call the server works on, or None if that is not certain: ask nobody else then."""
    params: JSONObject
    """The params of the request, as they are on the wire."""
    conversation: str | None = None
    """The conversation of that call, or None."""


Handler = Callable[[ServerRequest], Awaitable[JSONObject]]
Result = TypeVar("Result")
SamplingResult = types.CreateMessageResult | types.CreateMessageResultWithTools

_SAMPLING_RESULT: Final[TypeAdapter[SamplingResult]] = TypeAdapter(SamplingResult)
_ELICITATION_RESULT: Final[TypeAdapter[types.ElicitResult]] = TypeAdapter(types.ElicitResult)


def sampling_callback(server: str, callers: Callers, handler: Handler) -> SamplingFnT:
    """Return the SDK callback that answers `sampling/createMessage` with a handler."""

    async def respond(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> SamplingResult | types.ErrorData:
        user, conversation = callers.find()
        return await _respond(ServerRequest(server, user, to_wire(params), conversation), handler, _SAMPLING_RESULT)

    return respond


def elicitation_callback(server: str, callers: Callers, handler: Handler) -> ElicitationFnT:
    """Return the SDK callback that answers `elicitation/create` with a handler, in the modes "form" and "url"."""

    async def respond(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        user, conversation = callers.find()
        return await _respond(ServerRequest(server, user, to_wire(params), conversation), handler, _ELICITATION_RESULT)

    return respond


async def _respond(request: ServerRequest, handler: Handler, kind: TypeAdapter[Result]) -> Result | types.ErrorData:
    try:
        result = kind.validate_python(await handler(request), by_name=False)
        wire = to_wire(result)
        clean = sendable(wire)
        return result if clean is wire else kind.validate_python(clean, by_name=False)
    except DeclinedError as declined:
        return types.ErrorData(**sendable({"code": declined.code, "message": str(declined), "data": declined.data}))
    except ValidationError:
        logger.exception("%s: a handler of its requests returned an invalid result", request.server)
    except Exception:
        logger.exception("%s: a handler of its requests failed", request.server)
    # The server does not get details of the host's own errors.
    return types.ErrorData(code=types.INTERNAL_ERROR, message="The host could not answer.")
