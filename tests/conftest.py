import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from fanlight.testing.browser import BrowserMissing
from support.browser import chromium

# The Node inside Playwright needs libatomic1, which a bare Debian lacks; the one that setup.py links needs nothing.
if (node := Path(sys.executable).with_name("node")).exists():
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(node))

# Generous, because the machine may be busy. A wait ends as soon as its condition holds.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for all tests, so that they can share a browser."""
    return "asyncio"


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    """The browser of this test run. Each `new_page` has a context of its own: cookies, storage, cache."""
    try:
        async with chromium() as launched:
            yield launched
    except BrowserMissing as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page in a context of its own, closed after the test."""
    page = await browser.new_page()
    yield page
    await page.close()
