from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from support.stage import chromium


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched
