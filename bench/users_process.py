"""A process that connects users to a server, as many as each line of its input says.

    python -m bench.users_process host|sdk|server [URL]

`host` has a connection of each user in one Host, and calls a tool for each; `sdk` does the same with one bare client of
the `mcp` package for each user. `server` is the server.
"""

import asyncio
import json
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import uvicorn

TOOL = "whoami"


async def main() -> None:
    kind = sys.argv[1]
    if kind == "server":
        await _serve()
        return
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        connect = await (_host if kind == "host" else _sdk)(stack, sys.argv[2])
        _say({})
        first = 0
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            for number in range(first, count := first + int(line)):
                await connect(f"user{number}")
            first = count
            _say({"files": _open_files()})


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


async def _host(stack: AsyncExitStack, url: str) -> Any:
    from fanlight.host import Host, Limits

    async def credentials(user: str, server: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {user}"}

    limits = Limits(user_connections=100_000)
    host = await stack.enter_async_context(Host({"it": url}, credentials=credentials, limits=limits))

    async def connect(user: str) -> None:
        call = await host.conversation("c1", user=user).call_tool(f"it__{TOOL}", {})
        assert call.for_model[0]["text"] == f"Bearer {user}"

    return connect


async def _sdk(stack: AsyncExitStack, url: str) -> Any:
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def connect(user: str) -> None:
        http = await stack.enter_async_context(httpx2.AsyncClient(headers={"Authorization": f"Bearer {user}"}))
        client = await stack.enter_async_context(Client(streamable_http_client(url, http_client=http)))
        await client.list_tools()
        result: Any = await client.call_tool(TOOL, {})
        assert result.content[0].text == f"Bearer {user}"

    return connect


async def _serve() -> None:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server: MCPServer[Any] = MCPServer("it")

    @server.tool()
    def whoami(ctx: Context) -> str:
        return str((ctx.headers or {}).get("authorization"))

    listener = socket.create_server(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning"))
    _say({"port": listener.getsockname()[1]})
    await web.serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
