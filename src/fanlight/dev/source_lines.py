"""What servers report to developers: where the lines of a View's document come from, and which build writes it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.source_lines import BUILD_PREFIX, VARIABLE, Run, find
from fanlight.temporary import TemporaryFolder, remove_stale_folders

_HASH: Final = re.compile("[0-9a-f]{64}")


class Place(NamedTuple):
    """A line of a file. `file` is its path relative to the View's document, `path` the complete one."""

    file: str
    line: int
    path: Path


class BuiltDocument(NamedTuple):
    """A document that the build of a Node project writes, with the folders of the project and of the server."""

    document: Path
    project: Path
    server: Path


class Lines:
    """The folder into which servers write the source maps of their documents, and which of them are built."""

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
            source_map = self._read(sha256)
            found = find([Run(*run) for run in source_map["runs"]], line, column)
            return Place(*found, Path(source_map["folder"] or ".", found[0])) if found else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def runs(self, sha256: str) -> list[Run]:
        """Return the source map of a document; it is empty if there is none."""
        try:
            return [Run(*run) for run in self._read(sha256)["runs"]]
        except (OSError, ValueError, TypeError, KeyError):
            return []

    def files(self, sha256: str) -> list[Path]:
        """Return the author's files in the source map of a document."""
        try:
            folder = Path(self._read(sha256)["folder"] or ".")
        except (OSError, ValueError, TypeError, KeyError):
            return []
        return [folder / name for name in dict.fromkeys(run.file for run in self.runs(sha256)) if name]

    def _read(self, sha256: str) -> JSONObject:
        source_map: JSONObject = json.loads((self._folder.path / f"{sha256}.json").read_bytes())
        return source_map

    def built_documents(self) -> Iterator[BuiltDocument]:
        """Yield the documents of Views that builds write."""
        for path in self._folder.path.glob(f"{BUILD_PREFIX}*.json"):
            try:
                report = json.loads(path.read_bytes())
                yield BuiltDocument(*(Path(report[name]) for name in BuiltDocument._fields))
            except (OSError, ValueError, TypeError, KeyError):
                continue  # the server is writing it

    def close(self) -> None:
        """Remove the folder."""
        self._folder.close()
