"""The servers that a command line names."""

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from fanlight.dev.prewarm import find_script
from fanlight.dev.source_lines import Lines
from fanlight.dev.tracebacks import WIDE
from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Target, Url, load_config, parse_target

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
EXAMPLES = (
    *("clock", "todo", "chart", "wizard", "dashboard", "map", "image", "game"),
    *("shader", "speech", "video", "monitor", "outline", "scenario", "document", "qr", "score"),
)


@dataclass(frozen=True)
class Served:
    """A server, and the folder of its files if that is known."""

    target: Target
    folder: Path | None = None


def servers(
    targets: Sequence[str],
    command: Sequence[str] = (),
    *,
    headers: Mapping[str, str] | None = None,
    only: str | None = None,
) -> dict[str, Served]:
    """Return the servers that a command line names, by name. Without any, return the examples.

    Args:
        targets: Python files, folders, URLs and `mcpServers` files.
        command: A command line that starts a further server.
        headers: HTTP headers for the servers that are reached by URL.
        only: The name of the one server to return.
    """
    found = _named_servers(targets, command) if targets or command else _examples()
    if only is not None:
        if only not in found:
            raise ConfigError(f"There is no server {only!r}. There are: {', '.join(found)}.")
        found = {only: found[only]}
    return _with_headers(found, headers) if headers else found


def server_name(script: Path) -> str:
    """Return the name of a server by its file: that of the folder for a `server.py`."""
    return _name(script.parent.name if script.stem == "server" else script.stem)


def parse_headers(texts: Sequence[str]) -> dict[str, str]:
    """Parse HTTP headers, each written as `NAME:VALUE`. Raise `ConfigError` for one that could contain another one."""
    headers = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if (control := _CONTROL.search(text)) is not None:
            raise ConfigError(  # without the value, which may be a secret
                f"--header {name!r} contains the control character {control[0]!r}, which no header may have. Remove it."
            )
        if not colon or not _HEADER_NAME.fullmatch(name.strip()):
            raise ConfigError(f"--header is {text!r}, expected NAME:VALUE such as 'Authorization: Bearer TOKEN'.")
        headers[name.strip()] = value.strip()
    return headers


def _with_headers(found: Mapping[str, Served], headers: Mapping[str, str]) -> dict[str, Served]:
    if not any(isinstance(served.target, Url) for served in found.values()):
        raise ConfigError(f"--header is for servers that have a URL, and {', '.join(found)} has none.")
    return {
        name: replace(served, target=replace(served.target, headers={**(served.target.headers or {}), **headers}))
        if isinstance(served.target, Url)
        else served
        for name, served in found.items()
    }


def _named_servers(targets: Sequence[str], command: Sequence[str]) -> dict[str, Served]:
    found: dict[str, Served] = {}
    for text in targets:
        for name, served in _servers(text):
            found[_free(name, found)] = served
    if command:
        words = [word for word in command if not word.startswith("-")]
        found[_free(_name(Path(words[-1] if words else command[0]).stem), found)] = Served(
            _with_environment(parse_target(list(command)))
        )
    return found


def resolve_server(server: object) -> object:
    """Return what `Host` accepts for a server: resolve a `.py` file, a folder or an `mcpServers` file with one entry.

    A server that is a command gets the environment of this process, whether it is a path, a string or a list.
    """
    if isinstance(server, Path) or (isinstance(server, str) and _is_path(server)):
        found = list(servers([str(server)]).values())
        if len(found) != 1:
            names = ", ".join(servers([str(server)]))
            raise ConfigError(f"{server} names {len(found)} servers, expected one: {names}. Pass one of its entries.")
        return found[0].target
    if isinstance(server, str | list | tuple):
        return _with_environment(parse_target(server))
    return server


def with_source_lines(server: Target, lines: Lines) -> Target:
    """Return a server that, if it is a program, reports its source lines."""
    return _with_variables(server, lines.environment)


def with_diagnostics(server: Target, lines: Lines) -> Target:
    """Return a server that, if it is a program, reports its source lines and does not wrap its tracebacks."""
    return _with_variables(server, {**lines.environment, **WIDE})


def _is_path(text: str) -> bool:
    """Return whether a text is the path of a server, not a command line such as `python server.py`."""
    is_one_word = " " not in text or Path(text).exists()
    return is_one_word and (text.endswith((".py", ".json")) or Path(text).is_dir())


def _servers(text: str) -> list[tuple[str, Served]]:
    if urlsplit(text).scheme in ("http", "https"):
        return [(_name(urlsplit(text).hostname or "server"), Served(parse_target(text)))]
    path = Path(text).expanduser()
    if path.suffix == ".json":
        entries = load_config(path)
        if not entries:
            raise ConfigError(f"{text} names no enabled server. Add one, or name a server.py or a URL.")
        return [(name, Served(entry)) for name, entry in entries.items()]
    if (script := find_script(text)) is not None:
        if not script.is_file():
            raise ConfigError(f"{text} does not exist.{_describe_folder(script)}")
        script = script.resolve()
        command = Command(sys.executable, (str(script),), cwd=script.parent)
        return [(server_name(script), Served(_with_environment(command), script.parent))]
    raise ConfigError(
        f"{text!r} is not a server: expected a .py file, a folder with a server.py, a URL, or an mcpServers .json file."
        f" A command line comes after two dashes: -- {shlex.quote(text)} ..."
    )


def _with_variables(server: Target, variables: Mapping[str, str]) -> Target:
    """Return a server that, if it is a program, gets these environment variables in addition to its own."""
    return replace(server, env={**(server.env or {}), **variables}) if isinstance(server, Command) else server


def _with_environment(server: Target) -> Target:
    """Return a command with the environment of this process, as if the user had started it in the same shell."""
    return replace(server, env=dict(os.environ)) if isinstance(server, Command) else server


def _describe_folder(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" Its folder {folder} does not exist either."
    there = sorted(found.name for found in folder.glob("*.py"))
    contents = ", ".join(there[:8]) or "no .py file"
    return f" {folder.resolve()} contains {contents}."


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "server"


def _free(name: str, taken: dict[str, Served]) -> str:
    number = 2
    free = name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free


def _examples() -> dict[str, Served]:
    here = Path(__file__).resolve()
    for folder in (here.parents[1] / "examples", here.parents[3] / "examples"):
        if (folder / EXAMPLES[0] / "server.py").is_file():
            return {name: _servers(str(folder / name))[0][1] for name in EXAMPLES}
    raise ConfigError("Name a server, such as server.py. (The examples are not installed here.)")
