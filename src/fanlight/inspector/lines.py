"""Where in an author's files a line of a View's document is, as the servers that we start tell it."""

import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fanlight.host.config import Command, Target
from fanlight.protocol.lines import VARIABLE, Run, find

JSONObject = dict[str, Any]

_HASH: Final = re.compile("[0-9a-f]{64}")


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

    def place(self, sha256: str, line: int, column: int) -> JSONObject | None:
        """Return the file and the line that a place in a document is; None if it is not known."""
        if not _HASH.fullmatch(sha256):
            return None
        try:
            runs = [Run(*run) for run in json.loads(Path(self._folder, f"{sha256}.json").read_bytes())]
            found = find(runs, line, column)
        except (OSError, ValueError, TypeError):
            return None
        return {"file": found[0], "line": found[1]} if found else None

    def close(self) -> None:
        """Forget all."""
        if self._own is not None:
            self._own.cleanup()
