"""The browser files of the package as HTTP responses: `mcp-app.js` and its parts, `sandbox.js`, the proxy's page."""

import gzip
import hashlib
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from typing import Final

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import Scope

from fanlight.browser import served_script
from fanlight.host.web.sandbox.document_headers import IMMUTABLE

PAGE_SCRIPTS: Final = frozenset(
    {
        "mcp-app.js",
        "mcp-app-consent.js",
        "mcp-app-download.js",
        "mcp-app-inline.js",
        "mcp-app-modes.js",
        "mcp-app-shared.js",
        "mcp-grants.js",
    }
)
"""The scripts of the host's pages: the elements, and the parts of `<mcp-app>` that are loaded when they are needed."""

_SCRIPT_HEADERS: Final = {
    "content-type": "text/javascript; charset=utf-8",
    "x-content-type-options": "nosniff",
    "vary": "accept-encoding",
}


def script_response(name: str, scope: Scope, pages: Collection[str] = ()) -> Response:
    """Respond with a script. Pages of the origins in `pages` may load it, besides those of its own origin."""
    body, compressed, digest = _file(name)
    headers = {
        **_SCRIPT_HEADERS,
        **_cors_headers(pages, Headers(scope=scope).get("origin", "")),
        "etag": f'"{digest}"',
        "cache-control": cache_control(QueryParams(scope["query_string"])),
    }
    return cacheable_response(body, compressed, headers, Headers(scope=scope))


def _cors_headers(pages: Collection[str], origin: str) -> dict[str, str]:
    """Return the headers for a request of a page of `origin`. A cache must not give one page's response to others."""
    if not pages:
        return {}
    allowed = {"access-control-allow-origin": origin} if origin in pages else {}
    return {"vary": f"{_SCRIPT_HEADERS['vary']}, origin", **allowed}


def cacheable_response(body: bytes, compressed: bytes, headers: dict[str, str], request: Headers) -> Response:
    """Respond with a body, compressed if the client accepts gzip, or with 304 if the client has it."""
    if request.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.get("accept-encoding", ""):
        return Response(compressed, headers={**headers, "content-encoding": "gzip"})
    return Response(body, headers=headers)


def cache_control(query: QueryParams) -> str:
    """Return the `cache-control` of a request: forever if its `v` is the current version, else revalidate."""
    return IMMUTABLE if query.get("v") == proxy_version() else "no-cache"


@cache
def proxy_version() -> str:
    """Return a hash of the proxy's files."""
    return hashlib.sha256("".join(_file(name)[2] for name in ("proxy.html", "sandbox.js")).encode()).hexdigest()[:20]


@cache
def proxy_page() -> bytes:
    """Return the HTML of the sandbox proxy."""
    return _file("proxy.html")[0].replace(b'src="sandbox.js"', f'src="sandbox.js?v={proxy_version()}"'.encode())


@cache
def _file(name: str) -> tuple[bytes, bytes, str]:
    """Return a file, the file compressed, and its hash."""
    body = (
        served_script(name).encode() if name.endswith(".js") else files("fanlight.browser").joinpath(name).read_bytes()
    )
    return body, gzip.compress(body, 9, mtime=0), hashlib.sha256(body).hexdigest()[:20]
