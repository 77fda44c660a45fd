"""What a developer names on the command line, as servers for a host."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from fanlight.dev.prewarm import find_script
from fanlight.host.errors import ConfigError
from fanlight.host.upstream.config import Command, Target, load_config, parse_target

EXAMPLES = ("clock", "todo", "chart", "wizard", "dashboard", "map", "image", "game")


@dataclass(frozen=True)
class Served:
    """A server, and the folder whose files it is made of, if we know one."""

    target: Target
    folder: Path | None = None


def servers(given: Sequence[str], command: Sequence[str] = ()) -> dict[str, Served]:
    """Return the servers that are meant, by name: files, URLs, `mcpServers` files, a command line; or the examples."""
    found: dict[str, Served] = {}
    for text in given:
        for name, served in _servers(text):
            found[_free(name, found)] = served
    if command:
        words = [word for word in command if not word.startswith("-")]
        found[_free(_name(Path(words[-1] if words else command[0]).stem), found)] = Served(
            _with_environment(parse_target(list(command)))
        )
    return found or _examples()


def resolve_server(server: object) -> object:
    """Return what `Host` accepts for a server: resolve a `.py` file, a folder or an `mcpServers` file with one entry.

    A program that is started gets the environment of this process, however it is given.
    """
    if isinstance(server, Path) or (isinstance(server, str) and _is_path(server)):
        found = list(servers([str(server)]).values())
        if len(found) != 1:
            raise ConfigError(f"{server} names {len(found)} servers, expected one.")
        return found[0].target
    if isinstance(server, str | list | tuple):
        return _with_environment(parse_target(server))
    return server


def _is_path(text: str) -> bool:
    return text.endswith((".py", ".json")) or (" " not in text and Path(text).is_dir())


def _servers(text: str) -> list[tuple[str, Served]]:
    if urlsplit(text).scheme in ("http", "https"):
        return [(_name(urlsplit(text).hostname or "server"), Served(parse_target(text)))]
    path = Path(text).expanduser()
    if path.suffix == ".json":
        return [(name, Served(entry)) for name, entry in load_config(path).items()]
    if (script := find_script(text)) is not None:
        if not script.is_file():
            raise ConfigError(f"{text} does not exist.{_what_is_there(script)}")
        script = script.resolve()
        name = script.parent.name if script.stem == "server" else script.stem
        command = Command(sys.executable, (str(script),), cwd=script.parent)
        return [(_name(name), Served(_with_environment(command), script.parent))]
    raise ConfigError(
        f"{text!r} is no server: expected a .py file, a folder with a server.py, a URL, or an mcpServers .json file."
        f" A command line comes after two dashes: fanlight dev -- {shlex.quote(text)} ..."
    )


def _with_environment(to: Target) -> Target:
    """Return a command with this program's environment: who names it here would start it from the same shell."""
    return replace(to, env=dict(os.environ)) if isinstance(to, Command) else to


def _what_is_there(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" Neither does its folder {folder}."
    there = sorted(found.name for found in folder.glob("*.py"))
    return f" {folder.resolve()} holds {', '.join(there[:8])}." if there else f" {folder.resolve()} holds no .py file."


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
    raise ConfigError("Name a server: fanlight dev server.py. (The examples are not installed here.)")
