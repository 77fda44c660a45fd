"""The log messages of Views in the terminal."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
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
            case str() as data:
                text = data
            case _:
                text = record.getMessage()
        try:
            self._output.write(f"  {printable(text)}\n")
        except Exception:
            self.handleError(record)  # a View's message must not fail because the terminal is gone


@contextmanager
def printed(output: TextIO) -> Iterator[None]:
    """Print the log messages of Views for a block, instead of passing them to the root logger."""
    logger, handler = logging.getLogger(LOGGER), ViewLogHandler(output)
    propagate = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def printable(text: str) -> str:
    """Return a text of a View as one line without control sequences, so that it cannot forge output."""
    return "".join(char if char.isprintable() else " " for char in text[:_MAX_LENGTH])
