"""Starts `fanlight dev`: prewarms a Python process for the server while it imports the heavy modules itself."""

import gc
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from fanlight.dev.prewarm import PrewarmedProcesses, find_script
from fanlight.dev.source_lines import Lines
from fanlight.dev.tracebacks import WIDE
from fanlight.signals import run


def serve(targets: Sequence[str], command: Sequence[str], **options: Any) -> None:
    """Serve until Ctrl+C. The options are those of `fanlight.inspector.server.show`."""
    with suppress(KeyboardInterrupt):
        run(partial(_serve, targets, command, **options))


async def _serve(targets: Sequence[str], command: Sequence[str], **options: Any) -> None:
    prewarmed = PrewarmedProcesses()
    lines = Lines()
    try:
        script = find_script(targets[0]) if targets else None
        if script is not None:
            await prewarmed.prepare(script.resolve(), {**os.environ, **lines.environment, **WIDE})
        gc.disable()  # imported modules stay, and scanning them takes longer than many a tool call
        from fanlight.inspector.server import show

        gc.freeze()
        gc.enable()
        await anyio.lowlevel.checkpoint()  # handles a Ctrl+C from during the import
        await show(targets, command, **options, prewarmed=prewarmed, lines=lines)
    finally:
        await prewarmed.aclose()
        lines.close()
