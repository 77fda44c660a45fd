"""What is asked of a server and what it answers, as it is on the wire."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from fanlight.protocol.errors import RefusedError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Build = Callable[[Any, str | None], types.CallToolRequest | types.ReadResourceRequest]
"""Makes a request that takes the answers to what the server asked for it, and the server's own state."""

_MOST_PAGES: Final = 1000
_MOST_ROUNDS: Final = 10
_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_WIRE_ONLY: Final = frozenset({"resultType", "ttlMs", "cacheScope"})


class InputRefusedError(RefusedError, MCPError):
    """The host did not give the input that a server needs for a call."""


async def sent(client: Client, request: types.ClientRequest, on_progress: ProgressFnT | None = None) -> JSONObject:
    """Send a request and return its result unchanged."""
    result: JSONObject = await client.session.send_request(request, _RAW, progress_callback=on_progress)
    return result


async def finished(client: Client, build: Build, on_progress: ProgressFnT | None) -> JSONObject:
    """Send a request until the server needs no more input for it: no View may see `input_required`."""
    result = await sent(client, build(None, None), on_progress)
    for _ in range(_MOST_ROUNDS):
        if result.get("resultType") != "input_required":
            return result
        wanted = types.InputRequiredResult.model_validate(result)
        answers = await _answers(client, wanted)
        if not answers:
            await anyio.sleep(0.1)  # the server only asks to be asked again
        result = await sent(client, build(answers or None, wanted.request_state), on_progress)
    raise MCPError(types.INTERNAL_ERROR, f"The server asked for more input {_MOST_ROUNDS} times in a row.")


async def _answers(client: Client, wanted: types.InputRequiredResult) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for key, request in (wanted.input_requests or {}).items():
        context = ClientRequestContext(session=client.session, request_id=key)
        answer = await client.session.dispatch_input_request(context, request)
        if isinstance(answer, types.ErrorData):
            raise InputRefusedError.from_error_data(answer)
        answers[key] = answer
    return answers


async def all_tools(client: Client, server: str) -> tuple[JSONObject, ...]:
    """List the tools of all pages."""
    if client.server_capabilities.tools is None:
        return ()
    tools: list[JSONObject] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await sent(client, types.ListToolsRequest(params=at_cursor(cursor)))
        tools += await _callable(client, page["tools"], cursor)
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None or cursor == before:
            return tuple(tools)
    logger.warning("%s: it has more than %d pages of tools; the rest is left out", server, _MOST_PAGES)
    return tuple(tools)


async def _callable(client: Client, tools: list[JSONObject], cursor: str | None) -> list[JSONObject]:
    """Return the tools of a page that may be called; let the SDK read those that want arguments in headers.

    It learns the headers, and drops tools that declare them wrongly (a MUST of 2026-07-28), in its own
    `list_tools` alone. Such tools are rare, so the page is listed once more only for them.
    """
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or "x-mcp-header" not in repr(tools):
        return tools
    page = await client.session.list_tools(params=at_cursor(cursor))
    names = {tool.name for tool in page.tools}
    return [tool for tool in tools if tool["name"] in names]


def without_wire_fields(result: JSONObject) -> JSONObject:
    """Return a result without what only the 2026-07-28 wire needs."""
    plain = {key: value for key, value in result.items() if key not in _WIRE_ONLY}
    meta = plain.get("_meta")
    if isinstance(meta, Mapping) and types.SERVER_INFO_META_KEY in meta:
        rest = {key: value for key, value in meta.items() if key != types.SERVER_INFO_META_KEY}
        plain.pop("_meta")
        if rest:
            plain["_meta"] = rest
    return plain


def at_cursor(cursor: str | None) -> types.PaginatedRequestParams | None:
    """Return the parameters that ask for the page at a cursor."""
    return None if cursor is None else types.PaginatedRequestParams(cursor=cursor)


def dumped(model: Any) -> JSONObject:
    """Return a model of the SDK as it is on the wire."""
    wire: JSONObject = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return wire
