"""What a server asks of the host: of its model (sampling) or of its user (elicitation).

A handler takes the server's name and the parameters of the request, and returns the result, both as they are on the
wire. A client offers a server only what there is a handler for.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.client import ClientRequestContext
from mcp.client.session import ElicitationFnT, SamplingFnT
from pydantic import TypeAdapter, ValidationError

from fanlight.host.errors import DeclinedError
from fanlight.host.upstream.wire import dumped
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Handler = Callable[[str, JSONObject], Awaitable[JSONObject]]
Result = TypeVar("Result")
Sampled = types.CreateMessageResult | types.CreateMessageResultWithTools

_SAMPLED: Final[TypeAdapter[Sampled]] = TypeAdapter(Sampled)
_ELICITED: Final[TypeAdapter[types.ElicitResult]] = TypeAdapter(types.ElicitResult)


def sampling(server: str, handler: Handler) -> SamplingFnT:
    """Return what answers a server's `sampling/createMessage`."""

    async def answer(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> Sampled | types.ErrorData:
        return await _answer(server, handler, params, _SAMPLED)

    return answer


def elicitation(server: str, handler: Handler) -> ElicitationFnT:
    """Return what answers a server's `elicitation/create`: with a form or, if `mode` is "url", an address to visit."""

    async def answer(
        context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        return await _answer(server, handler, params, _ELICITED)

    return answer


async def _answer(server: str, handler: Handler, params: Any, kind: TypeAdapter[Result]) -> Result | types.ErrorData:
    try:
        return kind.validate_python(await handler(server, dumped(params)), by_name=False)
    except DeclinedError as declined:
        return types.ErrorData(code=declined.code, message=str(declined), data=declined.data)
    except ValidationError:
        logger.exception("%s: what it asked was answered with what MCP does not allow", server)
    except Exception:
        logger.exception("%s: what it asked could not be answered", server)
    # What went wrong in the host is none of the server's business.
    return types.ErrorData(code=types.INTERNAL_ERROR, message="The host could not answer.")
