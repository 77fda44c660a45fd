"""Whether a URL is within declared domains: the source matching of CSP 3, section 6.7.2."""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

_SOURCE = re.compile(r"(?:([a-z]+)://)?(\*\.)?([^:/]+)(?::([0-9]+|\*))?", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_PORTS = {"http": 80, "https": 443}
# What a declared scheme also stands for: the secure form, and for sockets the requests they start as.
_STANDS_FOR = {
    "http": ("http", "https"),
    "https": ("https",),
    "ws": ("http", "https"),
    "wss": ("https",),
    "": ("https",),  # the scheme of the host page, which is only known to be https in production
}


class Origin:
    """The scheme, host and port of an absolute `http`, `https` or scheme-relative URL."""

    __slots__ = ("host", "port", "scheme")

    def __init__(self, url: str) -> None:
        """Parse a URL. Raise ValueError if it has no host or no valid port."""
        try:
            parts = urlsplit(url if not url.startswith("//") else "https:" + url)
            port = parts.port
        except ValueError:
            raise ValueError(f"not a URL: {url}") from None
        self.scheme = parts.scheme.lower()
        self.host = parts.hostname or ""
        if not _HOST.fullmatch(self.host):
            raise ValueError(f"not a URL: {url}")
        self.port = _PORTS[self.scheme] if port is None else port

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    def is_in(self, domains: Iterable[str]) -> bool:
        """Tell whether one of the declared domains covers this origin."""
        return any(self._matches(domain) for domain in domains)

    def _matches(self, domain: str) -> bool:
        found = _SOURCE.fullmatch(domain)
        if found is None:
            return False
        scheme, wildcard, host, port = found.groups()
        return (
            self.scheme in _STANDS_FOR[(scheme or "").lower()]
            and self._matches_host(host.lower(), wildcard is not None)
            and self._matches_port(port)
        )

    def _matches_host(self, host: str, wildcard: bool) -> bool:
        return self.host.endswith("." + host) if wildcard else self.host == host

    def _matches_port(self, port: str | None) -> bool:
        if port == "*":
            return True
        if port is None:
            return self.port == _PORTS[self.scheme]
        return self.port == int(port) or (int(port) == 80 and self.port == 443)
