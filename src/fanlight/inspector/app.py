"""The program behind `fanlight dev`: a host, and the JSON that its pages show."""

import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import orjson
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fanlight import __version__
from fanlight.host import Call, Host, Policy, Unfinished
from fanlight.host.news import News
from fanlight.host.resources import for_app, for_model, link_problem, view_uri
from fanlight.host.targets import Served
from fanlight.inspector.watch import changes
from fanlight.protocol.errors import FanlightError

JSONObject = dict[str, Any]

_COOKIE: Final = "fanlight-dev"
_PAGES: Final = {"index.html": "text/html", "inspector.js": "text/javascript", "inspector.css": "text/css"}
_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-src {sandbox}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_KINDS: Final = ("tools", "app_tools", "links", "downloads", "messages", "sampling")


class Inspector:
    """Shows the apps of some servers."""

    def __init__(self, servers: Mapping[str, Served], *, policy: str = "ask", reload: bool = True) -> None:
        self.token = secrets.token_urlsafe(18)
        self._served = dict(servers)
        self._reload = reload
        self._calls: dict[str, Call] = {}
        self._messages: list[JSONObject] = []
        self._listeners: set[Any] = set()
        rules = dict.fromkeys(_KINDS, "allow") if policy == "allow" else {}
        self.host = Host(
            {name: served.target for name, served in servers.items()},
            policy=Policy(rules),
            info={"name": "fanlight-dev", "version": __version__},
            authorize=self._is_ours,
            audit_arguments="whole",
        )
        self.host.on_message(self._heard)
        self.host.servers.listen(self._news)
        routes = [
            Route("/", self._page),
            Route("/inspector.js", self._file),
            Route("/inspector.css", self._file),
            Route("/api/servers", self._servers),
            Route("/api/call", self._call, methods=["POST"]),
            Route("/api/cancel", self._cancel, methods=["POST"]),
            Route("/api/context", self._context, methods=["POST"]),
            Route("/api/model", self._model),
            Route("/api/audit", self._audit),
            Route("/api/events", self._events),
        ]
        program = Starlette(routes=routes, lifespan=self._lifespan)
        self.app: ASGIApp = self.host.wrap(_Guarded(program, self))

    # Who may look

    def allows(self, connection: HTTPConnection) -> bool:
        """Tell whether a request comes from the page that was opened with the token."""
        given = connection.cookies.get(_COOKIE, "")
        return secrets.compare_digest(given.encode(), self.token.encode())

    def _is_ours(self, connection: HTTPConnection, view: str) -> bool:
        return self.allows(connection)

    async def _page(self, request: Request) -> Response:
        if (given := request.query_params.get("token")) is not None:
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                return PlainTextResponse("This address is of another run of fanlight dev. Use the one it printed.", 403)
            response = RedirectResponse("/", 303)
            response.set_cookie(_COOKIE, self.token, httponly=True, samesite="strict")
            return response
        sandbox = f"{request.url.scheme}://sandbox.localhost:{request.url.port or 80}"
        return _served("index.html", {"content-security-policy": _CSP.format(sandbox=sandbox)})

    async def _file(self, request: Request) -> Response:
        return _served(request.url.path.removeprefix("/"))

    # What the panels show

    async def _servers(self, request: Request) -> Response:
        return _json([self._server(name) for name in self._served])

    def _server(self, name: str) -> JSONObject:
        connection = self.host.servers[name]
        return {
            "name": name,
            "target": str(connection.target),
            "status": asdict(connection.status),
            "protocol": connection.protocol_version,
            "info": connection.info,
            "instructions": connection.instructions,
            "tools": [_tool(tool) for tool in connection.tools],
        }

    async def _call(self, request: Request) -> Response:
        asked = await _body(request)
        server, name, arguments = str(asked.get("server")), str(asked.get("tool")), asked.get("arguments")
        if not isinstance(arguments, dict):
            return _json({"error": "arguments is not an object."}, 400)
        try:
            await self.host.servers[server].ready()
            call = self.host.begin(server, name, "dev")
        except (FanlightError, KeyError) as error:
            return _json({"error": str(error)}, 400)
        id = secrets.token_urlsafe(6)
        self._calls[id] = call
        self._publish("called", {"id": id, "server": server, "tool": name, "view": call.view})
        if "pace" in asked:
            await self._stream(call, orjson.dumps(arguments).decode(), float(asked["pace"]))
        try:
            await call.run(arguments)
        except Unfinished as error:
            return _json({"id": id, "view": call.view, "token": call.token, "cancelled": str(error)})
        return _json({"id": id, "view": call.view, "token": call.token, "result": call.result, "model": call.for_model})

    async def _stream(self, call: Call, text: str, pace: float) -> None:
        """Write the arguments as a model would, so many characters a second."""
        for start in range(0, len(text), 4):
            if call.cancelled is not None:
                return
            call.feed(text[start : start + 4])
            await anyio.sleep(4 / max(pace, 1.0))

    async def _cancel(self, request: Request) -> Response:
        call = self._calls.get(str((await _body(request)).get("id")))
        if call is None:
            return _json({"error": "There is no such call."}, 404)
        await call.cancel("The developer cancelled it.")
        return _json({})

    async def _context(self, request: Request) -> Response:
        self.host.set_context(**await _body(request))
        return _json({})

    async def _model(self, request: Request) -> Response:
        return _json({"context": self.host.model_context("dev"), "messages": self._messages})

    async def _audit(self, request: Request) -> Response:
        view = request.query_params.get("view")
        return _json([record._asdict() for record in self.host.audit(view=view)][-500:])

    # What happens meanwhile

    async def _events(self, request: Request) -> Response:
        send, receive = anyio.create_memory_object_stream[JSONObject](100)
        self._listeners.add(send)

        async def lines() -> AsyncIterator[bytes]:
            try:
                async with receive:
                    # What changed before anybody listened is in here.
                    now = {"kind": "servers", "servers": [self._server(name) for name in self._served]}
                    yield b"data: " + orjson.dumps(now) + b"\n\n"
                    async for event in receive:
                        yield b"data: " + orjson.dumps(event) + b"\n\n"
            finally:
                self._listeners.discard(send)
                send.close()

        return StreamingResponse(lines(), media_type="text/event-stream", headers={"cache-control": "no-store"})

    def _publish(self, kind: str, data: JSONObject) -> None:
        for listener in tuple(self._listeners):
            try:
                listener.send_nowait({"kind": kind, **data})
            except (anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
                self._listeners.discard(listener)

    def _news(self, news: News) -> None:
        self._publish("server", self._server(news.server))

    async def _heard(self, conversation: str | None, role: str, content: list[JSONObject]) -> None:
        self._messages.append({"role": role, "content": content})
        self._publish("message", {"role": role, "content": content})

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            for name, served in self._served.items():
                if self._reload and served.folder is not None:
                    tasks.start_soon(self._watch, name, served.folder)
            yield
            tasks.cancel_scope.cancel()

    async def _watch(self, name: str, folder: Path) -> None:
        """Restart a server whose code changed, and load its Views anew when one of their files did."""
        async for changed in changes(folder):
            if any(path.suffix == ".py" for path in changed):
                self.host.servers[name].restart()
            else:
                await self.host.reload_views(name)
            self._publish("changed", {"server": name, "files": sorted(path.name for path in changed)})


class _Guarded:
    """A program that answers only the page that was opened with the token."""

    def __init__(self, program: ASGIApp, inspector: Inspector) -> None:
        self._program = program
        self._inspector = inspector

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = HTTPConnection(scope)
            if (refusal := self._refusal(request, scope["method"])) is not None:
                await refusal(scope, receive, send)
                return
        await self._program(scope, receive, send)

    def _refusal(self, request: HTTPConnection, method: str) -> Response | None:
        if request.url.hostname not in ("localhost", "127.0.0.1", "::1"):
            return PlainTextResponse("This program does not answer for that host name.", 421)
        opens = request.url.path == "/" and "token" in request.query_params
        if not opens and not self._inspector.allows(request):
            return PlainTextResponse("Open the address that fanlight dev printed: it has a token in it.", 403)
        origin = request.headers.get("origin")
        if method != "GET" and (origin is None or urlsplit(origin).netloc != request.headers.get("host")):
            return PlainTextResponse("This came from another page.", 403)
        return None


def _tool(tool: JSONObject) -> JSONObject:
    kind = (
        "both"
        if for_model(tool) and for_app(tool)
        else "model"
        if for_model(tool)
        else "app"
        if for_app(tool)
        else "none"
    )
    return {**tool, "who": kind, "view": view_uri(tool), "problem": link_problem(tool)}


async def _body(request: Request) -> JSONObject:
    try:
        body = orjson.loads(await request.body())
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _json(value: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json", headers={"cache-control": "no-store"})


def _served(name: str, headers: Mapping[str, str] | None = None) -> Response:
    body = files("fanlight.inspector").joinpath("pages", name).read_bytes()
    fixed = {"cache-control": "no-cache", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
    return Response(body, media_type=_PAGES[name], headers={**fixed, **(headers or {})})
