"""The SDK's lowlevel server behind a server object."""

from typing import Any

from mcp.server.lowlevel import Server


def lowlevel_server(server: object) -> Server[Any] | None:
    """Return the lowlevel server of an `MCPServer`, a `FastMCP` or a lowlevel server itself; None for anything else."""
    candidates = (server, getattr(server, "_lowlevel_server", None), getattr(server, "_mcp_server", None))
    return next((candidate for candidate in candidates if isinstance(candidate, Server)), None)
