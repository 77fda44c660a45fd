"""Sees which files of a folder change. By looking again and again: that works everywhere and needs nothing."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

INTERVAL: Final = 0.1
_SHARE: Final = 0.1
"""Of one processor, at most, for looking: where that takes long, it is done less often."""
MOST_FILES: Final = 5_000
_WATCHED: Final = frozenset({".py", ".html", ".htm", ".js", ".mjs", ".ts", ".css", ".json", ".svg", ".png", ".toml"})
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "venv", "dist", "build"})

Stamps = dict[str, tuple[int, int]]


async def changes(folder: Path, interval: float = INTERVAL) -> AsyncIterator[set[Path]]:
    """Yield the files that changed, came or went, each time some did."""
    before = await anyio.to_thread.run_sync(look, folder)
    took = 0.0
    while True:
        await anyio.sleep(max(interval, took / _SHARE))
        began = anyio.current_time()
        now = await anyio.to_thread.run_sync(look, folder)
        took = anyio.current_time() - began
        changed = {Path(path) for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
        before = now
        if changed:
            yield changed


def look(folder: Path) -> Stamps:
    """Return what tells the files of a folder from changed ones."""
    stamps: Stamps = {}
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
            stamps[path] = (status.st_mtime_ns, status.st_size)
            if len(stamps) >= MOST_FILES:
                return stamps
    return stamps
