"""The three origins: the host page's, the sandbox proxy's, and one for each app (explanation: three origins)."""

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from fanlight.protocol.errors import ArgumentError

_LABEL = re.compile(r"[a-z0-9]{32}")
_LOOPBACK = re.compile(r"(?:[a-z0-9-]+\.)*localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_AUTHORITY = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")


def app_label(server: str, uri: str) -> str:
    """Return the host name label of an app: a hash of who serves it and which View it is."""
    return hashlib.sha256(f"{server}\0{uri}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Origins:
    """Where the parts live, as seen from one request."""

    host: str
    proxy: str

    def view(self, label: str) -> str:
        """Return the origin of an app's Views."""
        scheme, _, authority = self.proxy.partition("://")
        return f"{scheme}://{label}.{authority}"

    @property
    def ancestors(self) -> tuple[str, str]:
        """The origins of the frames around a View."""
        return self.host, self.proxy


@dataclass(frozen=True)
class Names:
    """Which host names are whose.

    `sandbox` is None on a developer's machine: then it is sandbox.localhost. `hosts` are the names of the program
    itself; None means those of this machine, or, with a sandbox of its own, any.
    """

    sandbox: str | None = None
    hosts: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.sandbox is None:
            return
        parts = urlsplit(self.sandbox if isinstance(self.sandbox, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.fragment:
            raise ArgumentError(
                f'sandbox_origin is {self.sandbox!r}, not an origin. Write one such as "https://sandbox.example.com": '
                "a name that has a wildcard under it and shares no cookies with the program."
            )

    def origins(self, scheme: str, authority: str) -> Origins:
        """Return the origins for a request to the program's own name."""
        host = f"{scheme}://{authority}"
        if self.sandbox is not None:
            return Origins(host, self.sandbox)
        found = _AUTHORITY.fullmatch(authority)
        port = f":{found[2]}" if found and found[2] else ""
        return Origins(host, f"{scheme}://sandbox.localhost{port}")

    def views(self, scheme: str, authority: str) -> str:
        """Return the origins of all apps, as a CSP source, for a request to the proxy's name."""
        proxy = self.sandbox or f"{scheme}://{authority.lower()}"
        return proxy.replace("://", "://*.", 1)

    def role(self, authority: str) -> tuple[str, str | None]:
        """Tell whose name a request came to.

        ("host", None), ("proxy", None), ("view", label); ("other", None) for a name that may be the program's but is
        not ours, and ("unknown", None) for one that is nobody's.
        """
        found = _AUTHORITY.fullmatch(authority.lower())
        if found is None:
            return "unknown", None
        name = found[1].rstrip(".")  # a name with its root is the same name
        sandbox = "sandbox.localhost" if self.sandbox is None else str(urlsplit(self.sandbox).hostname)
        if name == sandbox:
            return "proxy", None
        if name.endswith(f".{sandbox}"):
            label = name.removesuffix(f".{sandbox}")
            return ("view", label) if _LABEL.fullmatch(label) else ("unknown", None)
        return "host" if self._is_ours(name) else "other", None

    def _is_ours(self, name: str) -> bool:
        if self.hosts is not None:
            return name in self.hosts
        return self.sandbox is not None or _LOOPBACK.fullmatch(name) is not None
