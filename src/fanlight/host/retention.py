"""How long a host keeps what it stores."""

from dataclasses import dataclass
from datetime import timedelta

from fanlight.protocol.errors import ArgumentError


@dataclass(frozen=True)
class Retention:
    """Erases old Views and audit records on a schedule. Views that a page shows, or may come back to, are kept."""

    views: timedelta | None = None
    """The age at which Views are erased, with their arguments, results and tokens. None keeps them."""
    audit: timedelta | None = None
    """The age at which audit records are erased. None keeps them."""
    every: timedelta = timedelta(hours=1)
    """The time between two runs. The first is when the host starts."""

    def __post_init__(self) -> None:
        for name in ("views", "audit", "every"):
            value = getattr(self, name)
            if value is None and name != "every":
                continue
            if not isinstance(value, timedelta) or value <= timedelta(0):
                raise ArgumentError(f"{name} is {value!r}, expected a timedelta above 0, such as timedelta(days=30).")
