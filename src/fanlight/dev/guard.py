"""Access control: only the page that was opened with the token can use the program."""

import secrets
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Exchanges the token for a cookie, and rejects every request without that cookie.

    Args:
        command: The name of the program, such as "fanlight dev".
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self.token = secrets.token_urlsafe(18)
        # Not the token itself: browsers send a cookie to every program on this machine, whatever its port.
        self._secret = secrets.token_urlsafe(18)

    def is_authenticated(self, connection: HTTPConnection) -> bool:
        """Return whether a request has the cookie."""
        cookie = connection.cookies.get(self._cookie_name(connection), "")
        return secrets.compare_digest(cookie.encode(), self._secret.encode())

    def sign_in(self, request: Request) -> Response | None:
        """Respond to a request that has a token; return None for one that has none."""
        token = request.query_params.get("token")
        if token is None:
            return None
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return PlainTextResponse(
                f"This address belongs to an earlier run of {self._command}. Open the one it printed last.", 403
            )
        # The redirect removes the token from the address, so that copying the address does not share it.
        response = RedirectResponse("/", 303)
        # "lax", because with "strict" a link to the printed address, as in a web terminal, would arrive without the
        # cookie. Requests that change something must also have our own origin.
        response.set_cookie(self._cookie_name(request), self._secret, httponly=True, samesite="lax")
        return response

    def wrap(self, program: ASGIApp) -> ASGIApp:
        """Return an ASGI program that rejects requests before they reach `program`."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                rejection = self._reject(HTTPConnection(scope), scope["method"])
                if rejection is not None:
                    await rejection(scope, receive, send)
                    return
            await program(scope, receive, send)

        return guarded

    def _reject(self, request: HTTPConnection, method: str) -> Response | None:
        if request.url.hostname not in _LOOPBACK:
            return PlainTextResponse(f"{self._command} does not serve this host name.", 421)
        signs_in = request.url.path == "/" and "token" in request.query_params
        if not signs_in and not self.is_authenticated(request):
            return PlainTextResponse(f"Open the address that {self._command} printed: it contains a token.", 403)
        origin = request.headers.get("origin")
        if method != "GET" and (origin is None or urlsplit(origin).netloc != request.headers.get("host")):
            return PlainTextResponse("This request came from another page.", 403)
        return None

    def _cookie_name(self, connection: HTTPConnection) -> str:
        """Return a name with the port: two of these programs can share a browser."""
        return f"{self._command.replace(' ', '-')}-{connection.url.port or 80}"
