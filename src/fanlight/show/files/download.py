"""A file that a tool returns for the user to save."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fanlight.protocol.errors import ArgumentError
from fanlight.show.files.file_name import safe_name
from fanlight.show.files.limits import size_text, type_of

PART_BYTES: Final = 384 * 1024
"""How much of a file one result carries: 512 KiB as base64, because the client of the SDK takes events of up to 1 MiB.
It is a multiple of three bytes, so that the base64 of all parts can be joined as text."""


@dataclass(frozen=True)
class Download:
    """A file for the user to save. A function of `apps.show` returns it, alone or among other things."""

    content: Path | bytes
    """The bytes, or the path of a file, which is read when the user saves it."""
    name: str = ""
    """The name under which it is saved. Default: that of the path."""
    type: str = ""
    """The MIME type. Default: the usual one for the name."""
    max_bytes: int = 10_000_000
    """How many bytes it may have. Hosts get a file in one message, as base64, and that of Fanlight refuses messages
    beyond 16 MB. Default: 10 MB."""

    def __post_init__(self) -> None:
        if not isinstance(self.content, Path | bytes | bytearray):
            raise ArgumentError(
                f"Download({self.content!r:.80}): expected bytes or a pathlib.Path. Write Path(...) for a file, or "
                "text.encode()."
            )
        if isinstance(self.content, Path) and not self.content.is_file():
            raise ArgumentError(f"Download({self.content}): there is no such file.")
        own = self.content.name if isinstance(self.content, Path) else "download"
        object.__setattr__(self, "name", safe_name(self.name or own))
        object.__setattr__(self, "type", type_of(self.name, self.type))
        if self.size > self.max_bytes:
            raise ArgumentError(
                f"{self.name} has {size_text(self.size)}, and hosts save files of up to {size_text(self.max_bytes)}. "
                "Split it, or show a link to it."
            )

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.content.stat().st_size if isinstance(self.content, Path) else len(self.content)

    @property
    def memory(self) -> int:
        """How much memory it takes while it is kept."""
        return 1_000 if isinstance(self.content, Path) else len(self.content)

    def part(self, start: int) -> tuple[str, int]:
        """Return a part in base64, and the position after it. Raise ArgumentError if the file is gone."""
        if not isinstance(self.content, Path):
            data = bytes(self.content[start : start + PART_BYTES])
        else:
            try:
                with self.content.open("rb") as file:
                    file.seek(start)
                    data = file.read(PART_BYTES)
            except OSError:
                raise ArgumentError(f"{self.name} can no longer be read on the server. Run the tool again.") from None
        return base64.b64encode(data).decode("ascii"), start + len(data)

    def __str__(self) -> str:
        return f"{self.name} ({size_text(self.size)})"
