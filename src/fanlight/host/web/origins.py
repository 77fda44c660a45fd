"""The three origins: the host page's, the sandbox proxy's, and one for each app (docs/explanation/three-origins.md)."""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.origin import DEFAULT_PORTS

_LABEL = re.compile(r"[a-z0-9]{32}")
_LOOPBACK = re.compile(r"(?:[a-z0-9-]+\.)*localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_AUTHORITY = re.compile(r"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(rf"(https?)://({_AUTHORITY.pattern})")

Role = Literal["host", "proxy", "view", "other", "unknown"]
"""What a host name is for.

`host`: the application and its pages. `proxy`: the sandbox proxy. `view`: one app. `other`: a name under which only the
application may respond. `unknown`: an invalid name, or one below the sandbox that no app has.
"""


def app_label(server: str, uri: str, user: str | None, secret: str = "") -> str:
    """Return the DNS label of an app: a hash of its server's name, its View's URI and its user.

    The user is part of it so that two accounts in one browser do not share what the app keeps there. The secret is that
    of the store: without it, anybody could find out whether a user uses an app, by asking for its documents.
    """
    # As JSON, because a server chooses the URI and could imitate any separator.
    app = json.dumps([server, uri, user]).encode()
    return hmac.new(b"" if user is None else secret.encode(), app, hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True)
class Origins:
    """The origins of the host page, the sandbox proxy and the program, for one request."""

    host: str
    proxy: str
    program: str
    """The origin of the program, which serves the host."""

    def view(self, label: str) -> str:
        """Return the origin of an app's Views."""
        scheme, _, authority = self.proxy.partition("://")
        return f"{scheme}://{label}.{authority}"

    @property
    def ancestors(self) -> tuple[str, str]:
        """The origins of the frames around a View."""
        return self.host, self.proxy


@dataclass(frozen=True)
class HostNames:
    """The host names of the application and of the sandbox."""

    sandbox: str | None = None
    """The origin of the sandbox proxy. None on a developer's machine: then its name is `sandbox.localhost`."""
    hosts: frozenset[str] | None = None
    """The names of the application. None for the names of this machine, or, if `sandbox` is set, for any name."""
    pages: frozenset[str] = frozenset()
    """Origins of pages that may use the host, besides the application's own."""

    def __post_init__(self) -> None:
        self._check_sandbox()
        for page in self.pages:
            if self.role(urlsplit(page).netloc)[0] not in ("host", "other"):
                raise ArgumentError(
                    f"origins has {page!r}, which is an origin of the sandbox: its Views could control the host. "
                    "Write the origins of your own pages."
                )

    def _check_sandbox(self) -> None:
        if self.sandbox is None:
            return
        parts = urlsplit(self.sandbox if isinstance(self.sandbox, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.fragment:
            raise ArgumentError(
                f'sandbox_origin is {self.sandbox!r}, not an origin. Write one such as "https://sandbox.example.com": '
                "a name with a wildcard DNS record below it, which shares no cookies with the application."
            )

    @property
    def sandbox_name(self) -> str:
        """The host name of the sandbox proxy. Those of apps are one label below it."""
        return "sandbox.localhost" if self.sandbox is None else str(urlsplit(self.sandbox).hostname)

    def origins(self, scheme: str, authority: str) -> Origins:
        """Return the origins for a page of the application's own origin."""
        program = f"{scheme}://{authority}"
        return Origins(program, self._proxy(scheme, authority), program)

    def page_origins(self, scheme: str, authority: str, origin: str) -> Origins | None:
        """Return the origins for a page that connects to the application, or None if a page of `origin` may not.

        Args:
            scheme: The scheme of the request. Behind a proxy that terminates TLS, it may be "http" for "https".
            authority: The `Host` header of the request.
            origin: The `Origin` header of the request.
        """
        found = _ORIGIN.fullmatch(origin.lower())
        if found is None:
            return None
        page, page_scheme, page_authority = found[0], found[1], found[2]
        if page in self.pages:
            return Origins(page, self._proxy(scheme, authority.lower()), f"{scheme}://{authority.lower()}")
        # A page that was loaded without encryption may come from somebody on the network.
        is_downgrade = scheme == "https" and page_scheme == "http"
        if page_authority != _without_default_port(page_scheme, authority.lower()) or is_downgrade:
            return None
        # Only a proxy that terminates TLS makes the two schemes differ, and the browser knows which one it used.
        return Origins(page, self._proxy(page_scheme, page_authority), page)

    def _proxy(self, scheme: str, authority: str) -> str:
        if self.sandbox is not None:
            return self.sandbox
        found = _AUTHORITY.fullmatch(authority)
        port = f":{found[2]}" if found and found[2] else ""
        return f"{scheme}://sandbox.localhost{port}"

    def views(self, authority: str) -> str:
        """Return a CSP source for the origins of all apps, for a request to the proxy.

        Without a scheme it has that of the proxy's page, which only the browser knows behind a proxy that terminates
        TLS.
        """
        return f"*.{authority.lower()}" if self.sandbox is None else self.sandbox.replace("://", "://*.", 1)

    def is_page(self, origin: str) -> bool:
        """Return whether the proxy and the Views may be framed by a page of an origin."""
        return origin in self.pages or self.role(urlsplit(origin).netloc)[0] == "host"

    def role(self, authority: str) -> tuple[Role, str | None]:
        """Return the role of a request's host name, and for "view" the label of the app."""
        found = _AUTHORITY.fullmatch(authority.lower())
        if found is None:
            return "unknown", None
        name = found[1].rstrip(".")  # a fully qualified name with its final dot is the same name
        sandbox = self.sandbox_name
        if name == sandbox:
            return "proxy", None
        if name.endswith(f".{sandbox}"):
            label = name.removesuffix(f".{sandbox}")
            return ("view", label) if _LABEL.fullmatch(label) else ("unknown", None)
        return "host" if self._is_application(name) else "other", None

    def is_loopback(self, authority: str) -> bool:
        """Return whether a request was for a name of this machine, which no other machine can reach."""
        found = _AUTHORITY.fullmatch(authority.lower())
        return found is not None and _LOOPBACK.fullmatch(found[1]) is not None

    def _is_application(self, name: str) -> bool:
        if self.hosts is not None:
            return name in self.hosts
        return self.sandbox is not None or _LOOPBACK.fullmatch(name) is not None


def _without_default_port(scheme: str, authority: str) -> str:
    """Return an authority as the origin of a page has it."""
    return authority.removesuffix(f":{DEFAULT_PORTS[scheme]}")
