"""Serves the inspector over HTTP, and opens a browser."""

import contextlib
import errno
import logging
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping, Sequence

import uvicorn

from fanlight.dev.prewarm import PrewarmedProcesses
from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import servers
from fanlight.inspector.inspector import Inspector
from fanlight.inspector.view_log import printed
from fanlight.protocol.errors import LocalError


async def show(
    targets: Sequence[str],
    command: Sequence[str],
    *,
    host: str,
    port: int,
    open_browser: bool,
    reload: bool,
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
        theme=theme,
        prewarmed=prewarmed,
        lines=lines,
    )
    config = uvicorn.Config(
        inspector.app,
        log_level="warning",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,  # pages hold an event stream open
    )
    server = _Server(config, inspector)
    with printed(sys.stderr), _listener(host, port) as listener, server.stopped_by_signals():
        bound = listener.getsockname()[1]
        url = f"http://localhost:{bound}/?token={inspector.guard.token}"
        if port not in (0, bound):
            print(f"  Port {port} is in use.", flush=True)
        print(f"\n  fanlight dev: {url}\n  Stop with Ctrl+C.\n", flush=True)
        if host not in ("127.0.0.1", "::1", "localhost"):
            print(f"  From another machine: ssh -L {bound}:localhost:{bound} THIS-MACHINE, then open this address.\n")
        if open_browser:
            threading.Thread(target=_open, args=[url], daemon=True).start()
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Closes the event streams of pages before it waits for open connections."""

    def __init__(self, config: uvicorn.Config, inspector: Inspector) -> None:
        super().__init__(config)
        self._inspector = inspector

    @contextlib.contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Stop the server when a signal arrives in the block, which may be before it has started.

        Cancelling a server that is starting would leave its tasks, and the processes that they start, behind.
        """
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._inspector.close_streams()
        # Calls that still run are cut off, which uvicorn would log as errors.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def _open(url: str) -> None:
    """Open a browser if there is one. The address was printed in any case."""
    with contextlib.suppress(Exception):
        webbrowser.open(url)


def _listener(host: str, first: int) -> socket.socket:
    """Return a socket that listens on the first free port."""
    for port in range(first, first + 100):
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise LocalError(f"Cannot listen on {host}, port {port}: {error.strerror}.") from None
            continue
        listener.listen()
        return listener
    raise LocalError(f"No port between {first} and {first + 99} is free on {host}. Choose another with --port.")
