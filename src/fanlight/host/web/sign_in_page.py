"""The page to which an authorization server sends the browser back: it finishes a sign-in and says how that went."""

import base64
import hashlib
import html
import re
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from fanlight.host.errors import ViewRefusedError
from fanlight.host.upstream.auth.oauth import SignIns
from fanlight.host.upstream.auth.sign_in import SignInResult
from fanlight.host.web.users import Identify, user_of
from fanlight.protocol.errors import ArgumentError

_BAD_REQUEST: Final = 400


class SignInPage:
    """Serves the redirects of authorization servers."""

    def __init__(self, sign_ins: SignIns, identify: Identify) -> None:
        self._sign_ins = sign_ins
        self._identify = identify

    def check_path(self, path: str) -> None:
        """Raise unless authorization servers send browsers back to this path."""
        redirect = self._sign_ins.redirect_uri
        if not redirect.endswith(path):
            raise ArgumentError(
                f"redirect_uri is {redirect!r}, but this host answers at {path}. "
                "Write that path in UserOAuth(redirect_uri=...), or give wrap() another one."
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one redirect."""
        await (await self._respond(Request(scope, receive)))(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if request.method != "GET":
            return PlainTextResponse("Expected GET.\n", 405, {"allow": "GET"})
        try:
            user = await user_of(self._identify, request)
            assert user is not None
        except ViewRefusedError as refused:
            result = SignInResult(is_signed_in=False, message=str(refused))
        else:
            result = await self._sign_ins.finish(user, request.query_params)
        return _page(result)


def _page(result: SignInResult) -> Response:
    template, policy = _template()
    title = "Signed in" if result.is_signed_in else "Not signed in"
    # The message may quote the authorization server.
    body = template.replace("TITLE", title).replace("MESSAGE", html.escape(result.message))
    headers = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",  # the address has the code
        "cache-control": "no-store",
    }
    return HTMLResponse(body, 200 if result.is_signed_in else _BAD_REQUEST, headers)


@cache
def _template() -> tuple[str, str]:
    """Return the page, and a policy that allows its style sheet and nothing else."""
    template = files("fanlight.browser").joinpath("sign-in.html").read_text(encoding="utf-8")
    styles = re.findall(r"<style>(.*?)</style>", template, re.DOTALL)
    hashes = (base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return template, (
        f"default-src 'none'; style-src {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
