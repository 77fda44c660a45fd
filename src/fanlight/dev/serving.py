"""Serves the page of a command on this machine until a signal arrives, and opens a browser."""

import contextlib
import errno
import logging
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator

import anyio.lowlevel
import uvicorn
from starlette.types import ASGIApp

from fanlight.protocol.errors import LocalError

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_TRIED = 99
"""How many ports are tried after the first."""
_MAX_PORT = 65_535


def listen(host: str, first: int) -> socket.socket:
    """Return a socket that listens on the first free port."""
    last = min(first + _TRIED, _MAX_PORT)
    for port in range(first, last + 1):
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise LocalError(f"Cannot listen on {host}, port {port}: {error.strerror}.") from None
            continue
        if first not in (0, port):
            print(f"  Port {first} is in use. Port {port} is used instead.", flush=True)
        return listener
    raise LocalError(f"No port between {first} and {last} is free on {host}. Choose another with --port.")


def announce(listener: socket.socket, command: str, token: str, *, open_browser: bool) -> None:
    """Print the address of the page, and open a browser. Requests that arrive before `serve` wait for it.

    Args:
        listener: Where the program will listen, from `listen`.
        command: The name of the command, such as "fanlight dev".
        token: The token of the page's address.
        open_browser: Whether to open a browser. The address is printed in any case.
    """
    host, port = listener.getsockname()[:2]
    url = f"http://localhost:{port}/?token={token}"
    print(f"\n  {command}: {url}\n  Stop with Ctrl+C.\n", flush=True)
    if host not in _LOOPBACK:
        print(f"  From another machine: ssh -L {port}:localhost:{port} THIS-MACHINE, then open this address.\n")
    if open_browser:
        threading.Thread(target=_open, args=[url], daemon=True).start()


async def serve(app: ASGIApp, listener: socket.socket, close_streams: Callable[[], None]) -> None:
    """Serve a page until a signal arrives.

    Args:
        app: The program.
        listener: Where it listens, from `listen`.
        close_streams: Ends the event streams that pages hold open.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,  # pages hold an event stream open
    )
    server = PageServer(config, close_streams)
    with server.stopped_by_signals():
        await anyio.lowlevel.checkpoint()  # raises for a signal that arrived before this block, while nothing runs
        await server.serve(sockets=[listener])


class PageServer(uvicorn.Server):
    """Closes the event streams of pages before it waits for open connections."""

    def __init__(self, config: uvicorn.Config, close_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._close_streams = close_streams

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
        self._close_streams()
        # Calls that still run are cut off, which uvicorn would log as errors.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def _open(url: str) -> None:
    """Open a browser if there is one. The address was printed in any case."""
    with contextlib.suppress(Exception):
        webbrowser.open(url)
