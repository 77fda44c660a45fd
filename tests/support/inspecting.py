"""`fanlight dev` running, its page in a browser, and a server whose View shows what it receives."""

import re
import runpy
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Frame, FrameLocator, Locator, Page, expect

from fanlight.dev.targets import Served, servers
from fanlight.host.upstream.config import Command, parse_target
from fanlight.inspector.inspector import Inspector
from support.browser import problems_of, view_frames
from support.wire import serving_pages

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
_VIEW_URL = re.compile(r"\.sandbox\.localhost:\d+/[0-9a-f]{64}")


def mirror(folder: Path) -> str:
    """Copy the server "mirror" into a folder, and return its path."""
    shutil.copytree(Path(__file__).parent / "mirror", folder / "mirror")
    return str(folder / "mirror")


def in_process(*paths: str) -> dict[str, Served]:
    """Return the servers at these paths, or the examples, as objects of this program.

    For tests about the page: a process for each server takes most of a second of processor time. A test of processes,
    reloading or source lines uses `servers` as the command line does.
    """
    found = {}
    for name, served in servers(paths).items():
        assert isinstance(served.target, Command)
        (script,) = served.target.args
        server = runpy.run_path(script, run_name="inspected")["server"]
        found[name] = Served(parse_target(server), served.folder)
    return found


@contextmanager
def running(found: dict[str, Served], **options: Any) -> Iterator[tuple[Inspector, str]]:
    inspector = Inspector(found, **options)
    with serving_pages(inspector.app) as address:
        yield inspector, address


@asynccontextmanager
async def opened(
    browser: Browser, inspector: Inspector, address: str, place: str = "", **options: Any
) -> AsyncIterator[tuple[Page, list[str]]]:
    """Open the page, and yield it with the problems that its console reports."""
    options.setdefault("viewport", {"width": 1280, "height": 1400})
    page = await browser.new_page(**options)
    problems = problems_of(page)
    await page.goto(f"{address}/?token={inspector.guard.token}")
    assert inspector.guard.token not in page.url
    if place:
        await page.goto("about:blank")  # else the open page would write its own state into the address
        await page.goto(f"{address}/{place}")
    yield page, problems
    await page.close()


async def call(page: Page, tool: str | None = None) -> None:
    """Choose a tool, and call it."""
    if tool is not None:
        await page.get_by_role("navigation").get_by_role("button", name=tool).first.click()
    await page.get_by_role("button", name="Call", exact=True).click()


def form(page: Page) -> Locator:
    return page.get_by_role("region", name="Call", exact=True)


def view(page: Page, number: int = 0) -> FrameLocator:
    """Return the View of a card, the newest first."""
    return page.locator(".card mcp-app").nth(number).locator("iframe").content_frame.locator("iframe").content_frame


async def expect_after_reload(shown: Locator) -> None:
    """Wait until an element is visible in a View that is being reloaded.

    Playwright gives up on a frame that is removed while it searches it, although the next frame follows immediately.
    """
    for _ in range(5):
        try:
            await expect(shown).to_be_visible()
        except AssertionError as error:
            if "has been closed" not in str(error):
                raise
        else:
            return
    raise AssertionError("the frame was removed repeatedly")


async def view_frame(page: Page) -> Frame:
    """Return the frame of the only View, not the warm frame of its origin."""
    (frame,) = await view_frames(page, is_view=lambda frame: _VIEW_URL.search(frame.url) is not None)
    await frame.wait_for_load_state()
    return frame
