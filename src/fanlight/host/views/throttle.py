"""How often a View is shown arguments that a model is still writing.

Each time the whole object goes out. So it goes out at most sixty times a second, with one under way, and when it has
grown by a twentieth; or, so that nothing stays unseen when the model pauses, after a quarter of a second. All
together that is at most 25 times the whole, where sending each piece would be its square.
"""

import math
from typing import Final

INTERVAL: Final = 1 / 60
PAUSE: Final = 0.25
_GROWTH: Final = 1.05
_MOST_TIMES: Final = 25


class Pace:
    """Decides when the next partial is due. It knows no clock: `now` is in seconds."""

    def __init__(self) -> None:
        self._shown = 0
        self._posted = 0
        self._at = -math.inf

    def due(self, size: int, now: float, *, under_way: bool) -> bool:
        """Tell whether arguments of this size are to be shown now. If so, they count as shown."""
        waited = now - self._at
        grown = size > self._shown * _GROWTH
        late = size > self._shown and waited >= PAUSE
        if under_way or waited < INTERVAL or not (grown or late) or self._posted + size > _MOST_TIMES * size:
            return False
        self._shown, self._at = size, now
        self._posted += size
        return True
