"""Validates the arguments of a host. Each function raises `ArgumentError` with what to write instead."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Final

from fanlight.host.json_text import encode_json
from fanlight.protocol.csp import check_source
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.origin import Origin

_NAME: Final = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_MAX_SHOWN: Final = 80


def shown(value: object) -> str:
    """Return a value and its type for a message, shortened."""
    text = repr(value)
    text = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
    return "None" if value is None else f"{text} ({type(value).__name__})"


def check_arguments(arguments: object) -> None:
    """Raise unless a value is an object of JSON values, as the arguments of a tool are."""
    if isinstance(arguments, str):
        instead = "If this is what a model wrote, give json.loads(...) of it."
        raise ArgumentError(f"arguments is {shown(arguments)}, expected a dict. {instead}")
    check_object("arguments", arguments, '{"utc_offset": 9}, or {} for none')


def check_object(name: str, value: object, example: str) -> None:
    """Raise unless a value is a dict of JSON values."""
    if not isinstance(value, dict):
        raise ArgumentError(f"{name} is {shown(value)}, expected a dict. Write {example}.")
    wrong = next((key for key in value if not isinstance(key, str)), None)
    if wrong is not None:
        raise ArgumentError(f"{name} has the key {shown(wrong)}, expected strings for keys, as in JSON.")
    try:
        encode_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{name} is not JSON: {error}. Write it with dicts, lists, strings and numbers.") from None


def check_text(name: str, value: object, instead: str = "") -> None:
    """Raise unless a value is a string or None."""
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{name} is {shown(value)}, expected a string or None.{instead}")
    if value is not None and ("\0" in value or any("\ud800" <= char <= "\udfff" for char in value)):
        raise ArgumentError(f"{name} is {shown(value)}, expected text without NUL and without half a surrogate pair.")


def check_user(value: object) -> None:
    """Raise unless a value is a string that is not empty and that every store can keep apart from others, or None."""
    if value is not None and (not isinstance(value, str) or not value):
        raise ArgumentError(f"user is {shown(value)}, expected a string that is not empty, or None for the only user.")
    check_text("user", value)


def check_callable(name: str, value: object, signature: str) -> None:
    """Raise unless a value is a function or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} is {shown(value)}, expected a function: {signature}.")


def check_seconds(name: str, value: object) -> None:
    """Raise unless a value is a number of seconds. `math.inf` is allowed."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(f"{name} is {shown(value)}, expected seconds. Write a number, or math.inf for no timeout.")
    if math.isnan(value) or value < 0:
        raise ArgumentError(f"{name} is {value!r}, expected seconds. Write a number that is not negative.")


def check_limits(limits: Any, at_least_one: Collection[str]) -> None:
    """Raise unless each field is a finite number of its type, and at least 0, or 1 for the fields in `at_least_one`."""
    for field in fields(limits):
        name, value, is_integer = field.name, getattr(limits, field.name), field.type is int
        expected = "an integer" if is_integer else "a number"
        if isinstance(value, bool) or not isinstance(value, int if is_integer else int | float):
            raise ArgumentError(f"{name} is {shown(value)}, expected {expected}.")
        minimum = 1 if name in at_least_one else 0
        if not math.isfinite(value) or value < minimum:
            raise ArgumentError(f"{name} is {value!r}, expected {expected} ≥ {minimum}.")


def check_info(info: object) -> None:
    """Raise unless a value has the name and version that Views see as the host's."""
    example = '{"name": "my-program", "version": "1.0"}'
    check_object("info", info, example)
    assert isinstance(info, dict)
    for key in ("name", "version"):
        if not isinstance(info.get(key), str):
            raise ArgumentError(f"info[{key!r}] is {shown(info.get(key))}, expected a string. Write {example}.")


def check_hosts(hosts: object) -> frozenset[str]:
    """Return the host names of the program in lower case. Raise if one is invalid."""
    if isinstance(hosts, str):
        raise ArgumentError(f"hosts is {hosts!r}, expected a list of names. Write hosts=[{hosts!r}].")
    if not isinstance(hosts, Collection) or isinstance(hosts, Mapping):
        raise ArgumentError(f'hosts is {shown(hosts)}, expected a list of names. Write ["app.example.com"].')
    for name in hosts:
        if not isinstance(name, str):
            raise ArgumentError(f'hosts has {shown(name)}, expected names. Write ["app.example.com"].')
        if not _NAME.fullmatch(name.lower()):
            plain = re.sub(r"^[a-z][a-z0-9+.-]*://", "", name.lower()).partition("/")[0]
            plain = plain if _NAME.fullmatch(plain) else plain.rpartition(":")[0]
            instead = f"Write {plain!r}." if _NAME.fullmatch(plain) else 'Write one such as "app.example.com".'
            raise ArgumentError(f"hosts has {name!r}, expected a host name without scheme, port and path. {instead}")
    return frozenset(name.lower() for name in hosts)


def check_origins(origins: object) -> frozenset[str]:
    """Return the origins of pages as browsers write them. Raise if one is invalid."""
    example = '["https://app.example.com"]'
    if isinstance(origins, str):
        raise ArgumentError(f"origins is {origins!r}, expected a list of origins. Write origins=[{origins!r}].")
    if not isinstance(origins, Collection) or isinstance(origins, Mapping):
        raise ArgumentError(f"origins is {shown(origins)}, expected a list of origins. Write {example}.")
    return frozenset(_page_origin(origin) for origin in origins)


def _page_origin(origin: object) -> str:
    """Return the origin of a page as browsers write it. Raise if it is invalid."""
    if not isinstance(origin, str):
        raise ArgumentError(f'origins has {shown(origin)}, expected an origin. Write "https://app.example.com".')
    if "*" in origin:
        raise ArgumentError(
            f"origins has {origin!r}, expected origins without a wildcard, which would let in pages of others. "
            'Write each of them, such as "https://app.example.com".'
        )
    try:
        found = Origin.of(origin if "://" in origin else f"https://{origin}")
        scheme = {"ws": "http", "wss": "https"}.get(found.scheme, found.scheme)
        plain = check_source(str(found._replace(scheme=scheme)), "origins")
    except ValueError:
        raise ArgumentError(
            f'origins has {origin!r}, expected the origin of a page. Write one such as "https://app.example.com".'
        ) from None
    if not re.fullmatch(r"https?://[^/?#@]+", origin, re.IGNORECASE):
        parts = "scheme (http or https), name and port, without a path"
        raise ArgumentError(f"origins has {origin!r}, expected an origin: {parts}. Write {plain!r}.")
    return plain


def check_path(path: object) -> str:
    """Return the path below which the host answers, without a slash at its end."""
    if not isinstance(path, str) or not re.fullmatch(r"(?:/[A-Za-z0-9._~-]+)*/?", path):
        raise ArgumentError(f'path is {shown(path)}, expected one that begins with a slash. Write "/apps".')
    return path.rstrip("/")


def check_methods(name: str, value: object, kind: type, instead: str) -> None:
    """Raise unless a value has all methods of a protocol."""
    required = [method for method, own in vars(kind).items() if callable(own) and not method.startswith("_")]
    missing = [method for method in required if not callable(getattr(value, method, None))]
    if missing:
        raise ArgumentError(
            f"{name} is {shown(value)}, which lacks these methods of {kind.__name__}: {', '.join(missing)}. {instead}"
        )
