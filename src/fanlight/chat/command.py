"""Runs the chat with the options of `fanlight chat`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from fanlight.chat.conversations import default_path
from fanlight.chat.models import NO_MODEL, create_model
from fanlight.chat.program import ChatLimits, ChatProgram
from fanlight.dev.serving import announce, listen, serve
from fanlight.dev.targets import parse_headers, servers
from fanlight.signals import run as run_until_signal


def run(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Serve until Ctrl+C, and return the exit code."""
    with suppress(KeyboardInterrupt):
        run_until_signal(
            partial(
                show,
                options.servers,
                command,
                model=options.model,
                base_url=options.base_url,
                store=options.store,
                host=options.host,
                port=options.port,
                open_browser=not options.no_open,
                headers=parse_headers(options.header),
                limits=ChatLimits(file_bytes=int(options.max_file * 1e6), model_timeout=options.timeout),
            )
        )
    return 0


async def show(
    targets: Sequence[str],
    command: Sequence[str],
    *,
    model: str | None,
    base_url: str | None,
    store: Path | None,
    host: str,
    port: int,
    open_browser: bool,
    headers: Mapping[str, str],
    limits: ChatLimits,
) -> None:
    """Serve until Ctrl+C."""
    if model is not None:
        create_model(model, base_url)  # fails here, not in the first turn
    named = servers(targets, command, headers=headers)
    with listen(host, port) as listener:
        origin = f"http://localhost:{listener.getsockname()[1]}"
        program = ChatProgram(
            named, origin=origin, store=store or default_path(), model=model, base_url=base_url, limits=limits
        )
        if program.model_problem is not None:
            print(f"\n  {program.model_problem}", file=sys.stderr)
        if program.model_problem == NO_MODEL:
            print("  Until then, a script answers, and calls the tools.", file=sys.stderr)
        announce(listener, "fanlight chat", program.guard.token, open_browser=open_browser)
        await serve(program.app, listener, program.close_streams)
