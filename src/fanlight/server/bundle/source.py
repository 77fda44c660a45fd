"""A text that refers to files, with the folder for its relative references and its position for errors."""

from dataclasses import dataclass
from pathlib import Path

from fanlight.protocol.errors import BundleError


@dataclass(frozen=True, slots=True)
class Source:
    """A document, script or stylesheet, or a part that begins at position `at` of a `whole`.

    `folder` is None for a document that is a string. `base` is the URL of a `<base href>` before it.
    """

    path: Path | str
    text: str
    folder: Path | None
    base: str | None = None
    whole: "Source | None" = None
    at: int = 0

    def line_at(self, pos: int) -> int:
        """Return the 1-based line, in the file, of a position in the text."""
        first = self.whole.line_at(self.at) if self.whole else 1
        return first + self.text.count("\n", 0, pos)

    def error(self, pos: int, message: str) -> BundleError:
        """Return an error with the file and line of a position."""
        return BundleError(self.path, self.line_at(pos), message)

    def part(self, start: int, end: int) -> "Source":
        """Return a part of this text that knows its position in the file."""
        return Source(self.path, self.text[start:end], self.folder, self.base, self, start)


def decode(path: Path, content: bytes) -> str:
    """Decode a file as UTF-8, or raise BundleError with the line of the first invalid byte."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise BundleError(
            path, line, f"not UTF-8: byte 0x{byte:02x} at offset {error.start}. Save the file as UTF-8."
        ) from None


def replace(text: str, edits: list[tuple[int, int, str]]) -> str:
    """Apply edits, as (start, end, new text), that do not overlap. At one position, an insertion comes first."""
    if not edits:
        return text
    parts: list[str] = []
    pos = 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += (text[pos:start], new)
        pos = end
    parts.append(text[pos:])
    return "".join(parts)
