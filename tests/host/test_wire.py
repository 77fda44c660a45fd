from typing import Any

import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError

from fanlight import Apps, View
from fanlight.host.errors import ServerError
from fanlight.host.upstream.transport.wire import without_wire_fields
from support.connected import connected, modes
from support.wire import serving

pytestmark = pytest.mark.anyio


async def test_unknown_fields_and_meta_are_kept(raw: list[str]) -> None:
    async with connected(raw) as connection:
        result = await connection.call_tool(
            "echo", {"a": None, "b": {"c": []}}, meta={"x/y": 1, "progressToken": "theirs"}
        )
        assert connection.tools[0]["x-unknown"] == 1
    assert result == {
        "content": [{"type": "text", "text": "echo"}],
        "unknown": {"kept": [None, 1]},
        "_meta": {"a/b": 1},
        # A View's own progress token never reaches the server; null arguments do.
        "params": {"name": "echo", "arguments": {"a": None, "b": {"c": []}}, "_meta": {"x/y": 1}},
    }


def test_only_transport_fields_are_removed_from_a_result() -> None:
    stamp = {"io.modelcontextprotocol/serverInfo": {"name": "a"}}
    sent = {"content": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {**stamp, "b": 1}}
    assert without_wire_fields(sent) == {"content": [], "_meta": {"b": 1}}
    assert without_wire_fields({"content": [], "_meta": stamp}) == {"content": []}
    assert without_wire_fields({"content": [], "_meta": {}}) == {"content": [], "_meta": {}}


async def test_tools_of_all_pages_are_listed(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert [tool["name"] for tool in connection.tools] == ["echo", "hang", "die"]


async def test_endless_pagination_stops_at_a_limit() -> None:
    asked = 0

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        nonlocal asked
        asked += 1
        tool = types.Tool(name=f"t{asked}", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool], next_cursor=str(asked))

    async with connected(Server("endless", on_list_tools=list_tools)) as connection:
        assert len(connection.tools) == 1000


@modes
async def test_a_view_of_three_megabytes_arrives_over_http(mode: str) -> None:
    server: MCPServer[Any] = MCPServer("big")
    page = "<!doctype html>" + "x" * 3_000_000
    Apps(server).view(View.html(page, uri="ui://big/view", name="big"))

    @server.tool()
    def large() -> str:
        return "y" * 3_000_000

    with serving(server.streamable_http_app()) as address:
        async with connected(f"{address}/mcp", mode=mode) as connection:
            assert (await connection.read_resource("ui://big/view"))["contents"][0]["text"] == page
            assert len((await connection.call_tool("large"))["content"][0]["text"]) == 3_000_000


async def test_progress_reaches_the_caller() -> None:
    server: MCPServer[Any] = MCPServer("slow")

    @server.tool()
    async def work(context: Context[Any]) -> str:
        await context.report_progress(1, 2, "half")
        return "done"

    seen: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connected(server) as connection:
        await connection.call_tool("work", on_progress=on_progress)
    assert seen == [(1, 2, "half")]


async def test_prompts_and_templates_are_listed_unchanged() -> None:
    server: FastMCP[Any] = FastMCP("lists")

    @server.prompt()
    def hello() -> str:
        return "hello"

    @server.resource("note://{name}")
    def note(name: str) -> str:
        return name

    async with connected(server) as connection:
        assert (await connection.list_prompts())["prompts"][0]["name"] == "hello"
        assert (await connection.list_resource_templates())["resourceTemplates"][0]["uriTemplate"] == "note://{name}"


# 2026-07-28


async def test_a_tool_that_requires_input_is_called_again_until_it_is_complete() -> None:
    states: list[str | None] = []

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="rounds", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        states.append(params.request_state)
        if len(states) < 3:
            return types.InputRequiredResult(request_state=f"round {len(states)}")
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    async with connected(Server("rounds", on_list_tools=list_tools, on_call_tool=call_tool)) as connection:
        result = await connection.call_tool("rounds")
    assert result["content"][0]["text"] == "done"
    assert states == [None, "round 1", "round 2"]


async def test_a_tool_that_always_requires_more_input_is_a_server_error() -> None:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="more", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        return types.InputRequiredResult(request_state="more")

    async with connected(Server("more", on_list_tools=list_tools, on_call_tool=call_tool)) as connection:
        with pytest.raises(ServerError, match="asked for more input 10 times in a row"):
            await connection.call_tool("more")


async def test_arguments_are_sent_in_the_headers_that_a_tool_declares() -> None:
    seen: list[str | None] = []

    def tool(name: str, header: str) -> types.Tool:
        region = {"type": "string", "x-mcp-header": header}
        return types.Tool(name=name, input_schema={"type": "object", "properties": {"region": region}})

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool("good", "Region"), tool("bad", "not a header")])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        seen.append(context.request.headers.get("mcp-param-region"))
        return types.CallToolResult(content=[])

    server: Server[Any] = Server("regions", on_list_tools=list_tools, on_call_tool=call_tool)
    with serving(server.streamable_http_app()) as address:
        async with connected(f"{address}/mcp") as connection:
            await connection.call_tool("good", {"region": "eu"})
            assert [each["name"] for each in connection.tools] == ["good"]  # the other MUST not be called
    assert seen == ["eu"]


async def test_a_tool_that_newly_declares_headers_is_listed_again_and_called() -> None:
    wants = False
    calls = 0

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        region = {"type": "string", **({"x-mcp-header": "Region"} if wants else {})}
        schema = {"type": "object", "properties": {"region": region}}
        return types.ListToolsResult(tools=[types.Tool(name="ask", input_schema=schema)])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        nonlocal calls
        calls += 1
        if wants and context.request.headers.get("mcp-param-region") is None:
            raise MCPError(types.HEADER_MISMATCH, "Mcp-Param-Region is missing")
        return types.CallToolResult(content=[])

    server: Server[Any] = Server("regions", on_list_tools=list_tools, on_call_tool=call_tool)
    with serving(server.streamable_http_app()) as address:
        async with connected(f"{address}/mcp") as connection:
            await connection.call_tool("ask", {"region": "eu"})
            wants = True
            await connection.call_tool("ask", {"region": "eu"})
    assert calls in (2, 3)  # the SDK's server may refuse the first by itself
