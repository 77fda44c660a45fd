"""A world map without network access: the server computes vector tiles, and the View requests those that it shows."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("map")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
Point = tuple[float, float]

EXTENT = 4096
"""The width of a tile in its own units."""
MARGIN = 96
"""How far shapes extend beyond the edge of a tile, so that the edge is not drawn as a coast."""
MIN_DISTANCE = 12
"""Points closer than this are merged: a tile is drawn about 256 pixels wide."""
MAX_ZOOM = 6
MAX_LATITUDE = 85.0511
"""The latitude at which the square map ends."""


@dataclass
class Place:
    """A place to mark. Cities that the map knows need only a name."""

    name: str
    latitude: Annotated[float | None, Field(ge=-90, le=90)] = None
    longitude: Annotated[float | None, Field(ge=-180, le=180)] = None


@dataclass
class Marker:
    name: str
    latitude: float
    longitude: float


@dataclass
class Map:
    markers: list[Marker]
    text: str


@dataclass(frozen=True)
class Key:
    """The position of a tile. At zoom level z the world is 2^z tiles wide and high, counted from the north-west."""

    z: Annotated[int, Field(ge=0, le=MAX_ZOOM)]
    x: Annotated[int, Field(ge=0)]
    y: Annotated[int, Field(ge=0)]


@dataclass
class City:
    name: str
    x: float
    y: float
    rank: int


@dataclass
class Tile:
    z: int
    x: int
    y: int
    land: list[list[int]]
    lakes: list[list[int]]
    cities: list[City]


@dataclass
class Tiles:
    extent: int
    max_zoom: int
    tiles: list[Tile]


# The world as a unit square


def project(latitude: float, longitude: float) -> Point:
    """Return the position of a place on the unit square (Mercator projection)."""
    bounded = math.radians(max(-MAX_LATITUDE, min(MAX_LATITUDE, latitude)))
    return longitude / 360 + 0.5, 0.5 - math.asinh(math.tan(bounded)) / (2 * math.pi)


def smooth(shape: list[Point]) -> list[Point]:
    """Return a closed shape with its corners cut off."""
    cut: list[Point] = []
    for (x, y), (then_x, then_y) in pairwise([*shape, shape[0]]):
        cut += [(0.75 * x + 0.25 * then_x, 0.75 * y + 0.25 * then_y)]
        cut += [(0.25 * x + 0.75 * then_x, 0.25 * y + 0.75 * then_y)]
    return cut


def shapes(outlines: dict[str, list[float]]) -> list[list[Point]]:
    found = []
    for numbers in outlines.values():
        shape = [project(north, east) for east, north in zip(numbers[::2], numbers[1::2], strict=True)]
        shape = smooth(smooth(shape))
        found.append(shape)
        if max(x for x, _ in shape) > 1:  # crosses the date line, so it is repeated on the other side
            found.append([(x - 1, y) for x, y in shape])
    return found


@cache
def world() -> dict[str, Any]:
    data = json.loads(Path(__file__).with_name("world.json").read_text(encoding="utf-8"))
    return {"land": shapes(data["land"]), "lakes": shapes(data["lakes"]), "cities": data["cities"]}


# Tiles


def clip(shape: list[Point], low: float, high: float, axis: int) -> list[Point]:
    """Return the part of a shape between two bounds on an axis."""
    for bound, inside in ((low, float.__ge__), (high, float.__le__)):
        shape = _clip_side(shape, axis, bound, inside)
    return shape


def _clip_side(shape: list[Point], axis: int, bound: float, inside: Callable[[float, float], bool]) -> list[Point]:
    kept: list[Point] = []
    for before, point in pairwise([*shape[-1:], *shape]):
        if inside(before[axis], bound) != inside(point[axis], bound):
            part = (bound - before[axis]) / (point[axis] - before[axis])
            kept.append((before[0] + part * (point[0] - before[0]), before[1] + part * (point[1] - before[1])))
        if inside(point[axis], bound):
            kept.append(point)
    return kept


def simplify(shape: list[tuple[int, int]]) -> list[int]:
    """Return a shape as x, y, x, y... without points that are less than a pixel from the one before."""
    kept = [shape[0]]
    for x, y in shape[1:]:
        if abs(x - kept[-1][0]) + abs(y - kept[-1][1]) >= MIN_DISTANCE:
            kept.append((x, y))
    return [number for point in kept for number in point]


@lru_cache(maxsize=512)
def tile(key: Key) -> Tile:
    across = 2**key.z
    scale = across * EXTENT
    edge = MARGIN / scale
    left, top = key.x / across, key.y / across

    def parts(all_shapes: list[list[Point]]) -> list[list[int]]:
        found = []
        for shape in all_shapes:
            part = clip(shape, left - edge, left + 1 / across + edge, 0)
            part = clip(part, top - edge, top + 1 / across + edge, 1)
            if part:
                found.append(simplify([(round((x - left) * scale), round((y - top) * scale)) for x, y in part]))
        return found

    cities = []
    for name, (north, east, rank) in world()["cities"].items():
        x, y = project(north, east)
        if left <= x < left + 1 / across and top <= y < top + 1 / across:
            cities.append(City(name, x, y, rank))
    return Tile(key.z, key.x, key.y, parts(world()["land"]), parts(world()["lakes"]), cities)


# The text for the model


def degrees(latitude: float, longitude: float) -> str:
    north, east = "N" if latitude >= 0 else "S", "E" if longitude >= 0 else "W"
    return f"{abs(latitude):.2f}° {north}, {abs(longitude):.2f}° {east}"


def kilometres(one: Marker, other: Marker) -> float:
    """Return the distance on the globe."""
    a, b = math.radians(one.latitude), math.radians(other.latitude)
    east = math.radians(other.longitude - one.longitude)
    half = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(east / 2) ** 2
    return 2 * 6371 * math.asin(math.sqrt(half))


def locate(place: Place) -> Marker:
    if place.latitude is not None and place.longitude is not None:
        return Marker(place.name, place.latitude, place.longitude)
    for name, (north, east, _) in world()["cities"].items():
        if name.casefold() == place.name.strip().casefold():
            return Marker(name, north, east)
    raise ToolError(f"The map does not know where {place.name!r} is. Give its latitude and longitude.")


def describe(markers: list[Marker]) -> str:
    if not markers:
        return "A map of the world, without markers."
    lines = [f"{marker.name}: {degrees(marker.latitude, marker.longitude)}" for marker in markers]
    ways = [f"{one.name} to {other.name}: {kilometres(one, other):,.0f} km" for one, other in pairwise(markers)]
    return "\n".join([f"A map with {len(markers)} {'marker' if len(markers) == 1 else 'markers'}.", *lines, *ways])


@apps.tool(view="map.html", annotations=READ_ONLY)
def show_map(
    places: Annotated[list[Place] | None, Field(max_length=100)] = None,
) -> Annotated[CallToolResult, Map]:
    "Show a map of the world with places marked. Large cities need only a name; other places need coordinates."
    markers = [locate(place) for place in places or ()]
    shown = Map(markers, describe(markers))
    return CallToolResult(content=[TextContent(type="text", text=shown.text)], structured_content=asdict(shown))


@apps.tool(visibility=["app"], annotations=READ_ONLY)
def get_tiles(keys: Annotated[list[Key], Field(min_length=1, max_length=64)]) -> Annotated[CallToolResult, Tiles]:
    "Return tiles of the map as outlines. Only the View calls this."
    for key in keys:
        if max(key.x, key.y) >= 2**key.z:
            raise ToolError(
                f"There is no tile {key.x}, {key.y} at level {key.z}: it is {2**key.z} tiles wide and high."
            )
    tiles = Tiles(EXTENT, MAX_ZOOM, [tile(key) for key in keys])
    # Without this text, the outlines would be sent a second time as text.
    text = TextContent(type="text", text=f"{len(keys)} tiles of the map")
    return CallToolResult(content=[text], structured_content=asdict(tiles))


if __name__ == "__main__":
    server.run()
