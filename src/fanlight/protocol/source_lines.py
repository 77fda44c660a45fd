"""Which line of which file each line of a bundled document is: what a server that is developed tells its host.

The host names a folder in the server's environment; the server writes a file into it for each document, under the
document's hash: `runs`, and the `folder` that their files are in. Nothing of it is in the document.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

VARIABLE: Final = "FANLIGHT_LINES"
"""The environment variable that names the folder."""


class Run(NamedTuple):
    """Lines that follow each other: where they begin, from 1, and the file and line that they are of.

    `file` is empty for what the author did not write.
    """

    line: int
    column: int
    file: str
    source: int


def after(text: str, line: int, column: int) -> tuple[int, int]:
    """Return the place after a text that begins at a place."""
    count = text.count("\n")
    return (line + count, len(text) - text.rfind("\n")) if count else (line, column + len(text))


def find(runs: Sequence[Run], line: int, column: int) -> tuple[str, int] | None:
    """Return the file and line that a place in a document is; None for what the author did not write."""
    found = next((run for run in reversed(runs) if run[:2] <= (line, column)), None)
    return (found.file, found.source + line - found.line) if found and found.file else None
