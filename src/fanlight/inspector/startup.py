"""Starts `fanlight dev`: begins with what takes others time, and imports meanwhile what takes time itself."""

import gc
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from fanlight.dev.prewarm import Spares, script_named
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.source_lines import VARIABLE
from fanlight.signals import ended_alike


def serve(given: Sequence[str], command: Sequence[str], **options: Any) -> None:
    """Serve until Ctrl+C. The options are those of `fanlight.inspector.server.show`."""
    with suppress(KeyboardInterrupt), ended_alike():
        anyio.run(partial(_serve, given, command, **options))


async def _serve(given: Sequence[str], command: Sequence[str], **options: Any) -> None:
    spares = Spares()
    lines = tempfile.TemporaryDirectory(prefix="fanlight-")
    try:
        script = script_named(given[0]) if given else None
        if script is not None:
            await spares.prepare(script.resolve(), {**os.environ, VARIABLE: lines.name})
        gc.disable()  # what is imported stays: walking through it takes longer than many a call
        try:
            from fanlight.inspector.server import show
        except ModuleNotFoundError as error:
            raise FanlightError(f"{error.name} is missing: pip install 'fanlight[dev]'") from None
        gc.freeze()
        gc.enable()
        await anyio.lowlevel.checkpoint()  # for a Ctrl+C that came meanwhile
        await show(given, command, **options, spares=spares, lines=lines.name)
    finally:
        await spares.aclose()
        lines.cleanup()
