"""Servers of `support.shop` as real processes over stdio, forked from one process that has imported the SDKs already.

Importing them takes longer than everything such a server does, and tests need many of these servers.
"""

import multiprocessing
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from mcp.server.stdio import stdio_server

from support.shop import Kind, build
from support.wire import LineChannel, Wire

_context = multiprocessing.get_context("forkserver")
# FastMCP imports the last four when it is used for the first time.
_MODULES = [
    __name__,
    "fanlight.server.fastmcp",
    "fastmcp.server.context",
    "fastmcp.apps.app",
    "griffe",
    "key_value.aio.stores.memory",
]


@cache
def _preload() -> None:
    """Start the process that is forked, with this module and all that it imports."""
    _context.set_forkserver_preload(_MODULES)
    with pytest.MonkeyPatch.context() as patch:
        # The process does not get `sys.path`, and only pytest's configuration has the folder of this module.
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        forkserver.ensure_running()


@asynccontextmanager
async def over_forked_stdio(kind: Kind, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    _preload()
    ours, theirs = socket.socketpair()
    process = _context.Process(target=_serve, args=(kind, theirs), daemon=True)
    process.start()
    theirs.close()
    async with await SocketStream.from_socket(ours) as stream:
        try:
            yield await Wire(LineChannel(stream, stream), version, capabilities).open()
        finally:
            process.kill()
            await anyio.to_thread.run_sync(process.join)


def _serve(kind: Kind, connection: socket.socket) -> None:
    os.dup2(connection.fileno(), 0)
    os.dup2(connection.fileno(), 1)
    connection.close()
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    server = build(kind)
    if kind == "lowlevel":
        anyio.run(_serve_lowlevel, server)
    elif kind == "FastMCP":
        server.run(transport="stdio", show_banner=False)
    else:
        server.run("stdio")


async def _serve_lowlevel(server: Any) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
