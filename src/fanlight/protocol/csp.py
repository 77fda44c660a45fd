"""The domains that a View declares: the grammar of one source, and which URLs a source covers.

Each source is validated before it can enter a header. `tests/vectors/csp` holds both the grammar and the matching.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.origin import DEFAULT_PORTS, Origin

CSP_LISTS: Final[Mapping[str, str]] = {
    "connectDomains": "connect_domains",
    "resourceDomains": "resource_domains",
    "frameDomains": "frame_domains",
    "baseUriDomains": "base_uri_domains",
}
"""The lists of `_meta.ui.csp`, each with the name of its field in `Csp`."""

# CSP 3 host-source, narrowed: a scheme that a View can fetch with, one leading wildcard label, a port,
# and nothing else. A path is legal CSP, but the standard declares origins, and peers drop it.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_SOURCE = re.compile(rf"(?:(?P<scheme>(?i:https?|wss?))://)?(?P<host>(?:\*\.)?{_HOST})(?::(?P<port>[0-9]{{1,5}}|\*))?")
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_HOST}")
_SCHEMES = frozenset({"http", "https", "ws", "wss", "data", "blob", "file", "filesystem", "mediastream"})
_UPGRADES: Final = {"http": "https", "ws": "wss"}


def check_source(value: object, field: str) -> str:
    """Return `value` if it is exactly one CSP host source, or raise with what to write instead."""
    found = _parse(value)
    if found:
        return found[0]
    raise RegistrationError(f"{field} is {value!r}, {_why_not(value)}")


def is_source(value: object) -> bool:
    """Return whether `value` is exactly one CSP host source."""
    return _parse(value) is not None


def _parse(value: object) -> re.Match[str] | None:
    found = _SOURCE.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[0].lower() in _SCHEMES:
        return None
    is_port = found["port"] in (None, "*") or int(found["port"]) < 65536
    return found if is_port else None


def is_declared(origin: Origin, sources: Iterable[str]) -> bool:
    """Return whether one of the declared sources covers an origin."""
    return any(source_covers(source, origin) for source in sources)


def source_covers(source: str, origin: Origin) -> bool:
    """Return whether a declared source covers an origin, by CSP 3, section 6.7.2, as browsers implement it.

    Browsers are stricter than its text in two ways: `https` does not match WebSockets, nor `wss` requests, and a
    scheme is upgraded at the default port only. They are more lenient in one: IPv4 addresses match.

    A source without a scheme has that of the View's own document, which is https in production. Text that is not a
    source (`check_source`) covers nothing, because hosts drop it.
    """
    found = _parse(source)
    if found is None or not host_covers(found["host"], origin.host):
        return False
    scheme, port = (found["scheme"] or "https").lower(), found["port"]
    is_upgrade = _UPGRADES.get(scheme) == origin.scheme
    is_default = origin.port == DEFAULT_PORTS[origin.scheme]
    if scheme != origin.scheme and not is_upgrade:
        return False
    if port is None or port == "*":
        return port == "*" or is_default
    if is_upgrade:
        return is_default and int(port) in (DEFAULT_PORTS[scheme], origin.port)
    return int(port) == origin.port


def host_of(source: str) -> str:
    """Return the host of a source, such as "*.example.com"."""
    return source.rpartition("://")[2].partition(":")[0]


def host_covers(pattern: str, host: str) -> bool:
    """Return whether the host of a source covers a host, or all hosts that another pattern covers."""
    pattern, host = pattern.lower(), host.lower()
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def check_host_name(value: object, field: str) -> str:
    """Return `value` if it is a bare host name (RES-07), or raise with what to write instead."""
    if isinstance(value, str) and _HOST_NAME.fullmatch(value):
        return value
    raise RegistrationError(
        f"{field} is {value!r}, not a host name. "
        'Write the name alone, such as "app.example.com": no scheme, port, path or wildcard.'
    )


def _why_not(value: object) -> str:
    if not isinstance(value, str):
        return f'not a string but {type(value).__name__}. Write an origin such as "https://api.example.com".'
    example = f'Write "{_suggestion(value)}".'
    if not value:
        return f"an empty string, not an origin. {example}"
    if re.search(r"[\s\x00-\x1f\x7f]", value):
        return f"which contains white space or a control character: each entry is one origin. {example}"
    if re.search(r"[;,]", value):
        return f"which contains a separator of the CSP header: each entry is one origin. {example}"
    if re.search(r"[\"'`]", value):
        return f"which contains a quote: keywords such as 'self' cannot be declared. {example}"
    if value == "*" or value.endswith("://*"):
        return f"which would allow every host. Name the hosts. {example}"
    if value.lower().rstrip(":/") in _SCHEMES:
        return f"a bare scheme, which would allow every host. Name the hosts. {example}"
    if not value.isascii():
        return f"which contains non-ASCII characters. Write the name in punycode. {example}"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", value)
    if scheme and scheme[1].lower() not in ("http", "https", "ws", "wss"):
        return f"which has a scheme that Views cannot use: only http, https, ws and wss are allowed. {example}"
    if "[" in value:
        return f"an IPv6 address, which CSP does not support. {example}"
    if "_" in value:
        return f"which contains an underscore, which CSP does not allow in hosts. {example}"
    if re.match(r"(?:(?i:https?|wss?)://)?[^/?#]*[/?#]", value):
        return f"not an origin: it has a path, query or fragment. {example}"
    return f"not an origin. {example}"


def _suggestion(value: str) -> str:
    found = re.search(
        rf"(?:((?:https?|wss?)://)|^|(?<=\s))(?:[^@\s/]*@)?((?:\*\.)?{_HOST}\.{_LABEL}(?::[0-9]{{1,5}})?)",
        value,
    )
    if found is None:
        return "https://api.example.com"
    return (found[1] or "https://") + found[2]


@dataclass(frozen=True)
class Csp:
    """The origins that a View may reach. Origins that are not declared cannot be reached (CSP-02, CSP-03).

    Each entry is one origin: an optional scheme (`http`, `https`, `ws` or `wss`), a host name whose first label may be
    `*`, and an optional port. Anything else raises `RegistrationError`: paths, `*` alone, bare schemes, keywords,
    quotes, separators and white space.
    """

    connect_domains: Iterable[str] = ()
    """For fetch, XMLHttpRequest, EventSource and WebSocket."""
    resource_domains: Iterable[str] = ()
    """For scripts, styles, images, fonts and media."""
    frame_domains: Iterable[str] = ()
    """For nested frames."""
    base_uri_domains: Iterable[str] = ()
    """For `<base href>`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            declared = getattr(self, field.name)
            if declared is None:
                declared = ()
            if not isinstance(declared, list | tuple | set | frozenset):
                raise RegistrationError(f"{field.name} is {declared!r}, not a list. Write {field.name}=[{declared!r}].")
            checked = tuple(check_source(value, f"{field.name}[{i}]") for i, value in enumerate(declared))
            object.__setattr__(self, field.name, checked)

    def wire(self) -> dict[str, list[str]]:
        """Return the value of `_meta.ui.csp`. Empty lists are left out, because they mean the same as none (CSP-09)."""
        lists = {name: list(getattr(self, field)) for name, field in CSP_LISTS.items()}
        return {name: domains for name, domains in lists.items() if domains}
