"""Test whether a file can be written, before starting the work that fills it."""

import os
from pathlib import Path


def why_not_writable(path: str | Path) -> str | None:
    """Return why a file cannot be written, or None if it can. The test leaves no file behind."""
    file = Path(path)
    try:
        if str(path).endswith(("/", os.sep)) or file.is_dir():
            return f"{path} cannot be written: it is a folder. Name a file."
        if not file.resolve().parent.is_dir():
            return f"{path} cannot be written: its folder does not exist."
        new = not file.exists()
        if new or file.is_file():  # opening a device or a pipe could block
            file.open("a").close()
        if new:
            file.unlink()
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}."
    return None
