from collections.abc import Iterator
from typing import Annotated, Any

import anyio
import mcp_types as types
import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve, Sample
from pydantic import BaseModel

from fanlight.host import Host
from fanlight.host.errors import DeclinedError, ServerError
from fanlight.host.upstream.callbacks import ServerRequest
from fanlight.host.upstream.callers import Caller, Callers
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


@pytest.mark.parametrize("declines", [False, True], ids=["answered", "declined"])
async def test_a_lone_surrogate_in_what_a_handler_says_is_replaced(raw: list[str], declines: bool) -> None:
    """Goes red if it reaches the SDK, which encodes it in a task that the whole connection shares."""

    async def elicit(request: ServerRequest) -> dict[str, Any]:
        if declines:
            raise DeclinedError("no\ud800", code=-32000, data={"why\udc00": 1})
        return {"action": "accept", "content": {"size": "a\ud800"}}

    async with connected(raw, on_elicitation=elicit) as connection:
        arguments = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}}
        answer = (await connection.call_tool("ask", arguments))["answer"]
    if declines:
        assert answer["error"] == {"code": -32000, "message": "no\ufffd", "data": {"why\ufffd": 1}}
    else:
        assert answer["result"]["content"] == {"size": "a\ufffd"}


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


@modes
async def test_a_request_of_a_server_that_all_users_share_names_the_user_of_its_call_and_no_other(mode: str) -> None:
    """Goes red if the user of another call that runs at the same time is asked."""
    sizes = {"alice": 1, "bob": 2}
    asked: list[tuple[str | None, str | None]] = []
    both = anyio.Event()
    results: dict[str, str] = {}

    async def answer(request: ServerRequest) -> dict[str, Any]:
        asked.append((request.user, request.conversation))
        if len(asked) == 2:
            both.set()
        await both.wait()
        if request.user is None:
            return {"action": "decline"}
        return {"action": "accept", "content": {"size": sizes[request.user]}}

    async with connected(asking(), mode=mode, on_elicitation=answer) as connection:

        async def call(user: str) -> None:
            with connection.callers.running(Caller(user, f"chat of {user}")):
                results[user] = text(await connection.call_tool("order"))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call, "alice")
                tasks.start_soon(call, "bob")
    assert results["alice"] in ("size 1", "decline")
    assert results["bob"] in ("size 2", "decline")
    assert {"chat of alice", "chat of bob", None} >= {conversation for _, conversation in asked}


async def test_a_request_of_a_server_says_for_which_user_and_conversation_it_is() -> None:
    asked: list[tuple[str | None, str | None]] = []

    async def answer(request: ServerRequest) -> dict[str, Any]:
        asked.append((request.user, request.conversation))
        return {"action": "accept", "content": {"size": 3}}

    async with Host({"asks": asking()}, on_elicitation=answer) as host:
        await host.servers["asks"].ready()
        for user in ("alice", "bob"):
            await host.conversation("c1", user=user).call_tool("asks__order", {})
    assert asked == [("alice", "c1"), ("bob", "c1")]


def test_who_is_asked_is_certain_or_nobody() -> None:
    callers = Callers(None)
    assert callers.find() == Caller()
    callers._running = [Caller("alice", "c1")]
    assert callers.find() == Caller("alice", "c1")
    callers._running = [Caller("alice", "c1"), Caller("alice", "c2")]
    assert callers.find() == Caller("alice", None)
    callers._running = [Caller("alice", "c1"), Caller("bob", "c1")]
    assert callers.find() == Caller()
    own = Callers("alice")
    assert own.find() == Caller("alice")
