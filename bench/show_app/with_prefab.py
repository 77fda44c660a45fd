from fastmcp import FastMCP
from prefab_ui.app import PrefabApp
from prefab_ui.components import DataTable, DataTableColumn

from bench.show_app.orders import load_orders

server = FastMCP("orders")


@server.tool(app=True)
def orders(rows: int = 10_000) -> PrefabApp:
    "Show the orders."
    frame = load_orders(rows)
    columns = [DataTableColumn(key=name, header=name, sortable=True) for name in frame.columns]
    with PrefabApp() as app:
        DataTable(columns=columns, rows=frame, search=True, paginated=True)
    return app
