"""Child processes that are MCP servers.

The SDK's own stdio client tells neither the exit code nor the last words of a child, and leaves behind what a
child started if the child itself leaves in time.
"""

import logging
import os
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

import anyio
import mcp_types as types
from anyio.abc import Process
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    FallbackProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import Command
from fanlight.host.upstream.malformed import in_place_of

logger = logging.getLogger(__name__)

STOP_LIMIT: Final = 6.0
"""Seconds within which a connection is closed and its child process gone, whatever the child does."""

_EXIT_WAIT: Final = 2.0  # for a child to leave by itself, after its stdin closed
_HURRIED_WAIT: Final = 0.1  # the same, where the next one waits for it
_TERM_WAIT: Final = 1.5  # after SIGTERM, before SIGKILL
_REAP_WAIT: Final = 1.0
_WORDS_KEPT: Final = 50
_WORDS_QUOTED: Final = 5
_END: Final = 5.0  # seconds before a child left, in which it may have said why

_AnyProcess = Process | FallbackProcess
Launcher = Callable[[Command, Mapping[str, str]], Awaitable[Process | None]]
"""Starts a command with an environment and pipes for its three streams; returns None to have it started normally."""


@dataclass
class Child:
    """What is known of a child process."""

    left: bool = False
    """It closed its stdout, as a process does that ends, before we asked it to."""
    exit_code: int | None = None
    """Set if it left by itself."""
    said: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_WORDS_KEPT))
    """The last lines of its stderr, each with its time."""
    hurried: bool = False
    """It is to leave at once, since it will be started anew."""
    listener: Callable[[str], None] | None = None
    """Hears each line of its stderr."""
    noise: str | None = None
    """The first line on its stdout that is not JSON-RPC."""

    def hear(self, line: bytes) -> None:
        """Take a line of its stderr."""
        words = line.decode("utf-8", "replace").rstrip()
        self.said.append((monotonic(), words))
        if self.listener is not None:
            self.listener(words)

    def last_words(self) -> list[str]:
        """Return the lines that it wrote last. Of one that has left, only those of its end: others are not why."""
        oldest = monotonic() - _END if self.left else 0.0
        return [line for at, line in self.said if line and at >= oldest][-_WORDS_QUOTED:]


@asynccontextmanager
async def open_child(
    to: Command, child: Child, over: anyio.Event, launcher: Launcher | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a command and speak newline-delimited JSON with it; leave no process behind.

    What is learnt of the process goes to `child`; `over` is set once it no longer listens.
    """
    process = await _started(to, launcher)
    # No await until the task group holds the process, or a cancellation here would leak it.
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_pump_out, process, received, child)
        tasks.start_soon(_pump_in, process, to_send, over)
        tasks.start_soon(_pump_words, process, child)
        try:
            with received, read, write, to_send:
                yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, child)
            tasks.cancel_scope.cancel()


async def _started(to: Command, launcher: Launcher | None) -> _AnyProcess:
    if to.cwd is not None and not to.cwd.is_dir():
        raise ServerStartError(f"The folder {to.cwd} does not exist, so {to.command!r} cannot be started in it.")
    environment = get_default_environment() | dict(to.env or {})
    if launcher is not None and (process := await launcher(to, environment)) is not None:
        return process
    try:
        if sys.platform == "win32":
            command = await anyio.to_thread.run_sync(get_windows_executable_command, to.command)
            return await create_windows_process(command, list(to.args), environment, sys.stderr, to.cwd)
        return await anyio.open_process(
            [to.command, *to.args],
            env=environment,
            cwd=to.cwd,
            stderr=subprocess.PIPE,
            start_new_session=True,  # its own process group, so that what it starts can be ended with it
        )
    except FileNotFoundError:
        raise ServerStartError(f"The command {to.command!r} was not found. {_hint(to.command)}") from None
    except (OSError, ValueError) as error:
        raise ServerStartError(f"The command {to.command!r} cannot be started: {error}.") from None


def _hint(command: str) -> str:
    if command in ("python", "python3"):
        return f"Write {sys.executable!r}, the Python that runs this program."
    return "Install it, or write its full path."


async def _pump_out(process: _AnyProcess, received: Any, child: Child) -> None:
    """Hand on each line of stdout, and drain what nobody reads any more: a child stuck in a write cannot exit."""
    assert process.stdout is not None
    pieces: list[bytes] = []
    with received, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in process.stdout:
            *ends, rest = piece.split(b"\n")
            for end in ends:
                await _hand_on(b"".join((*pieces, end)), received, child)
                pieces.clear()
            pieces.append(rest)
    child.left = True


async def _hand_on(line: bytes, received: Any, child: Child) -> None:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        answer = in_place_of(line, error)
        if answer is None:
            if line.strip():
                child.noise = child.noise or line[:200].decode("utf-8", "replace")
                if child.listener is not None:
                    child.listener(f"(on stdout, which is for MCP alone) {line[:200].decode('utf-8', 'replace')}")
                else:
                    logger.warning("A server wrote to its stdout what is not JSON-RPC: %r", line[:200])
            return
    else:
        answer = SessionMessage(message)
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await received.send(answer)


async def _pump_in(process: _AnyProcess, to_send: Any, over: anyio.Event) -> None:
    assert process.stdin is not None
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    over.set()  # a child that no longer listens is lost, even if it lives


async def _pump_words(process: _AnyProcess, child: Child) -> None:
    stderr = getattr(process, "stderr", None)
    if stderr is None:
        return
    rest = b""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in stderr:
            *lines, rest = (rest + piece)[-65536:].split(b"\n")
            for line in lines:
                child.hear(line)
    if rest:
        child.hear(rest)


async def _stop(process: _AnyProcess, child: Child) -> None:
    """End a child and all that it started: close its stdin, then SIGTERM, then SIGKILL; every wait is bounded."""
    assert process.stdin is not None
    assert process.stdout is not None
    left = child.left
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_HURRIED_WAIT if child.hurried else _EXIT_WAIT):
        await process.wait()
    child.exit_code = process.returncode if left else None
    if isinstance(process, FallbackProcess) or os.name == "nt":
        await terminate_windows_process_tree(process)
    else:
        # Also after a child that left in time: what it started may have stayed.
        await terminate_posix_process_tree(process, _TERM_WAIT)
    with anyio.move_on_after(_REAP_WAIT):
        await process.wait()
    close_process_job(process)
    for stream in (process.stdout, getattr(process, "stderr", None)):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()
