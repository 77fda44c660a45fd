"""The errors of Fanlight.

    FanlightError
    ├── RegistrationError (also a ValueError)   what an author declared cannot be served
    │   └── BundleError                         a View's files cannot be made one document
    └── LocalProtocolError                      the host's own code broke an order of the standard

Each message says what was expected, what came, and what to write instead.
"""

from pathlib import Path


class FanlightError(Exception):
    """The base class of all errors that Fanlight raises on purpose."""


class RegistrationError(FanlightError, ValueError):
    """A tool, a View or one of its options is invalid. Raised where it is registered. Also a ValueError."""


class BundleError(RegistrationError):
    """The files of a View cannot be bundled into one document."""

    def __init__(self, path: Path | str, line: int | None, message: str) -> None:
        self.path = path
        """The file that the error is in."""
        self.line = line
        """The line in that file, or None."""
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {message}")


class LocalProtocolError(FanlightError):
    """The host's own code asked for what the standard does not allow, such as a result before its input."""
