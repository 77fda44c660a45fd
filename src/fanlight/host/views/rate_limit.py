"""`RateLimit`: how often something may happen."""


class RateLimit:
    """A token bucket: `per_second` on average, and at most as many at once."""

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._tokens = max(per_second, 1.0)
        self._updated = now

    def take(self, now: float) -> bool:
        """Return whether one more is within the rate, and count it if so."""
        self._tokens = min(self._tokens + (now - self._updated) * self._per_second, max(self._per_second, 1.0))
        self._updated = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
