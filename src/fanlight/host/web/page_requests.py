"""HTTP requests of pages: from which origins they may come, and the headers of their responses."""

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request

from fanlight.host.web.origins import HostNames

NOT_ALLOWED: Final = (
    "Only pages of the program's own origin may do this. If the page is yours and on another origin, add that: "
    "Host(origins=[...])."
)

HEADERS: Final = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "vary": "Origin",
}
"""The headers of each response."""

PREFLIGHT_HEADERS: Final = {
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "content-type",
    "access-control-max-age": "600",
}
"""The headers that let a page of another origin send a request."""


def is_other_page(names: HostNames, request: Request) -> bool:
    """Return whether a page of `Host(origins=)` sent a request."""
    return request.headers.get("origin") in names.pages


def is_own_page(names: HostNames, request: Request, *, needs_origin: bool) -> bool:
    """Return whether a page of the program's own origin sent a request. Browsers always say so for a POST."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return not needs_origin
    origins = names.page_origins(request.url.scheme, request.headers.get("host", ""), origin)
    return origins is not None and origins.host == origins.program


def sharing_headers(request: Request) -> Mapping[str, str]:
    """Return the headers that let a page of another origin read a response."""
    return {"access-control-allow-origin": request.headers["origin"], "access-control-allow-credentials": "true"}
