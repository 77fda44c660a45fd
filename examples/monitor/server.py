"""Live monitoring: the View follows a log by a cursor, catches up after a pause, and tells the model about alerts."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field
from pydantic_core import to_jsonable_python

from fanlight import Apps

server = MCPServer("monitor")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
PER_SECOND = 4
KEPT = 600
"""How many lines the server keeps, as a log that rotates. A View that comes back later learns how many it missed."""
PAGE = 100
LIMIT = 4
"""More errors than this in 5 seconds are an alert."""

Level = Literal["info", "warning", "error"]
QUIET: list[tuple[Level, str, str]] = [
    ("info", "web", "GET /lamps 200 in {0} ms"),
    ("info", "web", "GET /lamps/oslo 200 in {0} ms"),
    ("info", "web", "POST /cart 200 in {0} ms"),
    ("info", "search", "'desk lamp' found 42 products in {0} ms"),
    ("info", "payments", "order {1} paid in {0} ms"),
    ("info", "payments", "order {1} paid in {0} ms"),
    ("info", "mail", "receipt of order {1} sent"),
    ("info", "stock", "{0} parts of lamp OSLO left"),
    ("warning", "search", "slow query: {0}0 ms for 'warm light'"),
]
OUTAGE: list[tuple[Level, str, str]] = [
    ("error", "payments", "order {1}: the bank did not answer within 5 s"),
    ("error", "web", "POST /checkout 502 after 5,0{0} ms"),
    ("warning", "payments", "order {1}: second attempt"),
    ("info", "web", "GET /lamps 200 in {0} ms"),
    ("info", "search", "'desk lamp' found 42 products in {0} ms"),
]


@dataclass
class Line:
    number: int
    at: datetime
    level: Level
    source: str
    text: str


@dataclass
class Lines:
    """Lines after a cursor, and the cursor for the next call. `more` says whether that has lines already."""

    lines: list[Line]
    cursor: int
    missed: int
    more: bool


@dataclass
class Watch:
    level: Level
    contains: str
    limit: int
    page: Lines


@dataclass
class Log:
    """The simulated log of a shop, whose bank fails for 16 seconds of each minute. Line n is always the same."""

    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.start = self.clock() - 50  # it began before anybody looked
        self.began = datetime.now(UTC) - timedelta(seconds=50)

    def newest(self) -> int:
        return int((self.clock() - self.start) * PER_SECOND)

    def line(self, number: int) -> Line:
        chance = random.Random(number)
        second = number / PER_SECOND
        level, source, text = chance.choice(OUTAGE if 42 <= second % 60 < 58 else QUIET)
        text = text.format(chance.randint(11, 98), 7000 + number)
        return Line(number, self.began + timedelta(seconds=second), level, source, text)

    def read(self, cursor: int, most: int = PAGE) -> Lines:
        newest = self.newest()
        first = max(cursor + 1, newest - KEPT + 1, 0)
        last = min(newest, first + most - 1)
        missed = first - cursor - 1
        return Lines([self.line(n) for n in range(first, last + 1)], max(cursor, last), missed, last < newest)


log = Log()


@apps.tool(view="monitor.html", annotations=READ_ONLY)
def watch_log(
    level: Annotated[Level, Field(description="The View shows lines of this level and of graver ones.")] = "info",
    contains: Annotated[str, Field(max_length=100, description="The View shows lines with this text.")] = "",
) -> Annotated[CallToolResult, Watch]:
    "Watch the log of the shop, live. Returns a summary of the last 45 seconds."
    page = log.read(log.newest() - 45 * PER_SECOND, 45 * PER_SECOND)
    counts = Counter(line.level for line in page.lines)
    errors = [line for line in page.lines if line.level == "error"]
    summary = (
        f"The last 45 seconds have {len(page.lines)} lines: {counts['warning']} warnings, {counts['error']} errors."
    )
    latest = [f"{line.at:%H:%M:%S} {line.source}: {line.text}" for line in errors[-5:]]
    text = "\n".join([summary, *(["The latest errors (UTC):"] if errors else []), *latest])
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=to_jsonable_python(Watch(level, contains, LIMIT, page)),
    )


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def read_log(cursor: Annotated[int, Field(ge=-1)]) -> Lines:
    "Read the lines after a cursor. Only the View calls this, at its own pace."
    return log.read(cursor)


if __name__ == "__main__":
    server.run()
