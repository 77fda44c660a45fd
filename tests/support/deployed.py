"""Programs as they are deployed: uvicorn in a process of its own, on a free loopback port."""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2

import fanlight
from support.child import stopping

TESTS = Path(__file__).parents[1]


# A busy machine may take a minute to import a program.
_STARTUP = 120


@asynccontextmanager
async def uvicorn_process(
    target: str, *arguments: str, listener: socket.socket | None = None, src: str = "/apps", **options: Any
) -> AsyncIterator[int]:
    """Run `uvicorn target` with arguments, for a program of `support.deployed_app`, and yield its port.

    Without a `listener`, it listens on a free port. The listener is closed in this process.
    """
    path = os.pathsep.join([str(Path(fanlight.__file__).parents[1]), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "FANLIGHT_OPTIONS": json.dumps(options), "FANLIGHT_SRC": src}
    with listener or socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        number = listener.fileno()
        command = [sys.executable, "-m", "uvicorn", f"support.deployed_app:{target}", "--fd", str(number)]
        process = await anyio.open_process(
            [*command, "--log-level", "warning", *arguments],
            env=environment,
            pass_fds=[number],
            stdout=None,
            stderr=None,
        )
    async with stopping(process):
        async with httpx2.AsyncClient(timeout=_STARTUP) as http:
            await http.get(f"http://127.0.0.1:{port}/nothing")  # the connection waits until the program is ready
        yield port
