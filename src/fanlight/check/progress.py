"""What a check is doing, for people who wait for it."""

from collections.abc import Callable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Progress:
    """One line of progress."""

    text: str
    """What is going on."""
    is_lasting: bool = False
    """Whether a terminal keeps the line, as for the calls of tools, which can have effects."""

    def of(self, server: str) -> "Progress":
        """Return the same line with the name of a server in front."""
        return replace(self, text=f"{server} {self.text}")


OnProgress = Callable[[Progress], None]
