"""The chat in a browser, with a scripted model that streams in small pieces."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from support.chatting import Chatting, chatting, served
from support.ledger import Record, ledger
from support.openai_server import Failure, Hold, OpenAIServer, Step, Text, ToolCall, openai_server

pytestmark = pytest.mark.anyio

COMPLETE = re.compile("input result$")
"""What the View of `ledger` shows when it has its input and its result, perhaps after partial input."""


@contextmanager
def running(folder: Path, *steps: Step) -> Iterator[tuple[Chatting, OpenAIServer]]:
    """Run a chat with the server `ledger` and a model that follows a script."""
    with (
        openai_server(*steps) as model,
        chatting(served(ledger=ledger(Record(folder))), folder / "chat.db", base_url=model.url) as chat,
    ):
        yield chat, model


async def test_an_answer_is_shown_as_markdown_while_the_model_writes_it(tmp_path: Path, browser: Browser) -> None:
    hold = Hold(3)
    with running(tmp_path, Text("This is **bold** and `code`.\n\n- one\n- two\n", hold)) as (chat, _):
        async with chat.page(browser) as page:
            await page.say("Hello")
            await expect(page.last.locator(".bubble")).to_have_text("Hello")
            await expect(page.last.locator("strong")).to_have_text("bold")
            await expect(page.last.locator(".answer")).to_have_attribute("aria-busy", "true")
            await expect(page.button("Stop")).to_be_visible()
            hold.release.set()
            await page.finished()
            await expect(page.last.get_by_role("listitem")).to_have_text(["one", "two"])
            await expect(page.last.locator(".figures")).to_have_text(re.compile(r"^model · 1 → 1 tokens · [\d.]+ s$"))
            await expect(page.page.locator("#announcement")).to_have_text("The answer is complete.")
            await expect(page.sidebar.get_by_role("link", name="Hello")).to_have_attribute("aria-current", "page")
            assert page.problems == []


async def test_arguments_grow_in_the_call_and_in_the_view_while_the_model_writes(
    tmp_path: Path, browser: Browser
) -> None:
    hold = Hold(5)
    call = ToolCall("ledger__show", {"text": "a text that is long enough to come in pieces"}, hold)
    with running(tmp_path, call, "This is it.") as (chat, model):
        async with chat.page(browser) as page:
            await page.say("Show it")
            await expect(page.last.locator(".tail")).to_have_text(re.compile(r'\{"text": "a text that'))
            await expect(page.view().locator("#partial")).to_have_text(re.compile("^a text that"))
            await expect(page.view().locator("#shown")).not_to_have_text(COMPLETE)
            hold.release.set()
            await page.finished()
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
            await expect(page.last.locator(".call")).to_have_attribute("data-state", "done")
            await expect(page.last.locator(".markdown").last).to_have_text("This is it.")
            await page.last.locator(".call summary").click()
            await expect(page.last.locator(".more pre").first).to_contain_text('"text": "a text that is long enough')
            (returned,) = [message["content"] for message in model.requests[1]["messages"] if message["role"] == "tool"]
            assert "long enough" in returned
            assert page.problems == []


async def test_a_view_goes_to_full_screen_and_back(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ToolCall("ledger__show", {"text": "x"}), "Done.") as (chat, _):
        async with chat.page(browser) as page:
            await page.ask("Show it")
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
            await page.button("Full screen: Show").click()
            dialog = page.page.get_by_role("dialog")
            await expect(dialog.get_by_role("button", name=re.compile("^Close"))).to_be_focused()
            await page.page.keyboard.press("Escape")
            await expect(dialog).to_have_count(0)
            await expect(page.button("Full screen: Show")).to_be_focused()
            await page.button("Full screen: Show").click()
            await dialog.get_by_role("button", name=re.compile("^Close")).click()
            await expect(dialog).to_have_count(0)
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)


async def test_stop_ends_the_answer_and_the_next_turn_goes_on_from_there(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, Text("Once upon a time", Hold(2)), "Yes.") as (chat, model):
        async with chat.page(browser) as page:
            await page.say("Tell me a story")
            await expect(page.last.locator(".markdown")).to_have_text("Once upon a"[:12].strip())
            await page.button("Stop").click()
            await expect(page.last.get_by_role("note")).to_contain_text("You stopped this answer.")
            await expect(page.button("Send")).to_be_visible()
            await page.ask("Go on?")
            said = [message.get("content") for message in model.requests[1]["messages"]]
            assert "Tell me a story" in said
            assert any(str(each).startswith("Once upon") for each in said)


async def test_an_error_of_the_model_is_shown_and_can_be_tried_again(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, Failure(400, "This model cannot hear you."), "Now it works.") as (chat, model):
        async with chat.page(browser) as page:
            await page.say("Hello")
            await expect(page.last.get_by_role("alert")).to_contain_text("This model cannot hear you.")
            await expect(page.last.get_by_role("alert")).to_contain_text("HTTP 400")
            await page.last.get_by_role("alert").get_by_role("button", name="Try again").click()
            await expect(page.last.locator(".markdown")).to_have_text("Now it works.")
            await expect(page.turns).to_have_count(1)
            assert [m["content"] for m in model.requests[1]["messages"] if m["role"] == "user"] == ["Hello"]


async def test_editing_a_message_replaces_what_follows_and_closes_its_views(tmp_path: Path, browser: Browser) -> None:
    steps = (ToolCall("ledger__show", {"text": "x"}), "First.", "Second.", "Third.")
    with running(tmp_path, *steps) as (chat, model):
        async with chat.page(browser) as page:
            await page.ask("One")
            await page.ask("Two")
            first = page.turns.first
            await first.hover()
            await first.get_by_role("button", name="Edit message").click()
            editor = first.get_by_role("textbox", name="Edit message")
            await expect(first.locator(".editor")).to_contain_text("What follows in this conversation is removed.")
            await editor.fill("Other")
            await editor.press("Enter")
            await expect(page.turns).to_have_count(1)
            await expect(page.last.locator(".bubble")).to_have_text("Other")
            await expect(page.last.locator(".markdown")).to_have_text("Third.")
            await expect(page.page.locator("mcp-app")).to_have_count(0)
            assert [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "user"] == ["Other"]


async def test_a_message_of_a_view_starts_a_turn_once_the_user_agrees(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ToolCall("ledger__show", {"text": "x"}), "Shown.", "I will.") as (chat, model):
        async with chat.page(browser) as page:
            await page.ask("Show it")
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
            await page.view().locator("body").evaluate("() => void window.send('Please do it')")
            question = page.page.get_by_role("dialog")
            await expect(question).to_contain_text("Please do it")
            await question.get_by_role("button", name="Allow once").click()
            await expect(page.turns).to_have_count(2)
            await page.finished()
            await expect(page.last.locator(".bubble")).to_contain_text("ledger wrote for you")
            await expect(page.last.locator(".bubble")).to_contain_text("Please do it")
            await expect(page.last.locator(".markdown")).to_have_text("I will.")
            assert "A View of the server ledger wrote this" in json.dumps(model.requests[-1]["messages"][-1])


async def test_what_a_view_shares_is_given_to_the_model_in_the_next_turn(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ToolCall("ledger__show", {"text": "x"}), "Shown.", "Blue.") as (chat, model):
        async with chat.page(browser) as page:
            await page.ask("Show it")
            await page.view().locator("body").evaluate("() => window.share('The user chose blue')")
            await page.ask("Which colour?")
            assert "The user chose blue" in json.dumps(model.requests[-1]["messages"])


async def test_conversations_and_views_come_back_after_a_restart(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ToolCall("ledger__show", {"text": "kept"}), "Shown.") as (chat, _):
        async with chat.page(browser) as page:
            await page.ask("Show what is kept")
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
    with running(tmp_path, "Still here.") as (chat, model):
        async with chat.page(browser) as page:
            await page.sidebar.get_by_role("link", name="Show what is kept").click()
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
            await expect(page.last.locator(".markdown")).to_have_text("Shown.")
            await page.ask("Are you there?")
            roles = [message["role"] for message in model.requests[0]["messages"]]
            assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


async def test_search_finds_words_of_messages_and_answers(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, "The capital is Paris.", "A hundred percent: 100%_x") as (chat, _):
        async with chat.page(browser) as page:
            await page.ask("France?")
            await page.button("New chat").first.click()
            await page.ask("How sure are you?")
            links = page.sidebar.get_by_role("link")
            await expect(links).to_have_count(2)
            await page.page.keyboard.press("Control+k")
            search = page.page.get_by_role("searchbox", name="Search conversations")
            await expect(search).to_be_focused()
            await search.fill("paris capital")
            await expect(links).to_have_text([re.compile(r"France\?.*The capital is Paris\.")])
            await search.fill("100%_")
            await expect(links).to_have_text([re.compile("How sure")])
            await search.fill("%")
            await expect(links).to_have_count(1)
            await search.fill("nothing has this")
            await expect(page.sidebar).to_contain_text("No conversation contains")
            await search.press("Escape")
            await expect(links).to_have_count(2)
            await search.press("ArrowDown")
            await page.page.keyboard.press("ArrowDown")
            await page.page.keyboard.press("Enter")
            await expect(page.page.get_by_role("heading", level=1)).to_have_text("France?")


async def test_images_and_texts_are_attached_and_given_to_the_model(tmp_path: Path, browser: Browser) -> None:
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d494844520000000100000001080600000"
        "01f15c4890000000d4944415478da63fccfc0f01f0005050200a2b7d5e30000000049454e44ae426082"
    )
    with running(tmp_path, "A red dot, and a note.") as (chat, model):
        async with chat.page(browser) as page:
            files: list[FilePayload] = [
                {"name": "dot.png", "mimeType": "image/png", "buffer": png},
                {"name": "note.md", "mimeType": "text/markdown", "buffer": b"remember the milk"},
                {"name": "odd.bin", "mimeType": "application/octet-stream", "buffer": b"\xff\xfe\x00"},
            ]
            await page.page.get_by_label("Files", exact=True).set_input_files(files)
            await expect(page.page.locator("#toasts")).to_contain_text("odd.bin is neither an image")
            await expect(page.page.get_by_role("list", name="Attached files").get_by_role("listitem")).to_have_count(2)
            await page.ask("What is this?")
            await expect(page.last.get_by_role("img", name="dot.png")).to_be_visible()
            await expect(page.last.get_by_role("link", name="note.md")).to_be_visible()
            content = json.dumps(model.requests[0]["messages"][-1]["content"])
            assert "data:image/png;base64," in content
            assert "remember the milk" in content


async def test_the_menu_renames_exports_and_deletes(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, ToolCall("ledger__write", {"text": "x"}), "An *answer*.") as (chat, _):
        async with chat.page(browser) as page:
            await page.ask("A question")
            await page.button("More").click()
            await page.button("Rename").click()
            await page.page.get_by_role("textbox", name="Title").fill("Another title")
            await page.page.get_by_role("dialog").get_by_role("button", name="Rename").click()
            await expect(page.sidebar.get_by_role("link", name="Another title")).to_be_visible()
            for name, expected in {"Markdown": "An *answer*.", "JSON": '"text": "An *answer*."'}.items():
                async with page.page.expect_download() as download:
                    await page.button("More").click()
                    await page.button(f"Export as {name}").click()
                exported = Path(await (await download.value).path()).read_text(encoding="utf-8")
                assert expected in exported
                assert "Another title" in exported
                assert "ledger__write" in exported
            await page.button("More").click()
            await page.button("Delete").click()
            await page.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            await expect(page.sidebar.get_by_role("link")).to_have_count(0)
            await expect(page.page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
        async with chat.client() as http:
            assert (await http.get("/api/conversations")).json() == []


async def test_the_settings_change_the_model_the_servers_and_the_theme(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path, "Without tools.") as (chat, model):
        async with chat.page(browser) as page:
            await page.button("Settings").click()
            dialog = page.page.get_by_role("dialog", name="Settings")
            await expect(dialog).to_contain_text("connected")
            await dialog.get_by_role("switch", name="Use ledger").click()
            await dialog.get_by_role("radio", name="Dark").check()
            await expect(page.page.locator("html")).to_have_attribute("data-theme", "dark")
            name = dialog.get_by_role("combobox", name="Name")
            await name.fill("nonsense")
            await dialog.get_by_label("Address").fill("")
            await dialog.get_by_role("button", name="Save").click()
            await expect(dialog.get_by_role("alert")).to_contain_text("'nonsense' is not a model")
            await name.fill("other-model")
            await dialog.get_by_label("Address").fill(model.url)
            await dialog.get_by_label("Instructions").fill("Answer in one word.")
            await dialog.get_by_role("button", name="Save").click()
            await expect(dialog).to_have_count(0)
            await page.ask("Hello")
            assert model.requests[0]["model"] == "other-model"
            assert "tools" not in model.requests[0]
            assert model.requests[0]["messages"][0]["content"] == "Answer in one word."


async def test_without_a_model_a_script_calls_the_tools(tmp_path: Path, browser: Browser) -> None:
    with chatting(served(ledger=ledger(Record(tmp_path))), tmp_path / "chat.db", model=None) as chat:
        async with chat.page(browser) as page:
            await expect(page.page.get_by_role("status").filter(has_text="No model is connected")).to_be_visible()
            await page.page.get_by_role("group", name="Tools to try").get_by_role("button", name="Show").click()
            await expect(page.field).to_have_value("Show ")
            await page.ask('Show {"text": "by a script"}')
            await expect(page.view().locator("#shown")).to_have_text(COMPLETE)
            await expect(page.last.locator(".markdown").last).to_have_text("The View shows the result.")
            await page.ask("xyzzy")
            await expect(page.last.locator(".markdown")).to_contain_text("I am a script, not a language model")
