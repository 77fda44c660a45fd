"""Comparing pictures and arranging them on a contact sheet, with generated PNGs."""

import struct
import zlib

import pytest
from playwright.async_api import Browser

from fanlight.testing.pictures import compare, contact_sheet, is_blank

pytestmark = pytest.mark.anyio

Colour = tuple[int, int, int]
WHITE: Colour = (255, 255, 255)


def png(width: int, height: int, points: dict[tuple[int, int], Colour] | None = None, ground: Colour = WHITE) -> bytes:
    rows = [[(points or {}).get((x, y), ground) for x in range(width)] for y in range(height)]
    raw = b"".join(b"\0" + bytes(part for point in row for part in point) for row in rows)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def size(data: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", data[16:24])
    return width, height


async def test_different_pixels_are_counted_and_shown(browser: Browser) -> None:
    found = await compare(browser, png(10, 10), png(10, 10, {(1, 1): (0, 0, 0), (2, 2): (255, 255, 240)}))
    assert (found.different, found.total, found.share) == (2, 100, 0.02)
    assert str(found) == "2 of 100 pixels differ (2.00%)"
    assert found.picture is not None
    assert size(found.picture)[0] > 3 * 80


async def test_an_invisible_difference_in_shade_is_ignored(browser: Browser) -> None:
    nearly = png(10, 10, {(1, 1): (250, 255, 255)})
    found = await compare(browser, png(10, 10), nearly)
    assert (found.different, found.picture) == (0, None)
    assert (await compare(browser, png(10, 10), nearly, colour=2)).different == 1


async def test_a_different_size_is_reported(browser: Browser) -> None:
    found = await compare(browser, png(10, 10), png(10, 12))
    assert str(found) == "its size changed from 10x10 to 10x12"
    assert found.different == 20


async def test_a_picture_of_one_colour_is_blank(browser: Browser) -> None:
    assert await is_blank(browser, png(20, 20, ground=(3, 3, 3)))
    assert not await is_blank(browser, png(20, 20, {(19, 19): (254, 255, 255)}))


async def test_a_contact_sheet_contains_all_pictures(browser: Browser) -> None:
    named = [(f"number {i}", png(400, 100, ground=(i, 0, 0))) for i in range(5)]
    width, height = size(await contact_sheet(browser, named))
    assert width <= 1700
    assert height > 2 * 100
    assert size(await contact_sheet(browser, named[:1], scale=2))[0] == 2 * (200 + 2 * 24)
