"""Child processes that are stopped at the end of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import Process

_STOP_TIMEOUT = 20.0


@asynccontextmanager
async def stopping(process: Process) -> AsyncIterator[None]:
    """Terminate a process at the end of the block, and kill it if that does not help."""
    async with process:
        try:
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            with anyio.move_on_after(_STOP_TIMEOUT, shield=True):
                await process.wait()
            if process.returncode is None:
                process.kill()
