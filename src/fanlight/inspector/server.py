"""Serves the inspector and opens a browser."""

import contextlib
import errno
import logging
import socket
import threading
import webbrowser
from collections.abc import Sequence

import uvicorn

from fanlight.dev.prewarm import Spares
from fanlight.dev.targets import servers
from fanlight.inspector.inspector import Inspector
from fanlight.protocol.errors import FanlightError


async def show(
    given: Sequence[str],
    command: Sequence[str],
    *,
    host: str,
    port: int,
    open_browser: bool,
    reload: bool,
    policy: str,
    theme: str | None,
    spares: Spares,
    lines: str,
) -> None:
    """Serve until Ctrl+C."""
    inspector = Inspector(
        servers(given, command), policy=policy, reload=reload, theme=theme, spares=spares, lines=lines
    )
    with _listener(host, port) as listener:
        taken = listener.getsockname()[1]
        url = f"http://localhost:{taken}/?token={inspector.guard.token}"
        if taken != port:
            print(f"  Port {port} is taken.", flush=True)
        print(f"\n  fanlight dev: {url}\n  Stop with Ctrl+C.\n", flush=True)
        if host not in ("127.0.0.1", "::1", "localhost"):
            print(f"  From another machine: ssh -L {taken}:localhost:{taken} THIS-MACHINE, then the same address.\n")
        if open_browser:
            threading.Thread(target=_open, args=[url], daemon=True).start()
        config = uvicorn.Config(
            inspector.app,
            log_level="warning",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,  # pages hold a stream open
        )
        # Ctrl+C while it starts is no error.
        logging.getLogger("uvicorn.error").addFilter(lambda record: "CancelledError" not in record.getMessage())
        await _Server(config, inspector).serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends what pages hold open before it waits for them."""

    def __init__(self, config: uvicorn.Config, inspector: Inspector) -> None:
        super().__init__(config)
        self._inspector = inspector

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._inspector.stop()
        # A call that still runs is cut off then, and that is no error of ours to tell of.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def _open(url: str) -> None:
    """Open a browser, where there is one; the address was printed for where there is none."""
    with contextlib.suppress(Exception):
        webbrowser.open(url)


def _listener(host: str, first: int) -> socket.socket:
    """Return a listening socket at the first free port."""
    for port in range(first, first + 100):
        listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise FanlightError(f"Cannot listen at {host}, port {port}: {error.strerror}.") from None
            continue
        listener.listen()
        return listener
    raise FanlightError(f"No port between {first} and {first + 99} is free at {host}. Choose another with --port.")
