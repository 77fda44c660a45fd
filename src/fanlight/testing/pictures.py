"""PNG pictures: compare them, join them into one, and recognize blank ones. A page of the browser decodes them."""

import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page


__all__ = ["Comparison", "compare", "contact_sheet", "is_blank"]


@dataclass(frozen=True)
class Comparison:
    """The difference between two pictures."""

    different: int
    """The number of pixels that differ."""
    total: int
    """The number of pixels."""
    expected: tuple[int, int]
    """Width and height of the expected picture."""
    actual: tuple[int, int]
    """Width and height of the actual picture."""
    picture: bytes | None
    """Expected, actual and difference side by side, as PNG; None if they are equal."""

    @property
    def share(self) -> float:
        """The share of pixels that differ, from 0 to 1."""
        return self.different / self.total

    def __str__(self) -> str:
        if self.expected != self.actual:
            before, now = (f"{width}x{height}" for width, height in (self.expected, self.actual))
            return f"its size changed from {before} to {now}"
        return f"{self.different:,} of {self.total:,} pixels differ ({self.share:.2%})"


async def is_blank(browser: "Browser", png: bytes) -> bool:
    """Return whether a PNG has only one colour."""
    async with _open_page(browser) as page:
        blank: bool = await page.evaluate("data => pictures.isBlank(data)", _text(png))
        return blank


async def compare(browser: "Browser", expected: bytes, actual: bytes, *, colour: int = 8) -> Comparison:
    """Compare two PNGs. A pixel differs if its red, green or blue differs by more than `colour`, of 255."""
    async with _open_page(browser) as page:
        found: dict[str, Any] = await page.evaluate(
            "given => pictures.compare(given)", [_text(expected), _text(actual), colour]
        )
    picture = found["picture"]
    return Comparison(
        found["different"],
        found["total"],
        tuple(found["expected"]),
        tuple(found["actual"]),
        None if picture is None else base64.b64decode(picture),
    )


async def contact_sheet(browser: "Browser", pictures: Sequence[tuple[str, bytes]], *, scale: float = 1) -> bytes:
    """Return one PNG with several pictures, given as pairs of caption and PNG."""
    async with _open_page(browser, scale) as page:
        named = [[caption, _text(png)] for caption, png in pictures]
        width, height = await page.evaluate("given => pictures.sheet(given)", [named, scale])
        return await page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})


def _text(png: bytes) -> str:
    return base64.b64encode(png).decode()


@asynccontextmanager
async def _open_page(browser: "Browser", scale: float = 1) -> AsyncIterator["Page"]:
    """An empty page with the script that reads pictures."""
    page = await browser.new_page(
        viewport={"width": 1700, "height": 1000}, device_scale_factor=scale, color_scheme="light"
    )
    try:
        await page.set_content(_file("sheet.html"))
        await page.evaluate(_file("pictures.js"))
        yield page
    finally:
        await page.close()


@cache
def _file(name: str) -> str:
    return files("fanlight.testing").joinpath(name).read_text(encoding="utf-8")
