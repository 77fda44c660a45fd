"""Child processes that are MCP servers.

The SDK's own stdio client reports neither the exit code nor the stderr of a child, and leaves behind the processes
that a child started if the child itself exits in time.
"""

import logging
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
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import Command
from fanlight.host.upstream.transport.malformed import replace_malformed, replace_oversized
from fanlight.host.upstream.transport.sdk import (
    ChildProcess,
    release_process,
    start_windows_process,
    terminate_process_tree,
)

logger = logging.getLogger(__name__)

KILL_TIMEOUT: Final = 4.0
"""Seconds within which a child process is gone that did not exit by itself, whatever it does."""

_RESTART_EXIT_TIMEOUT: Final = 0.1  # for a child to exit by itself, if its successor waits for it
_TERM_TIMEOUT: Final = 1.5  # after SIGTERM, before SIGKILL
_REAP_TIMEOUT: Final = 1.0
_KEPT_BYTES: Final = 2_000
_LINES_KEPT: Final = 50
_LINES_QUOTED: Final = 5
_FINAL_SECONDS: Final = 5.0  # before a child exits, in which its stderr may say why

Launcher = Callable[[Command, Mapping[str, str]], Awaitable[Process | None]]
"""Starts a command with an environment and pipes for its three streams; returns None to have it started normally."""


@dataclass
class Child:
    """What is known about a child process."""

    has_exited: bool = False
    """Whether it closed its stdout, as an exiting process does, before we stopped it."""
    exit_code: int | None = None
    """The exit code, if it exited by itself."""
    stderr_lines: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))
    """The last lines of its stderr, each with its time."""
    is_restarting: bool = False
    """Whether to stop it without waiting, because it is started again."""
    exit_timeout: float = 2.0
    """How many seconds it may take to exit by itself, after its stdin was closed."""
    max_bytes: int = 32_000_000
    """How many bytes a message on its stdout may have."""
    on_stderr: Callable[[str], None] | None = None
    """Receives each line of its stderr."""
    invalid_output: str | None = None
    """The first line on its stdout that is not JSON-RPC."""

    def add_stderr(self, line: bytes) -> None:
        """Record a line of its stderr."""
        text = line.decode("utf-8", "replace").rstrip()
        self.stderr_lines.append((monotonic(), text))
        if self.on_stderr is not None:
            self.on_stderr(text)

    def last_stderr(self) -> list[str]:
        """Return the last lines of its stderr; once it has exited, only those of its final seconds."""
        oldest = monotonic() - _FINAL_SECONDS if self.has_exited else 0.0
        return [line for at, line in self.stderr_lines if line and at >= oldest][-_LINES_QUOTED:]


@asynccontextmanager
async def open_child(
    command: Command, child: Child, ended: anyio.Event, launcher: Launcher | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Start a command and exchange newline-delimited JSON with it; leave no process behind.

    What is learnt about the process goes to `child`; `ended` is set once it no longer reads.
    """
    process = await _start(command, launcher)
    # No await until the task group holds the process, or a cancellation here would leak it.
    received, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_pump_stdout, process, received, child)
        tasks.start_soon(_pump_stdin, process, to_send, ended)
        tasks.start_soon(_pump_stderr, process, child)
        try:
            with received, read, write, to_send:
                yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, child)
            tasks.cancel_scope.cancel()


async def _start(command: Command, launcher: Launcher | None) -> ChildProcess:
    name, args, cwd = command.command, command.args, command.cwd
    if cwd is not None and not cwd.is_dir():
        raise ServerStartError(f"The folder {cwd} does not exist, so {name!r} cannot be started in it.")
    environment = get_default_environment() | dict(command.env or {})
    if launcher is not None and (process := await launcher(command, environment)) is not None:
        return process
    try:
        if sys.platform == "win32":
            return await start_windows_process(name, list(args), environment, cwd)
        return await anyio.open_process(
            [name, *args],
            env=environment,
            cwd=cwd,
            stderr=subprocess.PIPE,
            start_new_session=True,  # its own process group, so that the processes it starts can be stopped with it
        )
    except FileNotFoundError:
        raise ServerStartError(f"The command {name!r} was not found. {_hint(name)}") from None
    except (OSError, ValueError) as error:
        raise ServerStartError(f"The command {name!r} cannot be started: {error}.") from None


def _hint(command: str) -> str:
    if command in ("python", "python3"):
        return f"Write {sys.executable!r}, the Python that runs this program."
    return "Install it, or write its full path."


async def _pump_stdout(process: ChildProcess, received: Any, child: Child) -> None:
    """Forward each line of stdout, and read on when the receiver is closed: a child stuck in a write cannot exit."""
    assert process.stdout is not None
    line = _Line(child.max_bytes)
    with received, suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in process.stdout:
            *ends, rest = piece.split(b"\n")
            for end in ends:
                line.add(end)
                await _receive_line(line, received, child)
                line = _Line(child.max_bytes)
            line.add(rest)
    child.has_exited = True


class _Line:
    """A line that is being read. Of one with too many bytes, only the start and the end are kept."""

    def __init__(self, max_bytes: int) -> None:
        self._pieces: list[bytes] = []
        self._left = max_bytes
        self.is_oversized = False
        self.start = b""
        self.end = b""

    def add(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left >= 0:
            self._pieces.append(piece)
            return
        if not self.is_oversized:
            self.is_oversized = True
            self.start = b"".join((*self._pieces, piece))[:_KEPT_BYTES]
            self._pieces.clear()
        self.end = (self.end + piece[-_KEPT_BYTES:])[-_KEPT_BYTES:]

    @property
    def text(self) -> bytes:
        return b"".join(self._pieces)


async def _receive_line(line: _Line, received: Any, child: Child) -> None:
    message = replace_oversized(line.start, line.end, child.max_bytes) if line.is_oversized else _parse(line.text)
    if message is None:
        _report_invalid_output(line.start or line.text, child)
        return
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        await received.send(message)


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return replace_malformed(line, error)


def _report_invalid_output(line: bytes, child: Child) -> None:
    if not line.strip():
        return
    text = line[:200].decode("utf-8", "replace")
    child.invalid_output = child.invalid_output or text
    if child.on_stderr is not None:
        child.on_stderr(f"(on stdout, which is reserved for MCP) {text}")
    else:
        logger.warning("A server wrote to its stdout what is not JSON-RPC: %r", line[:200])


async def _pump_stdin(process: ChildProcess, to_send: Any, ended: anyio.Event) -> None:
    assert process.stdin is not None
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for item in to_send:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(text.encode() + b"\n")
    ended.set()  # a child that no longer reads is lost, even if it lives


async def _pump_stderr(process: ChildProcess, child: Child) -> None:
    stderr = getattr(process, "stderr", None)
    if stderr is None:
        return
    rest = b""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        async for piece in stderr:
            *lines, rest = (rest + piece)[-65536:].split(b"\n")
            for line in lines:
                child.add_stderr(line)
    if rest:
        child.add_stderr(rest)


async def _stop(process: ChildProcess, child: Child) -> None:
    """Stop a child and everything that it started: close its stdin, then SIGTERM, then SIGKILL, each with a timeout."""
    assert process.stdin is not None
    assert process.stdout is not None
    exited_by_itself = child.has_exited
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    with anyio.move_on_after(_RESTART_EXIT_TIMEOUT if child.is_restarting else child.exit_timeout):
        await process.wait()
    child.exit_code = process.returncode if exited_by_itself else None
    # Also if the child exited in time: processes that it started may still run.
    await terminate_process_tree(process, _TERM_TIMEOUT)
    with anyio.move_on_after(_REAP_TIMEOUT):
        await process.wait()
    release_process(process)
    for stream in (process.stdout, getattr(process, "stderr", None)):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()
