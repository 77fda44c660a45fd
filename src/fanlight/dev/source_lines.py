"""Maps lines of a View's document to the author's files, by the source maps that servers write for developers."""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from fanlight.protocol.source_lines import VARIABLE, Run, find
from fanlight.temporary import TemporaryFolder, remove_stale_folders

_HASH: Final = re.compile("[0-9a-f]{64}")


class Place(NamedTuple):
    """A line of a file. `file` is its path relative to the View's document, `path` the complete one."""

    file: str
    line: int
    path: Path


class Lines:
    """The folder into which servers write the source maps of their documents."""

    def __init__(self) -> None:
        remove_stale_folders()
        self._folder = TemporaryFolder()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that make a server write source maps."""
        return {VARIABLE: str(self._folder.path)}

    def place(self, sha256: str, line: int, column: int) -> Place | None:
        """Return the author's file and line for a position in a document, or None if they are not known."""
        if not _HASH.fullmatch(sha256):
            return None
        try:
            source_map = json.loads((self._folder.path / f"{sha256}.json").read_bytes())
            found = find([Run(*run) for run in source_map["runs"]], line, column)
            return Place(*found, Path(source_map["folder"] or ".", found[0])) if found else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def close(self) -> None:
        """Remove the folder."""
        self._folder.close()
