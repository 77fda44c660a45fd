"""Limits for what one View may use."""

from dataclasses import dataclass

from fanlight.host.validation import check_limits

_AT_LEAST_ONE = (
    "message_bytes",
    "messages_per_second",
    "requests_in_flight",
    "size_changes_per_second",
    "user_connections",
)


@dataclass(frozen=True)
class Limits:
    """How much each View, and the host as a whole, may use.

    A View that exceeds a limit gets an error that names it; others are not affected.
    """

    message_bytes: int = 16_000_000
    """The bytes of a message from a View. A larger request is answered with an error in the page and never sent."""
    messages_per_second: float = 200.0
    """Messages from a View. Beyond the limit, requests are refused, notifications dropped, and reading slows down."""
    requests_in_flight: int = 64
    """Unanswered requests of a View. Further ones are refused."""
    result_characters: int = 50_000_000
    """The characters of a response to a View, as JSON. The View gets an error instead of a larger one."""
    size_changes_per_second: float = 60.0
    """Size changes that a View reports. Beyond the limit, only the latest one is applied, a little later."""
    state_characters: int = 1_000_000
    """The characters of model context and widget state, as JSON, that the host keeps for a View. More are refused."""
    questions_per_minute: int = 10
    """How often a View may make the host ask the user. Further requests are denied without asking."""
    denials: int = 3
    """After this many denials in a row, the user is not asked about the View again."""
    result_views: int = 20
    """Views that one result may embed, as with mcp-ui. Further ones are ignored."""
    app_tools: int = 50
    """Tools that a View may offer to the model (D-SEC-04). Further ones are ignored."""
    app_tool_bytes: int = 10_000_000
    """The bytes of the result of a View's tool. A larger one is an error."""
    description: int = 1024
    """The characters of a tool's description that the model is given, of servers and Views alike. The rest is cut."""
    bus_bytes: int = 65_536
    """The length of a message between workers. Larger ones go through the store; larger partial input is dropped."""
    user_connections: int = 1000
    """Connections with the credentials of single users. Beyond it, the least recently used is closed."""
    app_tools_interval: float = 1.0
    """Seconds between two `tools/list` requests to a View, however often it reports a change."""

    def __post_init__(self) -> None:
        check_limits(self, _AT_LEAST_ONE)


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
