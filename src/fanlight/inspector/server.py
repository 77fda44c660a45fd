"""Runs the inspector with the options of `fanlight dev`."""

import shlex
import sys
from collections.abc import Mapping, Sequence

from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.serving import listen, serve
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import servers
from fanlight.inspector.inspector import Inspector
from fanlight.inspector.view_log import printed


async def show(
    targets: Sequence[str],
    command: Sequence[str],
    *,
    host: str,
    port: int,
    open_browser: bool,
    reload: bool,
    build: bool,
    policy: str,
    theme: str | None,
    headers: Mapping[str, str],
    prewarmed: PrewarmedProcesses,
    lines: Lines,
) -> None:
    """Serve until Ctrl+C."""
    inspector = Inspector(
        servers(targets, command, headers=headers),
        policy=policy,
        reload=reload,
        build=build,
        theme=theme,
        prewarmed=prewarmed,
        lines=lines,
        chat_command=shlex.join(
            ["fanlight", "chat", *targets, "--model", "scripted", *(["--", *command] if command else [])]
        ),
    )
    with printed(sys.stderr), listen(host, port) as listener:
        await serve(
            inspector.app,
            listener,
            command="fanlight dev",
            token=inspector.guard.token,
            open_browser=open_browser,
            close_streams=inspector.close_streams,
        )
