"""The View of forms in Chromium, under the standard's default policy, with a real server behind it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

import pytest
from fastmcp import FastMCP
from mcp.server import MCPServer
from playwright.async_api import Browser, expect
from pydantic import AwareDatetime, BaseModel, Field, SecretStr

from fanlight import Apps, show
from support.stage import Stage, on_stage
from support.wire import UI, in_memory

pytestmark = pytest.mark.anyio

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "\u202egpj.exe\u202c",
    "__proto__",
]


SHOW = "result => notify('ui/notifications/tool-result', JSON.parse(result))"


class Address(BaseModel):
    street: str = Field(min_length=3, examples=["Main Street 1"])
    city: str = Field(description="Where the driver goes.")


class Card(BaseModel):
    kind: Literal["card"] = "card"
    number: SecretStr


class Invoice(BaseModel):
    kind: Literal["invoice"] = "invoice"
    reference: str


class OrderLine(BaseModel):
    sku: str
    pieces: int = Field(1, ge=1, le=9)


class Order(BaseModel):
    day: date = Field(title="Delivery day")
    at: time | None = None
    notified: datetime | None = None
    pickup: AwareDatetime | None = None
    speed: Literal["slow", "next_day"] = "slow"
    country: Literal["at", "be", "de", "es", "fr"]
    tip: Decimal = Field(Decimal("0.50"), ge=0, decimal_places=2)
    gift: bool = False
    loud: bool | None = None
    extras: list[Literal["box", "ribbon", "card"]] = []
    note: str | None = Field(None, max_length=500)
    greeting: str = "Hello"
    address: Address
    billing: Address | None = None
    lines: list[OrderLine] = Field(min_length=1)
    names: list[str] = []
    payment: Card | Invoice = Field(discriminator="kind")
    more: dict[str, int] | None = None


class Confirmation(BaseModel):
    number: int
    note: str


FILLED: dict[str, Any] = {
    "day": "2026-12-01",
    "country": "fr",
    "address": {"street": "Main", "city": "Rome"},
    "lines": [{"sku": "a", "pieces": 2}],
    "payment": {"kind": "invoice", "reference": "r"},
}


class Shop:
    """A server with a form, and what was submitted to it."""

    def __init__(self, kind: type = MCPServer) -> None:
        self.server: Any = kind("shop")
        self.orders: list[Order] = []
        self.apps = Apps(self.server)

        @self.apps.form(title="Book a delivery", submit="Book")
        def book(order: Order) -> Confirmation:
            "Book a delivery."
            if order.address.city == "Paris":
                raise show.FieldError("address.city", "We do not deliver in Paris.")
            if order.address.city == "Lyon":
                raise ValueError("Nothing works <b>today</b>.")
            self.orders.append(order)
            return Confirmation(number=len(self.orders), note="<i>thanks</i>")


@asynccontextmanager
async def shown(
    browser: Browser, shop: Any, arguments: dict[str, Any], *, tool: str = "book", view: str = "form", **options: Any
) -> AsyncIterator[Stage]:
    async with in_memory(shop.server, "2025-11-25", UI) as client:
        html = (await client.read(f"ui://shop/fanlight-{view}"))["text"]
        async with on_stage(browser, html, client, **{"width": 900, "height": 1800} | options) as stage:
            # As text: Playwright drops properties called __proto__.
            result = json.dumps(await client.call(tool, **arguments))
            await stage.page.evaluate(SHOW, result)
            await expect(stage.view.locator("form")).to_be_visible(timeout=60_000)
            yield stage
            assert stage.problems == []


async def test_every_kind_of_field_is_shown_and_read(browser: Browser) -> None:
    shop = Shop()
    async with shown(browser, shop, {}) as stage:
        view = stage.view
        await expect(view.get_by_role("heading")).to_have_text("Book a delivery")
        await view.get_by_label("Delivery day *").fill("2026-12-01")
        await view.get_by_label("At", exact=True).fill("09:30")
        await view.get_by_label("Notified").fill("2026-12-01T10:00")
        await view.get_by_label("Pickup").fill("2026-12-01T11:00")
        await expect(view.get_by_role("radio", name="Slow")).to_be_checked()
        await view.get_by_role("radio", name="Next day").check()
        assert await view.get_by_label("Country").locator("option").all_inner_texts() == [
            "Choose…", "At", "Be", "De", "Es", "Fr",
        ]  # fmt: skip
        await view.get_by_label("Country").select_option("Fr")
        tip = view.get_by_label("Tip")
        await expect(tip).to_have_value("0.50")
        assert await tip.evaluate("input => [input.type, input.step, input.min]") == ["number", "0.01", "0"]
        await tip.fill("1.25")
        await view.get_by_label("Gift").check()
        await view.get_by_label("Loud").select_option("Yes")
        await view.get_by_role("checkbox", name="Ribbon").check()
        assert await view.get_by_label("Note").evaluate("input => input.tagName") == "TEXTAREA"
        await view.get_by_label("Greeting").fill("")
        address = view.get_by_role("group", name="Address")
        await expect(address.get_by_label("Street")).to_have_attribute("placeholder", "Main Street 1")
        await address.get_by_label("Street").fill("Main")
        city = address.get_by_label("City")
        assert "Where the driver goes." in await city.evaluate(
            "input => document.getElementById(input.getAttribute('aria-describedby')).textContent"
        )
        await city.fill("Rome")
        await view.get_by_role("button", name="+ Add Billing").click()
        billing = view.get_by_role("group", name="Billing")
        await expect(billing.get_by_label("Street")).to_be_focused()
        await view.get_by_role("button", name="Leave Billing out").click()
        lines = view.get_by_role("group", name="Lines")
        for sku in ("a", "b"):
            await view.get_by_role("button", name="+ Add to Lines").click()
            await lines.get_by_label("Sku").last.fill(sku)
        await expect(lines.get_by_text("Order line 3")).to_be_visible()
        await lines.get_by_role("button", name="Remove").first.click()
        await lines.get_by_role("button", name="Move up").last.click()
        await expect(lines.locator("legend").get_by_text("Order line 1")).to_have_count(1)
        await view.get_by_role("button", name="+ Add to Names").click()
        await view.get_by_label("Item 1").fill("Ada")
        payment = view.get_by_label("Payment: which kind")
        await view.get_by_label("Number").fill("4111")
        await payment.select_option("Invoice")
        await view.get_by_label("Reference").fill("r")
        await payment.select_option("Card")
        await expect(view.get_by_label("Number")).to_have_value("4111")
        await expect(view.get_by_label("Number")).to_have_attribute("type", "password")
        await view.get_by_label("More").fill('{"a": 1}')
        await view.get_by_role("button", name="Book").click()
        await expect(view.locator(".outcome")).to_be_visible()
        zoned = await view.locator("body").evaluate("() => new Date('2026-12-01T11:00').toISOString()")
    (order,) = shop.orders
    assert order == Order(
        day=date(2026, 12, 1),
        at=time(9, 30),
        notified=datetime(2026, 12, 1, 10),
        pickup=zoned,
        speed="next_day",
        country="fr",
        tip=Decimal("1.25"),
        gift=True,
        loud=True,
        extras=["ribbon"],
        greeting="",
        note=None,
        address=Address(street="Main", city="Rome"),
        lines=[OrderLine(sku="b", pieces=1), OrderLine(sku="a", pieces=1)],
        names=["Ada"],
        payment=Card(number=SecretStr("4111")),
        more={"a": 1},
    )
    assert str(order.tip) == "1.25"


async def test_what_is_missing_or_wrong_is_said_at_the_field_before_anything_is_sent(browser: Browser) -> None:
    async with shown(browser, Shop(), {"lines": [{"sku": "a", "pieces": 10}]}) as stage:
        view = stage.view
        pieces = view.get_by_label("Pieces")
        # What the model sent is wrong already.
        await expect(view.get_by_text("Pieces must be at most 9.")).to_be_visible()
        await expect(pieces).to_have_value("10")
        await view.get_by_label("Street").fill("x")
        await view.get_by_label("Tip").fill("")
        await view.get_by_role("button", name="Book").click()
        day = view.get_by_label("Delivery day")
        await expect(day).to_be_focused()
        await expect(day).to_have_attribute("aria-invalid", "true")
        described = (
            "input => document.getElementById(input.getAttribute('aria-describedby').split(' ').at(-1)).textContent"
        )
        for label, message in (
            ("Delivery day", "Delivery day is required."),
            ("Country", "Country is required."),
            ("Tip", "Tip is required."),
            ("Street", "Street must have at least 3 characters."),
            ("City", "City is required."),
            ("Pieces", "Pieces must be at most 9."),
            ("Number", "Number is required."),
        ):
            assert await view.get_by_label(label).first.evaluate(described) == message
        await expect(view.get_by_role("alert")).to_have_text("7 fields need your attention.")
        assert await stage.sent("tools/call", 0) == []
        await day.fill("2026-12-01")
        await expect(view.get_by_text("Delivery day is required.")).to_be_hidden()
        assert await day.get_attribute("aria-invalid") is None
        await view.get_by_role("button", name="Remove").first.click()
        await view.get_by_role("button", name="Book").click()
        await expect(view.get_by_text("Lines needs at least 1 item.")).to_be_visible()


async def test_errors_of_the_server_stand_at_their_fields_and_the_values_stay(browser: Browser) -> None:
    shop = Shop()
    async with shown(browser, shop, {**FILLED, "address": {"street": "Main", "city": "Paris"}}) as stage:
        view, button = stage.view, stage.view.get_by_role("button", name="Book")
        await button.click()
        city = view.get_by_label("City")
        await expect(view.get_by_text("We do not deliver in Paris.")).to_be_visible()
        await expect(city).to_be_focused()
        await expect(city).to_have_value("Paris")
        await city.fill("Lyon")
        await button.click()
        await expect(view.get_by_role("alert")).to_have_text("Nothing works <b>today</b>.")
        await expect(view.get_by_text("We do not deliver in Paris.")).to_be_hidden()
        await city.fill("Rome")
        await view.get_by_label("More").fill('{"a": "x"}')
        await button.click()
        await expect(view.get_by_text("More is not a number.")).to_be_visible()
        assert shop.orders == []


async def test_the_outcome_is_shown_and_the_model_learns_it_without_secrets(browser: Browser) -> None:
    shop = Shop()
    async with shown(browser, shop, {**FILLED, "payment": {"kind": "card"}}) as stage:
        view = stage.view
        await view.get_by_label("Number").fill("4111-secret")
        await view.get_by_role("button", name="Book").click()
        await expect(view.locator("dd")).to_have_text(["1", "<i>thanks</i>"])
        await expect(view.locator("form")).to_be_hidden()
        (params,) = await stage.sent("ui/update-model-context", 1)
        text = params["content"][0]["text"]
        assert "Result: number: 1" in text
        assert "secret" not in text
        await view.get_by_role("button", name="Edit again").click()
        await expect(view.get_by_label("Delivery day")).to_be_focused()
        await view.get_by_label("Street").fill("Other")
        await view.get_by_role("button", name="Book").click()
        await expect(view.locator("dd").first).to_have_text("2")
        await stage.sent("ui/update-model-context", 2)
    assert [order.address.street for order in shop.orders] == ["Main", "Other"]


async def test_a_host_without_model_context_offers_a_message(browser: Browser) -> None:
    async with shown(browser, Shop(), FILLED) as stage:
        stage.unsupported.add("ui/update-model-context")
        await stage.view.get_by_role("button", name="Book").click()
        await stage.view.get_by_role("button", name="Tell the assistant").click()
        (params,) = await stage.sent("ui/message", 1)
        assert "The user submitted" in params["content"][0]["text"]
        await expect(stage.view.get_by_role("button", name="Tell the assistant")).to_have_count(0)


async def test_a_double_click_submits_once(browser: Browser) -> None:
    shop = Shop()
    async with shown(browser, shop, FILLED) as stage:
        await stage.view.get_by_role("button", name="Book").dblclick()
        await expect(stage.view.locator(".outcome")).to_be_visible()
        await stage.sent("tools/call", 1)
    assert len(shop.orders) == 1


async def test_a_submission_that_fails_says_so_and_can_be_made_again(browser: Browser) -> None:
    shop = Shop()
    async with shown(browser, shop, FILLED) as stage:
        stage.unsupported.add("tools/call")
        await stage.view.get_by_role("button", name="Book").click()
        await expect(stage.view.get_by_role("alert")).to_contain_text("could not be submitted: Method not found")
        stage.unsupported.clear()
        await stage.view.get_by_role("button", name="Book").click()
        await expect(stage.view.locator(".outcome")).to_be_visible()


async def test_a_failed_and_a_cancelled_call_are_shown(browser: Browser) -> None:
    async with shown(browser, Shop(), {}) as stage:
        failed = {"content": [{"type": "text", "text": "No <b>form</b>."}], "isError": True}
        await stage.notify("ui/notifications/tool-result", failed)
        await expect(stage.view.get_by_text("No <b>form</b>.")).to_be_visible()
        await stage.notify("ui/notifications/tool-cancelled", {})
        await expect(stage.view.get_by_text("The call was cancelled.")).to_be_visible()


async def test_a_moment_that_was_not_changed_is_sent_as_it_came(browser: Browser) -> None:
    moment = "2026-12-01T10:00:30+05:00"
    async with shown(browser, Shop(), {**FILLED, "notified": moment, "pickup": moment}) as stage:
        await expect(stage.view.get_by_label("Notified")).to_have_value("2026-12-01T10:00")
        await stage.view.get_by_role("button", name="Book").click()
        (params,) = await stage.sent("tools/call", 1)
        values = params["arguments"]["values"]
        assert (values["notified"], values["pickup"]) == (moment, moment)


async def test_values_that_no_control_can_hold_do_not_break_the_form(browser: Browser) -> None:
    odd = {"day": {"a": 1}, "speed": 7, "tip": [1], "gift": "yes", "lines": "none", "address": [1], "payment": 3}
    async with shown(browser, Shop(), odd) as stage:
        await expect(stage.view.get_by_text("Speed must be one of the options.")).to_be_visible()
        await expect(stage.view.get_by_text("Lines is not a list.")).to_be_visible()
        await stage.view.get_by_role("button", name="Book").click()
        assert await stage.sent("tools/call", 0) == []


@pytest.mark.parametrize("text", ATTACKS)
async def test_hostile_text_in_schemas_values_and_results_is_only_text(text: str, browser: Browser) -> None:
    server: Any = MCPServer("shop")
    shop: Any = type("Hostile", (), {"server": server})
    pick: Any = Literal.__getitem__((text, "b"))
    model: Any = type(
        "Model",
        (BaseModel,),
        {
            "__annotations__": {"plain": str, "pick": pick, "many": list[pick]},
            "plain": Field(text, title=text, description=text, examples=[text], alias=text),
            "pick": Field(text, title=text, description=text),
            "many": Field([text], title=text),
        },
    )

    def form(given: Any) -> dict[str, Any]:
        raise show.FieldError(text, text) if seen else ValueError(text)

    form.__annotations__["given"] = model
    form.__doc__ = text
    seen: list[bool] = []
    Apps(server).form(title=text, submit=text)(form)
    async with shown(browser, shop, {text: text}, tool="form") as stage:
        view = stage.view
        await expect(view.get_by_role("heading")).to_have_text(text)
        await expect(view.locator(".field input[type=text]")).to_have_value(text)
        await view.locator("button.main").click()
        await expect(view.get_by_role("alert")).to_have_text(text)
        seen.append(True)
        await view.locator("button.main").click()
        await expect(view.locator(".error:visible")).to_have_text(text)
        assert await view.locator("main :is(img, svg, script, iframe, a, object, style)").count() == 0
        assert await view.locator("body").evaluate("() => ({}).a === undefined && Object.prototype.plain === undefined")
        for part in (".help", "label span", "legend span", ".error:visible"):
            found = view.locator(part).first
            assert await found.evaluate("part => getComputedStyle(part).unicodeBidi") == "isolate"
            assert await found.get_attribute("dir") == "auto"


@pytest.mark.parametrize("width", [320, 390, 1000])
async def test_the_form_is_never_wider_than_the_view(width: int, browser: Browser) -> None:
    arguments = {**FILLED, "note": "x" * 300, "names": ["y" * 300]}
    async with shown(browser, Shop(), arguments, width=width) as stage:
        wider = "root => root.scrollWidth - root.clientWidth"
        assert await stage.view.locator("html").evaluate(wider) <= 0
        outside = """rows => rows.filter((row) => {
          const [item, buttons] = [row, row.lastElementChild].map((part) => part.getBoundingClientRect());
          return buttons.top < item.top || buttons.bottom > item.bottom || buttons.right > item.right;
        }).length"""
        rows = stage.view.locator(".items > .row:has(> fieldset)")
        assert await rows.count() > 0
        assert await rows.evaluate_all(outside) == 0
        await stage.view.get_by_role("button", name="Book").click()
        await expect(stage.view.locator(".outcome")).to_be_visible()
        assert await stage.view.locator("html").evaluate(wider) <= 0


async def test_the_form_follows_the_theme_and_the_variables_of_the_host(browser: Browser) -> None:
    styles = {"variables": {"--color-background-primary": "rgb(1, 2, 3)"}}
    async with shown(browser, Shop(), {}, context={"theme": "dark", "styles": styles}) as stage:
        body = stage.view.locator("body")
        assert await body.evaluate("body => getComputedStyle(body).backgroundColor") == "rgb(1, 2, 3)"


@pytest.mark.parametrize("bridge", ["ext-apps-1", "ext-apps-2"])
async def test_the_form_works_under_the_published_bridge(bridge: str, browser: Browser) -> None:
    shop = Shop(FastMCP)
    async with shown(browser, shop, {**FILLED, "day": ""}, bridge=bridge) as stage:
        await stage.view.get_by_label("Delivery day").fill("2026-12-01")
        await stage.view.get_by_role("button", name="Book").click()
        await expect(stage.view.locator("dd").first).to_have_text("1")
        await stage.sent("ui/update-model-context", 1)
    assert len(shop.orders) == 1


async def test_a_table_is_shown_after_submitting(browser: Browser) -> None:
    shop = Shop()

    @shop.apps.form()
    def rows(count: int) -> list[dict[str, int]]:
        return [{"n": n} for n in range(count)]

    async with shown(browser, shop, {"count": 60}, tool="rows", view="form-show") as stage:
        await stage.view.get_by_role("button", name="Submit").click()
        await expect(stage.view.locator(".outcome .status")).to_have_text("1–50 of 60 rows")
        await stage.view.get_by_role("button", name="Next page").click()
        await expect(stage.view.locator("tbody tr")).to_have_count(10)
