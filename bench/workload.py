"""The workload: a server of 50 typed tools with 50 Views of 20 kB, on each of the servers compared."""

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

TOOLS = 50
VIEW_BYTES = 20_000
NAME = "bench"


class Forecast(BaseModel):
    """What every tool returns. Flat, because FastMCP resolves the references of nested models at each list."""

    place: str
    low: float
    high: float
    rain: bool = False
    source: str | None = None


FORECAST = Forecast(place="Oslo", low=-1.5, high=4.0)
Tool = Callable[[str, int], Forecast | Awaitable[Forecast]]


def tool_name(number: int) -> str:
    return f"forecast_{number:02}"


def is_async(number: int) -> bool:
    """Tell which tools are `async def`: every second one."""
    return number % 2 == 0


def view_uri(number: int) -> str:
    return f"ui://{NAME}/view_{number:02}"


def write_views(folder: Path) -> list[Path]:
    """Write the Views, each a document that needs no other file, and return their paths."""
    paths = []
    for number in range(TOOLS):
        path = folder / f"view_{number:02}.html"
        path.write_text(_html(number), encoding="utf-8")
        paths.append(path)
    return paths


def _html(number: int) -> str:
    """Return a document as Views are: a fifth markup, a quarter style, the rest script."""
    rows = _filled(number, 4000, '<div class="d{0}"><time>{1}</time> <b>{2}</b> <button id="b{0}">More</button></div>')
    rules = _filled(number, 5000, ".d{0} {{ display: flex; gap: 8px; color: light-dark(#333, #ccc); margin: 0 {1}px }}")
    functions = _filled(
        number,
        10_400,
        'function f{0}(day, unit = "C") {{\n  return `${{day.low}} to ${{day.high}} ${{unit}}, {2}`;\n}}',
    )
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Forecast {number}</title>\n'
        f"<style>\n{rules}</style>\n</head>\n<body>\n{rows}"
        f'<script type="module">\n{functions}</script>\n</body>\n</html>\n'
    )


def _filled(number: int, size: int, line: str) -> str:
    """Repeat a line with other words in it until it fills `size` characters."""
    text = ""
    while len(text) < size:
        digest = hashlib.sha256(f"{number}/{len(text)}".encode()).hexdigest()
        text += line.format(digest[:6], len(text) % 10, digest[6:26]) + "\n"
    return text


def _tools(count: int) -> list[Tool]:
    return [_async_tool(number) if is_async(number) else _plain_tool(number) for number in range(count)]


def _async_tool(number: int) -> Tool:
    async def forecast(place: str, days: int = 3) -> Forecast:
        """The forecast for a place."""
        return FORECAST

    forecast.__name__ = tool_name(number)
    return forecast


def _plain_tool(number: int) -> Tool:
    def forecast(place: str, days: int = 3) -> Forecast:
        """The forecast for a place."""
        return FORECAST

    forecast.__name__ = tool_name(number)
    return forecast


# Each builder imports what it needs itself: a bigger heap makes each garbage collection dearer.


def _mcpserver(views: list[Path]) -> Any:
    from mcp.server import MCPServer
    from mcp.server.apps import Apps

    apps = Apps()
    for number, (tool, path) in enumerate(zip(_tools(len(views)), views, strict=True)):
        apps.add_html_resource(view_uri(number), path.read_text(encoding="utf-8"), name=path.stem)
        apps.tool(resource_uri=view_uri(number))(tool)
    return MCPServer(NAME, extensions=[apps])


def _fastmcp(views: list[Path]) -> Any:
    from fastmcp import FastMCP
    from fastmcp.apps import AppConfig
    from fastmcp.resources import TextResource
    from fastmcp.utilities.mime import UI_MIME_TYPE

    server: FastMCP[Any] = FastMCP(NAME)
    for number, (tool, path) in enumerate(zip(_tools(len(views)), views, strict=True)):
        uri: Any = view_uri(number)
        text = path.read_text(encoding="utf-8")
        # The cheapest of FastMCP's resources; the documented @server.resource runs a function in a thread.
        server.add_resource(TextResource(uri=uri, name=path.stem, mime_type=UI_MIME_TYPE, text=text))
        server.tool(app=AppConfig(resource_uri=uri))(tool)
    return server


def _fanlight_on_mcpserver(views: list[Path]) -> Any:
    from mcp.server import MCPServer

    return _linked(MCPServer(NAME), views)


def _fanlight_on_fastmcp(views: list[Path]) -> Any:
    from fastmcp import FastMCP

    return _linked(FastMCP(NAME), views)


def _linked(server: Any, views: list[Path]) -> Any:
    from fanlight import Apps

    apps = Apps(server)
    for tool, path in zip(_tools(len(views)), views, strict=True):
        apps.tool(view=path)(tool)
    return server


BUILDERS: dict[str, Callable[[list[Path]], Any]] = {
    "MCPServer": _mcpserver,
    "Fanlight on MCPServer": _fanlight_on_mcpserver,
    "FastMCP": _fastmcp,
    "Fanlight on FastMCP": _fanlight_on_fastmcp,
}
