from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from support.stage import chromium

expect.set_options(timeout=20_000)  # a picture is painted and a map drawn while other tests want the processor too


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched
