"""A shopping cart: pages rendered from Jinja templates, with buttons and forms that call Python. No JavaScript."""

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from fanlight import Apps, caller_key

server = MCPServer("shop")
pages = Apps(server).pages("templates", head="head.html")
pages.environment.filters["money"] = lambda amount: f"€{amount:,.2f}"

READ_ONLY = ToolAnnotations(read_only_hint=True)
PRODUCTS = {
    "lamp": ("Desk lamp", "Warm light, three levels", Decimal("39.90"), "#8a5d10"),
    "chair": ("Oak chair", "Solid, with a woven seat", Decimal("129.50"), "#8f5a38"),
    "rug": ("Wool rug", "80 × 150 cm, undyed", Decimal("74.25"), "#64795a"),
    "vase": ("Clay vase", "Thrown by hand", Decimal("24.80"), "#b1502f"),
}


@dataclass
class Cart:
    counts: dict[str, int] = field(default_factory=lambda: {"lamp": 1, "rug": 2})
    discount: int = 0


carts: dict[str, Cart] = defaultdict(Cart)  # a real shop has a database


def my_cart() -> Cart:
    return carts[caller_key() or "everyone"]  # a shop on the web signs its users in, and so has a key for each


def lines() -> dict[str, Any]:
    cart = my_cart()
    rows = [(sku, *PRODUCTS[sku], count, count * PRODUCTS[sku][2]) for sku, count in cart.counts.items() if count]
    total = sum((row[-1] for row in rows), Decimal(0))
    return {"rows": rows, "discount": cart.discount, "total": total * (100 - cart.discount) / 100}


@pages.view("cart.html", text="cart.txt", title="Your cart", annotations=READ_ONLY)
def show_cart() -> dict[str, Any]:
    "Show the user's shopping cart, where they can change it and look for more."
    return lines() | find_products()


@pages.action("lines.html", text="cart.txt")
def set_count(sku: str, count: Annotated[int, Field(ge=0, le=20)] = 1) -> dict[str, Any]:
    "Set how many pieces of a product are in the cart."
    if sku not in PRODUCTS:
        raise ValueError("This product is not sold any more.")
    my_cart().counts[sku] = count
    return lines()


@pages.action("lines.html", text="cart.txt")
def use_coupon(code: Annotated[str, Field(max_length=20)]) -> dict[str, Any]:
    "Use a coupon."
    if code.strip().upper() != "WINDOW10":
        raise ValueError("This coupon is not valid. Try WINDOW10.")
    my_cart().discount = 10
    return lines()


@pages.action("products.html", annotations=READ_ONLY)
def find_products(query: Annotated[str, Field(max_length=50)] = "") -> dict[str, Any]:
    "Find products by their names and descriptions."
    found = {sku: row for sku, row in PRODUCTS.items() if query.lower() in f"{row[0]} {row[1]}".lower()}
    return {"products": found, "query": query}


if __name__ == "__main__":
    server.run()
