"""What the host relies on in the `mcp` SDK beyond its documented API.

These are private modules, and the wording of messages by which the SDK reports what it has no type for. Each has a test
in tests/host/test_sdk.py that fails when the SDK changes.
"""

import os
import re
import sys
from pathlib import Path
from typing import Final

import anyio
import mcp_types as types
from anyio.abc import Process
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    FallbackProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)

ChildProcess = Process | FallbackProcess

_PARSE_FAILURE: Final = re.compile(
    r"Failed to parse (?:JSON response|SSE message): (?:.*?Invalid JSON: (.*?) \[type=)?", re.DOTALL
)
_OVERSIZED_EVENT: Final = re.compile(r"SSE stream failed: Server-sent event exceeded the \d+ byte limit")
_HTTP_FAILURE: Final = "Server returned an error response"


def parse_failure(error: types.ErrorData) -> str | None:
    """Return why the SDK could not parse an HTTP response, or None if the error is another one."""
    found = _PARSE_FAILURE.match(error.message) if error.code == types.PARSE_ERROR else None
    return None if found is None else found[1] or "it is not a JSON-RPC message"


def is_oversized_event(error: types.ErrorData) -> bool:
    """Return whether the SDK made up this error for an event with more bytes than it accepts."""
    return error.code == types.CONNECTION_CLOSED and _OVERSIZED_EVENT.match(error.message) is not None


def is_http_failure(error: types.ErrorData) -> bool:
    """Return whether the SDK made up this error for a response with an HTTP error status and no JSON-RPC error."""
    return error.code == types.INTERNAL_ERROR and error.message == _HTTP_FAILURE


async def start_windows_process(
    command: str, args: list[str], environment: dict[str, str], cwd: Path | None
) -> ChildProcess:
    """Start a process on Windows, in a job that ends with it."""
    found = await anyio.to_thread.run_sync(get_windows_executable_command, command)
    return await create_windows_process(found, args, environment, sys.stderr, cwd)


async def terminate_process_tree(process: ChildProcess, seconds: float) -> None:
    """Terminate a process and everything that it started; on POSIX, kill what is left after some seconds."""
    if isinstance(process, FallbackProcess) or os.name == "nt":
        await terminate_windows_process_tree(process)
    else:
        await terminate_posix_process_tree(process, seconds)


def release_process(process: ChildProcess) -> None:
    """Release what the SDK holds for a process that has ended."""
    close_process_job(process)
