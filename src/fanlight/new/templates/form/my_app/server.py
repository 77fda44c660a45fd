"""The server: a form to book a table. Replace `Booking` with what you ask for, and `book_table` with what you do."""

from datetime import date, timedelta
from typing import Literal

from mcp.server import MCPServer
from pydantic import BaseModel, Field

from fanlight import Apps, show

server = MCPServer("my-app")
apps = Apps(server)


class Booking(BaseModel):
    name: str = Field(min_length=2, max_length=80, examples=["Ada Lovelace"])
    day: date
    time: Literal["18:00", "19:00", "20:00", "21:00"] = "19:00"
    guests: int = Field(2, ge=1, le=12)
    outside: bool = Field(False, title="On the terrace")
    note: str | None = Field(None, max_length=300, description="Allergies, a high chair, a birthday.")


class Confirmation(BaseModel):
    number: str
    text: str


@apps.form(title="Book a table", submit="Book")
def book_table(booking: Booking) -> Confirmation:
    "Book a table in the restaurant."
    if booking.day <= date.today():
        raise show.FieldError("day", "Choose tomorrow or later.")
    if booking.day > date.today() + timedelta(days=60):
        raise show.FieldError("day", "We take bookings for the next 60 days.")
    where = "on the terrace" if booking.outside else "inside"
    text = f"A table {where} for {booking.guests}, on {booking.day:%d %B} at {booking.time}."
    return Confirmation(number=f"{booking.day:%m%d}-{booking.guests}", text=text)


def main() -> None:
    server.run()
