"""The page around the conversation: keys, small screens, scrolling, two windows, and many Views."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, expect

from support.browser import until
from support.chatting import Chatting, answered, chatting, served
from support.ledger import Record, ledger
from support.openai_server import Hold, OpenAIServer, Step, Text, ToolCall, openai_server

pytestmark = pytest.mark.anyio

AT_END = """(() => {
  const scroller = document.querySelector('#scroller');
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 5;
})()"""
LONG = "\n\n".join(f"Paragraph {number}." for number in range(60))


@contextmanager
def running(folder: Path, *steps: Step) -> Iterator[tuple[Chatting, OpenAIServer]]:
    with (
        openai_server(*steps) as model,
        chatting(served(ledger=ledger(Record(folder))), folder / "chat.db", base_url=model.url) as chat,
    ):
        yield chat, model


async def test_everything_is_done_with_the_keyboard(tmp_path: Path, browser: Browser) -> None:
    hold = Hold(2)
    with running(tmp_path, "One.", Text("This never ends.", hold), "Three.") as (chat, model):
        async with chat.page(browser) as page:
            await expect(page.field).to_be_focused()
            await page.page.keyboard.type("first line")
            await page.page.keyboard.press("Shift+Enter")
            await page.page.keyboard.type("second line")
            await page.page.keyboard.press("Enter")
            await page.finished()
            assert model.requests[0]["messages"][-1]["content"] == "first line\nsecond line"
            await page.say("More")
            await expect(page.button("Stop")).to_be_visible()
            await expect(page.last.locator(".markdown")).to_have_text(re.compile("^This"))
            await page.page.keyboard.press("Escape")
            await expect(page.last.get_by_role("note")).to_contain_text("You stopped this answer.")
            hold.release.set()
            await page.field.press("ArrowUp")
            editor = page.page.get_by_role("textbox", name="Edit message")
            await expect(editor).to_be_focused()
            await editor.press("Escape")
            await expect(editor).to_have_count(0)
            await page.page.keyboard.press("Control+Shift+O")
            await expect(page.page.get_by_role("heading", name="What would you like to do?")).to_be_visible()
            await expect(page.field).to_be_focused()
            await page.page.keyboard.press("Control+,")
            await expect(page.page.get_by_role("dialog", name="Settings")).to_be_visible()
            await page.page.keyboard.press("Escape")
            await expect(page.page.get_by_role("dialog", name="Settings")).to_have_count(0)


async def test_messages_answers_and_code_are_copied(tmp_path: Path, browser: Browser) -> None:
    answer = "Use *this*:\n\n```python\nprint(1)\n```"
    with running(tmp_path, answer) as (chat, _):
        async with chat.page(browser) as page:
            await page.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=chat.address)
            await page.ask("How?")
            await page.page.clock.install()
            for name, text in {"Copy message": "How?", "Copy answer": answer, "Copy code": "print(1)"}.items():
                button = page.last.get_by_role("button", name=name)
                await button.click()
                await button.click()  # while it shows that it was copied
                await expect(button.locator("use")).to_have_attribute("href", "#icon-check")
                assert (await page.page.evaluate("navigator.clipboard.readText()")).strip() == text
                await page.page.clock.fast_forward(10_000)
                await expect(button.locator("use")).to_have_attribute("href", "#icon-copy")
            assert page.problems == []


async def test_a_small_screen_has_a_drawer_and_nothing_is_cut_off(tmp_path: Path, browser: Browser) -> None:
    wide = "| " + " | ".join(f"column {number}" for number in range(12)) + " |\n" + "|---" * 12 + "|"
    text = f"{'x' * 300}\n\n{wide}\n\n```\n{'y' * 300}\n```\n"
    with running(tmp_path, text) as (chat, _):
        async with chat.page(browser, viewport={"width": 390, "height": 844}) as page:
            await expect(page.page.get_by_role("searchbox")).to_be_hidden()
            await page.ask("A wide answer")
            width = await page.page.evaluate(
                "Math.max(document.documentElement.scrollWidth, document.querySelector('#scroller').scrollWidth)"
            )
            assert width <= 390
            await page.button("Conversations").click()
            await expect(page.page.get_by_role("searchbox")).to_be_focused()
            await page.page.keyboard.press("Escape")
            await expect(page.page.get_by_role("searchbox")).to_be_hidden()
            for button in await page.page.get_by_role("banner").get_by_role("button").all():
                box = await button.bounding_box()
                assert box is not None
                assert box["height"] >= 44


async def test_the_end_stays_in_sight_unless_the_user_scrolls_up(tmp_path: Path, browser: Browser) -> None:
    hold = Hold(90)
    with running(tmp_path, Text(LONG, hold)) as (chat, _):
        async with chat.page(browser, viewport={"width": 1000, "height": 600}) as page:
            await page.say("A long answer")
            await expect(page.last.locator(".markdown")).to_contain_text("Paragraph 28.")
            await until(page.page.main_frame, AT_END)
            await page.page.locator("#scroller").hover()
            await page.page.mouse.wheel(0, -400)
            await expect(page.button("To the end")).to_be_visible()
            top = await page.page.locator("#scroller").evaluate("(s) => s.scrollTop")
            hold.release.set()
            await page.finished()
            assert await page.page.locator("#scroller").evaluate("(s) => s.scrollTop") == top
            await page.button("To the end").click()
            await until(page.page.main_frame, AT_END)
            await expect(page.button("To the end")).to_be_hidden()


async def test_two_windows_and_a_reload_show_the_same_answer_while_it_is_written(
    tmp_path: Path, browser: Browser
) -> None:
    hold = Hold(3)
    with running(tmp_path, Text("One answer in two windows.", hold)) as (chat, _):
        async with chat.page(browser) as one, chat.page(browser) as two:
            await one.say("Hello")
            await expect(one.last.locator(".markdown")).to_have_text("One answer in two"[:18].strip())
            await two.sidebar.get_by_role("link", name="Hello").click()
            await expect(two.last.locator(".markdown")).to_have_text("One answer in two"[:18].strip())
            await expect(two.button("Stop")).to_be_visible()
            await one.page.reload()
            await expect(one.last.locator(".markdown")).to_have_text("One answer in two"[:18].strip())
            hold.release.set()
            for page in (one, two):
                await page.finished()
                await expect(page.last.locator(".markdown")).to_have_text("One answer in two windows.")
                await expect(page.button("Send")).to_be_visible()


async def test_only_views_near_the_part_in_sight_are_alive_and_others_come_back(
    tmp_path: Path, browser: Browser
) -> None:
    count = 20
    steps = [step for n in range(count) for step in (ToolCall("ledger__show", {"text": f"number {n}"}), LONG[:300])]
    with running(tmp_path, *steps) as (chat, _):
        async with chat.client() as http:
            conversation = None
            for number in range(count):
                sent = await http.post("/api/send", json={"text": f"Show {number}", "conversation": conversation})
                conversation = sent.json()["conversation"]
                await answered(http, conversation)
        async with chat.page(browser, f"#{conversation}", viewport={"width": 1000, "height": 700}) as page:
            await page.page.reload()
            await expect(page.turns).to_have_count(count)
            await expect(page.view().locator("#shown")).to_have_text(re.compile("input result$"))
            for number in reversed(range(count)):
                await page.turns.nth(number).scroll_into_view_if_needed()
            first = page.turns.first.locator("mcp-app iframe").content_frame.locator("iframe").content_frame
            await expect(first.locator("#shown")).to_have_text(re.compile("input result$"))
            alive = await page.page.locator("mcp-app").count()
            assert 0 < alive < count
            await page.turns.last.scroll_into_view_if_needed()
            last = page.turns.last.locator("mcp-app iframe").content_frame.locator("iframe").content_frame
            await expect(last.locator("#shown")).to_have_text(re.compile("input result$"))


OVERFLOW = "(e) => e.scrollWidth - e.clientWidth"
# In one step, because the row of a server is made again with each change of its state.
IS_INSIDE = """(outer, selector) => {
  const [frame, { left, right }] = [outer, outer.querySelector(selector)].map((e) => e.getBoundingClientRect());
  return frame.left < left && left < right && right < frame.right;
}"""


@pytest.mark.parametrize("width", [390, 1400])
async def test_a_long_command_and_long_descriptions_wrap_in_the_settings_and_on_the_empty_page(
    width: int, tmp_path: Path, browser: Browser
) -> None:
    server: MCPServer[Any] = MCPServer("long")

    @server.tool(description=f"Describe {'everything_at_length' * 20} " * 3)
    def describe() -> str:
        return ""

    gone = f"http://127.0.0.1:9/{'a_long_path' * 30}"
    with chatting(served(long=server, gone=gone), tmp_path / "chat.db", model="scripted") as chat:
        async with chat.page(browser, viewport={"width": width, "height": 844}) as page:
            suggestion = page.page.get_by_role("group", name="Tools to try").get_by_role("button")
            await expect(suggestion).to_be_visible()
            await expect(page.page.get_by_role("status").filter(has_text="gone could not be connected")).to_be_visible()
            for element in ("html", "#scroller", "#banners"):
                assert await page.page.locator(element).evaluate(OVERFLOW) <= 0, element
            box = await suggestion.bounding_box()
            assert box is not None
            assert box["height"] < 120
            await page.page.keyboard.press("Control+,")
            dialog = page.page.get_by_role("dialog", name="Settings")
            await dialog.get_by_text("1 tool", exact=True).click()
            for part in (dialog, dialog.locator(".body"), *await dialog.locator(".server-row").all()):
                assert await part.evaluate(OVERFLOW) <= 0
            assert await dialog.evaluate("(e) => e.scrollHeight - e.clientHeight") <= 0
            assert await dialog.evaluate(IS_INSIDE, "[aria-label='Use gone']")


async def test_words_in_a_wide_table_stay_whole_and_the_table_scrolls(tmp_path: Path, browser: Browser) -> None:
    words = ["Configuration", "Responsibility", "Infrastructure", "Documentation", "Accessibility"]
    text = f"| {' | '.join(words)} |\n{'|---' * 5}|\n| {' | '.join(words)} |\n"
    with running(tmp_path, text) as (chat, _):
        async with chat.page(browser, viewport={"width": 390, "height": 844}) as page:
            await page.ask("A table")
            table = page.last.locator(".table")
            assert await table.evaluate(OVERFLOW) > 0
            for cell in await table.locator("td").all():
                assert await cell.evaluate("(e) => e.offsetHeight") < 60  # one line
            assert await page.page.locator("#scroller").evaluate(OVERFLOW) <= 0


async def test_a_message_of_the_page_is_above_the_composer_and_can_be_closed(tmp_path: Path, browser: Browser) -> None:
    with running(tmp_path) as (chat, _):
        async with chat.page(browser, viewport={"width": 390, "height": 844}) as page:
            await page.page.route("**/api/send", lambda route: route.fulfill(status=400, json={"error": "Not now."}))
            await page.field.fill("Hello")
            await page.field.press("Enter")
            toast = page.page.get_by_role("status").filter(has_text="Not now.")
            await expect(toast).to_be_visible()
            box, composer = await toast.bounding_box(), await page.page.locator("#composer").bounding_box()
            assert box is not None
            assert composer is not None
            assert box["y"] + box["height"] < composer["y"]
            await toast.get_by_role("button", name="Close message").click()
            await expect(toast).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1000])
async def test_the_notice_about_the_model_can_be_closed_and_stays_closed_after_a_reload(
    width: int, tmp_path: Path, browser: Browser
) -> None:
    with chatting({}, tmp_path / "chat.db", model=None) as chat:
        async with chat.page(browser, viewport={"width": width, "height": 844}) as page:
            notice = page.page.get_by_role("status").filter(has_text="No model is connected: a script answers")
            await expect(notice.get_by_role("button", name="Choose a model")).to_be_visible()
            await notice.get_by_role("button", name="Close notice").click()
            await expect(notice).to_have_count(0)
            await page.page.reload()
            await expect(page.page.locator("#model-name")).to_have_text("scripted")
            await expect(notice).to_have_count(0)
            assert page.problems == []


async def test_a_remembered_model_without_its_key_is_reported_above_the_conversation(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with chatting({}, tmp_path / "chat.db", model="openai:gpt-5"):
        monkeypatch.delenv("OPENAI_API_KEY")
    with chatting({}, tmp_path / "chat.db", model=None) as chat:
        async with chat.page(browser) as page:
            notice = page.page.get_by_role("status").filter(has_text="openai:gpt-5 needs a key: set OPENAI_API_KEY")
            await notice.get_by_role("button", name="Choose a model").click()
            settings = page.page.get_by_role("dialog", name="Settings")
            await settings.get_by_role("combobox", name="Name").fill("scripted")
            await settings.get_by_role("button", name="Save").click()
            await expect(notice).to_have_count(0)


async def test_a_new_chat_ends_the_search_and_the_title_follows_the_first_message(
    tmp_path: Path, browser: Browser
) -> None:
    with running(tmp_path, "One.", "Two.") as (chat, _):
        async with chat.page(browser) as page:
            await page.ask("Frist words")
            await page.last.hover()
            await page.last.get_by_role("button", name="Edit message").click()
            editor = page.page.get_by_role("textbox", name="Edit message")
            await editor.fill("First words")
            await editor.press("Enter")
            await expect(page.page.get_by_role("heading", name="First words")).to_be_visible()
            await expect(page.sidebar.get_by_role("link", name="First words")).to_be_visible()
            search = page.page.get_by_role("searchbox")
            await search.fill("nothing like it")
            await expect(page.sidebar.get_by_role("link")).to_have_count(0)
            await page.sidebar.get_by_role("button", name="New chat").click()
            await expect(search).to_have_value("")
            await expect(page.sidebar.get_by_role("link", name="First words")).to_be_visible()
