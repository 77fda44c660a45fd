"""A source map from a bundled document to the author's files, written by servers for `fanlight dev` and `check`.

The tool names a folder in the server's environment. For each document, the server writes a file into it that is named
by the document's hash. It has the `runs`, and the `folder` that their files are in. The document does not change.
For each document that the build of a Node project writes, it writes a file with the paths of the `document` and the
`project`, and with the folder in which the `server` runs.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

VARIABLE: Final = "FANLIGHT_LINES"
"""The environment variable that names the folder."""

BUILD_PREFIX: Final = "build-"
"""How the names of files begin that are about the build of a document."""


class Run(NamedTuple):
    """Consecutive lines: where they begin in the document, from 1, and the file and line that they come from.

    `file` is empty for lines that the author did not write.
    """

    line: int
    column: int
    file: str
    source: int


def after(text: str, line: int, column: int) -> tuple[int, int]:
    """Return the line and column at which a text ends that begins at a line and column."""
    count = text.count("\n")
    return (line + count, len(text) - text.rfind("\n")) if count else (line, column + len(text))


def find(runs: Sequence[Run], line: int, column: int) -> tuple[str, int] | None:
    """Return the file and line that a place in a document comes from; None for what the author did not write."""
    found = next((run for run in reversed(runs) if run[:2] <= (line, column)), None)
    return (found.file, found.source + line - found.line) if found and found.file else None
