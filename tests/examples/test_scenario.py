"""The scenario model: what it computes, one request at a time, and the scenario that the model gets."""

from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, expect

from support.examples import Refusing, client_of, namespace_of, showing
from support.wire import NO_UI, Wire

pytestmark = pytest.mark.anyio


async def outcome_of(**assumptions: float) -> dict[str, Any]:
    async with client_of("scenario") as client:
        outcome: dict[str, Any] = (await client.call("run_model", assumptions=assumptions))["structuredContent"][
            "outcome"
        ]
        return outcome


async def test_the_roof_starts_at_its_cost_and_pays_off_where_the_balance_crosses_zero() -> None:
    outcome = await outcome_of()
    balance = outcome["balance"]
    assert len(balance) == 26
    assert balance[0] == -outcome["cost"]
    before = int(outcome["pays_off"])
    assert balance[before] < 0 <= balance[before + 1]


async def test_dear_electricity_pays_off_earlier_and_cheap_electricity_never() -> None:
    dear, cheap = await outcome_of(price=60), await outcome_of(price=15, battery=15, rise=0, use=1500)
    assert dear["pays_off"] < (await outcome_of())["pays_off"]
    assert cheap["pays_off"] is None
    assert "does not pay off within 25 years" in cheap["text"]


async def test_no_roof_makes_a_house_independent() -> None:
    outcome = await outcome_of(size=15, battery=15, use=1500)
    assert 50 < outcome["independence"] < 100


async def test_the_sliders_have_the_ranges_that_the_server_accepts() -> None:
    async with client_of("scenario") as client:
        sliders = (await client.call("show_scenario"))["structuredContent"]["sliders"]
        assert sliders["size"] == {"title": "Panels", "min": 2, "max": 15, "unit": "kWp", "step": 0.5}
        assert (await client.call("run_model", assumptions={"size": 16}))["isError"]


async def test_a_client_without_views_gets_the_assumptions_in_words() -> None:
    async with client_of("scenario", NO_UI) as client:
        assert set(await client.tools()) == {"show_scenario"}
        text = (await client.call("show_scenario", assumptions={"rise": 3}))["content"][0]["text"]
    assert "rising by 3 % a year" in text


async def test_a_slider_changes_the_result_and_the_model_gets_it_when_it_is_released(browser: Browser) -> None:
    async with showing(browser, "scenario") as stage:
        price = stage.view.get_by_role("slider", name="Price of electricity")
        await expect(price).to_have_attribute("aria-valuetext", "32 ct/kWh")
        await price.fill("60")
        await price.dispatch_event("change")
        await expect(stage.view.get_by_role("status")).to_have_text("The model knows this scenario.")
        label = await stage.view.get_by_role("img").get_attribute("aria-label")
        assert label is not None
        assert "at 60 ct/kWh" in label
        contexts = await stage.page.evaluate("messages.filter(m => m.method === 'ui/update-model-context')")
        assert contexts[-1]["params"]["structuredContent"]["price"] == 60


class Slow(Wire):
    """A client that responds when it is released, and counts its requests."""

    def __init__(self, client: Wire) -> None:
        self.client = client
        self.asked: list[dict[str, Any]] = []
        self.released = anyio.Event()

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        assert params is not None
        self.asked.append(params["arguments"]["assumptions"])
        await self.released.wait()
        return await self.client.request(method, params)


async def test_only_the_latest_position_of_a_slider_waits_for_a_slow_server(browser: Browser) -> None:
    async with showing(browser, "scenario") as stage:
        assert stage.client is not None
        slow = stage.client = Slow(stage.client)
        size = stage.view.get_by_role("slider", name="Panels")
        for value in ("7", "8", "9", "10"):
            await size.fill(value)
        await stage.sent("tools/call", 1)
        slow.released.set()
        await expect(stage.view.get_by_text("€18,250")).to_be_visible()
        await expect(size).to_have_value("10")
        assert [asked["size"] for asked in slow.asked] == [7, 10]


async def test_a_preset_moves_the_sliders_and_a_scenario_can_be_kept_for_comparison(browser: Browser) -> None:
    async with showing(browser, "scenario") as stage:
        house, car = (stage.view.get_by_role("button", name=name, exact=True) for name in ("House", "House and car"))
        await expect(house).to_have_attribute("aria-pressed", "true")
        await stage.view.get_by_role("button", name="Keep for comparison").click()
        await car.click()
        await expect(car).to_have_attribute("aria-pressed", "true")
        await expect(stage.view.get_by_role("slider", name="Panels")).to_have_value("12")
        await expect(stage.view.locator(".pinned")).to_have_count(1)
        await stage.view.get_by_role("button", name="Stop comparing").click()
        await expect(stage.view.locator(".pinned")).to_have_count(0)


async def test_a_rejected_request_is_shown(browser: Browser) -> None:
    async with showing(browser, "scenario") as stage:
        stage.client = Refusing()
        await stage.view.get_by_role("slider", name="Panels").fill("3")
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")


def test_the_balance_that_reaches_zero_crosses_between_two_years() -> None:
    crossing = namespace_of("scenario")["crossing"]
    assert crossing([-10, -5, 5]) == 1.5
    assert crossing([-10, -5]) is None
