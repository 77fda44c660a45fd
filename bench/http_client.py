"""A cheap HTTP client for one connection, so that the measurement is of the server."""

import http.client
import json
import socket
from typing import Any

from bench.conversation import Conversation, Message, Request

_PATIENCE = 30


class HttpClient:
    """One kept-alive connection to a streamable HTTP server, with the session that it got."""

    def __init__(self, port: int, conversation: Conversation, patience: float = _PATIENCE) -> None:
        self._conversation = conversation
        self._port = port
        self._socket = socket.create_connection(("127.0.0.1", port), patience)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._session: str | None = None
        for message in conversation.opening():
            self.send(self.encoded(message))

    def batch(self, request: Request, count: int) -> list[bytes]:
        return [self.encoded(message) for message in self._conversation.requests(request, count)]

    def encoded(self, message: Message) -> bytes:
        body = json.dumps(message).encode()
        headers = {
            "Host": f"127.0.0.1:{self._port}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": self._conversation.protocol,
            "Content-Length": str(len(body)),
        }
        if self._session is not None:
            headers["MCP-Session-Id"] = self._session
        if self._conversation.modern:
            params: dict[str, Any] = message["params"]
            headers["MCP-Method"] = message["method"]
            if name := params.get("name") or params.get("uri"):
                headers["MCP-Name"] = name
        head = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body

    def send(self, request: bytes) -> bytes:
        """Send one request and return the body of its answer."""
        self._socket.sendall(request)
        response = http.client.HTTPResponse(self._socket, method="POST")
        response.begin()
        body = response.read()
        self._session = response.headers.get("mcp-session-id") or self._session
        return body

    def close(self) -> None:
        self._socket.close()


def parsed(body: bytes) -> Message:
    """Return the last message of a body, which is JSON or a stream of events."""
    lines = [line[5:] for line in body.splitlines() if line.startswith(b"data:") and line[5:].strip()]
    message: Message = json.loads(lines[-1] if lines else body)
    return message
