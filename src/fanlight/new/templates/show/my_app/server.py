"""The server: sales as numbers, a chart and a table. Replace `load_sales` with your own data."""

from typing import Literal

import pandas as pd
import plotly.express as px
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from fanlight import Apps, show

server = MCPServer("my-app")
apps = Apps(server)

Region = Literal["all", "North", "South"]


def load_sales() -> pd.DataFrame:
    months = pd.period_range("2026-01", periods=6, freq="M").astype(str)
    return pd.DataFrame(
        {
            "month": [*months, *months],
            "region": ["North"] * 6 + ["South"] * 6,
            "orders": [120, 132, 141, 158, 149, 171, 98, 104, 117, 109, 126, 140],
            "revenue": [5_640, 6_070, 6_490, 7_420, 6_850, 8_040, 4_410, 4_780, 5_270, 4_960, 5_790, 6_580],
        }
    )


@apps.show(title="My app", annotations=ToolAnnotations(read_only_hint=True))
def show_my_app(region: Region = "all") -> list[object]:
    "Show the sales of a region by month."
    sales = load_sales()
    if region != "all":
        sales = sales[sales["region"] == region]
    return [
        show.Columns(
            show.Metric("Revenue", int(sales["revenue"].sum())),
            show.Metric("Orders", int(sales["orders"].sum())),
        ),
        px.bar(sales, x="month", y="revenue", color="region", title="Revenue by month"),
        sales,
    ]


def main() -> None:
    server.run()
