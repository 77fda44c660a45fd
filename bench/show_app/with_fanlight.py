import pandas as pd
from mcp.server import MCPServer

from bench.show_app.orders import load_orders
from fanlight import Apps

server = MCPServer("orders")
apps = Apps(server)


@apps.show()
def orders(rows: int = 10_000) -> pd.DataFrame:
    "Show the orders."
    return load_orders(rows)
