"""Deliveries of a shop: the model fills in what it knows, and the user completes the form. No HTML, no JavaScript."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal

from mcp.server import MCPServer
from pydantic import BaseModel, Field, SecretStr

from fanlight import Apps, show

server = MCPServer("booking")
apps = Apps(server)

CITIES = {"Lyon", "Marseille", "Paris"}


class Address(BaseModel):
    street: str = Field(min_length=3, examples=["12 rue de la Paix"])
    postcode: str = Field(pattern=r"^\d{5}$", description="Five digits.")
    city: str


class Parcel(BaseModel):
    contents: str = Field(examples=["Books"])
    weight: Decimal = Field(gt=0, le=30, decimal_places=1, description="In kilograms, at most 30.")
    fragile: bool = False


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: SecretStr = Field(title="Card number", description="The assistant never sees it.")


class Invoice(BaseModel):
    kind: Literal["invoice"] = "invoice"
    reference: str = Field(max_length=20)


class Order(BaseModel):
    day: date = Field(title="Delivery day")
    speed: Literal["standard", "express", "overnight"] = "standard"
    address: Address
    parcels: list[Parcel] = Field(min_length=1, max_length=10)
    payment: Annotated[Card | Invoice, Field(discriminator="kind")]
    note: str | None = Field(None, max_length=500, description="Anything the driver should know.")


class Confirmation(BaseModel):
    number: str
    day: date
    parcels: int
    price: Decimal


@apps.form(title="Book a delivery", submit="Book")
def book(order: Order) -> Confirmation:
    "Book a delivery of parcels in France."
    if order.day <= date.today():
        raise show.FieldError("day", "We need at least one day: choose tomorrow or later.")
    if order.address.city not in CITIES:
        raise show.FieldError("address.city", f"We deliver in {', '.join(sorted(CITIES))} only.")
    if order.day.weekday() == 6 and order.speed != "overnight":
        raise ValueError("On Sundays there is only overnight delivery.")
    price = sum((parcel.weight for parcel in order.parcels), Decimal(5)) * {"standard": 1, "express": 2}.get(
        order.speed, 3
    )
    number = f"D-{(order.day - date(2026, 1, 1)) // timedelta(days=1):04}"
    return Confirmation(number=number, day=order.day, parcels=len(order.parcels), price=price)


if __name__ == "__main__":
    server.run()
