"""The command line or the URL by which a host reaches a server that the user names."""

import re
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from fanlight.dev.prewarm import find_script
from fanlight.dev.targets import server_name, servers
from fanlight.host.upstream.config import Command, Url
from fanlight.protocol.errors import UsageError

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PACKAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EPHEMERAL: Final = re.compile(r"[/\\](?:archive-v\d+|environments-v\d+|builds-v\d+)[/\\]")
"""Folders in uv's cache with environments that `uv cache prune` deletes."""


@dataclass(frozen=True)
class Launch:
    """A server, and the name under which a host lists it."""

    name: str
    target: Command | Url
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """What the command line says about a server."""

    server: str | None = None
    uvx: str | None = None
    command: Sequence[str] = ()
    name: str | None = None
    python: Path | None = None
    env: Sequence[str] = ()
    headers: Mapping[str, str] | None = None
    must_exist: bool = True
    """Whether the server's file must exist: not if it is removed from a configuration."""
    full_paths: bool = True
    """Whether to write the full path of `uvx`: not into a file that a team shares."""


def launch(request: Request) -> Launch:
    """Return how a host starts or reaches a server. Raise `UsageError` for what the command line cannot mean."""
    ways = [way for way in (request.server, request.uvx, list(request.command)) if way]
    if len(ways) != 1:
        problem = "there are several servers. Choose one of" if ways else "there is no server. Expected one of"
        raise UsageError(f"{problem}: a server.py, a folder, a URL, --uvx PACKAGE, or a command line after two dashes.")
    name, target, notes = _find(request)
    name = name if request.name is None else request.name
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"{name!r} is not a name that every host accepts: expected at most 64 letters, digits, dashes and "
            "underscores. Choose one with --name."
        )
    target = _with_values(target, request)
    _check_text(target)
    return Launch(name, target, notes)


def _find(request: Request) -> tuple[str, Command | Url, tuple[str, ...]]:
    if request.uvx:
        return _uvx(request.uvx, request)
    if request.command:
        command, *args = request.command
        words = [word for word in request.command if not word.startswith("-")]
        found = shutil.which(command) if request.full_paths else None
        path = Path((words or [command])[-1])
        name = server_name(path.resolve() if path.is_file() else Path(path.stem))
        return name, Command(found or command, tuple(args)), ()
    assert request.server is not None
    if urlsplit(request.server).scheme in ("http", "https"):
        ((name, served),) = servers([request.server]).items()
        assert isinstance(served.target, Url)
        return name, served.target, ()
    folder = Path(request.server).expanduser()
    if find_script(request.server) is None and (folder / "pyproject.toml").is_file():
        return _project(folder.resolve(), request)
    return _script(request)


def _script(request: Request) -> tuple[str, Command, tuple[str, ...]]:
    assert request.server is not None
    script = find_script(request.server)
    if script is None:
        raise UsageError(
            f"{request.server!r} is not a server: expected a .py file, a folder with a server.py or a pyproject.toml, "
            "or a URL. A command line comes after two dashes."
        )
    if request.must_exist:
        servers([request.server])  # raises for a file that does not exist
    script = script.resolve()
    python = _python(script, request.python)
    notes: tuple[str, ...] = ()
    if _EPHEMERAL.search(python):
        notes = (f"{python} is in uv's cache and may be deleted. Name a lasting Python with --python.",)
    return server_name(script), Command(python, (str(script),)), notes


def _python(script: Path, chosen: Path | None) -> str:
    """Return the chosen Python, that of the project's `.venv`, or the one that runs this program."""
    if chosen is not None:
        path = chosen.expanduser().absolute()  # a link in a virtual environment must not be followed
        if not path.is_file():
            raise UsageError(f"--python is {str(chosen)!r}, which does not exist. Name the file of a Python.")
        return str(path)
    for folder in script.parents:
        for name in (".venv/bin/python", ".venv/Scripts/python.exe"):
            if (folder / name).is_file():
                return str(folder / name)
        if any((folder / end).exists() for end in ("pyproject.toml", ".git")):
            break
    return sys.executable


def _project(folder: Path, request: Request) -> tuple[str, Command, tuple[str, ...]]:
    """Return the console script of a project: from its `.venv`, or run by uv, which installs the project."""
    try:
        project: Any = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError) as error:
        raise UsageError(f"{folder / 'pyproject.toml'} cannot be read: {error}.") from None
    scripts = list(project.get("scripts", {}))
    if project.get("name") in scripts:
        scripts = [project["name"]]
    if len(scripts) != 1:
        found = ", ".join(scripts) or "none"
        raise UsageError(
            f"{folder} has no server.py, and the scripts of its pyproject.toml are: {found}. Name a .py file, "
            "or write the command line after two dashes."
        )
    (script,) = scripts
    for name in (f".venv/bin/{script}", f".venv/Scripts/{script}.exe"):
        if (folder / name).is_file():
            return server_name(Path(script)), Command(str(folder / name)), ()
    command, notes = _uv("uv", request)
    return server_name(Path(script)), Command(command, ("run", "--project", str(folder), script)), notes


def _uvx(package: str, request: Request) -> tuple[str, Command, tuple[str, ...]]:
    named = _PACKAGE.match(package)
    if named is None:
        raise UsageError(f"--uvx is {package!r}, expected the name of a package such as tides or tides@1.2.")
    command, notes = _uv("uvx", request)
    return named[0].replace(".", "-"), Command(command, (package,)), notes


def _uv(command: str, request: Request) -> tuple[str, tuple[str, ...]]:
    """Return a command of uv: with its path, because desktop programs do not have the PATH of a shell."""
    found = shutil.which(command)
    if found is None:
        return command, (f"{command} was not found on this machine. Install uv: https://docs.astral.sh/uv.",)
    return found if request.full_paths else command, ()


def _with_values(target: Command | Url, request: Request) -> Command | Url:
    if isinstance(target, Url):
        if request.env:
            raise UsageError("--env is for servers that are commands. Write --header NAME:VALUE for a URL.")
        return Url(target.url, request.headers or None)
    if request.headers:
        raise UsageError("--header is for servers that have a URL. Write --env KEY=VALUE for a command.")
    return Command(target.command, target.args, _variables(request.env) or None)


def _check_text(target: Command | Url) -> None:
    """Raise `UsageError` for what a configuration file cannot hold, such as the bytes of a path in an old encoding."""
    if isinstance(target, Url):
        values = [target.url, *(target.headers or {}).values()]
    else:
        values = [target.command, *target.args, *(target.env or {}).values()]
    for value in values:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{value!r} is not text in UTF-8, so it cannot be written into a file.") from None


def _variables(texts: Sequence[str]) -> dict[str, str]:
    variables = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or _VARIABLE.fullmatch(name) is None:
            raise UsageError(f"--env is {text!r}, expected KEY=VALUE such as API_KEY=secret.")
        variables[name] = value
    return variables
