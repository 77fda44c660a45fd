"""The example `import`: what happens with a file that a user uploads. tests/check checks all examples."""

import pytest
from playwright.async_api import Browser, FilePayload, expect

from support.examples import showing

pytestmark = pytest.mark.anyio


def csv_file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": content}


async def test_import_shows_the_rows_of_an_uploaded_file_and_saves_a_cleaned_copy(browser: Browser) -> None:
    async with showing(browser, "import", width=900) as stage:
        people = csv_file("people.csv", b"id,name\n1,Ada\n1,Ada\n2,\n")
        await stage.view.locator("input").set_input_files([people])
        await expect(stage.view.locator(".metric strong")).to_have_text(["3", "2", "1", "1"])
        await expect(stage.view.locator("tbody tr")).to_have_count(3)
        await stage.view.get_by_role("button", name="Save people-cleaned.csv (17 bytes)").click()
        (saved,) = await stage.sent("ui/download-file", 1)
        assert saved["contents"][0]["resource"]["uri"] == "file:///people-cleaned.csv"
        (context,) = await stage.sent("ui/update-model-context", 1)
        assert "The user uploaded people.csv (23 bytes)." in context["content"][0]["text"]
        assert "A table of 3 rows and 2 columns." in context["content"][0]["text"]


async def test_import_says_what_is_wrong_with_a_file(browser: Browser) -> None:
    async with showing(browser, "import") as stage:
        broken = csv_file("x.csv", b"a,b\n1,2,3\n1,2,3,4\n")
        await stage.view.locator("input").set_input_files([broken])
        await expect(stage.view.locator("#notice p")).to_contain_text("Expected")
