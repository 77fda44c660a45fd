"""The table View in Chromium, under the standard's default policy, with a real server behind it."""

import csv
import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from mcp.server import MCPServer
from playwright.async_api import Browser, FrameLocator, Locator, expect

from fanlight import Apps
from fanlight.show import Keep
from support.stage import Stage, on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

URI = "ui://sales/fanlight-table"
ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "javascript:alert(1)",
    '"><svg onload=alert(1)>',
    "\u202egpj.exe\u202c",
    "{{constructor.constructor('alert(1)')()}}",
    '=HYPERLINK("http://x.example","click")',
]


def orders(rows: int = 120) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "order id": [100_000 + n for n in range(rows)],
            "customer": [f"Customer {n % 7}" if n % 5 else None for n in range(rows)],
            "note": ["" if n % 2 else "some text" for n in range(rows)],
            "total": [round(n * 1.25, 2) for n in range(rows)],
            "cost": [Decimal(n) / 4 for n in range(rows)],
            "day": pd.date_range("2026-01-01", periods=rows, freq="D"),
            "at": [datetime(2026, 7, 1, 9, 30, tzinfo=UTC)] * rows,
            "paid": [n % 3 == 0 for n in range(rows)],
            "tags": [["a", "b"] for _ in range(rows)],
        }
    )


def server_with(value: Any, **options: Any) -> Any:
    server: Any = MCPServer("sales")

    @Apps(server).show(**options)
    def show_orders(region: str = "all") -> pd.DataFrame | list[dict[str, Any]] | None:
        "Orders."
        made: pd.DataFrame | list[dict[str, Any]] | None = value() if callable(value) else value
        return made

    return server


@asynccontextmanager
async def shown(
    browser: Browser, value: Any = orders, *, options: dict[str, Any] | None = None, **stage_options: Any
) -> AsyncIterator[Stage]:
    async with (
        in_memory(server_with(value, **(options or {})), "2025-11-25", UI) as client,
        on_stage(
            browser, (await client.read(URI))["text"], client, **{"width": 900, "height": 700} | stage_options
        ) as stage,
    ):
        await stage.run("show_orders", {"region": "north"})
        await expect(stage.view.locator("#waiting")).to_be_hidden(timeout=60_000)
        yield stage
        assert stage.problems == []


def column(view: FrameLocator, name: str) -> Locator:
    return view.get_by_role("columnheader", name=name)


def first_row(view: FrameLocator) -> Locator:
    return view.locator("tbody tr").first.locator("td")


async def test_values_are_shown_in_the_formats_of_their_kinds_and_the_locale(browser: Browser) -> None:
    async with shown(browser, context={"locale": "de-DE"}) as stage:
        view = stage.view
        await expect(view.get_by_role("heading")).to_have_text("Show orders")
        await expect(view.locator(".status")).to_have_text("1–50 of 120 rows")
        cells = view.locator("tbody tr").nth(1).locator("td")
        await expect(cells.nth(0)).to_have_text("100001")
        await expect(cells.nth(1)).to_have_text("Customer 1")
        await expect(cells.nth(3)).to_have_text("1,25")
        await expect(cells.nth(4)).to_have_text("0,25")
        await expect(cells.nth(5)).to_have_text("2. Jan. 2026")
        await expect(cells.nth(6)).to_contain_text("1. Juli 2026, 09:30")
        await expect(cells.nth(7)).to_have_text("false")
        await expect(cells.nth(8)).to_have_text('["a","b"]')


async def test_a_missing_value_is_not_an_empty_one(browser: Browser) -> None:
    async with shown(browser) as stage:
        first = first_row(stage.view)
        await expect(first.nth(1)).to_have_text("null")
        await expect(first.nth(1)).to_have_class("null")
        assert await first.nth(1).get_attribute("title") == "no value"
        empty = stage.view.locator("tbody tr").nth(1).locator("td").nth(2)
        await expect(empty).to_have_text("")
        await expect(empty).not_to_have_class("null")


async def test_a_click_sorts_up_then_down_then_not_at_all(browser: Browser) -> None:
    async with shown(browser) as stage:
        view = stage.view
        header = column(view, "customer")
        await header.click()
        await expect(header).to_have_attribute("aria-sort", "ascending")
        await expect(first_row(view).nth(1)).to_have_text("Customer 0")
        await header.click()
        await expect(header).to_have_attribute("aria-sort", "descending")
        await expect(first_row(view).nth(1)).to_have_text("Customer 6")
        await header.click()
        await expect(first_row(view).nth(0)).to_have_text("100000")
        assert await header.get_attribute("aria-sort") is None
        await column(view, "tags").click()
        assert [params["arguments"]["sort"] for params in await stage.sent("tools/call", 3)] == [
            [{"column": 1, "descending": False}],
            [{"column": 1, "descending": True}],
            [],
        ]


async def test_pages_are_turned_by_buttons_and_keys(browser: Browser) -> None:
    async with shown(browser) as stage:
        view, status = stage.view, stage.view.locator(".status")
        await expect(view.get_by_role("button", name="Previous page")).to_be_disabled()
        await view.get_by_role("button", name="Next page").click()
        await expect(status).to_have_text("51–100 of 120 rows")
        await expect(first_row(view).nth(0)).to_have_text("100050")
        await view.get_by_role("button", name="Last page").click()
        await expect(status).to_have_text("101–120 of 120 rows")
        await expect(view.get_by_role("button", name="Next page")).to_be_disabled()
        await first_row(view).nth(0).focus()
        await stage.page.keyboard.press("PageUp")
        await expect(status).to_have_text("51–100 of 120 rows")
        await view.get_by_role("button", name="First page").click()
        await expect(status).to_have_text("1–50 of 120 rows")


async def test_a_column_is_filtered_by_its_range_and_the_filter_removed(browser: Browser) -> None:
    async with shown(browser) as stage:
        view, status = stage.view, stage.view.locator(".status")
        await view.get_by_role("button", name="Filter or hide total").click()
        await view.get_by_label("from").fill("100")
        await view.get_by_label("to", exact=True).fill("110")
        await view.get_by_role("button", name="Apply").click()
        await expect(status).to_have_text("9 rows · filtered from 120")
        chip = view.get_by_role("button", name="total ≥ 100 and ≤ 110 ✕")
        await expect(chip).to_be_visible()
        await chip.click()
        await expect(status).to_have_text("1–50 of 120 rows")


async def test_text_dates_booleans_and_missing_values_are_filtered(browser: Browser) -> None:
    async with shown(browser) as stage:
        view, status = stage.view, stage.view.locator(".status")
        for name, fill, expected in (
            ("customer", ("contains", "CUSTOMER 3"), "13 rows"),
            ("day", ("from", "2026-04-01"), "30 rows"),
            ("paid", ("is", "true"), "40 rows"),
            ("customer", ("Missing values", "null"), "24 rows"),
        ):
            await view.get_by_role("button", name=f"Filter or hide {name}").click()
            field = view.get_by_label(fill[0], exact=True)
            if await field.evaluate("field => field.tagName") == "SELECT":
                await field.select_option(fill[1])
            else:
                await field.fill(fill[1])
            await view.get_by_role("button", name="Apply").click()
            await expect(status).to_have_text(f"{expected} · filtered from 120")
            await view.locator(".filters button").click()
            await expect(status).to_have_text("1–50 of 120 rows")


async def test_a_filter_that_cannot_be_read_says_so_and_keeps_the_rows(browser: Browser) -> None:
    async with shown(browser) as stage:
        view = stage.view
        await view.get_by_role("button", name="Filter or hide total").click()
        await view.get_by_label("from").fill("much")
        await view.get_by_role("button", name="Apply").click()
        await expect(view.get_by_role("alert")).to_contain_text("'much' is not a number.")
        await expect(view.locator("tbody tr")).to_have_count(50)


async def test_a_search_goes_through_all_rows(browser: Browser) -> None:
    async with shown(browser) as stage:
        await stage.view.get_by_role("searchbox").fill("100119")
        await expect(stage.view.locator(".status")).to_have_text("1 row · filtered from 120")
        await expect(first_row(stage.view).nth(0)).to_have_text("100119")


async def test_columns_are_hidden_shown_and_resized(browser: Browser) -> None:
    async with shown(browser) as stage:
        view = stage.view
        await view.get_by_role("button", name="Columns").click()
        await view.get_by_role("checkbox", name="note").uncheck()
        await expect(column(view, "note")).to_have_count(0)
        await expect(view.locator(".status")).to_have_text("1–50 of 120 rows · 1 column hidden")
        await view.get_by_role("checkbox", name="note").check()
        await expect(column(view, "note")).to_have_count(1)
        await view.get_by_role("button", name="Close").click()
        header = column(view, "customer")
        before = await header.evaluate("header => header.offsetWidth")
        await header.focus()
        await stage.page.keyboard.press("Shift+ArrowRight")
        assert await header.evaluate("header => header.offsetWidth") == before + 16
        box = await header.locator("i").bounding_box()
        assert box is not None
        await stage.page.mouse.move(box["x"] + 3, box["y"] + 5)
        await stage.page.mouse.down()
        await stage.page.mouse.move(box["x"] + 63, box["y"] + 5)
        await stage.page.mouse.up()
        assert await header.evaluate("header => header.offsetWidth") == before + 76
        assert await stage.sent("tools/call", 0) == []


async def test_the_keyboard_reaches_every_cell_and_every_action(browser: Browser) -> None:
    async with shown(browser) as stage:
        view, press = stage.view, stage.page.keyboard.press
        assert await view.locator(".grid [tabindex='0']").count() == 1
        await column(view, "order id").focus()
        await press("ArrowDown")
        await press("ArrowRight")
        focused = view.locator("td:focus")
        await expect(focused).to_have_text("null")
        await press("End")
        await expect(focused).to_have_text('["a","b"]')
        await press("Control+End")
        await expect(view.locator("tr[aria-rowindex='51'] td").last).to_be_focused()
        await press("Control+Home")
        await press("ArrowUp")
        await press("Enter")
        await expect(column(view, "order id")).to_have_attribute("aria-sort", "ascending")
        await expect(column(view, "order id")).to_be_focused()
        await press("ArrowRight")
        await press("Alt+ArrowDown")
        await expect(view.get_by_label("contains")).to_be_focused()
        await press("Escape")
        await expect(column(view, "customer")).to_be_focused()


async def test_a_screen_reader_learns_the_size_and_the_place_of_rows(browser: Browser) -> None:
    async with shown(browser) as stage:
        grid = stage.view.get_by_role("grid", name="Show orders")
        await expect(grid).to_have_attribute("aria-rowcount", "121")
        await expect(grid).to_have_attribute("aria-colcount", "9")
        await stage.view.get_by_role("button", name="Next page").click()
        await expect(stage.view.locator("tbody tr").first).to_have_attribute("aria-rowindex", "52")


COPIED = """() => {
  addEventListener("copy", (event) => (document.body.dataset.copied = event.clipboardData.getData("text/plain")));
}"""


async def test_the_page_is_copied_without_formulas(browser: Browser) -> None:
    rows = [{"name": '=HYPERLINK("http://x")', "n": -1, "text": "a\tb\nc", "@x": None}]
    async with shown(browser, rows) as stage:
        body = stage.view.locator("body")
        await body.evaluate(COPIED)
        await stage.view.get_by_role("button", name="Copy").click()
        expected = "name\tn\ttext\t'@x\n'=HYPERLINK(\"http://x\")\t-1\ta b c\t"
        await expect(body).to_have_attribute("data-copied", expected)
        await expect(stage.view.locator(".status")).to_have_text("1 row copied")
        await first_row(stage.view).first.focus()
        await stage.page.keyboard.press("Control+c")
        await expect(body).to_have_attribute("data-copied", '=HYPERLINK("http://x")')


async def test_the_csv_file_has_all_rows_that_fit_and_no_formulas(browser: Browser) -> None:
    rows = [{"name": f"=1+{n}", "n": -n} for n in range(120)]
    async with shown(browser, rows) as stage:
        view = stage.view
        await view.get_by_role("button", name="Filter or hide n", exact=True).click()
        await view.get_by_label("to", exact=True).fill("-10")
        await view.get_by_role("button", name="Apply").click()
        await expect(view.locator(".status")).to_have_text("1–50 of 110 rows · filtered from 120")
        await view.get_by_role("button", name="CSV").click()
        (params,) = await stage.sent("ui/download-file", 1)
        resource = params["contents"][0]["resource"]
        assert resource["mimeType"] == "text/csv"
        assert resource["uri"] == "file:///show_orders.csv"
        lines = list(csv.reader(io.StringIO(resource["text"].removeprefix("\ufeff"))))
        assert lines[:2] == [["name", "n"], ["'=1+10", "-10"]]
        assert len(lines) == 111
        await expect(view.locator(".status")).to_have_text("Saved.")


async def test_rows_that_are_gone_can_be_had_by_running_the_tool_again(browser: Browser) -> None:
    async with shown(browser, options={"keep": Keep(tables=1)}) as stage:
        assert stage.client is not None
        await stage.client.call("show_orders")
        view = stage.view
        await view.get_by_role("button", name="Next page").click()
        await expect(view.get_by_role("alert")).to_contain_text("no longer kept on the server")
        await view.get_by_role("button", name="Run again").click()
        await expect(view.get_by_role("alert")).to_be_hidden()
        calls = await stage.sent("tools/call", 2)
        assert (calls[1]["name"], calls[1]["arguments"]) == ("show_orders", {"region": "north"})
        await view.get_by_role("button", name="Next page").click()
        await expect(view.locator(".status")).to_have_text("51–100 of 120 rows")


async def test_a_table_that_was_not_kept_shows_its_first_page_only(browser: Browser) -> None:
    async with shown(browser, options={"keep": Keep(bytes=10)}) as stage:
        status = stage.view.locator(".status")
        await expect(status).to_contain_text("1–50 of 120 rows · the table is too large to keep")
        await expect(stage.view.get_by_role("navigation")).to_be_hidden()
        await column(stage.view, "customer").click()
        assert await stage.sent("tools/call", 0) == []


async def test_an_error_and_a_cancellation_are_shown(browser: Browser) -> None:
    async with shown(browser) as stage:
        failed = {"content": [{"type": "text", "text": "No <b>orders</b>."}], "isError": True}
        await stage.notify("ui/notifications/tool-result", failed)
        await expect(stage.view.locator("#notice p")).to_have_text("No <b>orders</b>.")
        await stage.notify("ui/notifications/tool-cancelled", {})
        await expect(stage.view.locator("#notice p")).to_have_text("The call was cancelled.")


async def test_a_request_that_the_host_refuses_is_shown(browser: Browser) -> None:
    async with shown(browser) as stage:
        stage.unsupported.add("tools/call")
        await stage.view.get_by_role("button", name="Next page").click()
        await expect(stage.view.get_by_role("alert")).to_contain_text("The rows could not be loaded: Method not found")


@pytest.mark.parametrize("text", ATTACKS)
async def test_hostile_text_in_cells_names_and_titles_is_only_text(text: str, browser: Browser) -> None:
    async with shown(browser, [{text: text, "nested": {text: [text]}}], options={"title": text}) as stage:
        view = stage.view
        await expect(view.get_by_role("heading")).to_have_text(text)
        await expect(first_row(view).first).to_have_text(text)
        await expect(column(view, "nested")).to_have_count(1)
        await view.locator("th button").first.click()
        await view.get_by_label("contains").fill(text)
        await view.get_by_role("button", name="Apply").click()
        await expect(view.locator(".status")).to_have_text("1 row")
        await view.get_by_role("button", name="Columns").click()
        elements = await view.locator("body").evaluate(
            "body => body.querySelectorAll('img, svg, script:not([type]), iframe, a, object').length"
        )
        assert elements == await view.locator("head").evaluate(
            "() => document.querySelectorAll('body > script:not([type])').length"
        )
        # Text that runs from right to left turns around nothing beside it.
        for part in ("h1", "th span", "tbody td", ".filters button"):
            found = view.locator(part).first
            assert await found.evaluate("each => getComputedStyle(each).unicodeBidi") == "isolate", part
        assert await first_row(view).first.get_attribute("dir") == "auto"


async def test_the_name_of_a_tool_stays_within_the_name_of_the_file(browser: Browser) -> None:
    async with shown(browser) as stage:
        assert stage.client is not None
        result = await stage.client.call("show_orders")
        result["structuredContent"]["tool"] = "../../<b>/x?#"
        await stage.notify("ui/notifications/tool-result", result)
        await stage.view.get_by_role("button", name="CSV").click()
        (params,) = await stage.sent("ui/download-file", 1)
        assert params["contents"][0]["resource"]["uri"] == "file:///..%2F..%2F%3Cb%3E%2Fx%3F%23.csv"


async def test_the_view_follows_the_theme_variables_and_fonts_of_the_host(browser: Browser) -> None:
    styles = {"variables": {"--color-background-primary": "rgb(1, 2, 3)"}}
    async with shown(browser, context={"theme": "dark", "styles": styles}) as stage:
        body = stage.view.locator("body")
        assert await body.evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(1, 2, 3)"
        assert await body.evaluate("() => document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("width", [320, 390, 1000])
async def test_the_page_is_never_wider_than_the_view(width: int, browser: Browser) -> None:
    async with shown(browser, width=width) as stage:
        for opened in (None, "Columns", "Filter or hide day"):
            if opened:
                await stage.view.get_by_role("button", name=opened).click()
            wider = await stage.view.locator("html").evaluate("root => root.scrollWidth - root.clientWidth")
            assert wider <= 0, opened


@pytest.mark.parametrize("value", [[], pd.DataFrame(), pd.DataFrame({"a": []}), [{}], None])
async def test_an_empty_table_is_shown_as_one(value: Any, browser: Browser) -> None:
    async with shown(browser, lambda: value) as stage:
        await expect(stage.view.locator(".status")).to_have_text(re.compile("^[01] rows?$"))


async def test_full_screen_is_offered_where_the_host_has_it(browser: Browser) -> None:
    async with shown(browser) as stage:
        button = stage.view.get_by_role("button", name="Full screen")
        await button.click()
        await expect(button).to_have_attribute("aria-pressed", "true")
        await expect(stage.view.locator("body")).to_have_class("full")
        await stage.sent("ui/request-display-mode", 1)


@pytest.mark.parametrize("bridge", ["ext-apps-1", "ext-apps-2"])
async def test_the_view_works_under_the_published_bridge(bridge: str, browser: Browser) -> None:
    async with shown(browser, bridge=bridge) as stage:
        view = stage.view
        await column(view, "customer").click()
        await expect(first_row(view).nth(1)).to_have_text("Customer 0")
        await view.get_by_role("button", name="Next page").click()
        await expect(view.locator(".status")).to_have_text("51–100 of 120 rows")
        await expect(view.get_by_role("button", name="CSV")).to_be_hidden()


async def test_numbers_of_one_column_have_their_points_below_each_other(browser: Browser) -> None:
    rows = [{"n": value} for value in (0.123456789, 12.5, float("inf"), 1e-12, -3.25, None)]
    async with shown(browser, rows) as stage:
        await expect(stage.view.locator("tbody td")).to_have_text(
            ["0.1235", "12.5000", "Infinity", "1E-12", "-3.2500", "null"]
        )


async def test_the_keyboard_continues_at_the_cell_that_was_clicked(browser: Browser) -> None:
    async with shown(browser) as stage:
        rows = stage.view.locator("tbody tr")
        await rows.nth(3).locator("td").nth(3).click()
        await stage.page.keyboard.press("ArrowRight")
        await expect(rows.nth(3).locator("td").nth(4)).to_be_focused()
        assert await stage.view.locator(".grid [tabindex='0']").count() == 1


async def test_a_cell_is_opened_by_a_double_click_and_by_enter(browser: Browser) -> None:
    async with shown(browser, [{"tags": {"a": [1, "<b>"]}, "text": "one\ntwo"}]) as stage:
        cells = first_row(stage.view)
        await cells.first.dblclick()
        assert await cells.first.inner_text() == '{\n  "a": [\n    1,\n    "<b>"\n  ]\n}'
        await stage.page.keyboard.press("Enter")
        await expect(cells.first).to_have_text('{"a":[1,"<b>"]}')
        await cells.nth(1).dblclick()
        await expect(cells.nth(1)).to_have_class("open")


async def test_a_page_is_reached_by_its_number(browser: Browser) -> None:
    async with shown(browser) as stage:
        number = stage.view.get_by_label("Page", exact=True)
        await expect(number).to_have_value("1")
        await number.fill("3")
        await number.press("Enter")
        await expect(stage.view.locator(".status")).to_have_text("101–120 of 120 rows")
        await number.fill("99")
        await number.press("Enter")
        await expect(number).to_have_value("3")


async def test_a_search_without_hits_says_so_and_all_filters_are_cleared_at_once(browser: Browser) -> None:
    async with shown(browser) as stage:
        view = stage.view
        await view.get_by_role("button", name="Filter or hide total").click()
        await expect(view.locator(".panel small")).to_have_text("float64")
        await view.get_by_label("from").fill("100")
        await view.get_by_role("button", name="Apply").click()
        await view.get_by_role("searchbox").fill("nobody")
        await expect(view.get_by_text("No rows fit the search and the filters.")).to_be_visible()
        await view.get_by_role("button", name="Clear all").click()
        await expect(view.locator(".status")).to_have_text("1–50 of 120 rows")
        await expect(view.get_by_role("searchbox")).to_have_value("")
