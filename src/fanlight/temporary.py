"""Temporary folders that are removed at the latest when Fanlight starts the next time.

A process that is killed cannot remove its folder. Each folder has a file that its process holds locked, so that another
process can recognize a folder whose process is gone. Without `fcntl`, on Windows, such folders stay.
"""

import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PREFIX: Final = "fanlight-"
_LOCK: Final = ".lock"


class TemporaryFolder:
    """A folder that exists until `close`, the end of the `with` block, or the end of the program."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = _lock(self.path / _LOCK, "x")
        self._remove = weakref.finalize(self, _remove, self.path, self._lock)

    def close(self) -> None:
        """Remove the folder."""
        self._remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def remove_stale_folders() -> None:
    """Remove the folders of processes of this user that no longer run."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = _lock(folder / _LOCK, "r+")
            if lock is not None:
                shutil.rmtree(folder, ignore_errors=True)
                lock.close()


def _remove(folder: Path, lock: IO[str] | None) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        lock.close()


def _lock(path: Path, mode: str) -> IO[str] | None:
    """Return a file that this process has locked; None if another process holds the lock, or cannot be asked."""
    file = path.open(mode)
    if fcntl is not None:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
    file.close()
    return None
