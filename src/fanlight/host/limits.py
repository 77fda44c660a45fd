"""How much one View may do. Over a limit the View gets an error that says which; nobody else feels anything."""

from dataclasses import dataclass

from fanlight.host.checks import check_limits

_AT_LEAST_ONE = ("message_bytes", "messages_per_second", "requests_in_flight", "size_changes_per_second")


@dataclass(frozen=True)
class Limits:
    """The limits of each View, and what happens beyond them."""

    message_bytes: int = 16_000_000
    """A message of a View: beyond, its request is answered with an error in the page, and never sent."""
    messages_per_second: float = 200.0
    """Beyond, requests are refused, notifications dropped, and the View is heard more slowly."""
    requests_in_flight: int = 64
    """Requests that are not answered yet. Beyond, refused."""
    result_bytes: int = 50_000_000
    """What a View is given as the answer to one request. Beyond, it gets an error instead."""
    size_changes_per_second: float = 60.0
    """Beyond, only the last of the heights that a View reports is used, a little later."""
    state_bytes: int = 1_000_000
    """What a View may have the host keep for the model. Beyond, refused."""
    questions_per_minute: int = 10
    """How often a View may make the host ask the user. Beyond, the answer is no, without asking."""
    denials: int = 3
    """After so many times no in a row, the View is muted: it is not asked for again."""
    result_views: int = 20
    """Views that one result brings with it, as mcp-ui does. Beyond, left out."""
    app_tools: int = 50
    """Tools that a View offers to the model (D-SEC-04). Beyond, left out."""
    app_tool_bytes: int = 10_000_000
    """The result of one. Beyond, an error."""
    app_tools_interval: float = 1.0
    """Seconds between two looks at a View's tools, however often it says that they changed."""

    def __post_init__(self) -> None:
        check_limits(self, _AT_LEAST_ONE)


class Rate:
    """So many a second on average, and a second's worth at once."""

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._left = max(per_second, 1.0)
        self._at = now

    def take(self, now: float) -> bool:
        """Tell whether one more is within the rate, and count it if so."""
        self._left = min(self._left + (now - self._at) * self._per_second, max(self._per_second, 1.0))
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
