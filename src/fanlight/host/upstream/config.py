"""The configuration of servers: parses what a user writes for a server into one of four targets.

    written                                                           target
    "python server.py", ["python", "server.py"], {"command": ...}     Command
    "https://maps.example/mcp", {"url": ..., "auth": ...}             Url
    MCPServer, FastMCP, lowlevel Server                               InProcess
    an `mcp` transport, or a function that opens one                  Streams

`load_config` reads a file with several servers. Nothing here connects to anything.
"""

import difflib
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import urlsplit

from fanlight.host.errors import ConfigError

if TYPE_CHECKING:
    import httpx2
    from mcp.client import Transport
    from mcp.server.lowlevel import Server

_KEYS: Final = ("command", "args", "env", "cwd", "url", "headers", "type", "affinity")
_SIMILAR: Final = 0.65  # "ulr" is "url"; "envFile", a key of another host, is not "env"
_ENVIRONMENT = re.compile(r"\$\{env:([^}]+)\}")
_REMOTE_TYPES: Final = ("http", "streamable-http", "streamableHttp")


Affinity = Literal["conversation", "none"] | None
"""What keeps the requests to a server with one worker: a server that has state in its process needs it.

"none" says that the server has no such state, so that the host does not warn about it.
"""


@dataclass(frozen=True)
class Command:
    """A program that is started, and that speaks MCP over stdin and stdout."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    cwd: Path | None = None
    affinity: Affinity = None
    """Whether all requests of a conversation go to the process of one worker."""

    def __str__(self) -> str:
        return shlex.join((self.command, *self.args))


@dataclass(frozen=True)
class Url:
    """A server at a URL, which speaks MCP over streamable HTTP.

    `auth` authenticates each request, such as an OAuth provider of `mcp.client.auth`.
    """

    url: str
    headers: Mapping[str, str] | None = field(default=None, repr=False)  # may hold secrets
    affinity: Affinity = None
    """Whether all requests of a conversation go through the connection of one worker."""
    auth: "httpx2.Auth | None" = field(default=None, repr=False)

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


@dataclass(frozen=True)
class InProcess:
    """A server object in this program."""

    server: "Server[Any]"

    def __str__(self) -> str:
        return f"the server {self.server.name!r} in this program"


@dataclass(frozen=True)
class Streams:
    """A transport of the SDK, or a function that opens one. Without the function it can be opened only `once`."""

    open: "Callable[[], Transport]"
    once: bool = False

    def __str__(self) -> str:
        return "the given transport"


Target = Command | Url | InProcess | Streams


def parse_target(server: object, name: str = "server") -> Target:
    """Return the target for what a user wrote for a server. Raise `ConfigError` with what to write instead."""
    match server:
        case Command() | Url() | InProcess() | Streams():
            return server
        case str():
            return _from_text(server, name)
        case list() | tuple():
            return _from_arguments(server, name)
        case Mapping():
            target = _with_affinity(_from_entry(server, name, None, os.environ), server.get("affinity"), name)
            return _with_auth(target, server.get("auth"), name)
    # Here, because `fanlight dev` prints its address before it imports the SDK, which takes most of its start.
    from mcp.client.stdio import StdioServerParameters

    from fanlight.lowlevel import lowlevel_server

    if isinstance(server, StdioServerParameters):
        cwd = None if server.cwd is None else Path(server.cwd)
        return Command(server.command, tuple(server.args), server.env, cwd)
    if (lowlevel := lowlevel_server(server)) is not None:
        return InProcess(lowlevel)
    if isinstance(server, Sequence):
        return _from_arguments(server, name)
    if hasattr(server, "__aenter__") and hasattr(server, "__aexit__"):
        return Streams(lambda: cast("Transport", server), once=True)
    if callable(server):
        return Streams(cast("Callable[[], Transport]", server))
    raise ConfigError(
        f"{name}: expected a command line, a URL, an mcp transport, or an MCPServer, FastMCP or lowlevel Server, "
        f'but got {type(server).__qualname__}. Write for instance "python server.py".'
    )


def load_config(path: str | Path, *, environ: Mapping[str, str] | None = None) -> dict[str, Target]:
    """Read the servers of an `mcpServers` file (Claude Desktop) or a `servers` file (VS Code).

    `${env:NAME}` is replaced by the value in `environ`, by default the environment of this program.
    """
    path = Path(path)
    entries = _entries(path)
    known = os.environ if environ is None else environ
    servers = {}
    for name, entry in entries.items():
        if not isinstance(entry, Mapping):
            raise ConfigError(f'{path}: {name} is {_kind(entry)}, expected an object such as {{"command": "python"}}.')
        if not entry.get("disabled"):
            where = f"{path}: {name}"
            servers[name] = _with_affinity(_from_entry(entry, where, path.parent, known), entry.get("affinity"), where)
    return servers


def _entries(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Give the path of an mcpServers file.") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}.") from None
    if isinstance(document, dict):
        for key in ("mcpServers", "servers"):
            if isinstance(document.get(key), dict):
                servers: dict[str, Any] = document[key]
                return servers
    raise ConfigError(f'{path} names no servers. Write {{"mcpServers": {{"clock": {{"command": "python", ...}}}}}}.')


def _from_text(text: str, name: str) -> Target:
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text):
        return Url(_checked_url(text, name))
    posix = os.name != "nt"  # a backslash is part of a path there
    try:
        words = shlex.split(text, posix=posix)
    except ValueError as error:
        raise ConfigError(f"{name}: the command line {text!r} cannot be split into arguments: {error}.") from None
    return _from_arguments(words if posix else [word.strip('"') for word in words], name)


def _from_arguments(words: Sequence[object], name: str) -> Command:
    if not words or not all(isinstance(word, str | os.PathLike) for word in words) or not str(words[0]):
        raise ConfigError(f'{name}: the command line is {words!r}. Write "python server.py", or a list of strings.')
    command, *args = (os.fspath(cast("str | os.PathLike[str]", word)) for word in words)
    return Command(command, tuple(args))


def _from_entry(entry: Mapping[str, Any], name: str, folder: Path | None, environ: Mapping[str, str]) -> Target:
    """Read one server of a configuration file."""
    _check_spelling(entry, name)
    kind = entry.get("type") or entry.get("transport")
    if "url" in entry and kind in (None, *_REMOTE_TYPES):
        headers = _strings(entry, "headers", name, environ)
        return Url(_checked_url(_expanded(entry["url"], f"{name}.url", environ), name), headers)
    if "command" in entry and kind in (None, "stdio"):
        return _command(entry, name, folder, environ)
    if kind == "sse":
        raise ConfigError(
            f'{name} has the type "sse", which streamable HTTP replaced. Write "type": "http" and the address that '
            "the server documents for it, often the same with /mcp in place of /sse."
        )
    of_type = "" if kind is None else f" for its type {kind!r}"
    raise ConfigError(
        f'{name} has neither "command" nor "url"{of_type}. '
        'Write {"command": "python", "args": ["server.py"]} or {"type": "http", "url": "https://..."}.'
    )


def _check_spelling(entry: Mapping[str, Any], name: str) -> None:
    """Raise for a key that looks like a misspelt one. Others are ignored: hosts have keys of their own."""
    missing = [key for key in _KEYS if key not in entry]
    for key in entry:
        near = difflib.get_close_matches(str(key).lower(), missing, n=1, cutoff=_SIMILAR)
        if key not in _KEYS and near:
            raise ConfigError(f'{name} has the key "{key}", which is not known. Write "{near[0]}".')


def _with_affinity(target: Target, affinity: object, name: str) -> Target:
    """Add `affinity`, which commands and URLs have."""
    if affinity is None:
        return target
    if affinity not in ("conversation", "none"):
        raise ConfigError(f'{name}.affinity is {_kind(affinity)}, expected "conversation" or "none".')
    assert isinstance(target, Command | Url), "an entry has one or the other"
    return replace(target, affinity=cast(Affinity, affinity))


def _with_auth(target: Target, auth: object, name: str) -> Target:
    """Add `auth`, which only a program can give: configuration files of other hosts use this key for other things."""
    if auth is None:
        return target
    if not isinstance(target, Url):
        raise ConfigError(f'{name}.auth is for a server with a "url"; this one is {target}.')
    import httpx2

    if not isinstance(auth, httpx2.Auth):
        raise ConfigError(
            f"{name}.auth is {_kind(auth)}, expected an httpx2.Auth such as mcp.client.auth.OAuthClientProvider. "
            'Write a fixed token as "headers": {"Authorization": "Bearer ..."}.'
        )
    return replace(target, auth=auth)


def _command(entry: Mapping[str, Any], name: str, folder: Path | None, environ: Mapping[str, str]) -> Command:
    args = entry.get("args") or []
    if not isinstance(args, list):
        raise ConfigError(f'{name}.args is {_kind(args)}, expected a list of strings such as ["server.py"].')
    command = _expanded(entry["command"], f"{name}.command", environ)
    words = tuple(_expanded(word, f"{name}.args[{i}]", environ) for i, word in enumerate(args))
    cwd = entry.get("cwd")
    at = None if cwd is None else Path(_expanded(cwd, f"{name}.cwd", environ)).expanduser()
    if at is not None and folder is not None:
        at = folder / at
    return Command(command, words, _strings(entry, "env", name, environ), at)


def _strings(entry: Mapping[str, Any], key: str, name: str, environ: Mapping[str, str]) -> dict[str, str] | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ConfigError(f'{name}.{key} is {_kind(value)}, expected an object of strings such as {{"NAME": "value"}}.')
    return {str(word): _expanded(text, f"{name}.{key}.{word}", environ) for word, text in value.items()}


def _expanded(value: object, where: str, environ: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} is {_kind(value)}, expected a string. Write it in quotes.")

    def look_up(found: re.Match[str]) -> str:
        if found[1] not in environ:
            raise ConfigError(f"{where} needs the environment variable {found[1]}, which is not set. Set it first.")
        return environ[found[1]]

    return _ENVIRONMENT.sub(look_up, value)


def _checked_url(url: str, name: str) -> str:
    parts = urlsplit(url)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise ConfigError(f'{name}: {url!r} is not an http or https URL. Write "https://maps.example/mcp".')
    return url


def _kind(value: object) -> str:
    return "null" if value is None else f"{value!r} ({type(value).__name__})"
