"""An image viewer: the View reads a picture in binary chunks from a resource template."""

import base64
import math
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations

from fanlight import Apps

server = MCPServer("image")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
CHUNK = 24 * 1024
"""Bytes of a picture in one response: small enough for any transport, and for a smooth progress bar."""
WIDTH, HEIGHT = 1200, 750
SMALL = 240
"""The width of the thumbnail for the model."""

Colour = tuple[int, int, int]
Name = Literal["dunes", "ripples", "night"]


@dataclass
class Picture:
    name: str
    title: str
    width: int
    height: int
    type: str
    size: int
    chunk: int
    text: str


# Painting: a picture is rows of palette indices, so that a row takes only a few operations on bytes


@dataclass(frozen=True)
class Painting:
    title: str
    description: str
    palette: list[Colour]
    rows: Callable[[int, int], Iterator[bytes]]


def gradient(one: Colour, other: Colour, steps: int) -> list[Colour]:
    """Return a gradient between two colours."""
    parts = [step / max(steps - 1, 1) for step in range(steps)]
    return [_mixed(one, other, part) for part in parts]


def _mixed(one: Colour, other: Colour, part: float) -> Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(one, other, strict=True))
    return red, green, blue


def noise_rows(width: int) -> Iterator[bytes]:
    """Yield the same pseudo-random noise for each row, which prevents bands in a smooth sky."""
    noise = random.Random(7)
    while True:
        yield noise.randbytes(width)


class Ridge:
    """A row of hills, as the height of its top edge in each column."""

    def __init__(self, width: int, height: int, level: float, swing: float, phase: float) -> None:
        waves = ((1.0, 0.5), (2.3, 0.3), (5.1, 0.14), (11.7, 0.06))
        parts = (sum(part * math.sin(often * (6 * x / width + phase)) for often, part in waves) for x in range(width))
        self.tops = [round(height * (level + swing * part)) for part in parts]
        self.first, self.last = min(self.tops), max(self.tops)


def draw_ridges(row: list[int], ridges: list[Ridge], y: int, noise: bytes, first: int, fade: float) -> None:
    """Draw the ridges into a row of pixels. Each uses the 24 palette entries after those of the ridge behind it."""
    hidden = max((i for i, ridge in enumerate(ridges) if y >= ridge.last), default=0)  # covers all ridges before it
    for i, ridge in enumerate(ridges[hidden:], hidden):
        base = first + 24 * i
        for x, top in enumerate(ridge.tops) if y >= ridge.first else ():
            if y >= top:
                row[x] = base + min(int((y - top) * fade + noise[x] / 128), 23)


def dunes(width: int, height: int) -> Iterator[bytes]:
    ridges = [Ridge(width, height, 0.5 + 0.1 * i, 0.05 + 0.012 * i, 1.7 * i) for i in range(5)]
    middle_x, middle_y, radius = width * 0.68, height * 0.36, height * 0.1
    for y, noise in zip(range(height), noise_rows(width), strict=False):
        sky = min(y / height / 0.62, 1) * 118
        row = [int(sky + speck / 256) for speck in noise] if y < ridges[0].last else [0] * width
        inside = radius**2 - (y - middle_y) ** 2
        if inside > 0:
            half = math.sqrt(inside)
            for x in range(max(0, round(middle_x - half)), min(width, round(middle_x + half))):
                row[x] = 120 + (noise[x] > 200)
        draw_ridges(row, ridges, y, noise, 124, 40 / height)
        yield bytes(row)


def ripples(width: int, height: int) -> Iterator[bytes]:
    stones = ((0.32, 0.42), (0.7, 0.6))
    wave = [round(100 + 99 * math.sin(step / 24)) // 2 for step in range(6000)]
    across = [[(x - width * at) ** 2 for x in range(width)] for at, _ in stones]
    for y, noise in zip(range(height), noise_rows(width), strict=False):
        first, second = ((y - height * at) ** 2 for _, at in stones)
        scale = 3600 / width
        yield bytes(
            wave[int(math.sqrt(a + first) * scale)] + wave[int(math.sqrt(b + second) * scale)] + (speck >> 5)
            for a, b, speck in zip(across[0], across[1], noise, strict=True)
        )


def night(width: int, height: int) -> Iterator[bytes]:
    stars = random.Random(11)
    ridges = [Ridge(width, height, 0.72 + 0.1 * i, 0.05, 2.2 * i + 0.6) for i in range(2)]
    lit: dict[int, list[tuple[int, int]]] = {}
    for _ in range(700):
        x, y, light = stars.random(), stars.random() ** 1.4 * 0.85, stars.random() ** 2
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)) if light > 0.5 else ((0, 0),):
            lit.setdefault(round(y * height) + dy, []).append(
                (min(round(x * width) + dx, width - 1), round(light * 30))
            )
    for y, noise in zip(range(height), noise_rows(width), strict=False):
        sky = min(y / height / 0.8, 1) * 138
        row = [int(sky + speck / 100) for speck in noise] if y < ridges[0].last else [0] * width
        for x, light in lit.get(y, ()):
            row[x] = 150 + light
        draw_ridges(row, ridges, y, noise, 184, 60 / height)
        yield bytes(row)


PAINTINGS: dict[str, Painting] = {
    "dunes": Painting(
        "Dunes at dusk",
        "Five rows of dunes, each darker than the one behind it. The sky goes from violet to orange; the sun is low.",
        [
            *gradient((64, 52, 102), (196, 98, 110), 60),
            *gradient((196, 98, 110), (250, 190, 130), 60),
            *gradient((255, 240, 205), (255, 232, 185), 4),
            *gradient((222, 144, 116), (204, 126, 108), 24),
            *gradient((184, 104, 100), (166, 90, 96), 24),
            *gradient((142, 76, 92), (122, 64, 86), 24),
            *gradient((98, 52, 78), (80, 42, 70), 24),
            *gradient((56, 32, 58), (34, 20, 42), 24),
        ],
        dunes,
    ),
    "ripples": Painting(
        "Two stones in a pond",
        "Two sets of rings on blue-green water, which meet and make a pattern of light and dark.",
        [*gradient((8, 38, 62), (24, 112, 130), 110), *gradient((24, 112, 130), (220, 244, 232), 100)],
        ripples,
    ),
    "night": Painting(
        "Night over the hills",
        "Some hundred stars over two rows of dark hills, with a faint green light along the horizon.",
        [
            *gradient((10, 12, 34), (22, 40, 78), 100),
            *gradient((22, 40, 78), (58, 120, 116), 50),
            *gradient((70, 84, 120), (255, 252, 235), 34),
            *gradient((20, 34, 46), (14, 24, 36), 24),
            *gradient((9, 15, 24), (5, 8, 14), 24),
        ],
        night,
    ),
}


def png(painting: Painting, width: int, height: int) -> bytes:
    """Return a painting as a PNG file (RFC 2083): header, palette, rows and end."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    compressor = zlib.compressobj(6)
    rows = b"".join(compressor.compress(b"\0" + row) for row in painting.rows(width, height)) + compressor.flush()
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", bytes(number for colour in painting.palette for number in colour)),
            chunk(b"IDAT", rows),
            chunk(b"IEND", b""),
        )
    )


@lru_cache(maxsize=8)
def painted(name: str, width: int = WIDTH, height: int = HEIGHT) -> bytes:
    return png(PAINTINGS[name], width, height)


# The tool and the resource


@apps.tool(view="image.html", annotations=READ_ONLY)
def show_picture(name: Name = "dunes") -> Annotated[CallToolResult, Picture]:
    "Show one of the pictures that this server paints: dunes, ripples or night."
    painting, size = PAINTINGS[name], len(painted(name))
    text = (
        f"{painting.title}: {painting.description} A PNG of {WIDTH} by {HEIGHT} pixels and {size:,} bytes. "
        f"It can be read in chunks of {CHUNK:,} bytes: image://{name}/0, image://{name}/{CHUNK} and so on."
    )
    small = base64.b64encode(painted(name, SMALL, SMALL * HEIGHT // WIDTH)).decode()
    return CallToolResult(
        content=[TextContent(type="text", text=text), ImageContent(type="image", data=small, mime_type="image/png")],
        structured_content=asdict(
            Picture(name, painting.title, WIDTH, HEIGHT, "image/png", size, CHUNK, text),
        ),
    )


@server.resource("image://{name}/{offset}", title="Part of a picture", mime_type="application/octet-stream")
def part_of_picture(name: str, offset: int) -> bytes:
    "A chunk of the PNG file of a picture, starting at an offset."
    if name not in PAINTINGS:
        raise ResourceError(f"There is no picture {name!r}. The pictures are {', '.join(PAINTINGS)}.")
    whole = painted(name)
    if not 0 <= offset < len(whole):
        raise ResourceError(f"Offset {offset} is not in the picture, which has {len(whole)} bytes.")
    return whole[offset : offset + CHUNK]


if __name__ == "__main__":
    server.run()
