"""Starts `fanlight dev`: the server's process and the browser start while it imports the heavy modules itself."""

import gc
import os
import shlex
from collections.abc import Mapping, Sequence
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
    """Serve until Ctrl+C. The options are those of the command and of `fanlight.inspector.server.show`."""
    run(partial(_serve, targets, command, **options))


async def _serve(
    targets: Sequence[str],
    command: Sequence[str],
    *,
    host: str,
    port: int,
    open_browser: bool,
    headers: Mapping[str, str],
    **options: Any,
) -> None:
    prewarmed = PrewarmedProcesses()
    lines = Lines()
    try:
        script = find_script(targets[0]) if targets else None
        if script is not None:
            await prewarmed.prepare(script.resolve(), {**os.environ, **lines.environment, **WIDE})
        # Before the address is printed: without a package of the extra `dev`, the command ends here.
        import orjson  # noqa: F401
        import websockets  # noqa: F401

        from fanlight.dev.guard import Guard
        from fanlight.dev.serving import announce, listen
        from fanlight.dev.targets import servers

        await anyio.lowlevel.checkpoint()  # handles a Ctrl+C from during the import
        guard = Guard("fanlight dev")
        named = servers(targets, command, headers=headers)
        with listen(host, port) as listener:
            announce(listener, "fanlight dev", guard.token, open_browser=open_browser)
            gc.disable()  # imported modules stay, and scanning them takes longer than many a tool call
            from fanlight.inspector.server import show

            gc.freeze()
            gc.enable()
            chat = shlex.join(
                ["fanlight", "chat", *targets, "--model", "scripted", *(["--", *command] if command else [])]
            )
            # A signal from now on, also during the import, stops what was announced, and is not an error.
            with suppress(anyio.get_cancelled_exc_class()):
                await anyio.lowlevel.checkpoint()
                await show(named, listener, guard=guard, chat_command=chat, **options, prewarmed=prewarmed, lines=lines)
    finally:
        await prewarmed.aclose()
        lines.close()
