"""Requests to a server and their results, as they are on the wire."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import anyio
import mcp_types as types
from mcp.client import Client, ClientRequestContext
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from fanlight.host.json_text import sendable
from fanlight.protocol.errors import RefusedError
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

BuildRequest = Callable[[Any, str | None], types.CallToolRequest | types.ReadResourceRequest]
"""Builds a request from the responses to the server's input requests, and the state that the server attached."""

_MAX_PAGES: Final = 1000
_MAX_ROUNDS: Final = 10
_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_WIRE_ONLY: Final = frozenset({"resultType", "ttlMs", "cacheScope"})


class InputRefusedError(RefusedError, MCPError):
    """A handler of the host gave no input to a server that needs some for a call."""


async def send_request(
    client: Client, request: types.ClientRequest, on_progress: ProgressFnT | None = None
) -> JSONObject:
    """Send a request and return its result unchanged."""
    result: JSONObject = await client.session.send_request(request, _RAW, progress_callback=on_progress)
    return result


async def send_until_complete(client: Client, build: BuildRequest, on_progress: ProgressFnT | None) -> JSONObject:
    """Send a request, and again with the input that the server asks for, until it returns a complete result.

    A View never sees `input_required`.
    """
    result = await send_request(client, build(None, None), on_progress)
    for _ in range(_MAX_ROUNDS):
        if result.get("resultType") != "input_required":
            return result
        required = types.InputRequiredResult.model_validate(result)
        responses = await _get_input(client, required)
        if not responses:
            await anyio.sleep(0.1)  # the server only wants the request to be sent again
        result = await send_request(client, build(responses or None, required.request_state), on_progress)
    raise MCPError(types.INTERNAL_ERROR, f"The server asked for more input {_MAX_ROUNDS} times in a row.")


def tool_call(name: str, arguments: JSONObject | None, meta: Mapping[str, Any]) -> BuildRequest:
    """Return a function that builds the request to call a tool."""
    # The SDK encodes requests in a task of the connection, which one that cannot be encoded would end for everyone.
    sent = sendable({"name": name, "arguments": arguments, "meta": meta or None})

    def build(responses: Any, state: str | None) -> types.CallToolRequest:
        params = types.CallToolRequestParams(
            name=sent["name"],
            arguments=sent["arguments"],
            input_responses=responses,
            request_state=state,
            _meta=cast("types.RequestParamsMeta | None", sent["meta"]),
        )
        return types.CallToolRequest(params=params)

    return build


def resource_read(uri: str) -> BuildRequest:
    """Return a function that builds the request to read a resource; the URI is sent byte for byte."""
    uri = sendable({"uri": uri})["uri"]

    def build(responses: Any, state: str | None) -> types.ReadResourceRequest:
        params = types.ReadResourceRequestParams(uri=uri, input_responses=responses, request_state=state)
        return types.ReadResourceRequest(params=params)

    return build


async def _get_input(client: Client, required: types.InputRequiredResult) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for key, request in (required.input_requests or {}).items():
        context = ClientRequestContext(session=client.session, request_id=key)
        response = await client.session.dispatch_input_request(context, request)
        if isinstance(response, types.ErrorData):
            raise InputRefusedError.from_error_data(response)
        responses[key] = response
    return responses


async def list_all_tools(client: Client, server: str) -> tuple[JSONObject, ...]:
    """List the tools of all pages."""
    if client.server_capabilities.tools is None:
        return ()
    tools: list[JSONObject] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await send_request(client, types.ListToolsRequest(params=page_params(cursor)))
        tools += await _without_invalid_headers(client, page["tools"], cursor)
        previous, cursor = cursor, page.get("nextCursor")
        if cursor is None or cursor == previous:
            return tuple(tools)
    logger.warning("%s: it has more than %d pages of tools; the rest is ignored", server, _MAX_PAGES)
    return tuple(tools)


async def _without_invalid_headers(client: Client, tools: list[JSONObject], cursor: str | None) -> list[JSONObject]:
    """Return the tools of a page, without those that declare arguments in headers wrongly (a MUST of 2026-07-28).

    Only the SDK's own `list_tools` learns such headers and drops such tools. They are rare, so the page is listed a
    second time only if it has any.
    """
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or "x-mcp-header" not in repr(tools):
        return tools
    page = await client.session.list_tools(params=page_params(cursor))
    names = {tool.name for tool in page.tools}
    return [tool for tool in tools if tool["name"] in names]


def without_wire_fields(result: JSONObject) -> JSONObject:
    """Return a result without the fields that only the 2026-07-28 wire needs."""
    plain = {key: value for key, value in result.items() if key not in _WIRE_ONLY}
    meta = plain.get("_meta")
    if isinstance(meta, Mapping) and types.SERVER_INFO_META_KEY in meta:
        rest = {key: value for key, value in meta.items() if key != types.SERVER_INFO_META_KEY}
        plain.pop("_meta")
        if rest:
            plain["_meta"] = rest
    return plain


def page_params(cursor: str | None) -> types.PaginatedRequestParams | None:
    """Return the params of a request for the page at a cursor."""
    return None if cursor is None else types.PaginatedRequestParams(**sendable({"cursor": cursor}))


def to_wire(model: Any) -> JSONObject:
    """Return a model of the SDK as it is on the wire."""
    wire: JSONObject = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return wire
