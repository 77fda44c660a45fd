"""Servers of `support.shop` as real processes over stdio, forked because tests need many of them."""

import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import SocketStream
from mcp.server.stdio import stdio_server

from support import forkserver
from support.shop import Kind, build
from support.wire import LineChannel, Wire


@asynccontextmanager
async def over_forked_stdio(kind: Kind, version: str, capabilities: dict[str, Any]) -> AsyncIterator[Wire]:
    ours, theirs = socket.socketpair()
    process = forkserver.process(_serve, kind, theirs)
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
