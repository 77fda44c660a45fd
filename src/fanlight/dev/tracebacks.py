"""Python exceptions in the stderr of a server: type, message and the author's own frames, without those of libraries.

Reads the tracebacks of Python itself and those of `rich`, which MCPServer and FastMCP use for their logs.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

WIDE: Final = {"COLUMNS": "250"}
"""The environment for a server whose stderr is read here: `rich` wraps tracebacks at the width of a terminal."""

_LIBRARY: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]|[/\\][Ll]ib[/\\]python3\.|^<|[/\\]_prewarmed\.py$")
_OURS: Final = Path(__file__).parents[1]

_HEADER: Final = re.compile(r"^(?:  \+ )?(?:Exception Group )?Traceback \(most recent call last\):$")
_FRAME: Final = re.compile(r'^ +File "(.+)", line (\d+)(?:, in (.+))?$')
_GROUP: Final = re.compile(r"^ *[|+] ?")
_GROUP_RULE: Final = re.compile(r"^ *\+[-+]+(?: \d+ -+)?$")
_CHAINED: Final = re.compile(
    r"^(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):$"
)
_ERROR: Final = re.compile(r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?:: ?(.*))?$")
_MARKERS: Final = re.compile(r"^[ ~^]+$")

_RICH_HEADER: Final = re.compile(r"^( *)╭─+ Traceback \(most recent call last\) ─+╮")
_RICH_FRAME: Final = re.compile(r"^(.+):(\d+) in (.+)$")
_RICH_CODE: Final = re.compile(r"^❱ +\d+ [│ ]*(.*)$")


@dataclass(frozen=True)
class Frame:
    """A line of the author's code that an exception passed through."""

    file: str
    line: int
    function: str
    code: str = ""

    def describe(self, folder: Path | None = None) -> str:
        """Return `file:line in function`, with the file relative to a folder if it is inside."""
        path = Path(self.file)
        if folder is not None and path.is_relative_to(folder):
            path = path.relative_to(folder)
        return f"{path}:{self.line}{f' in {self.function}' if self.function else ''}"


@dataclass(frozen=True)
class ServerException:
    """An exception that a server logged or died of."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    """The author's frames, the outermost first."""

    def __str__(self) -> str:
        return f"{self.type}: {self.message}" if self.message else self.type

    def describe(self, folder: Path | None = None) -> list[str]:
        """Return the exception and the author's frames as lines, where it was raised first."""
        lines = str(self).splitlines()
        for frame in reversed(self.frames):
            lines.append(f"  {frame.describe(folder)}")
            if frame.code:
                lines.append(f"    {frame.code}")
        return lines


class TracebackReader:
    """Reads the stderr of a server line by line, collects its exceptions, and shortens its tracebacks.

    `folder` is the author's: files in it are shown relative to it.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.exceptions: list[ServerException] = []
        """The exceptions so far. The message of the last one may still grow."""
        self._folder = folder
        self._frames: list[Frame] | None = None  # of the traceback that is being read
        self._code_follows = False  # the next line may be the source of the last frame
        self._indent: int | None = None  # of a rich traceback
        self._boxed = False  # inside of the box of a rich traceback
        self._chain = 0  # how many exceptions of the current chain were read
        self._continues = False  # the next line may continue the message

    def feed(self, line: str) -> list[str]:
        """Read a line, and return the lines to show for it: none for most lines of a traceback."""
        line = line.rstrip()
        if (header := _RICH_HEADER.match(line)) is not None:
            self._begin(len(header[1]), boxed=True)
            return []
        if self._indent is not None:
            if not line[: self._indent].strip():
                return self._feed_rich(line[self._indent :])
            self._reset()
        if _GROUP_RULE.match(line) and self._chain:
            self._continues = False
            return []
        return self._feed_plain(
            _GROUP.sub("", line, count=1) if self._frames is not None or self._chain else line, line
        )

    def _begin(self, indent: int | None = None, *, boxed: bool = False) -> None:
        self._frames, self._indent, self._boxed = [], indent, boxed
        self._code_follows = self._continues = False

    def _reset(self) -> None:
        self._frames, self._indent, self._boxed = None, None, False
        self._code_follows = self._continues = False
        self._chain = 0

    def _feed_rich(self, text: str) -> list[str]:
        if not self._boxed:
            return self._feed_after(text, text)
        if text.startswith("╰"):
            self._boxed = False
            return []
        row = text.removeprefix("│").removesuffix("│").strip()
        if (frame := _RICH_FRAME.match(row)) is not None and self._frames is not None:
            self._frames.append(Frame(frame[1], int(frame[2]), frame[3]))
        elif (code := _RICH_CODE.match(row)) is not None and self._frames:
            self._frames[-1] = replace(self._frames[-1], code=code[1].strip())
        return []

    def _feed_plain(self, text: str, line: str) -> list[str]:
        if _HEADER.match(text):
            self._begin()
            return []
        if (frame := _FRAME.match(text)) is not None:
            if self._frames is None:
                if frame[3] is not None:
                    return [line]
                self._begin()  # a SyntaxError in the script itself has no header
            assert self._frames is not None
            self._frames.append(Frame(frame[1], int(frame[2]), frame[3] or ""))
            self._code_follows = True
            return []
        if self._frames is not None and text.startswith("  "):
            if self._code_follows and self._frames and not _MARKERS.match(text):
                self._frames[-1] = replace(self._frames[-1], code=text.strip())
            self._code_follows = False
            return []
        return self._feed_after(text, line)

    def _feed_after(self, text: str, line: str) -> list[str]:
        """Read what follows the frames: the exception, more lines of its message, and the start of the next one."""
        if self._frames is not None:
            if (error := _ERROR.match(text)) is None:
                return []
            exception = ServerException(error[1], error[2] or "", tuple(filter(_is_own, self._frames)))
            self._frames, self._chain = None, self._chain + 1
            # Libraries wrap the author's exception in their own, which say nothing new.
            self._continues = self._chain == 1 or bool(exception.frames)
            if not self._continues:
                return []
            self.exceptions.append(exception)
            return exception.describe(self._folder)
        if not text or _CHAINED.match(text):
            self._continues = False
            return [] if self._chain else [line]
        if self._continues:
            last = self.exceptions[-1]
            self.exceptions[-1] = replace(last, message=f"{last.message}\n{text}")
            return [text]
        self._reset()
        return [line]


def find_exceptions(lines: Iterable[str]) -> list[ServerException]:
    """Return the exceptions in the stderr of a server, in order."""
    reader = TracebackReader()
    for line in lines:
        reader.feed(line)
    return reader.exceptions


def _is_own(frame: Frame) -> bool:
    """Return whether a frame is the author's: not in an installed package, in Python itself, or in Fanlight."""
    return _LIBRARY.search(frame.file) is None and not Path(frame.file).is_relative_to(_OURS)
