"""A worker of a host, with a store and a bus as several workers have them, in a process of its own.

    python -m bench.worker_process STORE [BUS]

STORE and BUS are URLs, or "-". Its input is one order in each line: a number, for which it answers with so many new
Views; {"begin": NUMBER}, for Views whose calls do not end; or "freeze".
"""

import logging
import sys
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from starlette.applications import Starlette

from bench.serving import freeze, serve
from bench.stage import UNLIMITED
from fanlight import Apps, View
from fanlight.host import Host

SERVER = "bench"
HTML = '<!doctype html><title>Forecast</title><p id="text"></p>'


def main() -> None:
    logging.disable(logging.WARNING)
    store, bus = (None if url == "-" else url for url in [*sys.argv[1:], "-"][:2])
    anyio.run(_serve, store, bus)


async def _serve(store: str | None, bus: str | None) -> None:
    async def obey(order: Any) -> dict[str, Any]:
        if order == "freeze":
            freeze()
            return {"frozen": True}
        if isinstance(order, dict):
            calls = [await host.conversation(str(n)).begin(f"{SERVER}__stall") for n in range(order["begin"])]
            for call in calls:
                tasks.start_soon(call.run, {})
        else:
            name = f"{SERVER}__forecast"
            calls = [await host.conversation(str(n)).call_tool(name, {"place": "Oslo"}) for n in range(order)]
        return {"views": [(call.view, call.token) for call in calls]}

    async with (
        Host({SERVER: server()}, store=store, bus=bus, limits=UNLIMITED) as host,
        anyio.create_task_group() as tasks,
    ):
        await host.conversation().tools()
        await serve(host.wrap(Starlette()), obey, ws="websockets-sansio", ws_per_message_deflate=False)
        tasks.cancel_scope.cancel()


def server() -> MCPServer[Any]:
    """Return a server with a View, a tool that the View may call without asking, and one that does not end."""
    server: MCPServer[Any] = MCPServer(SERVER)
    apps = Apps(server)
    apps.view(View.html(HTML, uri=f"ui://{SERVER}/view"))

    @apps.tool(view=f"ui://{SERVER}/view")
    async def forecast(place: str) -> dict[str, Any]:
        """The forecast for a place."""
        return {"place": place, "low": -1.5, "high": 4.0}

    @apps.tool(view=f"ui://{SERVER}/view")
    async def stall() -> None:
        """Never end."""
        await anyio.sleep_forever()

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))  # else the user would be asked
    async def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    return server


if __name__ == "__main__":
    main()
