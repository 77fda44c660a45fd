"""A server that shows a table, in a process of its own.

    python -m bench.show_process with_fanlight|with_prefab

It serves MCP over HTTP, for pages of any origin. A line of input is a number of rows: the process makes them ahead of
the first call.
"""

import importlib
import logging
import sys
from typing import Any

import anyio
from starlette.middleware.cors import CORSMiddleware

from bench.serving import serve
from bench.show_app.orders import load_orders


def main() -> None:
    logging.disable(logging.INFO)
    server: Any = importlib.import_module(f"bench.show_app.{sys.argv[1]}").server
    app = server.http_app() if hasattr(server, "http_app") else server.streamable_http_app()
    shared = CORSMiddleware(
        app, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], expose_headers=["mcp-session-id"]
    )
    anyio.run(_serve, shared)


async def _serve(app: Any) -> None:
    await serve(app, _prepare, ws="none")


async def _prepare(rows: Any) -> dict[str, Any]:
    return {"rows": len(load_orders(rows))}


if __name__ == "__main__":
    main()
