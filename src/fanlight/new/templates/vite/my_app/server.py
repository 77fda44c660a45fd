"""The server: a poll. Replace it with what your app does."""

from dataclasses import dataclass

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from fanlight import Apps, View

server = MCPServer("my-app")
apps = Apps(server)
view = View("dist/index.html", title="My app", prefers_border=True)


@dataclass
class Poll:
    question: str
    votes: dict[str, int]


poll = Poll("What shall we drink?", {"Tea": 4, "Coffee": 6, "Water": 2})  # a real app has a database


@apps.tool(view=view, annotations=ToolAnnotations(read_only_hint=True))
def show_my_app() -> Poll:
    "Show the user the poll, where they can vote."
    return poll


@apps.tool(view=view, visibility=["app"], annotations=ToolAnnotations(destructive_hint=False))
def vote(choice: str) -> Poll:
    "Count a vote. Only the View can call this."
    if choice not in poll.votes:
        raise ToolError(f"{choice!r} is not a choice. Choose one of {', '.join(poll.votes)}.")
    poll.votes[choice] += 1
    return poll


def main() -> None:
    server.run()
