"""Watch builds: the documents that Node projects build for Views are kept up to date with each project's own Vite."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process, TaskGroup
from anyio.streams.text import TextReceiveStream

from fanlight.dev.events import Events
from fanlight.dev.source_lines import BuiltDocument, Lines
from fanlight.inspector.view_log import printable
from fanlight.node_project import NodeProject, read_project, why_not_built
from fanlight.protocol.jsonrpc import JSONObject

_PROGRAM: Final = Path(__file__).with_name("watch_build.mjs")
_CONFIG_INTERVAL: Final = 0.5
"""Seconds between two looks at the files that configure a build, and at what is installed."""
_EXIT_TIMEOUT: Final = 2.0
_MAX_LINE: Final = 4_000_000
_STDERR_LINES: Final = 20
_VITE_BUILD: Final = re.compile(r"((?:\w+=\S*\s+)*)(?:npx\s+)?vite\s+build\b")


@dataclass(frozen=True)
class BuildError:
    """An error of a build. `file` is relative to the project, and `frame` shows the line with those around it."""

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    frame: str | None = None

    @property
    def place(self) -> str:
        """The file, with line and column if they are known, or an empty text."""
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)


@dataclass
class Build:
    """The watch build of a project: its state, and why there is no new document."""

    project: Path
    state: str = "starting"
    """`starting`, `building`, `built`, `failed`, or `missing` if something has to be installed first."""
    advice: str | None = None
    errors: list[BuildError] = field(default_factory=list)
    served: bool = False
    """Whether there is a document of an earlier build."""

    def describe(self) -> JSONObject:
        """Return what the page shows."""
        return {
            "folder": str(self.project),
            "name": self.project.name,
            "state": self.state,
            "advice": self.advice,
            "served": self.served,
            "errors": [{**asdict(error), "place": error.place} for error in self.errors],
        }


class ViewBuilds:
    """Runs one watch build for each project that servers name as the builder of a document.

    Args:
        lines: Where servers report their documents.
        events: Where pages learn about builds.
        enabled: Whether to build. If not, this only knows the documents.
    """

    def __init__(self, lines: Lines, events: Events, *, enabled: bool) -> None:
        self._lines = lines
        self._events = events
        self._enabled = enabled
        self._documents: frozenset[BuiltDocument] = frozenset()
        self._builds: dict[Path, Build] = {}
        self._inputs: dict[Path, frozenset[Path]] = {}
        self._reported = anyio.Event()

    def describe_all(self) -> list[JSONObject]:
        """Return the state of all builds."""
        return [build.describe() for build in self._builds.values()]

    def documents(self, server: Path) -> frozenset[Path]:
        """Return the built documents of the server that runs in a folder."""
        return frozenset(each.document for each in self._documents if each.server == server)

    def is_input(self, path: Path) -> bool:
        """Return whether a file is only read by a build, so that its change shows when the build has finished."""
        return any(path in inputs for inputs in self._inputs.values())

    def read_reports(self) -> None:
        """Read which documents the servers have."""
        self._documents = frozenset(self._lines.built_documents())
        self._reported.set()

    async def run(self) -> None:
        """Build until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._reported.wait()
                self._reported = anyio.Event()
                if self._enabled:
                    self._start_new(tasks)

    def _start_new(self, tasks: TaskGroup) -> None:
        for folder in sorted({each.project for each in self._documents} - self._builds.keys()):
            project = read_project(folder)
            if project is not None and project.uses_vite:
                self._builds[folder] = Build(folder)
                tasks.start_soon(self._keep_built, folder)

    async def _keep_built(self, folder: Path) -> None:
        """Run a watch build, again after each change of what configures it."""
        while True:
            setup = _Setup.of(folder)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._build, folder, setup)
                await _changed(folder, setup)
                tasks.cancel_scope.cancel()

    async def _build(self, folder: Path, setup: "_Setup") -> None:
        if setup.project is None:
            self._set(folder, "missing", advice=f"{folder / 'package.json'} has no build script.")
        elif setup.advice is not None:
            self._set(folder, "missing", advice=setup.advice)
        else:
            self._inputs[folder] = frozenset(setup.project.config_files)
            await self._watch(setup.project)

    async def _watch(self, project: NodeProject) -> None:
        """Run the watch build until it ends or is cancelled."""
        try:
            process = await anyio.open_process(
                [shutil.which("node") or "node", str(_PROGRAM)],
                cwd=project.folder,
                env={**os.environ, **_variables(project.build), "NO_COLOR": "1"},
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            self._set(project.folder, "missing", advice=f"Node.js cannot be started: {error.strerror}.")
            return
        stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_collect, process.stderr, stderr)
                async for line in _lines(process.stdout):
                    self._receive(project.folder, line)
            code = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
        if self._builds[project.folder].state != "failed":
            reason = next((line for line in stderr if "Error" in line), stderr[-1] if stderr else f"exit code {code}")
            ended = BuildError(f"The watch build ended: {reason}", frame="\n".join(stderr) or None)
            self._set(project.folder, "failed", errors=[ended])

    def _receive(self, folder: Path, line: str) -> None:
        try:
            event: Any = json.loads(line)
        except ValueError:
            return  # plugins write to stdout, too
        match event:
            case {"event": "started"}:
                self._set(folder, "building")
            case {"event": "built" | "failed" as state, "errors": list(errors), "inputs": list(inputs)}:
                config = self._inputs[folder]
                self._inputs[folder] = config | {Path(name) for name in inputs}
                self._set(folder, state, errors=[BuildError(**error) for error in errors])

    def _set(
        self, folder: Path, state: str, *, advice: str | None = None, errors: Iterable[BuildError] | None = None
    ) -> None:
        """Change the state of a build, and print what a developer has to know. While it runs, its errors stay."""
        before = self._builds[folder]
        kept = before.errors if errors is None and advice is None else list(errors or ())
        served = any(each.document.is_file() for each in self._documents if each.project == folder)
        now = Build(folder, state, advice, kept, served)
        self._builds[folder] = now
        if advice is not None and advice != before.advice:
            sys.stderr.write(f"  {folder.name} is not built. {advice}\n")
        if state == "failed" and now.errors != before.errors:
            for error in now.errors:
                sys.stderr.write(f"  {printable(' '.join(filter(None, (error.place, error.message))))}\n")
        if state == "built" and before.errors:
            sys.stderr.write(f"  {folder.name} is built again.\n")
        self._events.publish("build", now.describe())


@dataclass(frozen=True)
class _Setup:
    """What a watch build depends on besides its sources. If it changes, the build is started again."""

    project: NodeProject | None
    advice: str | None
    stamps: tuple[int | None, ...]

    @classmethod
    def of(cls, folder: Path) -> "_Setup":
        project = read_project(folder)
        if project is None:
            return cls(None, None, ())
        vite = project.find_vite()
        files = project.config_files if vite is None else (*project.config_files, vite)
        return cls(project, why_not_built(project), tuple(_modified(path) for path in files))


async def _changed(folder: Path, setup: _Setup) -> None:
    """Wait until the setup of a project differs."""
    while True:
        await anyio.sleep(_CONFIG_INTERVAL)
        if await anyio.to_thread.run_sync(_Setup.of, folder) != setup:
            return


def _modified(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _variables(build: str) -> dict[str, str]:
    """Return the environment variables that a build script sets for Vite, such as `INPUT=clock.html vite build`."""
    found = _VITE_BUILD.search(build)
    pairs = found[1].split() if found else []
    return dict(pair.split("=", 1) for pair in pairs)


async def _lines(stream: ByteReceiveStream) -> AsyncIterator[str]:
    """Yield the lines of a stream."""
    rest = ""
    async for piece in TextReceiveStream(stream, errors="replace"):
        *lines, rest = (rest + piece).split("\n")
        for line in lines:
            yield line
        if len(rest) > _MAX_LINE:
            rest = ""


async def _collect(stream: ByteReceiveStream, lines: deque[str]) -> None:
    async for line in _lines(stream):
        if line.strip():
            lines.append(line.rstrip())


async def _stop(process: Process) -> None:
    """End a watch build, which ends by itself when its stdin is closed."""
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(_EXIT_TIMEOUT):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()
