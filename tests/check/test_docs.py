"""The page that shows how to check an app shows what is found."""

from pathlib import Path

import pytest
from playwright.async_api import Browser

from fanlight.check import check
from support.docs import ROOT, blocks, write_files

pytestmark = pytest.mark.anyio


async def test_the_how_to_shows_the_actual_output(browser: Browser, tmp_path: Path) -> None:
    page = ROOT / "docs" / "how-to" / "check-an-app.md"
    files = write_files(page, tmp_path)
    (shown,) = [code for language, _, code in blocks(page) if language == "text"]
    output = str(await check(files["server.py"], browser=browser))
    for line in shown.splitlines():
        assert line in output.splitlines(), output
