"""The HTTP headers of everything that the sandbox origins serve: View documents, the proxy, and the prewarm page.

The values of the security headers are built in `fanlight.protocol.headers`.
"""

from collections.abc import Iterable
from typing import Final

from fanlight.protocol.csp import Csp
from fanlight.protocol.headers import (
    CspProfile,
    connection_allowlist,
    permissions_policy,
    policy,
    proxy_directives,
    proxy_permissions_policy,
    view_directives,
    warm_directives,
)
from fanlight.protocol.metadata import Permission

IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""The `cache-control` of a URL whose content never changes."""

_PAGE_HEADERS: Final = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
}
_APP_HEADERS: Final = {
    **_PAGE_HEADERS,
    "cache-control": "private, max-age=31536000, immutable",
    "vary": "accept-encoding",
}
# Gives each app a process of its own. A browser follows the first response of an origin, so errors have it, too.
APP_ORIGIN_HEADERS: Final = {"origin-agent-cluster": "?1"}


def view_headers(
    csp: Csp | None, granted: Iterable[Permission], ancestors: Iterable[str], profile: CspProfile
) -> dict[str, str]:
    """Return the headers of a View's document."""
    return {
        **_APP_HEADERS,
        "content-security-policy": policy(view_directives(csp, ancestors, profile)),
        "permissions-policy": permissions_policy(granted),
        "connection-allowlist": connection_allowlist(csp),
    }


def prewarm_headers(host: str) -> dict[str, str]:
    """Return the headers of the empty page at an app's origin. A View can script that page, so it may do nothing."""
    return {
        **_APP_HEADERS,
        "content-security-policy": policy(warm_directives(host)),
        "permissions-policy": permissions_policy(()),
        "connection-allowlist": connection_allowlist(None),
    }


def proxy_headers(host: str, views: str | None, cache_control: str) -> dict[str, str]:
    """Return the headers of the sandbox proxy.

    Args:
        host: The origin of the host page, which alone may frame the proxy.
        views: A CSP source for the origins of all Views, or None if the proxy is sent HTML in a message.
        cache_control: How long the response may be cached.
    """
    return {
        **_PAGE_HEADERS,
        "permissions-policy": proxy_permissions_policy(),
        "content-security-policy": policy(proxy_directives(host, views)),
        "cache-control": cache_control,
    }
