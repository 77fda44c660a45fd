"""A source map from the lines of a bundled document to the author's files, written for development tools."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fanlight.protocol.source_lines import BUILD_PREFIX, VARIABLE, Run, after
from fanlight.server.bundle.source import Source

_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


Origins = Mapping[tuple[int, int], list[tuple[int, tuple[Run, ...]]]]
"""For an edit, by its start and end: offsets in its new text, each with the runs of the script that begins there."""


def in_development() -> bool:
    """Return whether a development tool started this process and reads the source maps that it writes."""
    return VARIABLE in os.environ


def name_of(path: Path | str, folder: Path | None) -> str:
    """Return the path of a file relative to the folder of the document."""
    return str(path) if folder is None else Path(os.path.relpath(path, folder)).as_posix()


def trace(source: Source, edits: Iterable[tuple[int, int, str]], origins: Origins) -> list[Run]:
    """Return the runs of the document that results from the edits."""
    text, name = source.text, name_of(source.path, source.folder)
    runs: list[Run] = []
    line = column = at = 1
    pos = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        if start > pos:
            runs.append(Run(line, column, name, at))
            line, column = after(text[pos:start], line, column)
        runs.append(Run(line, column, "", 0))
        for offset, inside in origins.get((start, end), ()):
            first, shift = after(new[:offset], line, column)
            runs += (
                Run(first + run.line - 1, run.column + (shift - 1 if run.line == 1 else 0), run.file, run.source)
                for run in inside
            )
        line, column = after(new, line, column)
        at += text.count("\n", pos, end)
        pos = end
    runs.append(Run(line, column, name, at))
    return runs


def report_build(document: Path, project: Path) -> None:
    """Report to the development tool that the build of a Node project writes the document of a View."""
    text = json.dumps({"document": str(document), "project": str(project), "server": str(Path.cwd())})
    name = hashlib.sha256(text.encode("utf-8")).hexdigest()
    with suppress(OSError):
        Path(os.environ[VARIABLE], f"{BUILD_PREFIX}{name}.json").write_text(text, encoding="utf-8")


def write(html: str, source: Source, runs: list[Run]) -> None:
    """Write the source map of a document. If the folder for source maps is gone, the tool that read them has exited."""
    name = hashlib.sha256(html.encode("utf-8")).hexdigest()
    folder = None if source.folder is None else str(source.folder.absolute())
    text = json.dumps({"folder": folder, "runs": runs})
    with suppress(OSError):
        Path(os.environ[VARIABLE], f"{name}.json").write_text(text, encoding="utf-8")


def of_source_map(content: Mapping[str, Any], beside: Path, folder: Path) -> tuple[Run, ...]:
    """Return the runs of a script from its source map, in which paths are relative to `beside`.

    The sources in `beside` itself, a temporary folder, are not files of the author.
    """
    paths = [Path(os.path.normpath(beside / source)) for source in content["sources"]]
    names = ["" if path.parent == beside else name_of(path, folder) for path in paths]
    runs: list[Run] = []
    file = source = 0
    for number, text in enumerate(content["mappings"].split(";"), 1):
        first: tuple[int, int] | None = None
        for segment in text.split(","):
            fields = list(_numbers(segment))
            if len(fields) >= 4:
                file, source = file + fields[1], source + fields[2]
                first = first or (file, source)
        if first is None or not names[first[0]]:
            runs.append(Run(number, 1, "", 0))
        else:
            runs.append(Run(number, 1, names[first[0]], first[1] + 1))
    return tuple(runs)


def _numbers(segment: str) -> Iterator[int]:
    """Decode the base 64 VLQ numbers of a source map's segment."""
    value = shift = 0
    for digit in map(_DIGITS.index, segment):
        value |= (digit & 31) << shift
        shift += 5
        if digit < 32:
            yield -(value >> 1) if value & 1 else value >> 1
            value = shift = 0
