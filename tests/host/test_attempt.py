import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer

from fanlight.host.connection import ConnectionLost, NotConnected
from support.connected import connected, hung, modes
from support.shop import build
from support.wire import serving

pytestmark = pytest.mark.anyio

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
