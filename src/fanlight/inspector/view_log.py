"""The log messages of Views in the terminal."""

import logging
from typing import Final, TextIO

LOGGER: Final = "fanlight.views"
_MAX_LENGTH: Final = 2_000


class ViewLogHandler(logging.Handler):
    """Prints the warnings and errors that Views log, except JavaScript errors, which pages report with their place."""

    def __init__(self, output: TextIO) -> None:
        super().__init__(logging.WARNING)
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message in one line."""
        match getattr(record, "view_data", None):
            case {"text": str(), "file": str(), "line": int(), "column": int()}:
                return
            case str() as text:
                self._output.write(f"  {printable(text)}\n")
            case _:
                self._output.write(f"  {printable(record.getMessage())}\n")


def printable(text: str) -> str:
    """Return a text of a View as one line without control sequences, so that it cannot forge output."""
    return "".join(char if char.isprintable() else " " for char in text[:_MAX_LENGTH])
