"""The URLs of databases: which database a URL names, and what is wrong with one, without its password."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from fanlight.protocol.errors import ArgumentError

_NAMESPACE = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RedisUrl(NamedTuple):
    """A database of Redis or Valkey, and the prefix of the program's keys in it."""

    url: str
    namespace: str = "fanlight"


def without_password(url: str) -> str:
    """Return a URL for an error message."""
    return re.sub(r"//.*@", "//...@", url)


def is_redis(url: str) -> bool:
    """Return whether a URL is that of a Redis or Valkey server."""
    return url.partition("://")[0] in ("redis", "rediss")


def check_password(url: str) -> None:
    """Raise ArgumentError if a user name or a password ends too early, because a character of it is not escaped."""
    rest = url.partition("://")[2]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    password, at, _ = rest[len(authority) :].rpartition("@")
    if at and "=" not in password:
        raise ArgumentError(
            f"The URL {url.partition('://')[0]}://... has a user name or a password with a character that ends it: "
            "/, ? or #. Escape it, such as / as %2F: urllib.parse.quote(password, safe='') does."
        )


def parse_redis_url(url: str) -> RedisUrl:
    """Return the database and the namespace of `redis://host:6379/0?namespace=chat`. Raise ArgumentError if invalid."""
    check_password(url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ArgumentError(f"{without_password(url)!r} is not a URL of Redis. Write redis://host:6379/0.") from None
    if not re.fullmatch(r"/?|/[0-9]+/?", parts.path) and parts.scheme != "unix":
        raise ArgumentError(
            f"{without_password(url)!r} has the path {parts.path!r}, expected the number of a database. "
            "Write redis://host:6379/0."
        )
    query = parse_qsl(parts.query, keep_blank_values=True)
    namespace = dict(query).get("namespace")
    if namespace is None:
        return RedisUrl(url)
    if not _NAMESPACE.fullmatch(namespace):
        raise ArgumentError(
            f"namespace is {namespace!r}, expected up to 64 letters, digits, - and _. Write ?namespace=chat."
        )
    others = urlencode([pair for pair in query if pair[0] != "namespace"])
    return RedisUrl(parts._replace(query=others).geturl(), namespace)
