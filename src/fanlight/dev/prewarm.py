"""Pythons that are kept ready to run a server, since most of a server's start is what it imports.

For `fanlight dev`, where a person waits for each start. Nothing of the server's own is run in advance: only the
modules that its file imports before it does anything else, and of those only installed ones, which do not change
between two runs.
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
from typing import Final

import anyio
from anyio.abc import Process

_PROGRAM: Final = Path(__file__).with_name("_prewarmed.py")


@dataclass(frozen=True)
class _Spare:
    process: Process
    packages: frozenset[str]
    environment: Mapping[str, str]


class Spares:
    """At most one process that waits for the file that it is to run."""

    def __init__(self) -> None:
        self._spare: _Spare | None = None
        self._making = anyio.Lock()

    async def prepare(self, script: Path, environment: Mapping[str, str]) -> None:
        """Have a process ready for a file, unless one is that fits."""
        if sys.platform == "win32":
            return
        names = imports(script)
        async with self._making:
            if not names or self._fitting(names, environment) is not None:
                return
            await self.aclose()
            try:
                process = await anyio.open_process(
                    [sys.executable, str(_PROGRAM), *names],
                    env=environment,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError:  # the server's own start will say it
                return
            self._spare = _Spare(process, _packages(names), dict(environment))

    async def take(self, script: Path, environment: Mapping[str, str]) -> Process | None:
        """Return a process that runs a file, if one is ready for it."""
        spare = self._fitting(imports(script), environment)
        if spare is None:
            return None
        self._spare = None
        assert spare.process.stdin is not None
        try:
            await spare.process.stdin.send(json.dumps(str(script)).encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return None
        return spare.process

    async def aclose(self) -> None:
        """Let the process that waits go."""
        spare, self._spare = self._spare, None
        if spare is not None:
            with suppress(ProcessLookupError):
                spare.process.kill()
            with anyio.CancelScope(shield=True):
                await spare.process.aclose()

    def _fitting(self, names: Iterable[str], environment: Mapping[str, str]) -> _Spare | None:
        """Return the process that waits, if it has imported nothing that a file would not."""
        spare = self._spare
        if spare is None or spare.process.returncode is not None or spare.environment != environment:
            return None
        return spare if spare.packages <= _packages(names) else None


def script_named(text: str) -> Path | None:
    """Return the Python file that is meant by a path: it, or the `server.py` of a folder."""
    path = Path(text).expanduser()
    if path.is_dir() and (path / "server.py").is_file():
        path = path / "server.py"
    return path if path.suffix == ".py" else None


def imports(script: Path) -> tuple[str, ...]:
    """Return what a file imports of installed packages before it does anything else: `module` or `module:name`."""
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
    """Tell whether a module is of an installed package, rather than the author's, who may be changing it now."""
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
