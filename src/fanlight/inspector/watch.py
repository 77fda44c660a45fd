"""File watching by polling, which works on every platform and file system without a dependency."""

import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from fanlight.node_project import BUILD_FOLDERS

INTERVAL: Final = 0.1
_MAX_LOAD: Final = 0.1
"""The share of one processor that polling may use: a scan that takes long is repeated less often."""
MAX_FILES: Final = 5_000
_log: Final = logging.getLogger(__name__)
_WATCHED: Final = frozenset({".py", ".html", ".htm", ".js", ".mjs", ".ts", ".css", ".json", ".svg", ".png", ".toml"})
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv"}) | BUILD_FOLDERS

Snapshot = dict[str, tuple[int, int]]
"""Modification times and sizes by path."""


def _nothing() -> frozenset[Path]:
    return frozenset()


async def changes(
    folder: Path, interval: float = INTERVAL, *, also: Callable[[], Iterable[Path]] = _nothing
) -> AsyncGenerator[set[Path], None]:
    """Yield sets of files that were changed, added or removed: in a folder, and those that `also` returns."""
    before = await anyio.to_thread.run_sync(scan, folder)
    known: set[Path] = set()
    if len(before) >= MAX_FILES:
        _log.warning(
            "%s has more than %d source files, and changes are seen only in the first ones. "
            "Move the server into a folder with its own files.",
            folder,
            MAX_FILES,
        )
    duration = 0.0
    while True:
        await anyio.sleep(max(interval, duration / _MAX_LOAD))
        start = anyio.current_time()
        others = set(also())
        now = await anyio.to_thread.run_sync(scan, folder, others)
        duration = anyio.current_time() - start
        changed = {Path(path) for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
        changed -= others - known  # seen for the first time
        known = others
        before = now
        if changed:
            yield changed


def scan(folder: Path, others: Iterable[Path] = ()) -> Snapshot:
    """Return a snapshot of the source files in a folder, and of other files."""
    found: Snapshot = {}
    for other in others:
        try:
            status = other.stat()
        except OSError:
            continue
        found[str(other)] = (status.st_mtime_ns, status.st_size)
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        for name in names:
            if os.path.splitext(name)[1].lower() not in _WATCHED:  # noqa: PTH122  twice as fast, for thousands of files
                continue
            path = os.path.join(root, name)  # noqa: PTH118
            try:
                status = os.stat(path)  # noqa: PTH116
            except OSError:
                continue
            found[path] = (status.st_mtime_ns, status.st_size)
            if len(found) >= MAX_FILES:
                return found
    return found
