"""What a server declares about a View: domains, permissions, its own domain, a border.

Each function returns the valid part of a declaration and adds a sentence to `problems` for the rest, which is ignored.
"""

from collections.abc import Mapping
from typing import Final

from fanlight.protocol.csp import CSP_LISTS, Csp, check_host_name, check_source
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.metadata import PERMISSION_KEYS, Permission

_PERMISSIONS: Final = {key: name for name, key in PERMISSION_KEYS.items()}


def read_csp(declared: object, problems: list[str]) -> Csp | None:
    """Return the declared domains, or None if nothing is declared: then nothing is reachable (CSP-02)."""
    if not isinstance(declared, Mapping):
        if declared is not None:
            problems.append(f"csp is {declared!r}, not an object; nothing is reachable.")
        return None
    domains = {ours: _sources(declared.get(name), name, problems) for name, ours in CSP_LISTS.items()}
    return Csp(**domains)


def _sources(declared: object, name: str, problems: list[str]) -> tuple[str, ...]:
    """Return the valid sources of one list. An invalid one must never reach a header."""
    if declared is None:
        return ()
    if not isinstance(declared, list):
        problems.append(f"{name} is {declared!r}, not a list, and is left out.")
        return ()
    valid = []
    for i, value in enumerate(declared):
        try:
            valid.append(check_source(value, f"{name}[{i}]"))
        except RegistrationError as error:
            problems.append(str(error))
    return tuple(valid)


def read_permissions(declared: object, problems: list[str]) -> tuple[Permission, ...]:
    """Return the permissions that a View asks for."""
    if not isinstance(declared, Mapping):
        if declared is not None:
            problems.append(f"permissions is {declared!r}, not an object, and is left out.")
        return ()
    for unknown in sorted(declared.keys() - _PERMISSIONS.keys()):
        problems.append(f"permissions has {unknown!r}, expected some of {', '.join(_PERMISSIONS)}.")
    # The standard writes an empty object, older servers `true`; `false` and null do not ask for the permission.
    return tuple(ours for name, ours in _PERMISSIONS.items() if declared.get(name) not in (None, False))


def read_domain(declared: object, problems: list[str]) -> str | None:
    """Return the host name that a View asks for as its own, or None."""
    if declared is None:
        return None
    try:
        return check_host_name(declared, "domain")
    except RegistrationError as error:
        problems.append(str(error))
        return None


def read_border(declared: object, problems: list[str]) -> bool | None:
    """Return whether a View wants a border, or None if it does not say."""
    if declared is None or isinstance(declared, bool):
        return declared
    problems.append(f"prefersBorder is {declared!r}, not true or false, and is left out.")
    return None
