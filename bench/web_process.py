"""The programs behind the host pages of the benchmark, each in a process of its own.

    python -m bench.web_process server FOLDER COUNT         an MCP server over HTTP
    python -m bench.web_process host FOLDER COUNT ADDRESS   a program with Fanlight's host: the same server in its own
                                                            process as "own", and that at the address as "remote"
    python -m bench.web_process page SCRIPT                 a host that runs in its page, and its sandbox

FOLDER holds a document for each kind of View; of each kind there are COUNT tools with a View of their own.
"""

import logging
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench import documents
from bench.serving import serve
from bench.stage import UNLIMITED
from fanlight import Apps, View
from fanlight.host import Host

TEXT = "Oslo: 4 degrees"
TALK = {"warmUp": 20, "single": 100, "together": 8, "many": 200}


def main() -> None:
    logging.disable(logging.INFO)
    kind, path, *rest = sys.argv[1:]
    if kind == "server":
        anyio.run(_serve_server, Path(path), int(rest[0]))
    elif kind == "host":
        anyio.run(_serve_host, Path(path), int(rest[0]), rest[1])
    else:
        anyio.run(_serve_page, Path(path).read_text(encoding="utf-8"))


def tool_name(kind: str, number: int) -> str:
    return f"{kind}_{number:02}"


def _server(folder: Path, count: int) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("bench")
    apps = Apps(server)
    for path in sorted(folder.glob("*.html")):
        html = path.read_text(encoding="utf-8")
        for number in range(count):
            name = tool_name(path.stem, number)
            apps.tool(name=name, view=View.html(html, uri=f"ui://bench/{name}"))(_shown(path.stem))

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))  # else the user would be asked
    async def add(a: int, b: int) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    return server


def _shown(kind: str) -> Any:
    async def show(place: str) -> dict[str, Any]:
        """Show the View."""
        return TALK if kind == "talk" else {"text": TEXT}

    return show


async def _serve_server(folder: Path, count: int) -> None:
    app = _server(folder, count).streamable_http_app()
    shared = CORSMiddleware(
        app, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], expose_headers=["mcp-session-id"]
    )
    await serve(shared, _nothing, ws="none")


async def _serve_host(folder: Path, count: int, address: str) -> None:
    async def call(request: Request) -> Response:
        order = await request.json()
        begun = await host.conversation().begin(f"{order['server']}__{order['tool']}")
        tasks.start_soon(begun.run, {"place": "Oslo"})
        return JSONResponse({"view": begun.view, "token": begun.token})

    program = Starlette(
        routes=[
            Route("/", _page("/apps/mcp-app.js", "/fanlight_host.js")),
            Route("/fanlight_host.js", _file("text/javascript", documents.text("fanlight_host.js"))),
            Route("/click.js", _file("text/javascript", documents.text("click.js"))),
            Route("/call", call, methods=["POST"]),
        ]
    )
    async with (
        Host({"own": _server(folder, count), "remote": address}, limits=UNLIMITED) as host,
        anyio.create_task_group() as tasks,
    ):
        await host.conversation().tools()
        await serve(host.wrap(program), _nothing, ws="websockets-sansio", ws_per_message_deflate=False)
        tasks.cancel_scope.cancel()


async def _serve_page(script: str) -> None:
    sandbox = documents.text("sandbox.html").replace("/* sandbox.js */", documents.text("sandbox.js"))
    routes = [
        Route("/", _page("/host.js")),
        Route("/host.js", _file("text/javascript", script)),
        Route("/sandbox", _file("text/html", sandbox)),
    ]
    await serve(Starlette(routes=routes), _nothing, ws="none")


def _page(*scripts: str) -> Any:
    tags = "".join(f'<script type="module" src="{script}"></script>' for script in scripts)
    return _file("text/html", documents.text("click.html").replace("<!-- scripts -->", tags))


def _file(kind: str, text: str) -> Any:
    async def file(request: Request) -> Response:
        return Response(text, media_type=kind, headers={"cache-control": "no-cache"})

    return file


async def _nothing(order: Any) -> dict[str, Any]:
    return {}


if __name__ == "__main__":
    main()
