"""A cheap WebSocket client that sends the frames of a page with one View."""

import base64
import json
import os
import socket
import struct
from typing import Any

_PATIENCE = 30
_TEXT = 0x81
_PING = 0x89
_PONG = 0x8A
_LONG = 126
_VERY_LONG = 127
# A client must mask what it sends; a mask of zeros leaves the text as it is.
_MASKED = 0x80
_MASK = b"\0\0\0\0"


def framed(text: bytes, kind: int = _TEXT) -> bytes:
    """Return a text as a client sends it."""
    size = len(text)
    if size < _LONG:
        head = struct.pack("!BB", kind, _MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", kind, _MASKED | _LONG, size)
    else:
        head = struct.pack("!BBQ", kind, _MASKED | _VERY_LONG, size)
    return head + _MASK + text


class SocketClient:
    """One socket, to wait on (`receive`) or to poll (`fileno`, `arrived`)."""

    def __init__(self, port: int, path: str) -> None:
        self._buffer = b""
        self._socket = socket.create_connection(("127.0.0.1", port), _PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host = f"localhost:{port}"
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._buffer:
            self._read()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        if b" 101 " not in head:
            raise RuntimeError(f"no socket at {path}: {head.decode()}")

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, frame: bytes) -> None:
        self._socket.sendall(frame)

    def receive(self) -> bytes:
        """Wait for the next text."""
        while (text := self._next()) is None:
            self._read()
        return text

    def arrived(self) -> list[bytes]:
        """Return the texts that are there, once the socket can be read."""
        self._read()
        texts = []
        while (text := self._next()) is not None:
            texts.append(text)
        return texts

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise RuntimeError("the server closed the socket")
        self._buffer += data

    def _next(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, start = buffer[1], 2
        if size == _LONG:
            size, start = int.from_bytes(buffer[2:4], "big"), 4
        elif size == _VERY_LONG:
            size, start = int.from_bytes(buffer[2:10], "big"), 10
        if len(buffer) < start + size:
            return None
        self._buffer = buffer[start + size :]
        body = buffer[start : start + size]
        if buffer[0] == _PING:
            self.send(framed(body, _PONG))
            return self._next()
        if buffer[0] != _TEXT:
            raise RuntimeError(f"the server sent something other than text: {buffer[:80]!r}")
        return body


class Page:
    """A page with one View. Its frames are numbered, and acknowledge the frames that it received."""

    def __init__(self, port: int, view: str, token: str) -> None:
        self.socket = SocketClient(port, "/apps/socket")
        self._sent = 0
        self._seen = 0
        self.socket.send(framed(json.dumps({"type": "open", "view": view, "token": token}).encode()))
        self.shown: dict[str, Any] = json.loads(self.socket.receive())
        if self.shown.get("type") != "show":
            raise RuntimeError(f"the host does not show the View: {self.shown}")
        hello = {"protocolVersion": "2026-01-26", "appInfo": {"name": "bench", "version": "1"}, "appCapabilities": {}}
        self.ask({"jsonrpc": "2.0", "id": 0, "method": "ui/initialize", "params": hello})
        self.socket.send(self.frame({"jsonrpc": "2.0", "method": "ui/notifications/initialized", "params": {}}))

    def frame(self, message: dict[str, Any]) -> bytes:
        """Return a message of the View as the page sends it."""
        self._sent += 1
        frame = {"type": "message", "message": message, "n": self._sent, "ack": self._seen}
        return framed(json.dumps(frame, separators=(",", ":")).encode())

    def read(self, text: bytes) -> dict[str, Any]:
        """Read a frame of the host."""
        frame: dict[str, Any] = json.loads(text)
        self._seen = frame.get("n", self._seen)
        return frame

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request of the View and wait for its answer."""
        self.socket.send(self.frame(message))
        while True:
            answer = self.read(self.socket.receive()).get("message", {})
            if answer.get("id") == message["id"] and "method" not in answer:
                found: dict[str, Any] = answer
                return found
