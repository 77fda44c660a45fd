"""The consent dialog of `<mcp-app>` in a real Chromium: what it shows, and who can answer, cover or close it."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, expect

from browser.test_mcp_app import Host, hosting

pytestmark = pytest.mark.anyio

CLEAR = {
    "text": "My tasks (todo) wants to run clear.",
    "warning": "This may delete or overwrite something.",
    "details": [["Arguments", '{\n "all": true\n}']],
    "always": "Always: this app of todo may run clear without asking.",
    "count": 1,
}
LINK = {
    "text": "My tasks (todo) wants to open https://a.example/",
    "warning": "",
    "details": [],
    "always": "Always: this app of todo may open pages of a.example without asking.",
    "count": 3,
}
QUESTION: dict[str, Any] = {"app": "My tasks (todo)", "server": "todo", "requests": [CLEAR]}


@pytest.fixture
async def host(browser: Browser) -> AsyncIterator[Host]:
    async with hosting(browser) as made:
        yield made


async def asked(host: Host, id: int = 3) -> None:
    await host.send("question", id=id, **QUESTION)
    await host.page.get_by_role("dialog", name="wants to").wait_for()


async def answer(host: Host) -> str:
    done = await host.received("command-result")
    assert done["id"] == 3
    word: str = done["result"]["answer"]
    return word


@pytest.mark.parametrize(("button", "word"), [("Don’t allow", "deny"), ("Allow once", "once"), ("Always", "always")])
async def test_the_dialog_says_what_would_happen_and_sends_the_answer(button: str, word: str, host: Host) -> None:
    await host.started()
    await asked(host)
    dialog = host.page.get_by_role("dialog", name="My tasks (todo) wants to run clear.")
    for words in (CLEAR["warning"], "Arguments", '"all": true', "Servertodo", CLEAR["always"]):
        await expect(dialog).to_contain_text(str(words))
    await expect(dialog).to_have_accessible_description(re.compile("delete or overwrite.*Server todo"))
    await dialog.get_by_role("button", name=button).click()
    assert await answer(host) == word
    await expect(host.page.get_by_role("dialog")).to_have_count(0)


async def test_the_always_button_describes_what_it_allows(host: Host) -> None:
    await host.started()
    await asked(host)
    always = host.page.get_by_role("button", name="Always allow")
    await expect(always).to_have_accessible_description(str(CLEAR["always"]))


@pytest.mark.parametrize("width", [320, 400, 900])
async def test_the_answers_fill_their_rows(width: int, host: Host) -> None:
    await host.page.set_viewport_size({"width": width, "height": 600})
    await host.started()
    await asked(host)
    boxes = [await button.bounding_box() for button in await host.page.locator("mcp-app footer button").all()]
    right = await host.page.locator("mcp-app footer").evaluate("footer => footer.getBoundingClientRect().right")
    rows: dict[float, float] = {}
    for box in boxes:
        assert box is not None
        rows[box["y"]] = max(rows.get(box["y"], 0), box["x"] + box["width"])
    assert rows == {y: pytest.approx(right, abs=1) for y in rows}
    assert len(rows) == (1 if width == 900 else 2)


async def test_it_works_by_keyboard_and_focuses_the_button_that_denies(host: Host) -> None:
    await host.started()
    await host.page.focus("#before")
    await asked(host)
    await expect(host.page.get_by_role("button", name="Don’t allow")).to_be_focused()
    await host.page.keyboard.press("Escape")
    assert await answer(host) == "deny"
    await expect(host.page.locator("#before")).to_be_focused()
    await asked(host)
    await host.page.keyboard.press("Enter")
    assert await answer(host) == "deny"
    await asked(host)
    await expect(host.page.get_by_role("button", name="Allow once")).to_be_enabled()
    for _ in range(2):  # past the arguments, which can be scrolled
        await host.page.keyboard.press("Tab")
        if await host.page.get_by_role("button", name="Allow once").evaluate("b => b.matches(':focus')"):
            break
    await host.page.keyboard.press("Enter")
    assert await answer(host) == "once"


async def test_allow_buttons_are_disabled_at_first(host: Host) -> None:
    """A View that makes the user click where a button will be gets no yes. Goes red without ALLOW_DELAY."""
    await host.started()
    await host.page.evaluate(
        """() => {
          const root = document.querySelector("mcp-app").shadowRoot;
          const look = () => (window.disabled ??= [...root.querySelectorAll(".ask button")].map((one) => one.disabled));
          new MutationObserver(look).observe(root, {childList: true});
        }"""
    )
    await host.send("question", id=3, **QUESTION)
    yes = host.page.get_by_role("button", name="Allow once")
    await expect(yes).to_be_enabled()
    assert await host.page.evaluate("disabled") == [False, True, True]


@pytest.mark.parametrize("mode", ["inline", "fullscreen", "pip"])
async def test_no_view_can_cover_it_or_receive_its_keys(mode: str, host: Host) -> None:
    """In the browser's top layer, above a View in any mode, and the View's own keys and clicks do not get there.

    Goes red with `dialog.show()` in place of `showModal()`.
    """
    view = await host.started()
    await view.evaluate("document.body.style.cssText = 'position: fixed; inset: 0; z-index: 2147483647'")
    await view.evaluate("var keys = []; addEventListener('keydown', ({key}) => keys.push(key)); focus()")
    await host.send("set-display-mode", id=1, mode=mode)
    await host.received("command-result")
    await asked(host)
    box = await host.page.get_by_role("dialog", name="wants to run clear").bounding_box()
    assert box is not None
    for x, y in ((0.5, 0.5), (0.1, 0.1), (0.9, 0.9)):
        point = [box["x"] + box["width"] * x, box["y"] + box["height"] * y]
        there = (
            "([x, y]) => document.querySelector('mcp-app').shadowRoot.elementFromPoint(x, y).closest('.ask')?.className"
        )
        assert await host.page.evaluate(there, point) == "ask modal"
    await view.evaluate("document.querySelector('input').focus()")
    await expect(host.page.get_by_role("button", name="Don’t allow")).to_be_focused()
    await host.page.keyboard.press("x")
    assert await view.evaluate("keys") == []
    await host.page.get_by_role("button", name="Don’t allow").click()
    assert await answer(host) == "deny"


async def test_a_view_cannot_answer_for_the_user(host: Host) -> None:
    view = await host.started()
    await asked(host)
    await view.evaluate(
        """for (const type of ["command-result", "message"]) say({type, id: 3, result: {answer: "always"}});
        say({jsonrpc: "2.0", id: 3, result: {answer: "always"}}); parent.parent.postMessage({answer: "always"}, "*")"""
    )
    for _ in range(3):
        assert (await host.received("message"))["message"]["result"] == {"answer": "always"}
    assert not any(frame["type"] == "command-result" for frame in host.frames)
    await host.page.get_by_role("button", name="Don’t allow").click()
    assert await answer(host) == "deny"


async def test_a_cancelled_question_is_closed_without_an_answer(host: Host) -> None:
    await host.started()
    await asked(host)
    await host.send("cancel-command", id=3)
    await expect(host.page.get_by_role("dialog")).to_have_count(0)
    await asked(host)
    await host.send("closed")
    await expect(host.page.get_by_role("dialog")).to_have_count(0)
    assert not any(frame["type"] == "command-result" for frame in host.frames)


async def test_a_question_that_is_cancelled_while_the_dialog_loads_is_never_shown(host: Host) -> None:
    await host.started()
    await host.page.evaluate(
        """() => {
          window.dialogs = 0;
          const root = document.querySelector("mcp-app").shadowRoot;
          new MutationObserver(() => (dialogs += 1)).observe(root, {childList: true});
        }"""
    )
    await host.send("question", id=3, **QUESTION)
    await host.send("cancel-command", id=3)
    async with asyncio.timeout(60):
        while "mcp-app-consent.js" not in host.scripts:
            await host.page.wait_for_timeout(20)
    await asked(host, id=4)
    await host.page.get_by_role("button", name="Don’t allow").click()
    assert (await host.received("command-result"))["id"] == 4
    await expect(host.page.get_by_role("dialog")).to_have_count(0)
    assert await host.page.evaluate("dialogs") == 2  # one appeared, and was removed


async def test_the_page_can_ask_with_its_own_dialog(host: Host) -> None:
    await host.started()
    await host.page.evaluate(
        """document.addEventListener("mcp-question", (event) => {
          event.preventDefault();
          event.detail.answer("once");
          event.detail.answer("always");
        })"""
    )
    await host.send("question", id=3, **QUESTION)
    assert await answer(host) == "once"
    assert await host.page.get_by_role("dialog").count() == 0
    assert "mcp-app-consent.js" not in host.scripts


async def test_a_question_can_be_answered_before_the_view_is_shown(host: Host) -> None:
    await host.start()
    await host.received("open")
    await asked(host)
    await host.page.get_by_role("button", name="Always").click()
    assert await answer(host) == "always"
    await host.show()


async def test_a_question_outlives_a_lost_socket(host: Host) -> None:
    await host.started()
    await asked(host)
    await host.sockets[-1].close(1012)
    await host.received("open")
    await host.send("resumed", seen=host.seen)
    await host.page.get_by_role("button", name="Always").click()
    assert await answer(host) == "always"


async def test_several_requests_are_one_question(host: Host) -> None:
    await host.started()
    await host.send("question", id=3, **{**QUESTION, "requests": [CLEAR, LINK]})
    dialog = host.page.get_by_role("dialog", name="My tasks (todo) wants to do 2 things:")
    clear, link = dialog.get_by_role("listitem").nth(0), dialog.get_by_role("listitem").nth(1)
    await expect(clear).to_contain_text("Run clear.")
    await expect(clear).to_contain_text(str(CLEAR["warning"]))
    await expect(link).to_contain_text("Open https://a.example/ (3 times)")
    for request in (CLEAR, LINK):
        await expect(dialog).to_contain_text(str(request["always"]))
    await dialog.get_by_role("button", name="Allow once").click()
    assert await answer(host) == "once"
    assert not any(frame["type"] == "command-result" for frame in host.frames)


async def test_an_inline_question_is_above_its_view_and_leaves_the_focus_alone(host: Host) -> None:
    await host.started(consent="inline")
    await host.page.focus("#before")
    await host.send("question", id=3, **QUESTION)
    panel = host.page.get_by_role("alertdialog", name="My tasks (todo) wants to run clear.")
    await panel.wait_for()
    await expect(host.page.locator("#before")).to_be_focused()
    assert await host.page.get_by_role("dialog").count() == 0
    box, frame = await panel.bounding_box(), await host.part("frame").bounding_box()
    assert box is not None
    assert frame is not None
    assert box["y"] + box["height"] <= frame["y"]
    await host.page.locator("#before").click()  # the page is not inert
    await panel.get_by_role("button", name="Allow once").click()
    assert await answer(host) == "once"
    await expect(panel).to_have_count(0)


async def test_an_inline_question_is_announced_and_works_by_keyboard(host: Host) -> None:
    await host.started(consent="inline")
    await host.send("question", id=3, **QUESTION)
    await expect(host.page.get_by_role("alert").get_by_role("heading")).to_have_text(str(CLEAR["text"]))
    await host.page.get_by_role("button", name="Don’t allow").focus()
    await host.page.keyboard.press("Escape")
    assert await answer(host) == "deny"
    active = "document.querySelector('mcp-app').shadowRoot.activeElement?.localName"
    assert await host.page.evaluate(active) == "iframe"


async def test_an_inline_question_that_moves_cannot_be_answered_with_yes_at_once(host: Host) -> None:
    """Another View of the page could move the buttons under the pointer. Goes red without `watch`."""
    await host.started(consent="inline")
    await host.send("question", id=3, **QUESTION)
    yes = host.page.get_by_role("button", name="Allow once")
    await expect(yes).to_be_enabled()
    await host.page.evaluate("document.querySelector('#before').style.height = '200px'")
    await expect(yes).to_be_disabled()
    await expect(yes).to_be_enabled()


@pytest.mark.parametrize("mode", ["fullscreen", "pip"])
async def test_an_inline_question_is_visible_in_every_display_mode(mode: str, host: Host) -> None:
    await host.started(consent="inline")
    await host.send("set-display-mode", id=1, mode=mode)
    await host.received("command-result")
    await host.send("question", id=3, **QUESTION)
    button = host.page.get_by_role("button", name="Don’t allow")
    await button.scroll_into_view_if_needed()
    await button.click()
    assert await answer(host) == "deny"


async def test_markup_in_a_question_is_text(host: Host) -> None:
    await host.started()
    bad = "<img src=x onerror=\"document.title='hacked'\">"
    details = [[bad, bad], ["Arguments", bad * 20]]
    request = {"text": bad, "warning": bad, "details": details, "always": bad, "count": 2}
    await host.send("question", id=3, app=bad, server=bad, requests=[request, request])
    dialog = host.page.get_by_role("dialog")
    await expect(dialog).to_contain_text(bad)
    assert await dialog.locator("img").count() == 0
    assert await host.page.title() == "page"


async def test_the_model_context_and_the_network_of_the_view_are_shown(host: Host) -> None:
    await host.start()
    await host.received("open")
    await host.show(network=["https://api.example.com", "https://*.tiles.example"])
    await expect(host.part("network")).to_have_text(
        "This app can connect to https://api.example.com, https://*.tiles.example"
    )
    await expect(host.part("context")).to_be_hidden()
    await host.send(
        "model-context", update={"content": [{"type": "text", "text": "Three left"}], "structuredContent": {"left": 3}}
    )
    await host.part("context").click()
    await expect(host.part("context")).to_contain_text("Three left")
    await expect(host.part("context")).to_contain_text('"left": 3')


DELETE = {
    "text": "My tasks (todo) wants to run delete_customer.",
    "warning": "This may delete or overwrite something.",
    "details": [["Arguments", '{\n "id": "all"\n}']],
    "once": "Once: until this View is closed, it may run delete_customer without asking.",
    "always": "Always: this app of todo may run delete_customer without asking.",
    "count": 1,
}
LONG_LINK = LINK | {"text": f"My tasks (todo) wants to open https://a.example/{'long-path/' * 100}"}
MANY = [LONG_LINK, DELETE, LONG_LINK | {"text": f"My tasks (todo) wants to open https://b.example/{'x' * 1_000}"}]
CUE = "Scroll to see all requests"


@pytest.fixture(params=[(390, 600, ""), (390, 600, "inline"), (1400, 500, ""), (1400, 500, "inline")], ids=str)
async def crowded(request: pytest.FixtureRequest, host: Host) -> Host:
    """A question with more requests than fit, in a window of some size, as a modal dialog and inline."""
    width, height, consent = request.param
    await host.page.set_viewport_size({"width": width, "height": height})
    await host.started(consent=consent)
    if consent:  # as in a full-screen View, where the question scrolls by itself
        await host.send("set-display-mode", id=1, mode="fullscreen")
        await host.received("command-result")
    await host.send("question", id=3, **{**QUESTION, "requests": MANY})
    await host.part("question").wait_for()
    return host


async def delay_is_over(host: Host) -> None:
    """Wait until the buttons would be enabled if everything had been in view."""
    await host.page.evaluate("new Promise((resolve) => setTimeout(resolve, 700))")


async def scroll_through(scroller: Locator) -> None:
    """Scroll from the start to the end, so that everything is in view for two frames."""
    await scroller.evaluate(
        """async (scroller) => {
          const frame = () => new Promise(requestAnimationFrame);
          for (let top = 0; top < scroller.scrollHeight; top += scroller.clientHeight / 2) {
            scroller.scrollTo(0, top);
            await frame().then(frame);
          }
          scroller.scrollTo(0, scroller.scrollHeight);
        }"""
    )


async def in_view(host: Host, text: str) -> bool:
    """Return whether the last line of the paragraph with this text is in the window and not scrolled away."""
    seen: bool = await host.part("question").evaluate(
        """async (question, text) => {
          const line = [...question.querySelectorAll("p, li")].find((one) => one.textContent.includes(text));
          const end = line.appendChild(document.createElement("span"));
          end.style.display = "inline-block";
          const isSeen = await new Promise((resolve) =>
            new IntersectionObserver(([entry]) => resolve(entry.isIntersecting)).observe(end));
          end.remove();
          return isSeen;
        }""",
        text,
    )
    return seen


async def test_requests_below_the_fold_cannot_be_allowed_until_they_were_in_view(crowded: Host) -> None:
    """A long link hides a destructive call. Goes red if the buttons do not wait for `unseen`."""
    page, question = crowded.page, crowded.part("question")
    assert not await in_view(crowded, str(DELETE["always"]))
    await delay_is_over(crowded)
    yes = [page.get_by_role("button", name=name) for name in ("Allow once", "Always allow")]
    for button in yes:
        await expect(button).to_be_disabled()
    await expect(question.get_by_text(CUE)).to_be_in_viewport()
    await expect(page.get_by_role("button", name="Don’t allow")).to_be_enabled()
    await scroll_through(question.locator(".scroll"))
    await expect(question.get_by_text(CUE)).to_be_hidden()
    assert await in_view(crowded, str(MANY[-1]["always"]))
    await expect(yes[1]).to_be_enabled()
    await yes[0].click()
    assert await answer(crowded) == "once"


async def test_a_jump_to_the_end_does_not_count_as_a_look_at_every_request(crowded: Host) -> None:
    """Goes red if only the end is observed."""
    scroll = crowded.part("question").locator(".scroll")
    await scroll.evaluate("scroll => scroll.scrollTo(0, scroll.scrollHeight)")
    await delay_is_over(crowded)
    assert not await in_view(crowded, str(DELETE["warning"]))
    await expect(crowded.page.get_by_role("button", name="Allow once")).to_be_disabled()


async def test_requests_below_the_fold_can_be_denied_at_once(crowded: Host) -> None:
    await crowded.page.get_by_role("button", name="Don’t allow").click()
    assert await answer(crowded) == "deny"


# Where a list is scrolled to, as a list with one number, or nothing at its end.
NEXT_PAGE = "list => list.scrollTop + list.clientHeight < list.scrollHeight - 1 ? [list.scrollTop] : []"
# A page down is animated. Until it has ended, a second one makes the list jump over a request on a slow machine.
SCROLLED = """async (list, [start]) => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let last = start; list.scrollTop === start || list.scrollTop !== last; await frame()) last = list.scrollTop;
  await frame().then(frame);
}"""


async def test_the_list_of_requests_can_be_scrolled_by_keyboard(crowded: Host) -> None:
    """Goes red without the `tabIndex` of the list."""
    page = crowded.page
    await expect(crowded.part("question").get_by_text(CUE)).to_be_visible()
    requests = page.get_by_role("region", name="Requests")
    await expect(requests).to_have_attribute("tabindex", "0")  # not every browser focuses what scrolls by itself
    await requests.focus()
    await expect(requests).to_be_focused()
    async with asyncio.timeout(30):
        while top := await requests.evaluate(NEXT_PAGE):
            await page.keyboard.press("PageDown")
            await requests.evaluate(SCROLLED, top)
    await expect(crowded.part("question").get_by_text(CUE)).to_be_hidden()
    await expect(page.get_by_role("button", name="Always allow")).to_be_enabled()


async def test_reaching_the_end_by_focus_counts_as_reading(crowded: Host) -> None:
    """Assistive technology need not scroll. Goes red without the listener for focus."""
    page = crowded.page
    await expect(crowded.part("question").get_by_text(CUE)).to_be_visible()
    await page.get_by_role("button", name="Don’t allow").focus()
    await page.keyboard.press("Shift+Tab")
    await expect(page.get_by_role("button", name="Allow once")).to_be_enabled()
    await expect(crowded.part("question").get_by_text(CUE)).to_be_hidden()


async def test_a_question_that_fits_has_no_cue_and_no_further_tab_stops(host: Host) -> None:
    await host.started()
    await asked(host)
    await expect(host.page.get_by_role("button", name="Allow once")).to_be_enabled()
    assert await host.page.get_by_text(CUE).count() == 0
    assert await host.part("question").locator("div[tabindex]").count() == 0


async def test_an_inline_question_that_is_scrolled_out_of_the_page_cannot_be_allowed(host: Host) -> None:
    """A chat that follows its end shows the buttons, but not the requests. Goes red if only the end is observed."""
    await host.page.set_viewport_size({"width": 390, "height": 500})
    await host.started(consent="inline")
    await host.page.evaluate(
        """() => {
          const box = document.querySelector("mcp-app");
          new MutationObserver(() => box.shadowRoot.querySelector("footer")?.scrollIntoView({block: "end"}))
            .observe(box.shadowRoot, {childList: true, subtree: true});
        }"""
    )
    await host.send("question", id=3, **{**QUESTION, "requests": MANY})
    yes = host.page.get_by_role("button", name="Allow once")
    await expect(yes).to_be_in_viewport()
    await delay_is_over(host)
    await expect(yes).to_be_disabled()
    await scroll_through(host.page.locator("html"))
    await expect(yes).to_be_enabled()
