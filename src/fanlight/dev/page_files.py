"""Serves the files of a command's page, with the headers that protect it."""

import mimetypes
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-src {sandbox}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {"cache-control": "no-cache", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}


def page_policy(request: Request) -> str:
    """Return the Content-Security-Policy of a page that shows Views on the port of a request."""
    sandbox = " ".join(
        f"{request.url.scheme}://{name}.localhost:{request.url.port or 80}" for name in ("sandbox", "*.sandbox")
    )
    return _CSP.format(sandbox=sandbox)


def page_file(package: str, name: str, headers: Mapping[str, str] | None = None, *, folder: str = "pages") -> Response:
    """Return a file in a folder of a package, or a response with the status 404."""
    page = files(package).joinpath(folder, name)
    if not page.is_file():
        return PlainTextResponse("Not found.", 404)
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(page.read_bytes(), media_type=media_type, headers={**_HEADERS, **(headers or {})})
