"""Serving: an ASGI program on a loopback port in a process of the benchmark, with commands on its input."""

import gc
import json
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.to_thread
import uvicorn

Obey = Callable[[Any], Awaitable[dict[str, Any]]]


async def serve(app: Any, obey: Obey, **settings: Any) -> None:
    """Print the port, then serve, and run the command in each line of input until it ends."""
    # A client's connection idles while the others have their turn.
    settings = {"timeout_keep_alive": 600, "timeout_graceful_shutdown": 1, **settings}
    web = uvicorn.Server(uvicorn.Config(app, log_level="warning", **settings))
    # asyncio turns Nagle's algorithm off only for sockets that name their protocol; else each answer waits 40 ms.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1024)
        say({"port": listener.getsockname()[1]})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, web, obey)
            await web.serve([listener])


async def _listen(web: uvicorn.Server, obey: Obey) -> None:
    while line := await anyio.to_thread.run_sync(sys.stdin.readline):
        say(await obey(json.loads(line)))
    web.should_exit = True


def freeze() -> None:
    """Freeze the garbage collector's heap."""
    gc.collect()
    gc.freeze()


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)
