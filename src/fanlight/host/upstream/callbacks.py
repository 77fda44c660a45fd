"""Requests of a server to the host: to its model (sampling) or to its user (elicitation).

A handler receives the server's name and the params of the request, and returns the result, both as they are on the
wire. A server is offered only the capabilities that have a handler.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.client import ClientRequestContext
from mcp.client.session import ElicitationFnT, SamplingFnT
from pydantic import TypeAdapter, ValidationError

from fanlight.host.errors import DeclinedError
from fanlight.host.upstream.wire import to_wire
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Handler = Callable[[str, JSONObject], Awaitable[JSONObject]]
Result = TypeVar("Result")
SamplingResult = types.CreateMessageResult | types.CreateMessageResultWithTools

_SAMPLING_RESULT: Final[TypeAdapter[SamplingResult]] = TypeAdapter(SamplingResult)
_ELICITATION_RESULT: Final[TypeAdapter[types.ElicitResult]] = TypeAdapter(types.ElicitResult)


def sampling_callback(server: str, handler: Handler) -> SamplingFnT:
    """Return the SDK callback that answers `sampling/createMessage` with a handler."""

    async def respond(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> SamplingResult | types.ErrorData:
        return await _respond(server, handler, params, _SAMPLING_RESULT)

    return respond


def elicitation_callback(server: str, handler: Handler) -> ElicitationFnT:
    """Return the SDK callback that answers `elicitation/create` with a handler, in the modes "form" and "url"."""

    async def respond(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await _respond(server, handler, params, _ELICITATION_RESULT)

    return respond


async def _respond(server: str, handler: Handler, params: Any, kind: TypeAdapter[Result]) -> Result | types.ErrorData:
    try:
        return kind.validate_python(await handler(server, to_wire(params)), by_name=False)
    except DeclinedError as declined:
        return types.ErrorData(code=declined.code, message=str(declined), data=declined.data)
    except ValidationError:
        logger.exception("%s: the handler of its sampling or elicitation request returned an invalid result", server)
    except Exception:
        logger.exception("%s: the handler of its sampling or elicitation request failed", server)
    # The server does not get details of the host's own errors.
    return types.ErrorData(code=types.INTERNAL_ERROR, message="The host could not answer.")
