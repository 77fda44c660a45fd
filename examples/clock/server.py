"""A clock: one tool with a View, and one tool that only the View can call."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from fanlight import Apps

server = MCPServer("clock")
apps = Apps(server)


@dataclass
class Time:
    iso: str
    zone: str
    text: str

    @classmethod
    def now(cls, zone: str) -> "Time":
        try:
            now = datetime.now(ZoneInfo(zone))
        except (OSError, ValueError, KeyError):
            raise ToolError(f"{zone!r} is not a time zone. Use an IANA name such as Europe/Berlin, or UTC.") from None
        return cls(now.isoformat(timespec="seconds"), zone, f"{now:%A, %d %B %Y, %H:%M:%S} in {zone}")


@dataclass
class Alarm:
    at: datetime
    seconds: int


@apps.tool(view="clock.html")
def get_time(zone: str = "UTC") -> Time:
    "The time in a zone."
    return Time.now(zone)


@apps.tool(view="clock.html", visibility=["app"])
def set_alarm(at: datetime) -> Alarm:
    "Set an alarm. Only the View can call this."
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    seconds = round((at - datetime.now(UTC)).total_seconds())
    if seconds <= 0:
        raise ToolError(f"{at.isoformat()} is in the past. Choose a time in the future.")
    return Alarm(at, seconds)


if __name__ == "__main__":
    server.run()
