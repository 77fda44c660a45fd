"""MCP Inspector, a host that is not ours: starting its web server, and reading the address that it prints."""

import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from support.browser import PATIENCE
from support.node import node, node_module


def inspector_command(server: Sequence[str]) -> list[str]:
    """Return the command that starts MCP Inspector's web server for an MCP server over stdio."""
    launcher = node_module("@modelcontextprotocol/inspector/clients/launcher/build/index.js")
    return [node(), str(launcher), "--web", *server]


@contextmanager
def printed_address(command: Sequence[str], cwd: Path | None = None) -> Iterator[str]:
    """Start an inspector, ours or MCP Inspector, and yield the address it prints; stop all of its processes."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        ports = zip(("CLIENT_PORT", "MCP_SANDBOX_PORT", "MCP_APP_ORIGIN_PORT"), free_ports(3), strict=True)
        environment = {
            **os.environ,
            "HOME": home,
            "MCP_AUTO_OPEN_ENABLED": "false",
            "MCP_INSPECTOR_SECRET_STORE": "memory",
            **dict(ports),
        }
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            yield _read_address(process)
        finally:
            _end(process)


def _read_address(process: "subprocess.Popen[str]") -> str:
    """Wait for the address with the token that a program prints, and keep reading its output."""
    assert process.stdout is not None
    impatient = threading.Timer(2 * PATIENCE, process.kill)
    impatient.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if (found := re.search(r"http://\S+token\S+", line, re.IGNORECASE)) is not None:
                threading.Thread(target=_drain, args=[process.stdout], daemon=True).start()
                return found[0]
    finally:
        impatient.cancel()
    raise RuntimeError(f"{process.args!r} printed no address: {''.join(lines)}")


def _drain(output: IO[str]) -> None:
    with output:
        output.read()


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(15)
    with suppress(ProcessLookupError):
        # It has its own session, so this kills only it and its children.
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_ports(count: int) -> list[str]:
    """Return ports of 127.0.0.1 that nothing listens on."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [str(each.getsockname()[1]) for each in found]
