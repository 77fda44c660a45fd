"""A process that serves sockets only, so that its CPU time and memory are those of the host, or of an echo.

    python -m bench.host_process echo|host|limited

Its input is one order in each line: "freeze", or a number, for which the host answers with so many new Views.
"""

import logging
import sys
from typing import Any

import anyio
import orjson
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from bench.serving import freeze, serve
from bench.stage import UNLIMITED
from fanlight import Apps, View
from fanlight.host import Host, Limits

SERVER = "bench"
TOOL = "forecast"
HTML = '<!doctype html><title>Forecast</title><p id="text"></p>'


def main() -> None:
    logging.disable(logging.INFO)
    if sys.argv[1] == "echo":
        anyio.run(_serve_echo)
    else:
        anyio.run(_serve_host, UNLIMITED if sys.argv[1] == "host" else Limits())


async def _serve_echo() -> None:
    async def obey(order: Any) -> dict[str, Any]:
        freeze()
        return {"frozen": True}

    await _serve(echo, obey)


async def _serve_host(limits: Limits) -> None:
    async def obey(order: Any) -> dict[str, Any]:
        if order == "freeze":
            freeze()
            return {"frozen": True}
        name = f"{SERVER}__{TOOL}"
        calls = [await host.conversation(str(n)).call_tool(name, {"place": "Oslo"}) for n in range(order)]
        return {"views": [(call.view, call.token) for call in calls]}

    async with Host({SERVER: _server()}, limits=limits) as host:
        await _serve(host.wrap(Starlette()), obey)


async def _serve(app: ASGIApp, obey: Any) -> None:
    await serve(app, obey, ws="websockets-sansio", ws_per_message_deflate=False)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """The minimal cost of a JSON socket: each message is parsed, serialized and sent back."""
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (event := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": orjson.dumps(orjson.loads(event["text"])).decode()})


def _server() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer(SERVER)

    @Apps(server).tool(view=View.html(HTML, uri=f"ui://{SERVER}/{TOOL}"))
    async def forecast(place: str) -> dict[str, Any]:
        """The forecast for a place."""
        return {"place": place, "low": -1.5, "high": 4.0}

    return server


if __name__ == "__main__":
    main()
