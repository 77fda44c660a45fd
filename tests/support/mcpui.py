"""Resources made by the published mcp-ui packages, and servers that return them."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import MCPServer

from support.node import node

_SCRIPT = Path(__file__).with_name("mcpui_made.js")


@cache
def _made(package: str, options: str) -> str:
    words = [node(), str(_SCRIPT), package]
    return subprocess.run(words, input=options, capture_output=True, text=True, check=True, timeout=60).stdout


def made(package: str, *options: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Return the result of `createUIResource` of a published package for each."""
    found: list[dict[str, Any] | None] = json.loads(_made(package, json.dumps(options)))
    return found


def embedding(name: str, **resources: dict[str, Any]) -> MCPServer[Any]:
    """Return a server with a tool for each resource, which embeds it, and a tool that Views can call."""
    server: MCPServer[Any] = MCPServer(name)

    def add(tool: str, resource: dict[str, Any]) -> None:
        def show() -> types.CallToolResult:
            text = {"type": "text", "text": f"Here is {tool}."}
            return types.CallToolResult.model_validate({"content": [text, resource]})

        server.add_tool(show, name=tool, description=f"Show {tool}.")

    for tool, resource in resources.items():
        add(tool, resource)

    @server.tool()
    def look(at: str = "") -> str:
        """Look at something."""
        return f"looked at {at}"

    return server


def html_resource(html: str, mime: str = "text/html", uri: str = "ui://made/view", **meta: Any) -> dict[str, Any]:
    """Return a resource as mcp-ui makes it."""
    resource: dict[str, Any] = {"uri": uri, "mimeType": mime, "text": html}
    if meta:
        resource["_meta"] = meta["meta"]
    return {"type": "resource", "resource": resource}
