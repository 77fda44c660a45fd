"""The reasons that a connection gives for its failure."""

import sys
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host.errors import ServerError
from fanlight.host.upstream.transport.process import Child
from support.connected import connected, failure
from support.raw_web import Exchange, raw_web
from support.wire import serving

pytestmark = pytest.mark.anyio


@pytest.mark.process
async def test_a_program_that_exits_is_reported_with_its_code_and_its_last_lines() -> None:
    reason = await failure([sys.executable, "-c", "import sys; print('need a key', file=sys.stderr); sys.exit(4)"])
    assert "exited with code 4. It last wrote: need a key" in reason


@pytest.mark.process
async def test_a_file_that_exits_without_serving_is_reported_with_what_it_lacks() -> None:
    reason = await failure([sys.executable, "-c", "import sys"])
    assert "exited with code 0. It exited before it answered: does it call server.run()?" in reason


def test_lines_that_a_program_wrote_long_before_it_exited_are_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Child()
    child.add_stderr(b"an old error")
    monkeypatch.setattr("fanlight.host.upstream.transport.process._FINAL_SECONDS", -1.0)
    assert child.last_stderr() == ["an old error"]  # it is alive, and this may be why it does not answer
    child.has_exited = True
    assert child.last_stderr() == []


@pytest.mark.process
async def test_a_program_that_is_not_mcp_is_reported_with_what_it_wrote() -> None:
    program = "print('Welcome!', flush=True)\nwhile True: input()"
    reason = await failure([sys.executable, "-c", program], start_timeout=1)
    assert "did not answer as an MCP server within 1 seconds" in reason
    assert "It wrote to stdout what is not MCP: Welcome!" in reason


async def test_a_port_where_nobody_listens_is_reported_as_refused() -> None:
    assert "refused the connection" in await failure("http://127.0.0.1:9/mcp")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "asks for authorization (HTTP 401)"),
        (404, "answers HTTP 404, not MCP. Is the path right?"),
        (500, "answers HTTP 500, not MCP"),
        (503, "is not available: its gateway answers HTTP 503"),
        (200, "does not answer as an MCP server: Unexpected content type: text/html"),
    ],
)
async def test_a_web_page_is_not_mistaken_for_an_mcp_server(status: int, message: str) -> None:
    async def page(request: Any) -> Response:
        return HTMLResponse("<p>Hello</p>", status_code=status)

    with serving(Starlette(routes=[Route("/", page, methods=["GET", "POST"])])) as address:
        assert message in await failure(address)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_asks_for_authorization_is_reported_with_how_to_give_headers(status: int) -> None:
    async def refuse(request: Any) -> Response:
        return Response(status_code=status)

    with serving(Starlette(routes=[Route("/", refuse, methods=["GET", "POST"])])) as address:
        reason = await failure(address)
    assert '{"url": ..., "headers": {"Authorization": "Bearer ..."}} in Python' in reason
    assert '--header "Authorization: Bearer ..." on the command line' in reason


async def test_a_request_that_is_too_large_is_reported_with_its_size_and_the_usual_limit() -> None:
    server: MCPServer[Any] = MCPServer("small")

    @server.tool()
    def store(text: str) -> str:
        return "stored"

    with anyio.fail_after(60), serving(server.streamable_http_app()) as address:
        async with connected(f"{address}/mcp") as connection:
            with pytest.raises(ServerError) as error:
                await connection.call_tool("store", {"text": "x" * 5_000_000})
            assert (await connection.call_tool("store", {"text": "x"}))["content"][0]["text"] == "stored"
    assert "The request of the tool store has 5,000," in error.value.message
    assert "too large for the server (HTTP 413)" in error.value.message
    assert "max_request_body_size, 4 MiB by default" in error.value.message


async def test_another_http_status_is_named() -> None:
    async def fail(exchange: Exchange) -> None:
        await exchange.answer(507, b"full", "text/plain")

    async with raw_web(fail=fail) as web, connected(web.url) as connection:
        with pytest.raises(ServerError, match="The server answered the tool fail with HTTP 507"):
            await connection.call_tool("fail")
