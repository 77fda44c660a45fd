"""Orders of a shop: tools return frames and figures, and users see tables and charts. No HTML and no JavaScript."""

import random
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

import pandas as pd
import plotly.express as px
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from fanlight import Apps, show

server = MCPServer("sales")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
Region = Literal["all", "North", "South", "East", "West"]
PRODUCTS = {"Lamp": "39.90", "Desk": "249.00", "Chair": "129.50", "Shelf": "89.00", "Rug": "74.25", "Mirror": "58.00"}


def load_orders(count: int = 10_000) -> pd.DataFrame:
    """Make up the orders. A real server would read them from a database or a file."""
    chance = random.Random(7)
    rows = []
    for number in range(count):
        product = chance.choice(list(PRODUCTS))
        pieces = chance.randint(1, 12)
        rows.append(
            {
                "order id": 100_000 + number,
                "day": date(2026, 1, 1) + timedelta(days=number * 320 // count),
                "region": chance.choice(["North", "South", "East", "West"]),
                "product": product,
                "pieces": pieces,
                "total": pieces * Decimal(PRODUCTS[product]),
                "shipped": chance.random() < 0.9,
                "rating": chance.choice([None, 3.5, 4.0, 4.5, 5.0]),
            }
        )
    return pd.DataFrame(rows)


ORDERS = load_orders()


@apps.show(title="Orders", annotations=READ_ONLY)
def orders(region: Region = "all") -> pd.DataFrame:
    "Show the orders of a region."
    return ORDERS if region == "all" else ORDERS[ORDERS["region"] == region]


@apps.show(title="Sales report", annotations=READ_ONLY)
def sales_report(region: Region = "all") -> list[object]:
    "Show how sales are going in a region: revenue by month, and the best sellers."
    chosen = orders(region)
    by_month = chosen.assign(
        month=pd.to_datetime(chosen["day"]).dt.strftime("%Y-%m"), total=chosen["total"].astype(float)
    )
    best = chosen.groupby("product").agg(orders=("order id", "count"), pieces=("pieces", "sum"))
    return [
        show.Columns(
            show.Metric("Revenue", round(by_month["total"].sum(), 2)),
            show.Metric("Orders", len(chosen)),
            show.Metric("Not shipped", int((~chosen["shipped"]).sum()), delta="needs attention", good=False),
        ),
        px.bar(by_month.groupby("month", as_index=False)["total"].sum(), x="month", y="total", title="Revenue"),
        best.sort_values("pieces", ascending=False),
    ]


if __name__ == "__main__":
    server.run()
