"""Warnings about requests that were refused, with what to configure.

Anybody can send such requests, so there is at most one warning of each kind in a minute.
"""

import logging
from typing import Final, Literal, get_args

import anyio

from fanlight.host.views.rate_limit import RateLimit
from fanlight.host.web.origins import HostNames, Role

logger = logging.getLogger(__name__)

_PER_SECOND: Final = 1 / 60
_MAX_SHOWN: Final = 200

Kind = Literal["name", "page", "view"]


class Refusals:
    """Logs refused requests of one host."""

    def __init__(self, names: HostNames) -> None:
        self._names = names
        self._limits: dict[Kind, RateLimit] = {kind: RateLimit(_PER_SECOND, 0.0) for kind in get_args(Kind)}
        self._skipped: dict[Kind, int] = dict.fromkeys(get_args(Kind), 0)

    def name(self, role: Role, authority: str) -> None:
        """Log a request for a host name that is not served."""
        sandbox = self._names.sandbox_name
        if role == "host":
            expected = f"this process serves only {sandbox} and the names below it"
            instead = "Route the names of the program to a process that serves Host.wrap()."
        elif role == "unknown":
            expected = f"the names below {sandbox} are those of apps: 32 letters and digits"
            instead = "Let the reverse proxy forward the Host header as it is."
        else:
            hosts = self._names.hosts
            known = "localhost and loopback addresses" if hosts is None else ", ".join(sorted(hosts)) or "none"
            expected = f"the names of this program are: {known}"
            instead = "Let the reverse proxy forward the Host header as it is, or add the name: Host(hosts=[...])."
        self._log("name", f"Refused a request with the Host header {quote(authority)}: {expected}. {instead}")

    def page(self, scheme: str, authority: str, origin: str, what: str = "the socket") -> str:
        """Log a socket or request that a page of an origin may not make, and return the reason for the page."""
        received = f"its Origin header is {quote(origin)}, and the Host header is {quote(authority)}"
        if not origin:
            instead = "Browsers send an Origin header; let the reverse proxy forward it."
        elif self._names.page_origins("http", authority, origin) is not None:
            received = f"its Origin header is {quote(origin)}, but the request came with {scheme}"
            instead = "Redirect pages from http to https."
        else:
            instead = (
                "Expected the same name and port in both. Let the reverse proxy forward the Host header as it is "
                "(nginx: proxy_set_header Host $http_host). If the page is yours and on another origin, add that: "
                "Host(origins=[...])."
            )
        reason = f"Refused {what} of a page: {received}. {instead}"
        self._log("page", reason)
        return reason

    def ipv6(self, origin: str) -> str:
        """Log a page at an IPv6 address, which cannot show Views, and return the reason for the page."""
        reason = (
            f"A page at {origin} cannot show Views: a Content-Security-Policy has no way to write an IPv6 address, so "
            "browsers would refuse to frame them there. Open the page by a name, such as localhost."
        )
        self._log("page", reason)
        return reason

    def view(self, reason: str) -> None:
        """Log a View that a page may not open, or that cannot be shown."""
        self._log("view", f"A page cannot show a View: {reason}")

    def _log(self, kind: Kind, message: str) -> None:
        if not self._limits[kind].take(anyio.current_time()):
            self._skipped[kind] += 1
            return
        skipped, self._skipped[kind] = self._skipped[kind], 0
        more = f" {skipped} more were refused since the last warning." if skipped else ""
        logger.warning("%s%s", message, more)


def quote(value: str) -> str:
    """Return text of a client for a message: on one line, and shortened."""
    return repr(value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…")
