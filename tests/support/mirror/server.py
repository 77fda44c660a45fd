"""A server whose View shows what it receives."""

import asyncio
from typing import Any

from mcp.server import MCPServer

from fanlight import Apps, View

server: MCPServer[Any] = MCPServer("mirror", instructions="Shows what its View receives.")
apps = Apps(server)
apps.view(View("mirror.html", uri="ui://mirror/mirror"))


@apps.tool(view="ui://mirror/mirror")
async def mirror(words: list[str] | None = None, wait: float = 0) -> dict[str, list[str]]:
    "Show what the View receives."
    await asyncio.sleep(wait)
    return {"words": words or []}


@apps.tool(view="ui://mirror/mirror", visibility=["app"])
def more(word: str) -> dict[str, str]:
    "More, for the View."
    return {"word": word + "!"}


@server.tool()
def plain(count: int = 1) -> str:
    "Without a View."
    return "plain " * count


@server.resource("note://one")
def note() -> str:
    "A note."
    return "the text of the note"


@server.prompt()
def poem(topic: str) -> str:
    "A poem."
    return f"Write a poem about {topic}."


if __name__ == "__main__":
    server.run("stdio")
