"""Runs the inspector with the options of `fanlight dev`."""

import socket
import sys
from collections.abc import Mapping

from fanlight.dev.guard import Guard
from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.serving import serve
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import Served
from fanlight.inspector.inspector import Inspector
from fanlight.inspector.view_log import printed


async def show(
    servers: Mapping[str, Served],
    listener: socket.socket,
    *,
    guard: Guard,
    reload: bool,
    build: bool,
    policy: str,
    theme: str | None,
    prewarmed: PrewarmedProcesses,
    lines: Lines,
    chat_command: str,
) -> None:
    """Serve until Ctrl+C."""
    inspector = Inspector(
        servers,
        guard=guard,
        policy=policy,
        reload=reload,
        build=build,
        theme=theme,
        prewarmed=prewarmed,
        lines=lines,
        chat_command=chat_command,
    )
    with printed(sys.stderr):
        await serve(inspector.app, listener, inspector.close_streams)
