"""Programs as they are deployed: uvicorn in a process of its own, on a free loopback port."""

import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio

import fanlight

TESTS = Path(__file__).parents[1]


@asynccontextmanager
async def uvicorn_process(
    target: str, *arguments: str, listener: socket.socket | None = None, src: str = "/apps", **options: Any
) -> AsyncIterator[int]:
    """Run `uvicorn target` with arguments, for a program of `support.deployed_app`, and yield its port.

    Connections wait in the queue of the listening socket until the program is ready. Default: a socket of its own.
    """
    path = os.pathsep.join([str(Path(fanlight.__file__).parents[1]), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "FANLIGHT_OPTIONS": json.dumps(options), "FANLIGHT_SRC": src}
    with socket.create_server(("127.0.0.1", 0)) if listener is None else nullcontext(listener) as listener:
        command = [sys.executable, "-m", "uvicorn", f"support.deployed_app:{target}", "--fd", str(listener.fileno())]
        async with await anyio.open_process(
            [*command, "--log-level", "warning", *arguments],
            env=environment,
            pass_fds=[listener.fileno()],
            stdout=None,
            stderr=None,
        ) as process:
            try:
                yield listener.getsockname()[1]
            finally:
                if process.returncode is None:
                    process.terminate()
                with anyio.move_on_after(20, shield=True):
                    await process.wait()
                if process.returncode is None:
                    process.kill()
