"""`paint`: how long a View takes from its frame's address being set until the tool result is painted.

The browser is not driven: the page measures itself and posts what it found (a DevTools
connection would distort it).
"""

import http.server
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from bench import ext_apps
from bench.progress import say
from bench.report import Goal, Options, Report, Table
from bench.samples import mean_ratio
from fanlight.protocol.csp import Csp
from fanlight.server.bundle import bundle_text

PAGES = Path(__file__).resolve().parent / "pages"
ROUNDS = 40
QUICK_ROUNDS = 15
WARM_UP = 3
LIMIT = 1.15
PATIENCE = 180

EMPTY = "empty View"
ASKING = "empty View, one round trip"
OURS = "Fanlight's App"
PEER = "ext-apps' App"

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
)
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; media-src 'self' data:; connect-src 'none'"
)
_SCRIPT = re.compile(r'(<script type="module">)(.*)(</script>)', re.DOTALL)


@dataclass(frozen=True)
class Document:
    kind: str
    body: bytes
    policy: str | None = None


def run(options: Options) -> Report:
    rounds = options.choose(ROUNDS, QUICK_ROUNDS)
    views = _views()
    say(f"paint: {rounds} rounds of {len(views)} Views in Chromium")
    return _report(_measure(views, rounds), views)


def _views() -> dict[str, str]:
    return {
        EMPTY: _page("empty.html"),
        ASKING: _page("asking.html"),
        OURS: bundle_text(_page("view.html"), Csp()).html,
        PEER: _SCRIPT.sub(lambda found: found[1] + ext_apps.bundled(found[2]) + found[3], _page("view.html")),
    }


def _page(name: str) -> str:
    paint = (PAGES / "paint.js").read_text(encoding="utf-8")
    return (PAGES / name).read_text(encoding="utf-8").replace("/* paint.js */", paint)


def _measure(views: Mapping[str, str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    answers: Queue[tuple[str, Any]] = Queue()
    documents = {
        f"/{number}.html": Document("text/html", html.encode(), POLICY) for number, html in enumerate(views.values())
    }
    with _serving(documents, answers) as view_port:
        addresses = {name: f"http://127.0.0.1:{view_port}/{number}.html" for number, name in enumerate(views)}
        plan = {"views": addresses, "rounds": rounds, "warmUp": WARM_UP}
        host = {
            "/": Document("text/html", (PAGES / "host.html").read_bytes()),
            "/host.js": Document("text/javascript", (PAGES / "host.js").read_bytes()),
            "/plan.json": Document("application/json", json.dumps(plan).encode()),
        }
        with _serving(host, answers) as host_port, _browser(f"http://127.0.0.1:{host_port}/"):
            try:
                path, found = answers.get(timeout=PATIENCE)
            except Empty:
                raise RuntimeError(f"the browser posted nothing in {PATIENCE} s") from None
    if path != "/found":
        raise RuntimeError(f"the page of the benchmark failed: {found}")
    measured: dict[str, list[dict[str, Any]]] = found
    return measured


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: the browser is ended with its connections open."""


@contextmanager
def _serving(documents: Mapping[str, Document], answers: "Queue[tuple[str, Any]]") -> Iterator[int]:
    """Serve documents on a free loopback port, and put what is posted there into `answers`."""

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
            self.send_response(204)
            self._finish(b"")
            answers.put((self.path, json.loads(body)))

        def _finish(self, body: bytes) -> None:
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _browser(url: str) -> Iterator[None]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise RuntimeError("A Chromium browser is missing: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [program, *FLAGS, f"--user-data-dir={profile}", url]
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
        # Its own session, so only it and what it started.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _report(found: dict[str, list[dict[str, Any]]], views: Mapping[str, str]) -> Report:
    times = {name: [one["elapsed"] for one in shown] for name, shown in found.items()}
    table = Table(
        "paint: milliseconds from setting a frame's address to the tool result painted (medians)",
        ["View", "kB", "script began", "result shown", "first frame", "painted", f"/ {EMPTY}"],
    )
    for name, values in times.items():
        size = f"{len(views[name].encode()) / 1000:.1f}"
        marks = [_median(one["marks"][mark] for one in found[name]) for mark in ("script", "shown", "frame")]
        table.rows.append([name, size, *marks, _median(values), str(mean_ratio(values, times[EMPTY]))])
    goal = Goal.of(f"paint: {OURS} / {EMPTY}", mean_ratio(times[OURS], times[EMPTY]), LIMIT)
    return Report([table], [goal], figures={"milliseconds": times})


def _median(values: Iterable[float]) -> str:
    return f"{statistics.median(values):.1f}"
