"""The response headers that confine a View: Content-Security-Policy, Permissions-Policy and Connection-Allowlist.

A policy is built as directives, each a tuple of sources, and joined last. The only text of a server in it are origins
that were validated one by one. There are two profiles:

    strict   exactly the standard (CSP-01 to CSP-03, CSP-09, SBX-06)
    compat   adds 'unsafe-eval', blob: and data: for scripts and workers, as some large hosts do: published Views
             with WebGL or PDF engines need them and cannot declare them
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from fanlight.protocol.csp import Csp, check_source
from fanlight.protocol.metadata import PERMISSION_KEYS, Permission

CspProfile = Literal["strict", "compat"]
Directives = Mapping[str, tuple[str, ...]]

_SELF: Final = "'self'"
_NONE: Final = "'none'"
_INLINE: Final = "'unsafe-inline'"
_SAMPLE: Final = "'report-sample'"

REPORT_PATH: Final = "/report"
"""Where the browser reports violations, at the View's own origin. It does not change what a View may do."""

# Powerful features that Views cannot request, so none gets them.
_NEVER: Final = (
    *("accelerometer", "autoplay", "browsing-topics", "clipboard-read", "display-capture", "encrypted-media"),
    *("gamepad", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer", "midi", "payment"),
    *("picture-in-picture",),  # a window without an address bar
    *("publickey-credentials-create", "publickey-credentials-get", "screen-wake-lock", "serial", "storage-access"),
    *("usb", "window-management", "xr-spatial-tracking"),
)


def view_directives(csp: Csp | None, ancestors: Iterable[str], profile: CspProfile = "strict") -> Directives:
    """Return the policy of a View's document. `ancestors` are the origins of all frames around it."""
    declared = csp or Csp()
    resources = tuple(declared.resource_domains)
    connects = tuple(declared.connect_domains)
    code: tuple[str, ...] = (_SELF, _INLINE)
    workers: tuple[str, ...] = (_SELF,)
    media: tuple[str, ...] = (_SELF, "data:")
    fonts: tuple[str, ...] = (_SELF,)
    if profile == "compat":
        code = (*code, "'unsafe-eval'", "blob:", "data:")
        workers = (*workers, "blob:", "data:")
        media = (*media, "blob:")
        fonts = (*fonts, "data:")
    return {
        "default-src": (_NONE,),
        "script-src": (*code, _SAMPLE, *resources),
        "style-src": (_SELF, _INLINE, *resources),
        "img-src": (*media, *resources),
        "media-src": (*media, *resources),
        "font-src": (*fonts, *resources),
        # CSP-02, CSP-11: without metadata nothing can be reached, with it the View's own origin too.
        "connect-src": (_NONE,) if csp is None else (_SELF, *connects),
        "frame-src": tuple(declared.frame_domains) or (_NONE,),
        "worker-src": workers,
        "base-uri": tuple(declared.base_uri_domains) or (_SELF,),
        "object-src": (_NONE,),
        "form-action": (_NONE,),
        "frame-ancestors": tuple(check_source(origin, "ancestors") for origin in ancestors) or (_NONE,),
        "report-uri": (REPORT_PATH,),
    }


def proxy_directives(host: str, views: str | None) -> Directives:
    """Return the policy of the sandbox proxy, which runs its own script, frames a View and asks whether it was found.

    Without an origin for Views, the proxy gets HTML by message. Such a document inherits the proxy's policy, so the
    proxy sets that itself, from the document's declaration, before it creates the frame.
    """
    if views is None:
        return {"frame-ancestors": (check_source(host, "host"),)}
    return {
        "default-src": (_NONE,),
        "script-src": (_SELF,),
        "style-src": (_SELF,),
        "frame-src": (check_source(views, "views"),),
        "connect-src": (check_source(views, "views"),),
        "base-uri": (_NONE,),
        "form-action": (_NONE,),
        "frame-ancestors": (check_source(host, "host"),),
    }


def warm_directives(host: str) -> Directives:
    """Return the policy of the empty page that warms up an app's origin: it loads nothing, and the host frames it."""
    return {
        "default-src": (_NONE,),
        "base-uri": (_NONE,),
        "form-action": (_NONE,),
        "frame-ancestors": (check_source(host, "host"),),
    }


def policy(directives: Directives) -> str:
    """Join directives into a header's value."""
    return "; ".join(" ".join((name, *sources)) for name, sources in directives.items())


def connection_allowlist(csp: Csp | None) -> str:
    """Return the Connection-Allowlist of a View's document: its own origin and the declared ones.

    In browsers that support it, it blocks what a CSP cannot: WebRTC, DNS prefetch, preconnect, speculation rules. The
    CSP still applies, so a pattern has a host and leaves the scheme open.
    """
    declared = csp or Csp()
    sources = (*declared.connect_domains, *declared.resource_domains, *declared.frame_domains)
    patterns = dict.fromkeys(_pattern(source) for source in sources)
    return f"({' '.join(('response-origin', *patterns))})"


def _pattern(source: str) -> str:
    host, _, port = source.rpartition("://")[2].partition(":")
    # A URL has no port if it is the default port of its scheme.
    return f'"*://{host}{":*" if port in ("80", "443", "*") else f":{port}" if port else ""}/*"'


def permissions_policy(granted: Iterable[Permission]) -> str:
    """Return the Permissions-Policy of a View's document: granted features for itself, and no others."""
    allowed = set(granted)
    grants = (f"{name}=({'self' if name in allowed else ''})" for name in PERMISSION_KEYS)
    return ", ".join((*grants, *(f"{name}=()" for name in _NEVER)))


def proxy_permissions_policy() -> str:
    """Return the Permissions-Policy of the proxy: it cannot delegate what no View gets."""
    return ", ".join(f"{name}=()" for name in _NEVER)


def allow_attribute(granted: Iterable[Permission]) -> str:
    """Return the `allow` attribute that delegates the granted permissions to a frame (RES-11, SBX-06f)."""
    return "; ".join(granted)
