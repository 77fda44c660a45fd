"""The server: a shopping list, rendered by Jinja. Replace it with what your app does."""

from typing import Annotated, Any

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("my-app")
pages = Apps(server).pages("templates", head="head.html")

items = {1: "Bread", 2: "Olives", 3: "Tomatoes"}  # a real app has a database


@pages.view("page.html", text="page.txt", title="My app", annotations=ToolAnnotations(read_only_hint=True))
def show_my_app() -> dict[str, Any]:
    "Show the user the shopping list, where they can change it."
    return {"items": items}


@pages.action("items.html", text="page.txt")
def add_item(text: Annotated[str, Field(max_length=60)]) -> dict[str, Any]:
    if not text.strip():
        raise ValueError("Write what to buy.")
    items[max(items, default=0) + 1] = text.strip()
    return {"items": items}


@pages.action("items.html", text="page.txt")
def remove_item(number: int) -> dict[str, Any]:
    items.pop(number, None)
    return {"items": items}


def main() -> None:
    server.run()
