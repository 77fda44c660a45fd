"""Files that a command is to write in the end."""

import os
from pathlib import Path


def why_not_writable(path: str | Path) -> str | None:
    """Say why a file could not be written, before the work and not after it. Nothing is left of the try."""
    file = Path(path)
    try:
        if str(path).endswith(("/", os.sep)) or file.is_dir():
            return f"{path} cannot be written: it is a folder. Name a file."
        if not file.resolve().parent.is_dir():
            return f"{path} cannot be written: its folder does not exist."
        new = not file.exists()
        if new or file.is_file():  # and no device or pipe
            file.open("a").close()
        if new:
            file.unlink()
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}."
    return None
