"""The browser that tests share, and what every page in it needs: waiting, the View's frame, a list of problems."""

import base64
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from playwright.async_api import Browser, BrowserContext, Frame, Page, async_playwright

from fanlight.testing.browser import launch_browser

PATIENCE = 60
"""How many seconds to wait for a browser. A busy machine may need them; a wait ends as soon as its condition holds."""

# No request leaves this machine, whatever a page asks for.
LOOPBACK_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1"

# An ordinary profile also keeps what a browser does ahead of time (DNS, preconnect), which attacks use.
_PROFILE_SWITCHES = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update", "--disable-sync")

_COUNT_COLOURS = """async (url) => {
  const picture = await createImageBitmap(await (await fetch(url)).blob());
  const paper = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  paper.drawImage(picture, 0, 0);
  const { data } = paper.getImageData(0, 0, picture.width, picture.height);
  const found = {};
  for (let i = 0; i < data.length; i += 4) {
    const name = "#" + [0, 1, 2].map((part) => data[i + part].toString(16).padStart(2, "0")).join("");
    found[name] = (found[name] ?? 0) + 1;
  }
  return found;
}"""


@asynccontextmanager
async def chromium(*switches: str) -> AsyncIterator[Browser]:
    """Launch a browser that reaches loopback addresses only. Tests use the fixture `browser`, which is shared."""
    async with launch_browser(switches=(LOOPBACK_ONLY, *switches)) as browser:
        yield browser


def _browser_with_windows() -> str:
    """Return the path of the browser that people use, not of its headless shell."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert found is not None, "Chromium is missing: apt-get install chromium"
    return found


@asynccontextmanager
async def profile(folder: Path, *switches: str) -> AsyncIterator[BrowserContext]:
    """Launch a browser with an ordinary profile, because a private one does less ahead of time."""
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            folder,
            executable_path=_browser_with_windows(),
            args=[*_PROFILE_SWITCHES, LOOPBACK_ONLY, *switches],
            ignore_default_args=["--disable-background-networking"],
        )
        context.set_default_timeout(1000 * PATIENCE)
        yield context
        await context.close()


def problems_of(page: Page) -> list[str]:
    """Return a list that collects the uncaught errors and console errors of a page."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    return problems


async def until(frame: Frame, expression: str, seconds: float = PATIENCE) -> None:
    """Wait until an expression is true in a frame.

    Playwright's own waiting calls `eval` in the frame from its second look on, and a View's policy forbids that.
    """
    with anyio.fail_after(seconds):
        while not await frame.evaluate(f"Boolean({expression})"):
            await frame.evaluate("new Promise((done) => setTimeout(done, 10))")


def _is_document(frame: Frame) -> bool:
    return frame.url.startswith("http")


async def view_frames(
    page: Page, count: int = 1, *, seconds: float = PATIENCE, is_view: Callable[[Frame], bool] = _is_document
) -> list[Frame]:
    """Wait until the page shows exactly this many Views, and return their frames.

    A View is a frame inside the frame of the sandbox proxy.
    """
    found: list[Frame] = []
    with anyio.move_on_after(seconds):
        while True:
            proxies = page.main_frame.child_frames
            found = [frame for proxy in proxies for frame in proxy.child_frames if is_view(frame)]
            if len(found) == count:
                return found
            await anyio.sleep(0.01)
    raise AssertionError(f"expected {count} Views, the page has these frames: {[frame.url for frame in page.frames]}")


async def view_frame(page: Page) -> Frame:
    """Wait until the page shows one loaded View, and return its frame."""
    (frame,) = await view_frames(page)
    await frame.wait_for_load_state()
    return frame


async def frame_at(page: Page, url: str, seconds: float = PATIENCE) -> Frame:
    """Wait until a frame of the page is at an address, and return it.

    Playwright learns of a navigation after the page does: right after `onload` a frame can still have its old `url`.
    """
    with anyio.move_on_after(seconds):
        while True:
            for frame in page.frames:
                if frame.url == url:
                    await frame.wait_for_load_state()
                    return frame
            await anyio.sleep(0.01)
    raise AssertionError(f"no frame at {url}, the page has these frames: {[frame.url for frame in page.frames]}")


async def colours(page: Page, png: bytes) -> dict[str, int]:
    """Return how often each colour is in a picture, such as "#ff0000"; the page decodes it."""
    data = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    found: dict[str, int] = await page.evaluate(_COUNT_COLOURS, data)
    return found
