"""The host on the web: its files and socket beside a program's own routes, and the sandbox names apart from them.

the program's name    {path}/mcp-app.js, {path}/socket; everything else is the program's
the proxy's name      /proxy, /sandbox.js
an app's name         /<address of a document>, /warm
any other name        421 Misdirected Request
"""

import gzip
import hashlib
import inspect
from collections.abc import Awaitable, Callable
from functools import cache
from importlib.resources import files
from typing import Any, Literal, Protocol
from urllib.parse import urlencode, urlsplit

import anyio
from starlette.datastructures import Headers, QueryParams
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from fanlight.browser import script
from fanlight.host.errors import ViewRefusedError
from fanlight.host.views.channel import Frame, decode, encode
from fanlight.host.web.csp_reports import MOST_BYTES, read_report
from fanlight.host.web.document_server import Documents, ServedDocument, warm_headers
from fanlight.host.web.origins import Names, Origins
from fanlight.protocol.csp import check_source
from fanlight.protocol.errors import ArgumentError, RegistrationError
from fanlight.protocol.headers import REPORT_PATH, policy, proxy_directives, proxy_permissions_policy

# How a browser ends the socket of a page that is closed, left or loaded anew. What is lost ends otherwise.
_CLOSED = (1000, 1001, 1005)

_FOREVER = "public, max-age=31536000, immutable"
_SCRIPT_HEADERS = {
    "content-type": "text/javascript; charset=utf-8",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
}
_PROXY_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
    "permissions-policy": proxy_permissions_policy(),
}


Authorize = Callable[[WebSocket, str], Awaitable[bool] | bool]
"""Who may open which View. It is given the socket before any middleware of the program has seen it."""


class Link(Protocol):
    """A View opened by a page."""

    async def receive(self, frame: Frame, size: int) -> None: ...

    async def lost(self, *, closed: bool) -> None: ...


class Desk(Protocol):
    """What the web needs of the host."""

    documents: Documents

    async def open(self, frame: Frame, origins: Origins, channel: "Socket") -> Link: ...

    def violated(self, label: str, report: dict[str, Any]) -> None: ...

    def lifetime(self) -> Any: ...


class Socket:
    """One socket of a page. What cannot be delivered any more is dropped; the line keeps it."""

    def __init__(self, socket: WebSocket, limit: int, patience: float = 120.0) -> None:
        self.limit = limit
        """The most bytes that a frame of the page may have."""
        self._socket = socket
        self._patience = patience

    @property
    def attached(self) -> bool:
        return self._socket.application_state is WebSocketState.CONNECTED

    async def send(self, text: str) -> None:
        if self.attached:
            try:  # not suppress(), which costs more than all else here
                await self._socket.send({"type": "websocket.send", "text": text})
            except (RuntimeError, WebSocketDisconnect):
                return

    async def receive(self) -> tuple[Frame, int]:
        """Return the next frame that is an object, and its size; one that is too large, or no text, ends the socket."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            text = message.get("text")
            if text is None or len(text) > self.limit:
                code = 1003 if text is None else 1009
                await self._socket.close(code)
                raise WebSocketDisconnect(code)
            frame = decode(text)
            if frame is not None:
                return frame, len(text)

    async def question(self, frame: Frame) -> Literal["once", "always", "deny"] | None:
        """Ask the user of a page that has no View yet. Nothing else passes in the meantime."""
        await self.send(encode({**frame, "id": 0}))
        with anyio.move_on_after(self._patience):
            while True:
                frame, _ = await self.receive()
                if frame.get("type") == "done" and frame.get("id") == 0:
                    result = frame.get("result")
                    answer = result.get("answer") if isinstance(result, dict) else None
                    return answer if answer in ("once", "always") else "deny"
        return None


class Web:
    """Answers for the host, and passes the rest on to the program."""

    def __init__(
        self,
        desk: Desk,
        names: Names,
        *,
        path: str = "/apps",
        authorize: Authorize | None = None,
        max_frame: int = 16_000_000,
        open_timeout: float = 10.0,
        warm_timeout: float = 600.0,
        question_timeout: float = 120.0,
    ) -> None:
        self._desk = desk
        self._names = names
        if not path.startswith("/") and path:
            raise ArgumentError(f'path is {path!r}, expected one that begins with a slash, such as "/apps".')
        self._path = path.rstrip("/")
        self._authorize = authorize
        self._max_frame = max_frame
        self._open_timeout = open_timeout
        self._warm_timeout = warm_timeout
        self._question_timeout = question_timeout

    def wrap(self, program: ASGIApp) -> ASGIApp:
        """Return a program that is the given one with the host beside it."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await self._lifespan(program, scope, receive, send)
                return
            role, label = self._names.role(Headers(scope=scope).get("host", ""))
            if role not in ("host", "other"):
                await self._sandbox(role, label, scope, receive, send)
            elif role == "other" and _path(scope) in (f"{self._path}/socket", f"{self._path}/mcp-app.js"):
                await self._sandbox("unknown", None, scope, receive, send)
            elif _path(scope) == f"{self._path}/socket" and scope["type"] == "websocket":
                await self._socket(WebSocket(scope, receive, send))
            elif _path(scope) == f"{self._path}/mcp-app.js" and scope["type"] == "http":
                await _script("mcp-app.js", scope)(scope, receive, send)
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
            await self._sandbox("unknown" if role in ("host", "other") else role, label, scope, receive, send)

        return app

    # The sandbox names

    async def _sandbox(self, role: str, label: str | None, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(1008)
            return
        response: Response
        if role == "unknown":
            response = PlainTextResponse("This server does not answer for that host name.", 421)
        elif role == "view" and scope["path"] == REPORT_PATH and scope["method"] == "POST":
            response = await self._report(label or "", receive)
        elif scope["method"] not in ("GET", "HEAD"):
            response = PlainTextResponse("Only GET is answered here.", 405, headers={"allow": "GET, HEAD"})
        elif role == "proxy":
            response = self._proxy(scope)
        else:
            response = self._document(label or "", scope)
        if role == "view":
            # A process for each app. The first document of an origin decides, so an error says it, too.
            response.headers["origin-agent-cluster"] = "?1"
        await response(scope, receive, send)

    def _proxy(self, scope: Scope) -> Response:
        if scope["path"] == "/sandbox.js":
            return _script("sandbox.js", scope)
        if scope["path"] != "/proxy":
            return PlainTextResponse("There is nothing here.", 404)
        query = QueryParams(scope["query_string"])
        try:
            host = self._host(query)
        except RegistrationError as error:
            return PlainTextResponse(str(error), 400)
        if query.get("view", "*") != "*":
            return PlainTextResponse("view is * for the apps of this host, or left out for HTML by message.", 400)
        views = self._names.views(scope["scheme"], Headers(scope=scope)["host"]) if "view" in query else None
        cached = _FOREVER if query.get("v") == _version() else "no-cache"
        directives = policy(proxy_directives(host, views))
        headers = {**_PROXY_HEADERS, "content-security-policy": directives, "cache-control": cached}
        return Response(_proxy_page(), headers=headers)

    def _document(self, label: str, scope: Scope) -> Response:
        if scope["path"] == "/warm":
            return self._warm(scope)
        document = self._desk.documents.get(label, scope["path"].removeprefix("/"))
        if document is None:
            return PlainTextResponse("There is no such View, or it is no longer open.", 404)
        return _served(document, Headers(scope=scope))

    def _warm(self, scope: Scope) -> Response:
        """Answer with an empty page: while a host page frames it, the browser has a process for the app."""
        try:
            host = self._host(QueryParams(scope["query_string"]))
        except RegistrationError as error:
            return PlainTextResponse(str(error), 400)
        return Response(b"<!doctype html><title>-</title>", headers=warm_headers(host))

    def _host(self, query: QueryParams) -> str:
        """Return the origin of the host page that a query names."""
        host = check_source(query.get("host"), "host")
        if self._names.role(urlsplit(host).netloc)[0] != "host":
            raise RegistrationError("host is not the origin of a host page.")
        return host

    async def _report(self, label: str, receive: Receive) -> Response:
        """Take a browser's report of what a View tried."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > MOST_BYTES:
                return PlainTextResponse("The report is too large.", 413)
            if not message.get("more_body"):
                break
        report = read_report(body)
        if report is None:
            return PlainTextResponse("This is no report of a Content-Security-Policy.", 400)
        self._desk.violated(label, report)
        return Response(status_code=204)

    # The socket

    async def _socket(self, socket: WebSocket) -> None:
        """Serve one page's socket. Only pages of the program's own origin may open it."""
        origin = urlsplit(socket.headers.get("origin", ""))
        if origin.netloc.lower() != socket.headers.get("host", "").lower():
            await socket.close(1008)
            return
        await socket.accept()
        channel = Socket(socket, self._max_frame, self._question_timeout)
        scheme = "https" if socket.url.scheme == "wss" else "http"
        origins = self._names.origins(scheme, socket.headers["host"])
        try:
            frame = await self._opening(channel, origins)
            await self._admit(socket, frame["view"])
            link = await self._desk.open(frame, origins, channel)
        except ViewRefusedError as refused:
            await channel.send(encode({"type": "error", "reason": str(refused)}))
            await socket.close(1008)
            return
        except TimeoutError:
            await socket.close(1000)
            return
        except WebSocketDisconnect:
            return
        closed = False
        try:
            while True:
                frame, size = await channel.receive()
                await link.receive(frame, size)
        except WebSocketDisconnect as disconnect:
            closed = disconnect.code in _CLOSED
        finally:
            with anyio.CancelScope(shield=True):
                await link.lost(closed=closed)

    async def _admit(self, socket: WebSocket, view: str) -> None:
        if self._authorize is None:
            return
        allowed = self._authorize(socket, view)
        if inspect.isawaitable(allowed):
            allowed = await allowed
        if allowed is not True:
            raise ViewRefusedError("You may not open this View.")

    async def _opening(self, channel: Socket, origins: Origins) -> Frame:
        """Return the frame that opens a View. Before it, a page may ask where the proxy is, and wait with both warm."""
        with anyio.fail_after(self._open_timeout):
            frame, _ = await channel.receive()
        if frame.get("type") == "warm":
            await channel.send(encode({"type": "warm", "proxy": proxy_url(origins)}))
            with anyio.fail_after(self._warm_timeout):
                frame, _ = await channel.receive()
        if frame.get("type") != "open" or not isinstance(frame.get("view"), str):
            raise ViewRefusedError('The first frame must be {"type": "open", "view": ...}.')
        return frame

    async def _lifespan(self, program: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the host alive around the program's own lifespan, or by itself if the program has none.

        That the program has shut down is told when the host has, too: the server ends what still runs then.
        """
        began, answered = False, False
        last: list[Message] = []

        async def noted_receive() -> Message:
            nonlocal began
            began = True
            return await receive()

        async def noted_send(message: Message) -> None:
            nonlocal answered
            answered = True
            if message["type"] == "lifespan.shutdown.complete":
                last.append(message)
            else:
                await send(message)

        async with self._desk.lifetime():
            try:
                await program(scope, noted_receive, noted_send)
            except Exception:
                if answered:
                    raise
            if not answered:
                await _empty_lifespan(receive, noted_send, began=began)
        for message in last:
            await send(message)


def proxy_url(origins: Origins) -> str:
    """Return where the proxy is, for pages of one origin. It is the same for all apps, so it can be opened early."""
    return f"{origins.proxy}/proxy?{urlencode({'host': origins.host, 'view': '*', 'v': _version()})}"


def _path(scope: Scope) -> str:
    """Return a request's path below the place where a proxy has put the program (`root_path`)."""
    path, root = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path


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


def _script(name: str, scope: Scope) -> Response:
    """Serve a script: for good where its address names its content, else to be asked for again."""
    body, compressed, digest = _file(name)
    query, headers = QueryParams(scope["query_string"]), Headers(scope=scope)
    cached = _FOREVER if query.get("v") == _version() else "no-cache"
    own = {**_SCRIPT_HEADERS, "etag": f'"{digest}"', "cache-control": cached}
    if headers.get("if-none-match") == own["etag"]:
        return Response(status_code=304, headers=own)
    if "gzip" in headers.get("accept-encoding", ""):
        return Response(compressed, headers={**own, "content-encoding": "gzip"})
    return Response(body, headers=own)


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """Return one of the browser's files as it is, compressed, and its digest."""
    body = script(name).encode() if name.endswith(".js") else files("fanlight.browser").joinpath(name).read_bytes()
    return body, gzip.compress(body, 9, mtime=0), hashlib.sha256(body).hexdigest()[:20]


@cache
def _version() -> str:
    """Return what changes whenever the proxy's files do."""
    return hashlib.sha256("".join(_file(name)[2] for name in ("proxy.html", "sandbox.js")).encode()).hexdigest()[:20]


@cache
def _proxy_page() -> bytes:
    return _file("proxy.html")[0].replace(b'src="sandbox.js"', f'src="sandbox.js?v={_version()}"'.encode())
