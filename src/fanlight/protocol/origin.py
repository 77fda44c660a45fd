"""The origin of a URL."""

import re
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from fanlight.protocol.errors import ArgumentError

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")


class Origin(NamedTuple):
    """The scheme, host and port of a URL that a View can fetch: `http`, `https`, `ws` or `wss`."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Parse an absolute or scheme-relative URL, the latter as `https`. Raise ValueError for anything else."""
        try:
            parts = urlsplit(url if not url.startswith("//") else f"https:{url}")
            port = parts.port
        except ValueError:
            raise ArgumentError(f"not a URL: {url}") from None
        scheme, host = parts.scheme.lower(), parts.hostname or ""
        if scheme not in DEFAULT_PORTS or not _HOST.fullmatch(host):
            raise ArgumentError(f"not a URL: {url}")
        return cls(scheme, host, DEFAULT_PORTS[scheme] if port is None else port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"
