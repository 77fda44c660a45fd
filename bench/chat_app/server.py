"""The MCP server of the benchmark `chat`: a tool with a View."""

from mcp.server import MCPServer

from fanlight import Apps

server = MCPServer("bench")
apps = Apps(server)


@apps.tool(view="view.html")
def show(text: str = "words") -> str:
    "Show a view of a text."
    return text


if __name__ == "__main__":
    server.run()
