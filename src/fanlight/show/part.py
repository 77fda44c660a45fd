"""Parts of texts that are too long for one message."""

from typing import Final

import pydantic_core

PART_BYTES: Final = 600_000
"""How many bytes the text of one part has as JSON: the client of the SDK takes events of up to 1 MiB."""


def json_size(text: str) -> int:
    """Return the number of bytes of a text within JSON, without its quotes."""
    return len(pydantic_core.to_json(text)) - 2


def part_of(text: str, start: int, budget: int = PART_BYTES) -> str:
    """Return what of a text from a position on has at most `budget` bytes as JSON, and at least one character."""
    part = text[start : start + budget]
    while len(part) > 1 and (size := json_size(part)) > budget:
        part = part[: max(len(part) * budget // size, 1)]
    return part
