from collections.abc import Iterator
from typing import Annotated, Any

import mcp_types as types
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve, Sample
from pydantic import BaseModel

from fanlight.host.errors import DeclinedError, ServerError
from fanlight.host.upstream.callbacks import ServerRequest
from support.connected import connected, modes
from support.wire import serving

pytestmark = pytest.mark.anyio

QUESTION = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Why?"))
ASKING = {"messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}], "maxTokens": 9}
FORM = {"type": "object", "properties": {"size": {"type": "integer"}}}
ANSWER = {"role": "assistant", "content": {"type": "text", "text": "Because."}, "model": "m"}


class Size(BaseModel):
    size: int


def asking() -> MCPServer[Any]:
    """Make a server whose tools ask the client before they answer."""
    server: MCPServer[Any] = MCPServer("asks")

    def why() -> Sample:
        return Sample([QUESTION], max_tokens=9)

    def how_large() -> Elicit[Size]:
        return Elicit("How large?", Size)

    @server.tool()
    def think(reply: Annotated[types.CreateMessageResult, Resolve(why)]) -> str:
        assert isinstance(reply.content, types.TextContent)
        return reply.content.text

    @server.tool()
    def order(size: Annotated[ElicitationResult[Size], Resolve(how_large)]) -> str:
        return f"size {size.data.size}" if isinstance(size, AcceptedElicitation) else size.action

    @server.tool()
    def offered(context: Context[Any]) -> str:
        offered = context.client_capabilities
        assert offered is not None
        return offered.model_dump_json(by_alias=True, exclude_none=True, include={"sampling", "elicitation", "roots"})

    return server


def text(result: dict[str, Any]) -> str:
    assert not result.get("isError"), result
    reply: str = result["content"][0]["text"]
    return reply


@modes
async def test_sampling_requests_are_answered_by_the_model_of_the_host(mode: str) -> None:
    asked: list[tuple[str, Any]] = []

    async def sample(request: ServerRequest) -> dict[str, Any]:
        asked.append((request.server, {key: value for key, value in request.params.items() if key != "_meta"}))
        return ANSWER

    async with connected(asking(), mode=mode, on_sampling=sample) as connection:
        assert text(await connection.call_tool("think")) == "Because."
        assert text(await connection.call_tool("offered")) == '{"sampling":{"tools":{}}}'
    assert asked == [("it", ASKING)]


@modes
async def test_elicitation_requests_are_answered_by_the_user_of_the_host(mode: str) -> None:
    replies: Iterator[dict[str, Any]] = iter(
        [{"action": "accept", "content": {"size": 3}}, {"action": "decline"}, {"action": "cancel"}]
    )

    async def elicit(request: ServerRequest) -> dict[str, Any]:
        assert (request.server, request.params["message"]) == ("it", "How large?")
        assert request.params["requestedSchema"]["properties"]["size"]["type"] == "integer"
        return next(replies)

    async with connected(asking(), mode=mode, on_elicitation=elicit) as connection:
        assert text(await connection.call_tool("order")) == "size 3"
        assert text(await connection.call_tool("order")) == "decline"
        assert text(await connection.call_tool("order")) == "cancel"
        assert text(await connection.call_tool("offered")) == '{"elicitation":{"form":{},"url":{}}}'


@modes
@pytest.mark.parametrize("tool", ["think", "order"])
async def test_without_a_handler_the_capability_is_missing_and_the_call_fails_with_the_servers_error(
    mode: str, tool: str
) -> None:
    async with connected(asking(), mode=mode) as connection:
        assert text(await connection.call_tool("offered")) == "{}"
        with pytest.raises(ServerError, match="capability"):
            await connection.call_tool(tool)


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "roots/list", "nobody/knows"])
async def test_a_request_for_a_missing_capability_gets_an_error(raw: list[str], method: str) -> None:
    params = {"sampling/createMessage": ASKING, "elicitation/create": {"message": "?", "requestedSchema": FORM}}
    async with connected(raw) as connection:
        arguments = {"method": method, "params": params.get(method, {})}
        answer = (await connection.call_tool("ask", arguments))["answer"]
    assert answer["id"] == "question"
    assert answer["error"]["code"] in (types.INVALID_REQUEST, types.METHOD_NOT_FOUND)


async def declines(request: ServerRequest) -> dict[str, Any]:
    raise DeclinedError("Not today.", code=-32000, data={"until": "tomorrow"})


async def fails(request: ServerRequest) -> dict[str, Any]:
    raise ValueError("a secret")


async def misunderstands(request: ServerRequest) -> dict[str, Any]:
    return {"a secret": 1}


@pytest.mark.parametrize(
    ("handler", "code", "message", "data"),
    [
        (declines, -32000, "Not today.", {"until": "tomorrow"}),
        (fails, types.INTERNAL_ERROR, "The host could not answer.", None),
        (misunderstands, types.INTERNAL_ERROR, "The host could not answer.", None),
    ],
)
@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create"])
async def test_a_failing_handler_is_an_error_for_the_server(
    raw: list[str], handler: Any, code: int, message: str, data: Any, method: str
) -> None:
    params = ASKING if method == "sampling/createMessage" else {"message": "?", "requestedSchema": FORM}
    async with connected(raw, on_sampling=handler, on_elicitation=handler) as connection:
        answer = (await connection.call_tool("ask", {"method": method, "params": params}))["answer"]
    assert answer["error"] == {"code": code, "message": message, **({} if data is None else {"data": data})}


async def test_a_call_with_a_declined_request_fails_with_the_reason() -> None:
    with serving(asking().streamable_http_app()) as address:
        async with connected(f"{address}/mcp", on_sampling=declines) as connection:
            assert connection.protocol_version == "2026-07-28"
            with pytest.raises(ServerError, match=r"Not today\.") as refused:
                await connection.call_tool("think")
    assert refused.value.data == {"until": "tomorrow"}
