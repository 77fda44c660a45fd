"""The document: parts that are loaded when they come into view, the contents, finding, and asking about a selection."""

import pytest
from playwright.async_api import Browser, expect

from support.examples import Refusing, client_of, namespace_of, showing
from support.wire import NO_UI

pytestmark = pytest.mark.anyio


def test_text_becomes_headings_paragraphs_lists_and_examples() -> None:
    text = 'Title\n*****\n\nSome words\nof text:\n\n   x = 1\n\nNext\n====\n\n* one\n  line\n\n* "two"\n'
    blocks = [(block.kind, block.text) for block in namespace_of("document")["blocks_of"](text)]
    assert blocks == [
        ("h1", "Title"),
        ("p", "Some words of text:"),
        ("pre", "   x = 1"),
        ("h2", "Next"),
        ("li", "one line"),
        ("li", '"two"'),
    ]


async def test_the_first_result_has_the_contents_and_no_text() -> None:
    async with client_of("document") as client:
        result = await client.call("open_document", find_words="assert statement")
    contents = result["structuredContent"]
    assert len(contents["sizes"]) > 50
    assert sum(contents["sizes"]) > 300_000
    assert len(str(contents)) < 20_000
    (chapter,) = (chapter for chapter in contents["chapters"] if chapter["part"] == contents["start"])
    assert chapter["title"] == 'The "assert" statement'
    assert "Assert statements are a convenient way" in result["content"][0]["text"]


async def test_a_client_without_views_reads_the_document_in_parts() -> None:
    async with client_of("document", NO_UI) as client:
        assert set(await client.tools()) == {"open_document", "read_document"}
        first = (await client.call("read_document", part=0))["content"][0]["text"]
        assert "part 0 of" in first
        beyond = await client.call("read_document", part=100_000)
        assert beyond["isError"]
        assert "There is no part 100000." in beyond["content"][0]["text"]
        missing = await client.call("open_document", find_words="xyzzy")
        assert "No part of the manual contains 'xyzzy'" in missing["content"][0]["text"]


async def test_only_parts_near_the_view_are_loaded(browser: Browser) -> None:
    async with showing(browser, "document", width=900) as stage:
        page, sections = stage.view.get_by_role("document", name="Text"), stage.view.locator("section")
        await expect(stage.view.get_by_role("heading", name="The assert statement")).to_be_in_viewport()
        await stage.view.get_by_role("button", name="Unary arithmetic", exact=False).first.click()
        await expect(stage.view.get_by_role("heading", name="Unary arithmetic")).to_be_in_viewport()
        await expect(page).to_be_focused()
        current = stage.view.locator("nav [aria-current=true]")
        await expect(current).to_contain_text("Unary arithmetic")
        loaded = await stage.view.locator("section[data-state=loaded]").count()
        assert 2 <= loaded < await sections.count() / 3
        asked = await stage.page.evaluate(
            "messages.filter(m => m.method === 'tools/call').map(m => m.params.arguments)"
        )
        assert len(asked) == len({each["part"] for each in asked})


async def test_words_are_found_on_the_server_and_a_place_is_opened_by_keys(browser: Browser) -> None:
    async with showing(browser, "document") as stage:
        await stage.view.get_by_role("searchbox").fill("coroutine function")
        await stage.view.get_by_role("searchbox").press("Enter")
        places = stage.view.get_by_role("group", name="Places").get_by_role("button")
        await expect(places.first).to_be_focused()
        await places.first.press("Enter")
        await expect(places).to_have_count(0)
        await expect(stage.view.get_by_role("document", name="Text")).to_contain_text("coroutine")
        await stage.view.get_by_role("searchbox").fill("xyzzy")
        await stage.view.get_by_role("button", name="Find").click()
        await expect(stage.view.locator("#status")).to_have_text("“xyzzy” is not in the document.")


async def test_the_user_asks_about_a_selection(browser: Browser) -> None:
    async with showing(browser, "document") as stage:
        heading = stage.view.get_by_role("heading", name="The assert statement")
        await expect(heading).to_be_visible()
        await heading.evaluate("heading => document.getSelection().selectAllChildren(heading)")
        await stage.view.get_by_role("button", name="Ask about the selection").click()
        (message,) = await stage.sent("ui/message", 1)
        assert message["content"][0]["text"].endswith("> The assert statement")


async def test_a_part_that_failed_can_be_loaded_again(browser: Browser) -> None:
    async with showing(browser, "document", width=900) as stage:
        await expect(stage.view.get_by_role("heading", name="The assert statement")).to_be_visible()
        working, stage.client = stage.client, Refusing()
        await stage.view.get_by_role("button", name="Unary arithmetic", exact=False).first.click()
        again = stage.view.get_by_role("button", name="Load this part again")
        await expect(again.first).to_be_visible()
        stage.client = working
        part = await again.first.evaluate("button => button.parentElement.dataset.part")
        await again.first.click()
        await expect(stage.view.locator(f"section[data-part='{part}']")).to_have_attribute("data-state", "loaded")
