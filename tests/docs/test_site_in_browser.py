"""The documentation site in a real browser, with no way to the internet: search, theme, and the width of a phone."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, ConsoleMessage, Page, Route, expect
from starlette.staticfiles import StaticFiles

from support.wire import serving

pytestmark = pytest.mark.anyio

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1400, "height": 900}


class Visit:
    """A page of a browser that reaches this machine alone. `refused` and `errors` are what must stay empty."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.refused: list[str] = []
        self.errors: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    async def route(self, route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.scheme in ("file", "data", "blob") or url.hostname == "127.0.0.1":
            await route.continue_()
        else:
            self.refused.append(route.request.url)
            await route.abort()


@asynccontextmanager
async def visiting(browser: Browser, size: dict[str, int], theme: str = "light") -> AsyncIterator[Visit]:
    """Open a page that can reach nothing but this machine, and see that it did not try to."""
    context = await browser.new_context(viewport=size, color_scheme=theme)  # type: ignore[arg-type]
    try:
        visit = Visit(await context.new_page())
        await visit.page.route("**/*", visit.route)
        yield visit
        assert visit.refused == []
        assert visit.errors == []
    finally:
        await context.close()


async def test_every_page_fits_a_phone_and_loads_from_the_site_alone(browser: Browser, site: Path) -> None:
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    with serving(StaticFiles(directory=site, html=True)) as address:
        async with visiting(browser, PHONE) as visit:
            wide = []
            for path in pages:
                await visit.page.goto(f"{address}/{path}")
                if await visit.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    wide.append(path)
            assert wide == []


@pytest.mark.parametrize("way", ["served", "from disk"])
async def test_search_works_on_a_server_and_from_disk(browser: Browser, site: Path, way: str) -> None:
    with serving(StaticFiles(directory=site, html=True)) as address:
        async with visiting(browser, DESKTOP) as visit:
            await visit.page.goto(f"{address}/index.html" if way == "served" else (site / "index.html").as_uri())
            await visit.page.keyboard.press("/")
            await visit.page.get_by_role("combobox", name="Search").fill("frame stays empty")
            await visit.page.get_by_role("option").first.click()
            await expect(visit.page.get_by_role("heading", level=1)).to_have_text(re.compile("My View does not show"))


async def test_the_switch_changes_the_theme_and_the_pictures_and_is_remembered(browser: Browser, site: Path) -> None:
    with serving(StaticFiles(directory=site, html=True)) as address:
        async with visiting(browser, DESKTOP) as visit:
            page = visit.page
            await page.goto(f"{address}/index.html")
            body, picture = page.locator("body"), page.locator("picture img")
            await expect(body).to_have_attribute("data-md-color-scheme", "default")
            for name in ("Switch to light mode", "Switch to dark mode"):
                await page.get_by_title(name).click()
            await expect(body).to_have_attribute("data-md-color-scheme", "slate")
            shown = await picture.evaluate("image => image.decode().then(() => image.currentSrc)")
            assert shown.endswith("/images/dev-dark.png")
            await page.goto(f"{address}/explanation/architecture.html")
            await expect(body).to_have_attribute("data-md-color-scheme", "slate")


async def test_without_a_choice_the_theme_is_that_of_the_system(browser: Browser, site: Path) -> None:
    with serving(StaticFiles(directory=site, html=True)) as address:
        async with visiting(browser, DESKTOP, "dark") as visit:
            await visit.page.goto(f"{address}/index.html")
            await expect(visit.page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
