"""The ASGI app of a host with a fake backend, and pages that talk to it in memory."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from fanlight.host.errors import (
    CredentialsRejectedError,
    NotConnectedError,
    ViewRefusedError,
    ViewUnavailableError,
)
from fanlight.host.views.page.frames import MessageFromView, OpenView, ReceivedFrame, StatusText
from fanlight.host.web.origins import HostNames, Origins, app_label
from fanlight.host.web.page_socket import Socket
from fanlight.host.web.sandbox.document_cache import DocumentCache, served_document

LABEL = app_label("clock", "ui://clock/view", None)
HTML = "<!doctype html><title>x</title>" + "y" * 2000
VIEW_NAME = f"{LABEL}.sandbox.localhost:8000"
PROXY_NAME = "sandbox.localhost:8000"
ORIGINS = HostNames().origins("http", "localhost:8000")
OPEN = json.dumps({"type": "open", "view": "v1"})


UNAVAILABLE = {
    "unreachable": NotConnectedError("crm", "not connected: alice"),
    "signed-out": CredentialsRejectedError("crm", "alice", 401),
}
"""Views of the fake host that cannot be shown now, and why."""


class FakeBackend:
    """A host with one document, whose Views echo their messages as status texts."""

    def __init__(self) -> None:
        self.documents = DocumentCache()
        self.document = self.documents.add(served_document(LABEL, HTML, None, (), ORIGINS.ancestors))
        self.running = 0
        self.reports: list[Any] = []
        self.disconnected = 0
        self.closed = False
        self.opened: list[tuple[OpenView, Origins]] = []
        self.closed_views: list[str] = []

    def log_csp_report(self, label: str, report: dict[str, Any]) -> None:
        self.reports.append((label, report))

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    async def open(self, request: OpenView, origins: Origins, socket: Socket, user: str | None) -> "Echo":
        if request.view in UNAVAILABLE:
            raise ViewUnavailableError("the reason, with alice", UNAVAILABLE[request.view])
        if request.view == "nothing":
            raise ViewRefusedError("There is no such View.")
        self.opened.append((request, origins))
        return Echo(self, socket)

    async def close(self, request: OpenView, user: str | None) -> None:
        if request.view == "nothing":
            raise ViewRefusedError("There is no such View.")
        self.closed_views.append(request.view)


class Echo:
    def __init__(self, backend: FakeBackend, socket: Socket) -> None:
        self.backend, self.socket = backend, socket

    async def receive(self, received: ReceivedFrame) -> None:
        frame = received.frame
        await self.socket.send_frame(StatusText(repr(frame.message if isinstance(frame, MessageFromView) else frame)))

    def disconnect(self, *, closed: bool) -> None:
        self.backend.disconnected += 1
        self.backend.closed = closed


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"application {request.url.path}")


APPLICATION = Starlette(routes=[Route("/{rest:path}", hello)])


def client(app: ASGIApp) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://localhost:8000")


class Browser:
    """A page's socket, in memory."""

    def __init__(
        self, app: ASGIApp, *, host: str = "localhost:8000", origin: str | None = "http://localhost:8000"
    ) -> None:
        headers = [(b"host", host.encode())]
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        self.scope: Scope = {
            "type": "websocket",
            "path": "/apps/socket",
            "query_string": b"",
            "headers": headers,
            "scheme": "ws",
            "server": ("localhost", 8000),
            "subprotocols": [],
        }
        self.app = app

    async def talk(self, *frames: str | dict[str, Any], hang_up: bool = True, code: int = 1000) -> list[Any]:
        """Send these frames, disconnect, and return what was received."""
        received: list[Any] = []
        messages = [
            {"type": "websocket.receive", "text": frame} if isinstance(frame, str) else frame for frame in frames
        ]
        sent = iter([{"type": "websocket.connect"}, *messages])

        async def receive() -> Any:
            message = next(sent, None)
            if message is None and not hang_up:
                await anyio.sleep_forever()
            return message or {"type": "websocket.disconnect", "code": code}

        async def send(message: Any) -> None:
            received.append(json.loads(message["text"]) if "text" in message else message)

        with anyio.fail_after(60):
            await self.app(self.scope, receive, send)
        return received
