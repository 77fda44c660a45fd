"""Where in an author's files a line of a View's document is, as the servers that we start tell it."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from fanlight.protocol.source_lines import VARIABLE, Run, find
from fanlight.temporary import TemporaryFolder, remove_stale_folders

if TYPE_CHECKING:
    pass

_HASH: Final = re.compile("[0-9a-f]{64}")


class Place(NamedTuple):
    """A line of a file. `file` is as its author would write it beside the document, `path` all of it."""

    file: str
    line: int
    path: Path


class Lines:
    """A folder into which servers write what each line of their documents was."""

    def __init__(self) -> None:
        remove_stale_folders()
        self._folder = TemporaryFolder()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that make a server write its source lines."""
        return {VARIABLE: str(self._folder.path)}

    def place(self, sha256: str, line: int, column: int) -> Place | None:
        """Return the file and the line that a place in a document is; None if it is not known."""
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
