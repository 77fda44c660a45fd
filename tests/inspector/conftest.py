from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, expect

from support.stage import chromium


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as launched:
        yield launched


@pytest.fixture(autouse=True)
def patience() -> None:
    """A server that is started while others run takes its time."""
    expect.set_options(timeout=20_000)
