import sys
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host.upstream.process import Child
from support.connected import failure
from support.wire import serving

pytestmark = pytest.mark.anyio


@pytest.mark.process
async def test_a_program_that_exits_is_reported_with_its_code_and_last_words() -> None:
    reason = await failure([sys.executable, "-c", "import sys; print('need a key', file=sys.stderr); sys.exit(4)"])
    assert "exited with code 4. It last wrote: need a key" in reason


@pytest.mark.process
async def test_a_file_that_ends_without_serving_is_told_what_it_lacks() -> None:
    reason = await failure([sys.executable, "-c", "import sys"])
    assert "exited with code 0. It ended before it served: does it call server.run()?" in reason


def test_what_a_program_wrote_long_before_it_left_is_not_why(monkeypatch: pytest.MonkeyPatch) -> None:
    child = Child()
    child.hear(b"an old error")
    monkeypatch.setattr("fanlight.host.upstream.process._END", -1.0)
    assert child.last_words() == ["an old error"]  # it lives, and this may be why it is silent
    child.left = True
    assert child.last_words() == []


@pytest.mark.process
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
        (503, "is not available: its gateway answers HTTP 503"),
        (200, "does not answer as an MCP server: Unexpected content type: text/html"),
    ],
)
async def test_a_web_page_is_told_from_an_mcp_server(status: int, words: str) -> None:
    async def page(request: Any) -> Response:
        return HTMLResponse("<p>Hello</p>", status_code=status)

    with serving(Starlette(routes=[Route("/", page, methods=["GET", "POST"])])) as address:
        assert words in await failure(address)
