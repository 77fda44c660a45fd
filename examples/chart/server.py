"""A bar chart that draws itself while the model is still writing the numbers."""

from dataclasses import asdict, dataclass
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import Field

from fanlight import Apps

server = MCPServer("chart")
apps = Apps(server)


@dataclass
class Row:
    label: str
    value: float


@dataclass
class Chart:
    title: str
    unit: str
    rows: list[Row]


RIVERS = [{"label": "Nile", "value": 6650}, {"label": "Amazon", "value": 6400}, {"label": "Yangtze", "value": 6300}]


@apps.tool(view="chart.html")
def draw_chart(
    title: Annotated[str, Field(examples=["The longest rivers, in km"])],
    rows: Annotated[list[Row], Field(min_length=1, max_length=40, examples=[RIVERS])],
    unit: str = "",
) -> Annotated[CallToolResult, Chart]:
    "Draw a bar chart of labelled values for the user."
    if any(row.value < 0 for row in rows):
        raise ToolError("A value is below zero. This chart shows amounts: give values of zero or more.")
    largest = max(rows, key=lambda row: row.value)
    lines = [f"{row.label}: {row.value:g} {unit}".rstrip() for row in rows]
    text = "\n".join([f"{title} (largest: {largest.label})", *lines])
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=asdict(Chart(title, unit, rows)),
    )


if __name__ == "__main__":
    server.run()
