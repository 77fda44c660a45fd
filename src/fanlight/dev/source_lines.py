"""Where in an author's files a line of a View's document is, as the servers that we start tell it."""

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from fanlight.host.upstream.config import Command, Target
from fanlight.protocol.source_lines import VARIABLE, Run, find

_HASH: Final = re.compile("[0-9a-f]{64}")


class Place(NamedTuple):
    """A line of a file. `file` is as its author would write it beside the document, `path` all of it."""

    file: str
    line: int
    path: Path


class Lines:
    """A folder into which servers write what each line of their documents was."""

    def __init__(self, folder: str | None = None) -> None:
        """Take a folder, or make one that goes with `close`."""
        self._own = tempfile.TemporaryDirectory(prefix="fanlight-") if folder is None else None
        self._folder = folder or (self._own.name if self._own else "")

    def asked_of(self, target: Target) -> Target:
        """Return a target that writes its lines, if it is a program that we start."""
        if not isinstance(target, Command):
            return target
        return replace(target, env={**(target.env or {}), VARIABLE: self._folder})

    def place(self, sha256: str, line: int, column: int) -> Place | None:
        """Return the file and the line that a place in a document is; None if it is not known."""
        if not _HASH.fullmatch(sha256):
            return None
        try:
            told = json.loads(Path(self._folder, f"{sha256}.json").read_bytes())
            found = find([Run(*run) for run in told["runs"]], line, column)
            return Place(*found, Path(told["folder"] or ".", found[0])) if found else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def close(self) -> None:
        """Forget all."""
        if self._own is not None:
            self._own.cleanup()
