"""The blocks of code on the pages of the documentation."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Return language, name (or "") and code of each block."""
    return _FENCE.findall(page.read_text(encoding="utf-8"))


def write_files(page: Path, folder: Path) -> dict[str, Path]:
    """Write the blocks that are files, and return their paths."""
    files = {}
    for _, name, code in blocks(page):
        if name:
            files[name] = folder / name
            files[name].parent.mkdir(parents=True, exist_ok=True)
            files[name].write_text(code, encoding="utf-8")
    return files
