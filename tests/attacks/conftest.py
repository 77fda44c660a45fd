"""A browser profile for each file of attacks, and a page for each test."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, Page

from support.browser import profile


@pytest.fixture(scope="module")
async def context(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[BrowserContext]:
    async with profile(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    page = await context.new_page()
    yield page
    await page.close()
