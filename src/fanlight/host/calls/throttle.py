"""When a View is sent the arguments that a model is still writing.

Each time, the whole object is sent. An update is due if the last one was acknowledged, and the object has grown by 5 %
or a quarter of a second has passed; and at most sixty times a second. The pause makes sure that a View has everything
while the model thinks. Together, the updates are at most 25 times as long as the complete arguments; sending every
piece would be quadratic.
"""

import math
from typing import Final

INTERVAL: Final = 1 / 60
PAUSE: Final = 0.25
_GROWTH: Final = 1.05
_MAX_TIMES: Final = 25


class Throttle:
    """Decides when the next partial input is due. It has no clock: `now` is in seconds."""

    def __init__(self) -> None:
        self._shown = 0
        self._sent = 0
        self._at = -math.inf

    def due(self, size: int, now: float, *, in_flight: bool) -> bool:
        """Return whether arguments of this size are to be sent now. If so, they count as sent."""
        waited = now - self._at
        grown = size > self._shown * _GROWTH
        late = size > self._shown and waited >= PAUSE
        if in_flight or waited < INTERVAL or not (grown or late) or self._sent + size > _MAX_TIMES * size:
            return False
        self._shown, self._at = size, now
        self._sent += size
        return True
