"""A booking in three steps: a form where the client can show one, a conversation where it cannot."""

from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from fanlight import Apps

server = MCPServer("wizard")
apps = Apps(server)

Need = Literal["screen", "phone", "whiteboard"]
Slot = Literal["09:00", "11:00", "13:00", "15:00"]


@dataclass(frozen=True)
class Room:
    name: str
    seats: int
    has: list[Need]


@dataclass
class Rooms:
    rooms: list[Room]
    text: str


@dataclass
class Booking:
    room: str
    day: date
    start: Slot
    people: int
    text: str


ROOMS = [
    Room("Attic", 4, ["whiteboard"]),
    Room("Garden", 8, ["screen", "whiteboard"]),
    Room("Harbour", 12, ["screen", "phone"]),
    Room("Library", 20, ["screen", "phone", "whiteboard"]),
]
bookings: dict[tuple[str, date, Slot], Booking] = {}

FORM = "A booking form is open in front of the user. Wait until they have finished it; the result will follow."
QUESTIONS = """\
Ask the user, one question at a time:
1. Which day, and does the meeting start at 09:00, 11:00, 13:00 or 15:00?
2. How many people come?
3. What is needed: screen, phone, whiteboard, or nothing?
Then call find_rooms, let the user choose, and call book_room."""


@apps.tool(view="wizard.html")
def start_booking(ctx: Context) -> str:
    "Help the user to book a meeting room."
    return FORM if apps.supported(ctx) else QUESTIONS


@apps.tool()
def find_rooms(people: Annotated[int, Field(ge=1)], day: date, start: Slot, needs: list[Need] | None = None) -> Rooms:
    "Find rooms that are free and large enough, and have what is needed."
    fitting = [
        room
        for room in ROOMS
        if room.seats >= people and set(needs or ()) <= set(room.has) and (room.name, day, start) not in bookings
    ]
    names = ", ".join(f"{room.name} ({room.seats} seats)" for room in fitting)
    return Rooms(
        fitting, f"Free on {day} at {start}: {names}." if names else "No room fits. Try another time or fewer needs."
    )


@apps.tool()
def book_room(room: str, day: date, start: Slot, people: Annotated[int, Field(ge=1)]) -> Booking:
    "Book a room that find_rooms returned."
    if room not in {known.name for known in ROOMS}:
        raise ToolError(f"There is no room {room!r}. Call find_rooms for the list.")
    if (room, day, start) in bookings:
        raise ToolError(f"{room} is taken on {day} at {start}. Call find_rooms for another.")
    booking = Booking(room, day, start, people, f"{room} is booked for {people} on {day} at {start}.")
    bookings[room, day, start] = booking
    return booking


if __name__ == "__main__":
    server.run()
