"""The examples in a browser, and with a client that shows only text."""

import json
import re

import html5lib
import pytest
from playwright.async_api import Browser, expect

from support.examples import EXAMPLES, VIEWS, Refusing, client_of, showing
from support.stage import on_stage
from support.wire import NO_UI, UI, VERSIONS, over_stdio

pytestmark = pytest.mark.anyio

each = pytest.mark.parametrize("name", VIEWS)

# The contrast of the edge or fill of each control, and of each placeholder, with the background (WCAG 1.4.11, 1.4.3).
CONTRASTS = """(body) => {
  const luminance = (color) => {
    const linear = (part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = getComputedStyle(body).backgroundColor;
  const found = {};
  for (const control of body.querySelectorAll("button, select, input:not([type=checkbox], [type=radio])")) {
    const style = getComputedStyle(control);
    if (style.borderStyle === "none") continue;
    const drawn = control.matches(".main") ? style.backgroundColor : style.borderTopColor;
    found[control.id || control.name || control.textContent] = contrast(drawn, ground);
    const placeholder = getComputedStyle(control, "::placeholder").color;
    if (control.placeholder) found[`${control.id}::placeholder`] = contrast(placeholder, ground);
  }
  return found;
}"""


def test_every_example_is_tested() -> None:
    assert set(VIEWS) == {path.parent.name for path in EXAMPLES.glob("*/server.py")}


@each
async def test_the_view_is_valid_html5(name: str) -> None:
    async with client_of(name) as client:
        html = (await client.read(VIEWS[name][0]))["text"]
    document = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)
    # The content of a rendered page comes with the result.
    assert len(document.findall(".//h1")) == (0 if name == "cart" else 1)


@each
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_controls_and_placeholders_have_enough_contrast(name: str, dark: bool, browser: Browser) -> None:
    async with showing(browser, name, dark=dark) as stage:
        measured = await stage.view.locator("body").evaluate(CONTRASTS)
        assert measured
        assert {what: ratio for what, ratio in measured.items() if ratio < (4.5 if "::" in what else 3)} == {}


@each
async def test_the_view_is_one_document_that_refers_to_nothing_else(name: str) -> None:
    async with client_of(name) as client:
        html = (await client.read(VIEWS[name][0]))["text"]
    document = html5lib.parse(html, namespaceHTMLElements=False)
    assert not document.findall(".//link[@rel='stylesheet']")
    assert not [element for element in document.iter() if element.get("src")]


@each
@pytest.mark.process
async def test_the_server_runs_over_stdio(name: str) -> None:
    uri, tool, arguments = VIEWS[name]
    async with over_stdio(EXAMPLES / name / "server.py", VERSIONS[-1], UI) as client:
        assert (await client.tools())[tool]["_meta"]["ui"]["resourceUri"] == uri
        assert not (await client.call(tool, **arguments)).get("isError")


@each
async def test_a_client_without_ui_can_use_every_tool_it_sees(name: str) -> None:
    _, tool, arguments = VIEWS[name]
    async with client_of(name, NO_UI) as client:
        assert all("_meta" not in listed for listed in (await client.tools()).values())
        text = (await client.call(tool, **arguments))["content"][0]["text"]
    assert len(text) > 10


@each
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 900])
async def test_the_view_starts_with_no_violation_no_request_and_no_overflow(
    name: str, dark: bool, width: int, browser: Browser
) -> None:
    async with showing(browser, name, dark=dark, width=width) as stage:
        await expect(stage.view.locator("body")).not_to_be_empty()
        wider = await stage.view.locator("html").evaluate("root => root.scrollWidth - root.clientWidth")
        assert wider <= 0
        sizes = await stage.page.evaluate("messages.filter(m => m.method === 'ui/notifications/size-changed').length")
        assert 1 <= sizes < 10


async def test_clock_shows_the_time_and_refreshes_it(browser: Browser) -> None:
    async with showing(browser, "clock") as stage:
        await expect(stage.view.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
        await expect(stage.view.locator("#day")).to_contain_text("UTC")
        await stage.view.get_by_role("button", name="Refresh").click()
        await expect(stage.view.locator("time")).not_to_have_text("--:--:--")
        assert (await stage.sent("tools/call", 1))[0]["name"] == "get_time"
        await stage.view.get_by_role("button", name="Wake me").click()
        await expect(stage.view.get_by_role("status")).to_contain_text("Alarm in")


async def test_clock_shows_errors(browser: Browser) -> None:
    async with showing(browser, "clock") as stage:
        assert stage.client is not None
        await stage.notify("ui/notifications/tool-result", await stage.client.call("get_time", zone="Mars/Olympus"))
        await expect(stage.view.locator("#day")).to_contain_text("is not a time zone")


async def test_clock_ticks_and_keeps_its_zone(browser: Browser) -> None:
    async with showing(browser, "clock") as stage:
        assert stage.client is not None
        await stage.run("get_time", {"zone": "Asia/Tokyo"})
        await expect(stage.view.locator("#day")).to_contain_text("Asia/Tokyo")
        first = await stage.view.locator("time").inner_text()
        await expect(stage.view.locator("time")).not_to_have_text(first)
        assert await stage.sent("tools/call", 0) == []
        await stage.view.get_by_role("button", name="Refresh").click()
        assert (await stage.sent("tools/call", 1))[0]["arguments"] == {"zone": "Asia/Tokyo"}


async def test_clock_ticks_past_midnight(browser: Browser) -> None:
    async with showing(browser, "clock") as stage:
        late = {"iso": "2026-12-31T23:59:59+09:00", "zone": "Asia/Tokyo", "text": ""}
        await stage.notify("ui/notifications/tool-result", {"content": [], "structuredContent": late})
        await expect(stage.view.locator("#day")).to_contain_text("31 December 2026")
        await expect(stage.view.locator("#day")).to_contain_text("1 January 2027")


@pytest.mark.parametrize("button", ["Refresh", "Wake me in a minute"])
async def test_clock_shows_when_a_call_is_rejected(button: str, browser: Browser) -> None:
    async with showing(browser, "clock") as stage:
        stage.client = Refusing()
        await stage.view.get_by_role("button", name=button).click()
        await expect(stage.view.locator("body")).to_contain_text("The host refuses.")


async def test_todo_keeps_the_focus_on_a_row_that_changes(browser: Browser) -> None:
    async with showing(browser, "todo") as stage:
        box = stage.view.get_by_role("checkbox", name="Write a View")
        await box.press("Space")
        await expect(stage.view.get_by_role("status")).to_have_text("2 of 3 left")
        await expect(box).to_be_checked()
        await expect(box).to_be_focused()


async def test_todo_gives_the_focus_of_a_removed_row_to_its_neighbour(browser: Browser) -> None:
    async with showing(browser, "todo") as stage:
        remove = stage.view.get_by_role("button", name="Remove")
        await remove.nth(1).press("Enter")
        await expect(remove).to_have_count(2)
        await expect(remove.nth(1)).to_be_focused()
        await remove.nth(1).press("Enter")
        await expect(remove).to_have_count(1)
        await expect(remove.nth(0)).to_be_focused()
        await remove.nth(0).press("Enter")
        await expect(remove).to_have_count(0)
        await expect(stage.view.get_by_role("textbox")).to_be_focused()


async def test_todo_resets_a_checkbox_whose_change_failed(browser: Browser) -> None:
    async with showing(browser, "todo") as stage:
        stage.client = Refusing()
        box = stage.view.get_by_role("checkbox").first
        await box.press("Space")
        await expect(stage.view.get_by_role("status")).to_contain_text("The host refuses.")
        await expect(box).not_to_be_checked()
        await expect(box).to_be_focused()


async def test_todo_is_changed_by_the_user_and_updates_the_model_context(browser: Browser) -> None:
    async with showing(browser, "todo") as stage:
        await expect(stage.view.get_by_role("listitem")).to_have_count(3)
        await stage.view.get_by_role("textbox").fill("<b>Buy milk</b>")
        await stage.view.get_by_role("button", name="Add").click()
        await expect(stage.view.get_by_role("listitem").nth(3)).to_contain_text("<b>Buy milk</b>")
        await stage.view.get_by_role("checkbox").first.check()
        await expect(stage.view.get_by_role("status")).to_have_text("3 of 4 left")
        await stage.view.get_by_role("button", name="Remove").nth(3).click()
        await expect(stage.view.get_by_role("listitem")).to_have_count(3)
        called = [params["name"] for params in await stage.sent("tools/call", 3)]
        assert called == ["add_todo", "toggle_todo", "remove_todo"]
        last = (await stage.sent("ui/update-model-context", 3))[-1]
        assert "[x] 1. Read the tutorial" in last["content"][0]["text"]


async def test_todo_works_in_a_host_without_model_context(browser: Browser) -> None:
    async with showing(browser, "todo") as stage:
        stage.unsupported.add("ui/update-model-context")
        await stage.view.get_by_role("checkbox").first.check()
        await stage.sent("ui/update-model-context", 1)
        await expect(stage.view.get_by_role("status")).to_have_text("2 of 3 left")
        await expect(stage.view.get_by_role("status")).to_have_class("quiet")


async def test_chart_draws_while_the_model_writes(browser: Browser) -> None:
    rows = [{"label": "Jan", "value": 3}, {"label": "Feb", "value": 5}]
    async with (
        client_of("chart") as client,
        on_stage(browser, (await client.read("ui://chart/chart"))["text"], client) as stage,
    ):
        for partial in ({}, {"title": "Sal"}, {"title": "Sales", "rows": [{"label": "Ja"}]}, {"rows": rows[:1]}):
            await stage.notify("ui/notifications/tool-input-partial", {"arguments": partial})
        await expect(stage.view.locator("dt")).to_have_count(1)
        await expect(stage.view.get_by_role("status")).to_have_text("1 so far…")
        await stage.run("draw_chart", {"title": "Sales", "rows": rows, "unit": "t"})
        await expect(stage.view.locator("dt")).to_have_text(["Jan", "Feb"])
        await expect(stage.view.get_by_role("heading")).to_have_text("Sales")
        await expect(stage.view.get_by_role("status")).to_have_text("2 values, in t")
        assert stage.problems == []


async def test_chart_rows_are_terms_with_one_description_each(browser: Browser) -> None:
    async with showing(browser, "chart") as stage:
        html = await stage.view.locator("#rows").evaluate("rows => rows.outerHTML")
        document = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parseFragment(html)
        groups = document.findall("dl/*")
        assert [[group.tag, *(child.tag for child in group)] for group in groups] == [["div", "dt", "dd"]] * 2
        assert {child.tag for group in groups for child in group.findall("dd/*")} == {"span"}
        await expect(stage.view.get_by_role("definition")).to_have_text(["8,611 m", "8,849 m"])


async def test_chart_shows_long_labels_whole_in_a_narrow_view(browser: Browser) -> None:
    async with showing(browser, "chart", width=340) as stage:
        label = "Donaudampfschifffahrtsgesellschaft and other steamship companies"
        await stage.run("draw_chart", {"title": "Long", "rows": [{"label": label, "value": 12345678}]})
        term = stage.view.locator("dt")
        await expect(term).to_have_text(label)
        assert await term.evaluate("term => term.scrollWidth <= term.clientWidth")
        assert await term.evaluate("term => getComputedStyle(term).overflow") == "visible"
        assert await stage.view.locator("html").evaluate("root => root.scrollWidth <= root.clientWidth")
        assert await stage.view.locator(".bar").evaluate("bar => bar.clientWidth") > 40


async def test_chart_goes_full_screen_and_back_if_the_host_supports_it(browser: Browser) -> None:
    async with showing(browser, "chart") as stage:
        await stage.view.get_by_role("button", name="Full screen").click()
        await stage.view.get_by_role("button", name="Leave full screen").click()
        await expect(stage.view.get_by_role("button", name="Full screen", exact=True)).to_be_visible()
        asked = await stage.sent("ui/request-display-mode", 2)
        assert [params["mode"] for params in asked] == ["fullscreen", "inline"]
    async with showing(browser, "chart", context={"availableDisplayModes": ["inline"]}) as stage:
        await expect(stage.view.locator("#full")).to_be_hidden()


async def test_chart_follows_the_hosts_theme_and_variables(browser: Browser) -> None:
    async with showing(browser, "chart", context={"theme": "dark"}) as stage:
        root = stage.view.locator("html")
        await expect(root).to_have_attribute("data-theme", "dark")
        variables = {"--color-background-primary": "rgb(1, 2, 3)"}
        await stage.notify(
            "ui/notifications/host-context-changed", {"theme": "light", "styles": {"variables": variables}}
        )
        await expect(root).to_have_attribute("data-theme", "light")
        await expect(stage.view.locator("body")).to_have_css("background-color", "rgb(1, 2, 3)")


async def test_wizard_books_a_room_in_three_steps(browser: Browser) -> None:
    async with showing(browser, "wizard") as stage:
        next_button = stage.view.get_by_role("button", name="Next")
        await stage.view.get_by_label("Day").fill("2030-05-06")
        await next_button.click()
        await stage.view.get_by_label("People").fill("10")
        await stage.view.get_by_label("Screen").check()
        await next_button.click()
        await expect(stage.view.get_by_role("radio")).to_have_count(2)
        await stage.view.get_by_label("Library").check()
        await stage.view.get_by_role("button", name="Book").click()
        await expect(stage.view.get_by_role("status")).to_contain_text("Library is booked for 10 on 2030-05-06")
        (message,) = await stage.sent("ui/message", 1)
        assert message["role"] == "user"
        assert "Library is booked" in message["content"][0]["text"]


async def test_wizard_moves_the_focus_to_each_question_and_to_the_result(browser: Browser) -> None:
    async with showing(browser, "wizard") as stage:
        await expect(stage.view.locator("legend").first).not_to_be_focused()  # a View takes no focus by itself
        await stage.view.get_by_role("button", name="Next").press("Enter")
        await expect(stage.view.get_by_text("What do you need?")).to_be_focused()
        await stage.view.get_by_role("button", name="Back").press("Enter")
        await expect(stage.view.get_by_text("When do you meet?")).to_be_focused()
        await stage.view.get_by_role("button", name="Next").press("Enter")
        await stage.view.get_by_role("button", name="Next").press("Enter")
        await expect(stage.view.get_by_text("Where do you meet?")).to_be_focused()
        await stage.view.get_by_role("button", name="Book").press("Enter")
        await expect(stage.view.get_by_role("status")).to_be_focused()
        await expect(stage.view.get_by_role("status")).to_contain_text("is booked")


async def test_wizard_keeps_the_focus_after_an_error(browser: Browser) -> None:
    async with showing(browser, "wizard") as stage:
        button = stage.view.get_by_role("button", name="Next")
        await button.press("Enter")
        stage.client = Refusing()
        await button.press("Enter")
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
        await expect(button).to_be_focused()


async def test_wizard_shows_when_no_room_fits_and_lets_the_user_go_back(browser: Browser) -> None:
    async with showing(browser, "wizard") as stage:
        assert stage.client is not None
        await stage.client.call("book_room", room="Library", day="2030-05-06", start="09:00", people=20)
        await stage.view.get_by_label("Day").fill("2030-05-06")
        await stage.view.get_by_role("button", name="Next").click()
        await stage.view.get_by_label("People").fill("20")
        await stage.view.get_by_role("button", name="Next").click()
        await expect(stage.view.get_by_role("status")).to_contain_text("No room fits")
        await stage.view.get_by_role("button", name="Back").click()
        await stage.view.get_by_label("Start").select_option("11:00")
        await stage.view.get_by_role("button", name="Next").click()
        await stage.view.get_by_role("button", name="Next").click()
        await expect(stage.view.get_by_role("radio")).to_have_count(1)


async def test_wizard_is_a_conversation_for_a_client_without_ui() -> None:
    async with client_of("wizard", NO_UI) as client:
        assert "Ask the user, one question at a time" in (await client.call("start_booking"))["content"][0]["text"]
        when = {"day": "2030-05-06", "start": "11:00", "people": 10}
        found = json.loads((await client.call("find_rooms", **when))["content"][0]["text"])
        room = found["rooms"][0]["name"]
        assert "is booked" in (await client.call("book_room", room=room, **when))["content"][0]["text"]
        assert (await client.call("book_room", room=room, **when))["isError"]
    async with client_of("wizard", UI) as client:
        assert "form is open" in (await client.call("start_booking"))["content"][0]["text"]
