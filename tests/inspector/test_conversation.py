"""Several calls and pages at once, reloaded Views, and calls to a server that is down."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from fanlight.dev.targets import servers
from support.inspecting import call, form, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


async def test_all_views_can_be_closed_by_button_and_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            every = page.get_by_role("button", name="Close all")
            articles = page.get_by_role("article")
            await expect(page.get_by_text("Call a tool to see its View here.")).to_be_visible()
            await expect(every).to_be_hidden()
            for _ in range(3):
                await call(page, "mirror")
                await expect(view(page).locator("#received")).to_contain_text("result")
            await view(page).locator("#send").click()
            await expect(page.locator(".message")).to_have_count(1)
            await every.click()
            await expect(articles).to_have_count(0)
            await expect(page.locator(".message")).to_have_count(0)
            await expect(every).to_be_hidden()
            await expect(form(page).get_by_role("button", name="Call", exact=True)).to_be_focused()
            for _ in range(3):
                await call(page)
                await expect(view(page).locator("#received")).to_contain_text("result")
            await articles.first.focus()
            await page.keyboard.press("Delete")
            await expect(articles).to_have_count(2)
            await expect(articles.first).to_be_focused()
            await form(page).get_by_label("wait").focus()
            await page.keyboard.press("Shift+Delete")  # in a field, that is the field's
            await expect(articles).to_have_count(2)
            await articles.last.focus()
            await page.keyboard.press("Shift+Delete")
            await expect(articles).to_have_count(0)
            await expect(page.get_by_text("Call a tool to see its View here.")).to_be_visible()
            assert problems == []


async def test_two_pages_keep_their_calls_apart(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    server = folder / "server.py"
    good = server.read_text("utf-8")
    with running(servers([str(folder)]), policy="allow") as (inspector, address):
        words = {"one": {"words": ["one"]}, "two": {"words": ["two"]}}
        start = "#/mirror/mirror?args="
        async with (
            opened(browser, inspector, address, start + json.dumps(words["one"])) as (one, _),
            opened(browser, inspector, address, start + json.dumps(words["two"])) as (two, _),
        ):
            await expect(form(two).get_by_label("Item 1")).to_have_value("two")
            await expect(form(one).get_by_label("Item 1")).to_have_value("one")
            server.write_text("raise SystemExit", encoding="utf-8")
            for page in (one, two):
                await expect(page.get_by_role("navigation")).to_contain_text("waiting for a change")
                await call(page)
                await expect(page.get_by_role("article")).to_contain_text("the call waits for it")
            server.write_text(good, encoding="utf-8")
            await expect(view(two).locator("#received")).to_contain_text('result {"words":["two"]}')
            await expect(view(one).locator("#received")).to_contain_text('result {"words":["one"]}')
            await expect(view(one).locator("#received")).not_to_contain_text("two")
            await view(one).locator("#send").click()
            await expect(one.locator(".message")).to_have_count(1)
            await view(two).locator("#send").click()
            await expect(two.locator(".message")).to_have_count(1)
            await two.get_by_role("tab", name="Model").click()
            message = two.get_by_role("tabpanel").get_by_text("user: hello from the View")
            await expect(message).to_have_count(1)
            await expect(one.locator(".message")).to_have_count(1)
            await two.reload()
            await call(two)
            await expect(view(two).locator("#received")).to_contain_text("result")
            await expect(two.get_by_role("tabpanel")).to_contain_text("Messages from Views")
            await expect(message).to_have_count(0)


async def test_server_messages_from_before_a_call_are_marked(browser: Browser, tmp_path: Path) -> None:
    with running(servers([mirror(tmp_path)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            panel = page.get_by_role("tabpanel")
            await panel.get_by_label("server").check()
            await call(page, "mirror")
            await expect(panel.get_by_text("ui/notifications/tool-result")).to_have_count(1)
            await call(page)
            await expect(panel.get_by_text("ui/notifications/tool-result")).to_have_count(1)
            calls = panel.locator("li").filter(has_text="tools/call mirror")
            calls = calls.filter(has_not_text="response")
            await expect(calls).to_have_count(2)
            await expect(calls.first).to_contain_text("before")
            await expect(calls.last).not_to_contain_text("before")


async def test_reloading_a_view_clears_its_problems_and_marks_its_messages(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    document = folder / "mirror.html"
    good = document.read_text("utf-8")
    document.write_text(good.replace("await app.connect();", "broken.here();"), encoding="utf-8")
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "mirror")
            problems = page.locator(".problems")
            await expect(problems).to_contain_text("broken is not defined")
            document.write_text(good, encoding="utf-8")
            await expect(view(page).locator("#received")).to_contain_text("result")
            await expect(problems).to_be_empty()
            panel = page.get_by_role("tabpanel")
            await expect(panel.get_by_text("reloaded")).to_have_count(1)
            await expect(panel.get_by_text("response to ui/initialize")).to_have_count(1)


async def test_a_consent_question_disappears_when_its_view_is_reloaded(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            question = page.get_by_role("dialog", name="wants to")
            await view(page).locator("#more").click()
            await expect(question).to_be_visible()
            document = folder / "mirror.html"
            document.write_text(document.read_text("utf-8") + "<p id=new>new</p>", encoding="utf-8")
            await expect(view(page).locator("#new")).to_be_attached()
            await expect(question).to_have_count(0)
            await view(page).locator("#more").click()
            await question.get_by_role("button", name="Allow once").click()
            await expect(view(page).locator("#answer")).to_have_text("hey!")
            assert problems == []


async def test_a_call_to_a_server_that_is_down_waits_for_it_and_says_so(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    server = folder / "server.py"
    good = server.read_text("utf-8")
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await page.get_by_role("navigation").get_by_role("button", name="mirror").first.click()
            server.write_text("raise SystemExit('out of paper')", encoding="utf-8")
            await expect(page.get_by_role("navigation")).to_contain_text("out of paper")
            await call(page)
            article = page.get_by_role("article")
            await expect(article).to_contain_text("The server mirror is down; the call waits for it.")
            await expect(article).not_to_contain_text("The tool is running.")
            await article.get_by_role("button", name="Cancel").click()
            await expect(article).to_contain_text("cancelled: Cancelled by the developer.")
            await call(page)
            await expect(article.first.get_by_role("button", name="Reconnect")).to_be_visible()
            server.write_text(good, encoding="utf-8")
            await expect(view(page).locator("#received")).to_contain_text("result")
            assert problems == []


async def test_a_notice_disappears_after_a_while(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    with running(servers([str(folder)])) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "mirror")
            await page.clock.install()
            document = folder / "mirror.html"
            document.write_text(document.read_text("utf-8") + "<p>", encoding="utf-8")
            notice = page.locator("#notice")
            await expect(notice).to_have_text("mirror.html changed; reloading mirror.")
            await page.clock.fast_forward(60_000)
            await expect(notice).to_be_empty()
