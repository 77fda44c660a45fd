"""The host on the web: its files and socket beside a program's own routes, and the sandbox names apart from them.

the program's name    {path}/mcp-app.js, {path}/socket; everything else is the program's
the proxy's name      /proxy, /sandbox.js
an app's name         /<address of a document>
any other name        421 Misdirected Request
"""

import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import anyio
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from fanlight.host.documents import Documents, ServedDocument
from fanlight.host.origins import Names, Origins
from fanlight.protocol.csp import check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.headers import policy, proxy_directives

Frame = dict[str, Any]

_SCRIPT_HEADERS = {
    "content-type": "text/javascript; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
_PROXY_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "no-cache",
}


class Refused(Exception):
    """A page may not open a View; the message says why."""


class Link(Protocol):
    """A View opened by a page."""

    async def receive(self, frame: Frame) -> None: ...

    async def lost(self) -> None: ...


class Desk(Protocol):
    """What the web needs of the host."""

    documents: Documents

    async def open(self, frame: Frame, origins: Origins, channel: "Socket") -> Link: ...

    def lifetime(self) -> Any: ...


class Socket:
    """The browser's end of a session. Frames to a browser that has gone are dropped; it says so when it is back."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._lock = anyio.Lock()

    async def send(self, frame: Frame) -> None:
        async with self._lock:
            if self._socket.application_state is WebSocketState.CONNECTED:
                try:
                    await self._socket.send_text(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))
                except (RuntimeError, WebSocketDisconnect):
                    return


class Web:
    """Answers for the host, and passes the rest on to the program."""

    def __init__(
        self,
        desk: Desk,
        names: Names,
        *,
        path: str = "/apps",
        authorize: Callable[[WebSocket, str], Awaitable[bool]] | None = None,
        max_frame: int = 16 * 1024 * 1024,
        open_timeout: float = 10.0,
    ) -> None:
        self._desk = desk
        self._names = names
        self._path = path.rstrip("/")
        self._authorize = authorize
        self._max_frame = max_frame
        self._open_timeout = open_timeout

    def wrap(self, program: ASGIApp) -> ASGIApp:
        """Return a program that is the given one with the host beside it."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await self._lifespan(program, scope, receive, send)
                return
            role, label = self._names.role(Headers(scope=scope).get("host", ""))
            if role != "host":
                await self._sandbox(role, label, scope, receive, send)
            elif scope["path"] == f"{self._path}/socket" and scope["type"] == "websocket":
                await self._socket(WebSocket(scope, receive, send))
            elif scope["path"] == f"{self._path}/mcp-app.js" and scope["type"] == "http":
                await _script("mcp-app.js")(scope, receive, send)
            else:
                await program(scope, receive, send)

        return app

    def sandbox_asgi(self) -> ASGIApp:
        """Return a program that answers for the sandbox names alone."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await _empty_lifespan(receive, send)
                return
            role, label = self._names.role(Headers(scope=scope).get("host", ""))
            await self._sandbox("unknown" if role == "host" else role, label, scope, receive, send)

        return app

    # The sandbox names

    async def _sandbox(self, role: str, label: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(1008)
            return
        response: Response
        if role == "unknown":
            response = PlainTextResponse("This server does not answer for that host name.", 421)
        elif scope["method"] not in ("GET", "HEAD"):
            response = PlainTextResponse("Only GET is answered here.", 405, headers={"allow": "GET, HEAD"})
        elif role == "proxy":
            response = self._proxy(scope)
        else:
            response = self._document(label or "", scope)
        await response(scope, receive, send)

    def _proxy(self, scope: Scope) -> Response:
        if scope["path"] == "/sandbox.js":
            return _script("sandbox.js")
        if scope["path"] != "/proxy":
            return PlainTextResponse("There is nothing here.", 404)
        query = QueryParams(scope["query_string"])
        try:
            host = check_source(query.get("host"), "host")
            view = check_source(query["view"], "view") if "view" in query else None
        except RegistrationError as error:
            return PlainTextResponse(str(error), 400)
        if self._names.role(urlsplit(host).netloc)[0] != "host":
            return PlainTextResponse("host is not the origin of a host page.", 400)
        if view is not None and self._names.role(urlsplit(view).netloc)[0] != "view":
            return PlainTextResponse("view is not the origin of an app.", 400)
        headers = {**_PROXY_HEADERS, "content-security-policy": policy(proxy_directives(host, view))}
        return Response(_file("proxy.html"), headers=headers)

    def _document(self, label: str, scope: Scope) -> Response:
        document = self._desk.documents.get(label, scope["path"].removeprefix("/"))
        if document is None:
            return PlainTextResponse("There is no such View, or it is no longer open.", 404)
        return _served(document, Headers(scope=scope))

    # The socket

    async def _socket(self, socket: WebSocket) -> None:
        """Serve one page's socket. Only pages of the program's own origin may open it."""
        origin = urlsplit(socket.headers.get("origin", ""))
        if origin.netloc.lower() != socket.headers.get("host", "").lower():
            await socket.close(1008)
            return
        await socket.accept()
        channel = Socket(socket)
        try:
            with anyio.fail_after(self._open_timeout):
                frame = await self._next(socket)
            if frame.get("type") != "open" or not isinstance(frame.get("view"), str):
                raise Refused('The first frame must be {"type": "open", "view": ...}.')
            if self._authorize is not None and not await self._authorize(socket, frame["view"]):
                raise Refused("You may not open this View.")
            scheme = "https" if socket.url.scheme == "wss" else "http"
            link = await self._desk.open(frame, self._names.origins(scheme, socket.headers["host"]), channel)
        except Refused as refused:
            await channel.send({"type": "error", "reason": str(refused)})
            await socket.close(1008)
            return
        except (TimeoutError, WebSocketDisconnect):
            return
        try:
            while True:
                await link.receive(await self._next(socket))
        except WebSocketDisconnect:
            pass
        finally:
            with anyio.CancelScope(shield=True):
                await link.lost()

    async def _next(self, socket: WebSocket) -> Frame:
        """Return the next frame that is an object; one that is too large ends the socket."""
        while True:
            text = await socket.receive_text()
            if len(text) > self._max_frame:
                await socket.close(1009)
                raise WebSocketDisconnect(1009)
            try:
                frame = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(frame, dict):
                return frame

    async def _lifespan(self, program: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the host alive around the program's own lifespan, or by itself if the program has none."""
        began, answered = False, False

        async def noted_receive() -> Message:
            nonlocal began
            began = True
            return await receive()

        async def noted_send(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        async with self._desk.lifetime():
            try:
                await program(scope, noted_receive, noted_send)
            except Exception:
                if answered:
                    raise
            if not answered:
                await _empty_lifespan(receive, send, began=began)


def proxy_url(origins: Origins, label: str) -> str:
    """Return where the proxy for one app is, for pages of one origin."""
    return f"{origins.proxy}/proxy?{urlencode({'host': origins.host, 'view': origins.view(label)})}"


async def _empty_lifespan(receive: Receive, send: Send, *, began: bool = False) -> None:
    if not began:
        await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


def _served(document: ServedDocument, headers: Headers) -> Response:
    if headers.get("if-none-match") == document.headers["etag"]:
        return Response(status_code=304, headers=document.headers)
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(document.compressed, headers={**document.headers, "content-encoding": "gzip"})
    return Response(document.body, headers=document.headers)


def _script(name: str) -> Response:
    return Response(_file(name), headers=_SCRIPT_HEADERS)


def _file(name: str) -> bytes:
    return files("fanlight.browser").joinpath(name).read_bytes()
