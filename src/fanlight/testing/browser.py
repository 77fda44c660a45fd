"""A browser for tests: one that is found on this machine, driven by Playwright.

Looked for in this order: what the variable FANLIGHT_BROWSER names, the system's Chromium or Chrome, Playwright's own.
"""

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fanlight.protocol.errors import FanlightError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

__all__ = ["BrowserMissing", "find_browser", "launched"]

VARIABLE: Final = "FANLIGHT_BROWSER"

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# These keep it from looking for the internet by itself, and make letters the same on every screen.
_SWITCHES: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-lcd-text",
    "--font-render-hinting=none",
)


class BrowserMissing(FanlightError):
    """No browser can be started. The message says what to install."""


def find_browser() -> str | None:
    """Return the path of a browser on this machine, or None if only Playwright's own is left to try."""
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise BrowserMissing(f"{VARIABLE} is {named!r}, and there is no such program.")
        return found
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@asynccontextmanager
async def launched(path: str | Path | None = None) -> AsyncIterator["Browser"]:
    """Start a browser for a block: the one at `path`, or one that is found. Raise `BrowserMissing` if there is none."""
    try:
        from playwright.async_api import async_playwright
    except ModuleNotFoundError:
        raise BrowserMissing("Playwright is missing: pip install 'fanlight[browser]'") from None
    _use_own_node()
    async with async_playwright() as playwright:
        browser = await _launch(playwright, find_browser() if path is None else str(path))
        try:
            yield browser
        finally:
            await browser.close()


def _use_own_node() -> None:
    """Let Playwright use the Node beside Python, if one is there: its own needs libraries that a bare Debian lacks."""
    if (node := Path(sys.executable).with_name("node")).exists():
        os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))


async def _launch(playwright: "Playwright", path: str | None) -> "Browser":
    from playwright.async_api import Error

    choices: list[dict[str, Any]] = [{"executable_path": path}] if path else [{}, {"channel": "chrome"}]
    # The browser's own sandbox does not work for root, nor on each machine for others; ours does not depend on it.
    sandboxes = [False] if getattr(os, "geteuid", lambda: 1)() == 0 else [True, False]
    said = ""
    for choice in choices:
        for sandbox in sandboxes:
            try:
                return await playwright.chromium.launch(args=list(_SWITCHES), chromium_sandbox=sandbox, **choice)
            except Error as error:
                said = said or error.message.strip().split("\n")[0]
    if path:
        raise BrowserMissing(f"The browser {path} does not start: {said}")
    raise BrowserMissing(
        "No browser was found: install one (apt-get install chromium, or playwright install --with-deps chromium), "
        f"or name one in {VARIABLE}."
    )
