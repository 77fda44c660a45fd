"""Prewarmed Python processes: `fanlight dev` starts servers faster, because their imports are done in advance.

A prewarmed process imports only the modules that the server's file imports before anything else, and of those only
installed ones, which do not change between two runs. None of the author's own code runs in advance.
"""

import ast
import importlib.util
import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import Process

if TYPE_CHECKING:
    from fanlight.host.upstream.config import Command

_PROGRAM: Final = Path(__file__).with_name("_prewarmed.py")


@dataclass(frozen=True)
class _Prewarmed:
    process: Process
    packages: frozenset[str]
    environment: Mapping[str, str]


class PrewarmedProcesses:
    """Keeps at most one process that waits for the file that it will run."""

    def __init__(self) -> None:
        self._waiting: _Prewarmed | None = None
        self._starting = anyio.Lock()

    async def prepare(self, script: Path, environment: Mapping[str, str]) -> None:
        """Prewarm a process for a file, unless the one that waits can run it."""
        if sys.platform == "win32":
            return
        names = imports(script)
        async with self._starting:
            if not names or self._match(names, environment) is not None:
                return
            await self.aclose()
            try:
                process = await anyio.open_process(
                    [sys.executable, str(_PROGRAM), *names],
                    env=environment,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError:  # starting the server itself will fail with the same error
                return
            self._waiting = _Prewarmed(process, _packages(names), dict(environment))

    async def take(self, script: Path, environment: Mapping[str, str]) -> Process | None:
        """Run a file in the waiting process and return the process, or None if it does not match."""
        prewarmed = self._match(imports(script), environment)
        if prewarmed is None:
            return None
        self._waiting = None
        assert prewarmed.process.stdin is not None
        try:
            await prewarmed.process.stdin.send(json.dumps(str(script)).encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None
        return prewarmed.process

    async def launch(self, command: "Command", environment: Mapping[str, str]) -> Process | None:
        """Launch a command that runs a Python file in its own folder, or return None: a `Launcher` for `Servers`."""
        match command.args:
            case (script,) if command.command == sys.executable and Path(script).suffix == ".py":
                path = Path(script)
                return await self.take(path, environment) if command.cwd == path.parent else None
        return None

    async def aclose(self) -> None:
        """Stop the waiting process."""
        prewarmed, self._waiting = self._waiting, None
        if prewarmed is not None:
            with suppress(ProcessLookupError):
                prewarmed.process.kill()
            with anyio.CancelScope(shield=True):
                await prewarmed.process.aclose()

    def _match(self, names: Iterable[str], environment: Mapping[str, str]) -> _Prewarmed | None:
        """Return the waiting process if it has the environment, and has imported nothing but these names."""
        prewarmed = self._waiting
        if prewarmed is None or prewarmed.process.returncode is not None or prewarmed.environment != environment:
            return None
        return prewarmed if prewarmed.packages <= _packages(names) else None


def find_script(text: str) -> Path | None:
    """Return the Python file at a path, or the `server.py` of a folder; None if there is none."""
    path = Path(text).expanduser()
    if path.is_dir() and (path / "server.py").is_file():
        path = path / "server.py"
    return path if path.suffix == ".py" else None


def imports(script: Path) -> tuple[str, ...]:
    """Return the installed modules (`module`, `module:name`) that a file imports before it does anything else."""
    try:
        statements = ast.parse(script.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(dict.fromkeys(_leading(statements, script.parent)))


def _leading(statements: list[ast.stmt], folder: Path) -> Iterator[str]:
    for statement in statements:
        match statement:
            case ast.Import(names=names):
                yield from (each.name for each in names if _is_installed(each.name, folder))
            case ast.ImportFrom(module=str(module), names=names, level=0) if _is_installed(module, folder):
                yield from (f"{module}:{each.name}" for each in names)
            case ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                continue
            case _:
                return


def _packages(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.partition(":")[0].partition(".")[0] for name in names)


def _is_installed(module: str, folder: Path) -> bool:
    """Return True if a module comes from site-packages, not from the project that is being edited."""
    top = module.partition(".")[0]
    if (folder / top).exists() or (folder / f"{top}.py").exists():
        return False
    if top == "fanlight":
        return True
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return False
    if found is None or found.origin is None:
        return False
    return any(Path(found.origin).is_relative_to(sysconfig.get_path(name)) for name in ("purelib", "platlib"))
