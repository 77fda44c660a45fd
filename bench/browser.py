"""A browser without automation: pages measure themselves and post their results.

A DevTools connection would make requests and sockets slower, and some more than others.
"""

import http.server
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=BackForwardCache,DisableLoadExtensionCommandLineSwitch",
)


@dataclass(frozen=True)
class Document:
    kind: str
    body: bytes
    policy: str | None = None


class Answers:
    """What pages posted: their measurements to `found`, and errors to any other path.

    The answer to a page is the address of the next one, or nothing if there is none.
    """

    def __init__(self) -> None:
        self._queue: Queue[tuple[str, Any]] = Queue()
        self._addresses: Iterator[str] = iter(())

    def put(self, path: str, body: Any) -> str:
        self._queue.put((path, body))
        return next(self._addresses, "")

    def tour(self, addresses: Sequence[str], patience: float) -> Iterator[Any]:
        """Let a browser open one page after the other; yield the results of each."""
        self._addresses = iter(addresses)
        with browser(next(self._addresses)):
            for _ in addresses:
                yield self.next(patience)

    def next(self, patience: float) -> Any:
        try:
            path, body = self._queue.get(timeout=patience)
        except Empty:
            raise RuntimeError(f"the browser posted nothing in {patience:g} s") from None
        if path != "/found":
            raise RuntimeError(f"a page of the benchmark failed: {body}")
        return body


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: the browser is killed with its connections open."""


@contextmanager
def serving(documents: Mapping[str, Document], answers: Answers) -> Iterator[int]:
    """Serve documents on a free loopback port, and collect what is posted there."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            document = documents.get(self.path)
            self.send_response(404 if document is None else 200)
            if document is not None:
                self.send_header("Content-Type", f"{document.kind}; charset=utf-8")
                if document.policy is not None:
                    self.send_header("Content-Security-Policy", document.policy)
            self._finish(b"" if document is None else document.body)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            following = answers.put(self.path, json.loads(body))
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self._finish(following.encode())

        def _finish(self, body: bytes) -> None:
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def browser(url: str, *more: str) -> Iterator[None]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise RuntimeError("A Chromium browser is missing: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, *more, f"--user-data-dir={profile}", url]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield
        finally:
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        # It has its own session, so this kills only it and its children.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
