"""What a program gives to a host, checked where it is given: what was expected, what came, and what to write."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, Final

from fanlight.host.json_text import encode_json
from fanlight.protocol.errors import ArgumentError

_NAME: Final = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")
_MOST_SHOWN: Final = 80


def shown(value: object) -> str:
    """Return a value and its type, in few words."""
    text = repr(value)
    text = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return "None" if value is None else f"{text} ({type(value).__name__})"


def check_arguments(arguments: object) -> None:
    """Raise TypeError unless these are arguments of a tool: an object of JSON values."""
    if isinstance(arguments, str):
        instead = "If this is what a model wrote, give json.loads(...) of it."
        raise ArgumentError(f"arguments is {shown(arguments)}, expected a dict. {instead}")
    check_object("arguments", arguments, '{"utc_offset": 9}, or {} for none')


def check_object(name: str, value: object, example: str) -> None:
    """Raise TypeError unless a value is a dict of JSON values."""
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
    """Raise TypeError unless a value is a string or None."""
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{name} is {shown(value)}, expected a string or None.{instead}")


def check_callable(name: str, value: object, signature: str) -> None:
    """Raise TypeError unless a value is a function or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} is {shown(value)}, expected a function: {signature}.")


def check_seconds(name: str, value: object) -> None:
    """Raise unless a value is a length of time; `math.inf` is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(f"{name} is {shown(value)}, expected seconds. Write a number, or math.inf for no end.")
    if math.isnan(value) or value < 0:
        raise ArgumentError(f"{name} is {value!r}, expected seconds. Write a number that is not negative.")


def check_limits(limits: Any, at_least_one: Collection[str]) -> None:
    """Raise unless each field is a finite number of its kind, and not less than nothing, or than one."""
    for field in fields(limits):
        name, value, whole = field.name, getattr(limits, field.name), field.type is int
        expected = "a whole number" if whole else "a number"
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise ArgumentError(f"{name} is {shown(value)}, expected {expected}.")
        least = 1 if name in at_least_one else 0
        if not math.isfinite(value) or value < least:
            raise ArgumentError(f"{name} is {value!r}, expected {expected} from {least} up.")


def check_info(info: object) -> None:
    """Raise TypeError unless this can be what Views are told the host is."""
    example = '{"name": "my-program", "version": "1.0"}'
    check_object("info", info, example)
    assert isinstance(info, dict)
    for key in ("name", "version"):
        if not isinstance(info.get(key), str):
            raise ArgumentError(f"info[{key!r}] is {shown(info.get(key))}, expected a string. Write {example}.")


def check_hosts(hosts: object) -> frozenset[str]:
    """Return the program's own host names in lower case, or raise with the one that is none."""
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


def check_path(path: object) -> str:
    """Return the path under which the host answers, or raise with what to write."""
    if not isinstance(path, str) or not re.fullmatch(r"(?:/[A-Za-z0-9._~-]+)*/?", path):
        raise ArgumentError(f'path is {shown(path)}, expected one that begins with a slash. Write "/apps".')
    return path.rstrip("/")


def check_methods(name: str, value: object, kind: type, instead: str) -> None:
    """Raise TypeError unless a value has all methods of a protocol."""
    wanted = [method for method, own in vars(kind).items() if callable(own) and not method.startswith("_")]
    missing = [method for method in wanted if not callable(getattr(value, method, None))]
    if missing:
        raise ArgumentError(
            f"{name} is {shown(value)}, which has not the methods of a {kind.__name__}: {', '.join(missing)}. {instead}"
        )
