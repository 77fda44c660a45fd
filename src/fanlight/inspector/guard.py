"""Who may look: the page that was opened with the token, and nobody else."""

import secrets
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Guard:
    """Gives a page that has the token a cookie, and answers no other."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(18)
        # Of its own: browsers show a cookie to every program of this machine, whatever its port.
        self._secret = secrets.token_urlsafe(18)

    def knows(self, connection: HTTPConnection) -> bool:
        """Tell whether a request comes from the page that was opened with the token."""
        given = connection.cookies.get(_cookie(connection), "")
        return secrets.compare_digest(given.encode(), self._secret.encode())

    def admit(self, request: Request) -> Response | None:
        """Answer a request that brings a token; None for one that brings none."""
        given = request.query_params.get("token")
        if given is None:
            return None
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return PlainTextResponse("This address is of another run of fanlight dev. Use the one it printed.", 403)
        # The token leaves the address, so that it is not shared with a link.
        response = RedirectResponse("/", 303)
        # Not "strict": who follows the printed address from a page, such as a web terminal, would come without it. What
        # changes something must name our own origin besides.
        response.set_cookie(_cookie(request), self._secret, httponly=True, samesite="lax")
        return response

    def wrap(self, program: ASGIApp) -> ASGIApp:
        """Return the program, behind the guard."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                refusal = self._refusal(HTTPConnection(scope), scope["method"])
                if refusal is not None:
                    await refusal(scope, receive, send)
                    return
            await program(scope, receive, send)

        return guarded

    def _refusal(self, request: HTTPConnection, method: str) -> Response | None:
        if request.url.hostname not in _LOOPBACK:
            return PlainTextResponse("This program does not answer for that host name.", 421)
        opens = request.url.path == "/" and "token" in request.query_params
        if not opens and not self.knows(request):
            return PlainTextResponse("Open the address that fanlight dev printed: it has a token in it.", 403)
        origin = request.headers.get("origin")
        if method != "GET" and (origin is None or urlsplit(origin).netloc != request.headers.get("host")):
            return PlainTextResponse("This came from another page.", 403)
        return None


def _cookie(connection: HTTPConnection) -> str:
    """Return the cookie's name: two of these programs at two ports share a browser."""
    return f"fanlight-dev-{connection.url.port or 80}"
