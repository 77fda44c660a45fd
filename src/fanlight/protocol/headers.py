"""The response headers that hold a View: what it may reach, and what it may use.

A policy is built as directives, each a tuple of sources, and only then joined; no text of a server gets in but
origins that were checked one by one. Two profiles:

    strict   exactly the standard (CSP-01 to CSP-03, CSP-09, SBX-06)
    compat   adds 'unsafe-eval', blob: and data: for scripts and workers, as some large hosts do: published Views
             with WebGL or PDF engines need it and have no way to declare it
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from fanlight.protocol.csp import Csp, check_source
from fanlight.protocol.metadata import PERMISSION_KEYS, Permission

Profile = Literal["strict", "compat"]
Directives = Mapping[str, tuple[str, ...]]

_SELF: Final = "'self'"
_NONE: Final = "'none'"
_INLINE: Final = "'unsafe-inline'"
_SAMPLE: Final = "'report-sample'"

REPORT_PATH: Final = "/report"
"""Where a View's browser tells of what it blocked, at the View's own origin. It changes nothing that a View may do."""

# Powerful features that no View can ask for, so none gets them.
_NEVER: Final = (
    *("accelerometer", "autoplay", "browsing-topics", "clipboard-read", "display-capture", "encrypted-media"),
    *("gamepad", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer", "midi", "payment"),
    *("picture-in-picture",),  # a window without the bar that says whose it is
    *("publickey-credentials-create", "publickey-credentials-get", "screen-wake-lock", "serial", "storage-access"),
    *("usb", "window-management", "xr-spatial-tracking"),
)


def view_directives(csp: Csp | None, ancestors: Iterable[str], profile: Profile = "strict") -> Directives:
    """Return the policy of a View's document. `ancestors` are the origins of every frame around it."""
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
    """Return the policy of the sandbox proxy: it runs its own script and holds a View, and can do nothing else.

    Without an origin for Views the proxy takes HTML by message. Such a document inherits the proxy's policy, so
    the proxy sets that itself, from what the document declares, before it makes the frame.
    """
    if views is None:
        return {"frame-ancestors": (check_source(host, "host"),)}
    return {
        "default-src": (_NONE,),
        "script-src": (_SELF,),
        "style-src": (_SELF,),
        "frame-src": (check_source(views, "views"),),
        "base-uri": (_NONE,),
        "form-action": (_NONE,),
        "frame-ancestors": (check_source(host, "host"),),
    }


def warm_directives(host: str) -> Directives:
    """Return the policy of an empty page at an app's origin: nothing, in a frame of the host page alone."""
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
    """Return the Connection-Allowlist of a View's document: its own origin and what it declared.

    Where a browser knows it, it closes what a policy leaves open: WebRTC, DNS prefetch, preconnect, speculation rules.
    Within it, the policy decides, so a pattern names a host and leaves the scheme open.
    """
    declared = csp or Csp()
    sources = (*declared.connect_domains, *declared.resource_domains, *declared.frame_domains)
    patterns = dict.fromkeys(_pattern(source) for source in sources)
    return f"({' '.join(('response-origin', *patterns))})"


def _pattern(source: str) -> str:
    host, _, port = source.rpartition("://")[2].partition(":")
    # The port of a scheme is none in a URL.
    return f'"*://{host}{":*" if port in ("80", "443", "*") else f":{port}" if port else ""}/*"'


def permissions_policy(granted: Iterable[Permission]) -> str:
    """Return the Permissions-Policy of a View's document: what was granted to itself, and nothing else to anybody."""
    allowed = set(granted)
    asked = (f"{name}=({'self' if name in allowed else ''})" for name in PERMISSION_KEYS)
    return ", ".join((*asked, *(f"{name}=()" for name in _NEVER)))


def proxy_permissions_policy() -> str:
    """Return the Permissions-Policy of the proxy: what no View gets cannot be handed on to one."""
    return ", ".join(f"{name}=()" for name in _NEVER)


def allow_attribute(granted: Iterable[Permission]) -> str:
    """Return the `allow` attribute that delegates the granted permissions to a frame (RES-11, SBX-06f)."""
    return "; ".join(granted)
