"""What a document consists of: scripts by file and npm package, the View SDK, styles, images, fonts, and markup."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from fanlight import browser
from fanlight.protocol.source_lines import Run
from fanlight.server.bundle.markup import Scanner, Tag

_DATA_URI: Final = re.compile(r"data:([a-z]+)/([\w.+-]+)[^,\s\"')]*;base64,[A-Za-z0-9+/=]+")
_SDK_PREFIX: Final = 200
_PACKAGE: Final = re.compile(r".*node_modules/((?:@[^/]+/)?[^/]+)/")


@dataclass(frozen=True)
class Part:
    """A part of a document. `kind` is script, package, View SDK, style, image, font, audio, video, data or markup."""

    kind: str
    name: str
    bytes: int


def contents(html: str, runs: Sequence[Run]) -> list[Part]:
    """Return the parts of a document, the largest first. Without its source map, scripts are named by their line."""
    sizes: Counter[tuple[str, str]] = Counter()
    text = _Text(html, runs)
    for tag in Scanner(html).tags():
        if tag.name not in ("script", "style") or tag.content_end <= tag.end:
            continue
        for kind, name, size in _script(text, tag) if tag.name == "script" else _style(text, tag):
            sizes[kind, name] += size
    # Data URIs outside of scripts: those of styles are not counted with them.
    for found in _DATA_URI.finditer(_without_scripts(html)):
        kind = found[1] if found[1] in ("image", "font", "audio", "video") else "data"
        sizes[kind, f"{found[1]}/{found[2]}"] += len(found[0])
    sizes["markup", "HTML"] = len(html.encode()) - sum(sizes.values())
    parts = [Part(kind, name, size) for (kind, name), size in sizes.items() if size > 0]
    return sorted(parts, key=lambda part: (-part.bytes, part.kind, part.name))


class _Text:
    """A document whose positions are mapped to the author's files."""

    def __init__(self, html: str, runs: Sequence[Run]) -> None:
        self.html = html
        self._lines = [0, *accumulate(len(line) for line in html.splitlines(keepends=True))]
        self._starts = [self._lines[min(run.line, len(self._lines)) - 1] + run.column - 1 for run in runs]
        self._runs = runs

    def line(self, pos: int) -> int:
        """Return the line of a position, from 1."""
        return bisect_right(self._lines, pos)

    def files(self, start: int, end: int) -> Iterator[tuple[str, int]]:
        """Yield the files that a range comes from, with the bytes from each; the name is empty if it is not known."""
        index = max(bisect_right(self._starts, start) - 1, 0)
        while start < end:
            following = self._starts[index + 1] if index + 1 < len(self._starts) else end
            stop = max(min(following, end), start)
            file = self._runs[index].file if index < len(self._runs) else ""
            yield file, len(self.html[start:stop].encode())
            start, index = stop, index + 1


def _script(text: _Text, tag: Tag) -> Iterator[tuple[str, str, int]]:
    script = text.html[tag.end : tag.content_end]
    size = len(script.encode())
    if any(script.startswith(browser.view_sdk(openai=openai)[:_SDK_PREFIX]) for openai in (False, True)):
        yield "View SDK", "view.js", size
        return
    files = list(text.files(tag.end, tag.content_end))
    if not any(file for file, _ in files):
        is_fonts = "new FontFace(" in script and not tag.attributes
        yield ("font", "loaded by a script", size) if is_fonts else ("script", f"line {text.line(tag.start)}", size)
        return
    for file, part in files:
        package = _PACKAGE.match(file)
        if package:
            yield "package", package[1], part
        else:
            yield "script", file or "code of the bundler", part


def _style(text: _Text, tag: Tag) -> Iterator[tuple[str, str, int]]:
    style = text.html[tag.end : tag.content_end]
    files = [file for file, _ in text.files(tag.end, tag.content_end) if file]
    name = files[0] if files else f"line {text.line(tag.start)}"
    yield "style", name, len(style.encode()) - sum(len(found[0]) for found in _DATA_URI.finditer(style))


def _without_scripts(html: str) -> str:
    pieces, pos = [], 0
    for tag in Scanner(html).tags():
        if tag.name == "script" and tag.content_end > tag.end:
            pieces.append(html[pos : tag.end])
            pos = tag.content_end
    return "".join((*pieces, html[pos:]))
