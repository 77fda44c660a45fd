import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from fastmcp import FastMCP
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight import Apps, View
from fanlight.host.connection import (
    Backoff,
    BadAnswer,
    CallTimeout,
    Connection,
    ConnectionLost,
    News,
    NotConnected,
    ServerError,
    StatusChanged,
    ToolsChanged,
    without_wire_fields,
)
from fanlight.host.servers import Servers
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE
from support.shop import ALL_KINDS, CART_URI, HIGH_LEVEL, Kind, build
from support.wire import serving

pytestmark = pytest.mark.anyio

modes = pytest.mark.parametrize("mode", ["auto", "legacy"])
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
SHOP = Path(__file__).parents[1]

# A server of the handshake era without any SDK, so that a test knows each byte that it sends.
RAW_SERVER = """
import json, os, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}

tools = [{"name": name, "inputSchema": {"type": "object"}, "x-unknown": 1} for name in ("echo", "hang", "die")]
heard = []
for line in sys.stdin:
    message = json.loads(line)
    method, params, id = message["method"], message.get("params", {}), message.get("id")
    if id is None:
        heard.append(message)
    elif method == "initialize":
        heard.append(message)
        say(id=id, result={
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "raw", "version": "7"}, "instructions": "Be kind.",
        })
    elif method == "tools/list":
        at = int(params.get("cursor", 0))
        more = {"nextCursor": str(at + 1)} if at + 1 < len(tools) else {}
        say(id=id, result={"tools": tools[at:at + 1], **more})
    elif method != "tools/call":
        say(id=id, error={"code": -32601, "message": "Method not found"})
    elif params["name"] == "echo":
        say(id=id, result=text("echo", unknown={"kept": [None, 1]}, _meta={"a/b": 1}, params=params))
    elif params["name"] == "heard":
        say(id=id, result=text("heard", heard=heard))
    elif params["name"] == "pid":
        say(id=id, result=text(str(os.getpid())))
    elif params["name"] == "hang":
        token = params.get("_meta", {}).get("progressToken")
        say(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": str(id)})
    elif params["name"] == "die":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    elif params["name"] == "grow":
        tools.append({"name": "new", "inputSchema": {"type": "object"}})
        say(method="notifications/tools/list_changed")
        say(id=id, result=text("grown"))
    elif params["name"] == "noisy":
        print("Starting up...", flush=True)
        say(id=id, result=text("after noise"))
    elif params["name"] == "empty":
        say(id=id, result={})
    else:
        say(id=id, error={"code": -32000, "message": "Refused", "data": {"why": "because"}})
"""

SHOP_SERVER = """
import sys
sys.path.insert(0, {tests!r})
from support.shop import build
server = build({kind!r})
server.run("stdio") if {kind!r} == "MCPServer" else server.run(transport="stdio", show_banner=False)
"""

HANGING_WEB_SERVER = """
import socket, anyio, uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("gone")

@server.tool()
async def hang(context: Context) -> str:
    await context.report_progress(1)
    await anyio.sleep_forever()

listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[listener])
"""


@pytest.fixture
def raw(tmp_path: Path) -> list[str]:
    script = tmp_path / "raw.py"
    script.write_text(RAW_SERVER, encoding="utf-8")
    return [sys.executable, str(script)]


@asynccontextmanager
async def connected(given: object, **options: Any) -> AsyncIterator[Connection]:
    with anyio.fail_after(60):
        async with Servers({"it": given}, **{"backoff": Backoff(first=0.05), **options}) as servers:
            await servers["it"].ready(30)
            yield servers["it"]


def hung(event: anyio.Event) -> ProgressFnT:
    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        event.set()

    return on_progress


async def failure(given: object, **options: Any) -> str:
    """Return why a server cannot be connected to."""
    with anyio.fail_after(60):
        async with Servers({"it": given}, **options) as servers:
            await servers.settled(30)
            assert servers["it"].status.state == "retrying"
            return str(servers["it"].status.reason)


# Eras and transports


async def assert_serves(connection: Connection, mode: str) -> None:
    assert connection.protocol_version == ERAS[mode]
    assert connection.info["name"] == "shop"
    # Only a client that advertised the extension sees it, the metadata, and the tool that is for Views alone.
    assert connection.capabilities["extensions"] == {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}
    tools = {tool["name"]: tool for tool in connection.tools}
    assert tools["show_cart"]["_meta"]["ui"]["resourceUri"] == CART_URI
    assert {"show_cart", "pay", "plain"} <= set(tools)
    result = await connection.call_tool("show_cart")
    assert result["content"][0]["type"] == "text"
    assert not {"resultType", "ttlMs", "cacheScope", "_meta"} & set(result)
    assert (await connection.read_resource(CART_URI))["contents"][0]["uri"] == CART_URI
    assert CART_URI in [entry["uri"] for entry in (await connection.list_resources())["resources"]]


@modes
@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_an_in_process_server_sees_a_client_with_apps_in_both_eras(kind: Kind, mode: str) -> None:
    async with connected(build(kind), mode=mode) as connection:
        await assert_serves(connection, mode)


@modes
@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_a_server_over_stdio_sees_a_client_with_apps_in_both_eras(kind: Kind, mode: str, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SHOP_SERVER.format(tests=str(SHOP), kind=kind), encoding="utf-8")
    async with connected([sys.executable, script], mode=mode) as connection:
        await assert_serves(connection, mode)


@modes
@pytest.mark.parametrize("kind", HIGH_LEVEL)
async def test_a_server_over_http_sees_a_client_with_apps_in_both_eras(kind: Kind, mode: str) -> None:
    server = build(kind)
    with serving(server.streamable_http_app() if kind == "MCPServer" else server.http_app()) as address:
        async with connected(f"{address}/mcp", mode=mode) as connection:
            await assert_serves(connection, mode)


async def test_a_server_of_the_handshake_era_is_met_in_its_era(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert connection.protocol_version == "2025-11-25"
        assert connection.info == {"name": "raw", "version": "7"}
        assert connection.instructions == "Be kind."
        hello = (await connection.call_tool("heard"))["heard"][0]["params"]
    assert hello["capabilities"]["extensions"] == {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}


async def test_a_function_that_opens_a_transport_is_used_for_each_attempt(raw: list[str]) -> None:
    parameters = StdioServerParameters(command=raw[0], args=raw[1:])
    async with connected(lambda: stdio_client(parameters)) as connection:
        with pytest.raises(ConnectionLost):
            await connection.call_tool("die")
        assert (await connection.call_tool("echo"))["content"]


async def test_a_transport_that_was_opened_once_fails_for_good_and_says_what_to_give(raw: list[str]) -> None:
    transport = stdio_client(StdioServerParameters(command=raw[0], args=raw[1:]))
    async with connected(transport) as connection:
        with pytest.raises(ConnectionLost):
            await connection.call_tool("die")
        with pytest.raises(NotConnected, match="give a function that opens one"):
            await connection.call_tool("echo")
        assert connection.status.state == "failed"


# What arrives


async def test_unknown_fields_and_meta_arrive_as_they_were_sent(raw: list[str]) -> None:
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


def test_only_what_the_wire_needs_is_taken_off_a_result() -> None:
    stamp = {"io.modelcontextprotocol/serverInfo": {"name": "a"}}
    sent = {"content": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": {**stamp, "b": 1}}
    assert without_wire_fields(sent) == {"content": [], "_meta": {"b": 1}}
    assert without_wire_fields({"content": [], "_meta": stamp}) == {"content": []}
    assert without_wire_fields({"content": [], "_meta": {}}) == {"content": [], "_meta": {}}


async def test_tools_of_all_pages_are_listed(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert [tool["name"] for tool in connection.tools] == ["echo", "hang", "die"]


async def test_pages_that_never_end_are_left_after_a_bound() -> None:
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


async def test_what_is_not_json_on_stdout_is_passed_over(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert (await connection.call_tool("noisy"))["content"][0]["text"] == "after noise"


async def test_lists_of_prompts_and_templates_arrive_raw() -> None:
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


async def test_a_tool_that_needs_another_round_is_asked_again_until_it_is_done() -> None:
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


async def test_a_tool_that_never_has_enough_is_an_error_of_the_server() -> None:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="more", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> Any:
        return types.InputRequiredResult(request_state="more")

    async with connected(Server("more", on_list_tools=list_tools, on_call_tool=call_tool)) as connection:
        with pytest.raises(ServerError, match="asked for more input 10 times in a row"):
            await connection.call_tool("more")


async def test_arguments_that_a_tool_wants_in_headers_are_sent_there() -> None:
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


async def test_a_tool_that_began_to_want_headers_is_listed_again_and_called() -> None:
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


# Changes


async def test_a_changed_list_of_tools_is_followed_in_the_handshake_era(raw: list[str]) -> None:
    async with connected(raw) as connection:
        changed = anyio.Event()
        connection.listen(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
        await connection.call_tool("grow")
        await changed.wait()
        assert connection.tools[-1]["name"] == "new"


@pytest.mark.parametrize("over", ["memory", "http"])
async def test_a_changed_list_of_tools_is_followed_in_2026_07_28(over: str) -> None:
    server: MCPServer[Any] = MCPServer("grows")

    @server.tool()
    async def grow(context: Context[Any]) -> str:
        server.add_tool(lambda: "new", name="new")
        await context.notify_tools_changed()
        return "grown"

    async def follows(given: object) -> None:
        async with connected(given) as connection:
            changed = anyio.Event()
            connection.listen(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
            await connection.call_tool("grow")
            await changed.wait()
            assert [tool["name"] for tool in connection.tools] == ["grow", "new"]

    if over == "memory":
        return await follows(server)
    with serving(server.streamable_http_app()) as address:
        await follows(f"{address}/mcp")


async def test_a_listener_that_fails_disturbs_nobody(raw: list[str]) -> None:
    def fails(news: News) -> None:
        raise ValueError("no")

    async with connected(raw) as connection:
        stop = connection.listen(fails)
        changed = anyio.Event()
        connection.listen(lambda news: changed.set() if isinstance(news, ToolsChanged) else None)
        await connection.call_tool("grow")
        await changed.wait()
        stop()


# What goes wrong in a call


async def test_an_error_of_the_server_keeps_its_code_message_and_data(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(ServerError) as refused:
            await connection.call_tool("refuse")
    assert (refused.value.code, refused.value.message, refused.value.data) == (-32000, "Refused", {"why": "because"})


async def test_an_answer_that_mcp_does_not_allow_is_an_error_of_the_server(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(BadAnswer, match="the tool empty is not what MCP allows: content: Field required"):
            await connection.call_tool("empty")


async def test_a_call_that_takes_too_long_is_cancelled_at_the_server_too(raw: list[str]) -> None:
    async with connected(raw) as connection:
        with pytest.raises(CallTimeout, match=r"the tool hang did not answer within 0\.2 seconds"):
            await connection.call_tool("hang", timeout=0.2)
        heard = (await connection.call_tool("heard"))["heard"]
    assert heard[-1]["method"] == "notifications/cancelled"


async def test_cancelling_the_task_cancels_the_call_at_the_server(raw: list[str]) -> None:
    async with connected(raw) as connection:
        started = anyio.Event()
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                await connection.call_tool("hang", on_progress=hung(started))

            tasks.start_soon(call)
            await started.wait()
            tasks.cancel_scope.cancel()
        heard = (await connection.call_tool("heard"))["heard"]
    assert heard[-1]["method"] == "notifications/cancelled"


async def test_a_server_killed_in_mid_call_loses_the_call_and_answers_later_ones(raw: list[str]) -> None:
    async with connected(raw) as connection:
        pid = int((await connection.call_tool("pid"))["content"][0]["text"])
        started = anyio.Event()
        outcome: list[Exception] = []
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(ConnectionLost, match="the connection was lost before the tool hang answered") as e:
                    await connection.call_tool("hang", on_progress=hung(started))
                outcome.append(e.value)

            tasks.start_soon(call)
            await started.wait()
            os.kill(pid, signal.SIGKILL)
        assert not isinstance(outcome[0], NotConnected)
        assert int((await connection.call_tool("pid"))["content"][0]["text"]) != pid


@modes
async def test_an_http_server_killed_in_mid_call_loses_the_call(mode: str, tmp_path: Path) -> None:
    script = tmp_path / "web.py"
    script.write_text(HANGING_WEB_SERVER, encoding="utf-8")
    started = anyio.Event()
    async with await anyio.open_process([sys.executable, str(script)], stderr=None) as web:
        assert web.stdout is not None
        with anyio.fail_after(30):
            port = int(await web.stdout.receive())
        async with connected(f"http://127.0.0.1:{port}/mcp", mode=mode, patience=2) as connection:
            async with anyio.create_task_group() as tasks:

                async def call() -> None:
                    with pytest.raises(ConnectionLost):
                        await connection.call_tool("hang", on_progress=hung(started))

                tasks.start_soon(call)
                await started.wait()
                web.kill()
            with pytest.raises(ConnectionLost):  # one lost answer is no lost server: only this call finds out
                await connection.call_tool("hang")
            with pytest.raises(NotConnected, match="refused the connection"):
                await connection.call_tool("hang")


async def test_a_call_in_process_ends_with_the_connection() -> None:
    server: MCPServer[Any] = MCPServer("here")
    started = anyio.Event()

    @server.tool()
    async def hang() -> str:
        started.set()
        await anyio.sleep_forever()
        return ""

    async with connected(server) as connection:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                with pytest.raises(ConnectionLost):
                    await connection.call_tool("hang")

            tasks.start_soon(call)
            await started.wait()
            connection.close()
        with pytest.raises(NotConnected, match="it is closed"):
            await connection.call_tool("hang")


# What goes wrong with a connection


async def test_a_command_that_does_not_exist_is_named_and_calls_fail_at_once() -> None:
    with anyio.fail_after(10):
        async with Servers({"it": "no-such-command --now"}, patience=60) as servers:
            await servers.settled()
            with pytest.raises(NotConnected, match="it: not connected: The command 'no-such-command' was not found"):
                await servers["it"].call_tool("echo")


async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    reason = await failure({"command": sys.executable, "cwd": str(tmp_path / "nowhere")})
    assert f"The folder {tmp_path / 'nowhere'} does not exist" in reason


async def test_a_file_that_cannot_be_run_is_explained(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    assert "cannot be started: [Errno 13] Permission denied" in await failure([tmp_path / "data"])


async def test_a_program_that_exits_is_reported_with_its_code_and_last_words() -> None:
    reason = await failure([sys.executable, "-c", "import sys; print('need a key', file=sys.stderr); sys.exit(4)"])
    assert "exited with code 4. It last wrote: need a key" in reason


async def test_a_program_that_is_not_mcp_is_reported_with_what_it_wrote() -> None:
    program = "print('Welcome!', flush=True)\nwhile True: input()"
    reason = await failure([sys.executable, "-c", program], connect_timeout=1)
    assert "did not answer as an MCP server within 1 seconds" in reason
    assert "It wrote to stdout what is not MCP: Welcome!" in reason


async def test_a_port_where_nobody_listens_is_reported_as_refused() -> None:
    assert "refused the connection" in await failure("http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "asks for authorization (HTTP 401)"),
        (404, "answers HTTP 404, not MCP. Is the path right?"),
        (500, "answers HTTP 500, not MCP"),
        (200, "does not answer as an MCP server: Unexpected content type: text/html"),
    ],
)
async def test_a_web_page_is_told_from_an_mcp_server(status: int, words: str) -> None:
    async def page(request: Any) -> Response:
        return HTMLResponse("<p>Hello</p>", status_code=status)

    with serving(Starlette(routes=[Route("/", page, methods=["GET", "POST"])])) as address:
        assert words in await failure(address)


async def test_the_states_of_a_connection_are_told_in_their_order(raw: list[str]) -> None:
    states: list[str] = []
    with anyio.fail_after(60):
        async with Servers({"it": raw}, backoff=Backoff(first=0.05)) as servers:
            servers.listen(lambda news: states.append(news.status.state) if isinstance(news, StatusChanged) else None)
            with pytest.raises(ConnectionLost):
                await servers["it"].call_tool("die")
            await servers["it"].call_tool("echo")
            states.append("answered")
    assert states == [
        *("connecting", "ready"),
        *("retrying", "retrying"),  # at once, and again with the cause
        *("connecting", "ready", "answered", "closed"),
    ]


async def test_the_reason_of_a_lost_connection_is_kept_while_it_is_retried(raw: list[str]) -> None:
    reasons: list[str | None] = []
    async with connected(raw) as connection:
        connection.listen(lambda news: reasons.append(news.status.reason) if isinstance(news, StatusChanged) else None)
        with pytest.raises(ConnectionLost):
            await connection.call_tool("die")
        await connection.ready(10)
    assert reasons[0] == "The connection was lost."
    assert "exited with code 3. It last wrote: out of cheese" in str(reasons[1])
    assert reasons[2] == reasons[1]


def test_each_further_attempt_waits_longer_up_to_a_bound() -> None:
    backoff = Backoff(first=1, most=8)
    for attempt, longest in enumerate([1, 2, 4, 8, 8, 8], start=1):
        assert all(longest / 2 <= backoff.delay(attempt) <= longest for _ in range(50))
    assert backoff.delay(10_000) <= 8


async def test_a_call_waits_for_a_connection_no_longer_than_its_patience() -> None:
    with anyio.fail_after(20):
        async with Servers({"it": [sys.executable, "-c", "while True: input()"]}, patience=0.2) as servers:
            with pytest.raises(NotConnected, match="it: not connected: it is connecting"):
                await servers["it"].call_tool("echo")


async def test_a_restarted_http_server_that_forgot_the_session_is_met_anew() -> None:
    """The first server's sessions die with it; the second one listens at the same address."""
    served: list[Any] = []

    async def relay(scope: Any, receive: Any, send: Any) -> None:
        await served[-1](scope, receive, send)

    def shop() -> tuple[Any, Any]:
        app = build("MCPServer").streamable_http_app()
        return app, app.router.lifespan_context(app)

    first, first_life = shop()
    second, second_life = shop()

    async def program(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            return await relay(scope, receive, send)
        assert (await receive())["type"] == "lifespan.startup"
        async with first_life, second_life:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    served.append(first)
    with serving(program) as address:
        async with connected(f"{address}/mcp", mode="legacy") as connection:
            await connection.call_tool("plain")
            served.append(second)
            with pytest.raises(ConnectionLost):
                await connection.call_tool("plain")
            assert (await connection.call_tool("plain"))["content"][0]["text"] == "hello you"
