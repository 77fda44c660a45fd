"""The errors of Fanlight.

    FanlightError
    ├── RegistrationError (also a ValueError)   what an author declared cannot be served
    │   └── BundleError                         a View's files cannot be made one document
    └── LocalProtocolError                      the host's own code broke an order of the standard

Each message says what was expected, what came, and what to write instead.
"""

from pathlib import Path


class FanlightError(Exception):
    """Everything that Fanlight raises on purpose."""


class RegistrationError(FanlightError, ValueError):
    """An author declared something that cannot be served; raised where it was declared."""


class BundleError(RegistrationError):
    """A View's files cannot be made one document. `path` and `line` say where."""

    def __init__(self, path: Path | str, line: int | None, message: str) -> None:
        self.path = path
        self.line = line
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {message}")


class LocalProtocolError(FanlightError):
    """The host's own code asked for what the standard does not allow, such as a result before its input."""
