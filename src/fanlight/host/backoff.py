"""`Backoff`: the pauses between attempts to connect."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """How long to wait before each further attempt: doubling, with jitter, up to `maximum`."""

    first: float = 0.25
    maximum: float = 30.0
    steady: float = 10.0
    """After a connection that was ready for this many seconds, the pauses start over."""

    def delay(self, attempt: int) -> float:
        """Return the pause in seconds after a number of failed attempts."""
        # Half to all of the full length, so that servers that failed together do not restart together.
        longest = min(self.maximum, self.first * 2.0 ** min(attempt - 1, 32))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not a secret)

    @staticmethod
    def shortened(delay: float) -> float:
        """Return the length of a pause while a call is waiting: a quarter of it, but at least one second."""
        return min(delay, max(1.0, delay / 4))
