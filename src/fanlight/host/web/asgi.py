"""The host as an ASGI app: routes each request by its host name and path.

any name            {path}/health, unless it is a name of the sandbox
application's name  {path}/socket, {path}/grants, {path}/mcp-app.js and its parts, {path}/oauth/callback with
                    `Host(oauth=...)`; other paths go to the application
proxy's name        /proxy, /sandbox.js                       sandbox/routes.py
an app's name       /<hash of a document>, /warm, /report     sandbox/routes.py
any other name      421 Misdirected Request for the paths above; other paths go to the application
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from fanlight.host.upstream.auth.oauth import CALLBACK, SignIns
from fanlight.host.validation import check_path
from fanlight.host.web.assets import PAGE_SCRIPTS, script_response
from fanlight.host.web.grants import GRANT_ROUTES, GrantRoutes, Grants, KnownTools
from fanlight.host.web.health import HEALTH_ROUTES, Ready, health_response
from fanlight.host.web.lifespan import empty_lifespan, run_lifespan
from fanlight.host.web.origins import HostNames
from fanlight.host.web.page_socket import SocketBackend, SocketServer
from fanlight.host.web.refusals import Refusals
from fanlight.host.web.sandbox.routes import Sandbox, SandboxBackend
from fanlight.host.web.sign_in_page import SignInPage
from fanlight.host.web.users import Authorize, Identify
from fanlight.protocol.errors import ArgumentError


class WebBackend(SandboxBackend, SocketBackend, Protocol):
    """What the ASGI app needs from the host."""


Lifetime = Callable[[], AbstractAsyncContextManager[object]]
"""Returns a context manager that runs the host."""


class Web:
    """Serves the host, and passes all other requests to the application."""

    def __init__(
        self,
        backend: WebBackend,
        names: HostNames,
        lifetime: Lifetime,
        *,
        path: str = "/apps",
        grants: Grants | None = None,
        known_tools: KnownTools = lambda _: {},
        identify: Identify | None = None,
        authorize: Authorize | None = None,
        sign_ins: SignIns | None = None,
        ready: Ready | None = None,
        is_draining: Callable[[], bool] = lambda: False,
        max_bytes: int = 16_000_000,
        open_timeout: float = 10.0,
        prewarm_timeout: float = 600.0,
        question_timeout: float = 120.0,
        health_timeout: float = 2.0,
    ) -> None:
        self._lifetime = lifetime
        self._names = names
        self._path = check_path(path)
        self._grants = None if grants is None else GrantRoutes(grants, names, identify, known_tools)
        self._redirects = None if sign_ins is None or identify is None else SignInPage(sign_ins, identify)
        self._ready = ready
        self._health_timeout = health_timeout
        refusals = Refusals(names)
        self._sandbox = Sandbox(backend, names, refusals)
        self._sockets = SocketServer(
            backend,
            names,
            refusals,
            identify=identify,
            authorize=authorize,
            is_draining=is_draining,
            max_bytes=max_bytes,
            open_timeout=open_timeout,
            prewarm_timeout=prewarm_timeout,
            question_timeout=question_timeout,
        )

    def wrap(self, application: ASGIApp) -> ASGIApp:
        """Return an ASGI app that serves the host and the application."""
        if not callable(application):
            raise ArgumentError(f"app is {application!r}, expected an ASGI program, such as Starlette().")
        if self._redirects is not None:
            self._redirects.check_path(f"{self._path}/{CALLBACK}")

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await run_lifespan(application, self._lifetime(), scope, receive, send)
                return
            role, label = self._names.role(Headers(scope=scope).get("host", ""))
            path = _path_in_app(scope)
            name = path.removeprefix(f"{self._path}/") if path.startswith(f"{self._path}/") else ""
            is_socket, is_script = name == "socket", name in PAGE_SCRIPTS
            is_grants = self._grants is not None and name in GRANT_ROUTES
            is_redirect = self._redirects is not None and name == CALLBACK
            is_own = is_socket or is_script or is_grants or is_redirect
            if (
                self._ready is not None
                and name in HEALTH_ROUTES
                and role in ("host", "other")
                and scope["type"] == "http"
            ):
                # A load balancer asks by the address of this process, not by its name.
                await (await health_response(name, self._ready, self._health_timeout))(scope, receive, send)
            elif role == "other" and is_socket and scope["type"] == "websocket":
                await self._sockets.refuse_name(WebSocket(scope, receive, send))
            elif role not in ("host", "other") or (role == "other" and is_own):
                await self._sandbox(role, label, path, scope, receive, send)
            elif is_socket and scope["type"] == "websocket":
                await self._sockets(scope, receive, send)
            elif is_script and scope["type"] == "http":
                await script_response(name, scope, self._names.pages)(scope, receive, send)
            elif is_grants and self._grants is not None and scope["type"] == "http":
                await self._grants(name, scope, receive, send)
            elif is_redirect and self._redirects is not None and scope["type"] == "http":
                await self._redirects(scope, receive, send)
            else:
                await application(scope, receive, send)

        return app

    def sandbox_asgi(self) -> ASGIApp:
        """Return an ASGI app for the sandbox host names only."""

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await empty_lifespan(receive, send)
                return
            role, label = self._names.role(Headers(scope=scope).get("host", ""))
            await self._sandbox(role, label, _path_in_app(scope), scope, receive, send)

        return app


def _path_in_app(scope: Scope) -> str:
    """Return the request's path without `root_path`, the prefix under which the application is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
