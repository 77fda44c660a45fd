"""The domains a View declares, each checked as one CSP source before it can enter a header."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields

from fanlight.protocol.errors import RegistrationError

# CSP 3 host-source, narrowed: a scheme that a View can fetch with, one leading wildcard label, a port,
# and nothing else. A path is legal CSP, but the standard declares origins, and peers drop it.
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*"
_SOURCE = re.compile(rf"(?:(?i:https?|wss?)://)?(?:\*\.)?{_HOST}(?::(?:(?P<port>[0-9]{{1,5}})|\*))?")
_HOST_NAME = re.compile(rf"(?=.{{1,253}}$){_HOST}")
_SCHEMES = frozenset({"http", "https", "ws", "wss", "data", "blob", "file", "filesystem", "mediastream"})


def check_source(value: object, field: str) -> str:
    """Return `value` if it is exactly one CSP host source, or raise with what to write instead."""
    found = _SOURCE.fullmatch(value) if isinstance(value, str) else None
    if found and found[0].lower() not in _SCHEMES and int(found["port"] or 0) < 65536:
        return found[0]
    raise RegistrationError(f"{field} is {value!r}, {_why_not(value)}")


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
        return f"which holds white space or a control character: each entry is one origin. {example}"
    if re.search(r"[;,]", value):
        return f"which holds a separator of the CSP header: each entry is one origin. {example}"
    if re.search(r"[\"'`]", value):
        return f"which holds a quote: keywords such as 'self' cannot be declared. {example}"
    if value == "*" or value.endswith("://*"):
        return f"which would allow every host. Name the hosts. {example}"
    if value.lower().rstrip(":/") in _SCHEMES:
        return f"a bare scheme, which would allow every host. Name the hosts. {example}"
    if not value.isascii():
        return f"which holds non-ASCII characters. Write the name in its punycode form. {example}"
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", value)
    if scheme and scheme[1].lower() not in ("http", "https", "ws", "wss"):
        return f"whose scheme a View cannot use, only http, https, ws and wss. {example}"
    if "[" in value:
        return f"an IPv6 address, for which a policy has no form. {example}"
    if "_" in value:
        return f"which holds a character that no host in a policy may hold. {example}"
    if re.match(r"(?:(?i:https?|wss?)://)?[^/?#]*[/?#]", value):
        return f"not an origin: it goes on after the host. {example}"
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
        """Return the value of `_meta.ui.csp`. An empty list means the same as none and is left out (CSP-09)."""
        names = {
            "connectDomains": self.connect_domains,
            "resourceDomains": self.resource_domains,
            "frameDomains": self.frame_domains,
            "baseUriDomains": self.base_uri_domains,
        }
        return {name: list(domains) for name, domains in names.items() if domains}
