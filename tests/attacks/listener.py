"""The server that a View must not reach: it answers on loopback, and records every visit.

Every address that it gives out has a name in it, so that a visit can be traced to the attempt that made it.
"""

import re
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# A foreign page in the place of the View: it calls a tool, and forwards every message that it receives.
_PAGE = b"""<!doctype html><script>
const forged = {jsonrpc: "2.0", id: 1, method: "tools/call", params: {name: "look", arguments: {by: "foreign page"}}};
addEventListener("message", ({data}) => fetch("/heard?" + encodeURIComponent(JSON.stringify(data))));
setInterval(() => parent.postMessage(forged, "*"), 20);
</script>"""
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\naccess-control-allow-origin: *\r\nconnection: close\r\n"
_ANSWER = _HEAD + b"content-length: %d\r\n\r\n%s" % (len(_PAGE), _PAGE)


class Listener:
    """Records visits by name: over HTTP and WebSocket, by bare TCP connections, and by UDP packets."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self._servers: list[socketserver.BaseServer] = []
        self._ports: dict[str, int] = {}
        self.port = self._serve(_tcp(self.visits, None))

    @property
    def origin(self) -> str:
        """The address, at which the first part of a path is the name of a visit."""
        return f"http://evil.localhost:{self.port}"

    def tcp(self, name: str) -> int:
        """Return a port at which every connection counts as a visit of this name, whatever it sends."""
        if name not in self._ports:
            self._ports[name] = self._serve(_tcp(self.visits, name))
        return self._ports[name]

    def udp(self, name: str) -> int:
        """Return a port at which every packet counts as a visit of this name."""
        if name not in self._ports:
            self._ports[name] = self._serve(_udp(self.visits, name))
        return self._ports[name]

    def _serve(self, server: socketserver.TCPServer | socketserver.UDPServer) -> int:
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        port: int = server.server_address[1]
        return port

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


def _tcp(visits: list[str], name: str | None) -> socketserver.TCPServer:
    class Visit(socketserver.StreamRequestHandler):
        timeout = 5

        def handle(self) -> None:
            if name is not None:
                visits.append(name)
                return
            try:
                parts = self.rfile.readline(65_536).split(b" ")
                while self.rfile.readline(65_536).strip():
                    pass
                if len(parts) == 3:
                    visits.append(re.split(r"[/?]", parts[1].decode("latin-1"))[1])
                    self.wfile.write(_ANSWER)
            except OSError:
                pass

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 128

    return Server(("127.0.0.1", 0), Visit)


def _udp(visits: list[str], name: str) -> socketserver.UDPServer:
    class Packet(socketserver.DatagramRequestHandler):
        def handle(self) -> None:
            visits.append(name)

    return socketserver.UDPServer(("127.0.0.1", 0), Packet)


@contextmanager
def listening() -> Iterator[Listener]:
    """Listen until the end of the block."""
    listener = Listener()
    try:
        yield listener
    finally:
        listener.close()
