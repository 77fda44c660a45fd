"""The map: tiles of the world without network access, and model context with the visible area."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import colours
from support.examples import Refusing, client_of, namespace_of, showing
from support.stage import Stage
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

LAND, SEA, PIN = "#f5f1e6", "#cfe0ef", "#c0302b"
INLAND = {"Moscow", "Delhi", "Nairobi", "Johannesburg", "Denver", "Brasília", "Madrid", "Berlin", "Tehran", "Beijing"}
AT_SEA = {
    "Atlantic": (0, -30),
    "Pacific": (0, -140),
    "Indian Ocean": (-20, 80),
    "Black Sea": (43.2, 34),
    "Caspian": (42, 50.5),
}


def is_inside(shape: list[tuple[float, float]], x: float, y: float) -> bool:
    inside = False
    for (left, top), (right, bottom) in zip(shape, [*shape[1:], shape[0]], strict=True):
        if (top > y) != (bottom > y) and x < left + (y - top) / (bottom - top) * (right - left):
            inside = not inside
    return inside


def is_land(example: dict[str, Any], latitude: float, longitude: float) -> bool:
    """Return whether a place is on land, according to its tile at the highest zoom level."""
    x, y = example["project"](latitude, longitude)
    max_zoom, extent = example["MAX_ZOOM"], example["EXTENT"]
    column, row = int(x * 2**max_zoom), int(y * 2**max_zoom)
    tile = example["tile"](example["Key"](max_zoom, column, row))
    at = ((x * 2**max_zoom - column) * extent, (y * 2**max_zoom - row) * extent)

    def covers(shapes: list[list[int]]) -> bool:
        return any(is_inside(list(zip(shape[::2], shape[1::2], strict=True)), *at) for shape in shapes)

    return covers(tile.land) and not covers(tile.lakes)


def test_cities_far_from_the_coast_are_on_land_and_the_seas_are_not() -> None:
    example = namespace_of("map")
    cities = example["world"]()["cities"]
    assert {name for name in INLAND if is_land(example, *cities[name][:2])} == INLAND
    assert [name for name, where in AT_SEA.items() if is_land(example, *where)] == []


def test_tiles_fit_together_and_keep_to_their_margin() -> None:
    example = namespace_of("map")
    key, tile = example["Key"], example["tile"]
    cities = [city.name for z in (3,) for x in range(2**z) for y in range(2**z) for city in tile(key(z, x, y)).cities]
    assert sorted(cities) == sorted(example["world"]()["cities"])
    low, high = -example["MARGIN"], example["EXTENT"] + example["MARGIN"]
    for x in range(4):
        for y in range(4):
            numbers = [number for shape in tile(key(2, x, y)).land for number in shape]
            assert all(low <= number <= high for number in numbers)


def test_the_far_east_of_asia_is_on_both_edges_of_the_map() -> None:
    example = namespace_of("map")
    assert is_land(example, 67, -175)
    assert is_land(example, 67, 175)


async def test_a_model_reads_places_and_distances() -> None:
    async with client_of("map", NO_UI) as client:
        assert set(await client.tools()) == {"show_map"}
        camp = {"name": "Base camp", "latitude": 28.0, "longitude": 86.85}
        text = (await client.call("show_map", places=[{"name": "paris"}, {"name": "New York"}, camp]))["content"][0][
            "text"
        ]
        assert text.splitlines()[:2] == ["A map with 3 markers.", "Paris: 48.86° N, 2.35° E"]
        assert "Paris to New York: 5,83" in text
        assert "Base camp: 28.00° N, 86.85° E" in text
        assert "without markers" in (await client.call("show_map"))["content"][0]["text"]


async def test_unknown_places_and_tiles_are_errors() -> None:
    async with client_of("map") as client:
        unknown = await client.call("show_map", places=[{"name": "Atlantis"}])
        assert unknown["isError"]
        assert "Give its latitude and longitude" in unknown["content"][0]["text"]
        assert (await client.call("show_map", places=[{"name": "X", "latitude": 91, "longitude": 0}]))["isError"]
        outside = await client.call("get_tiles", keys=[{"z": 1, "x": 2, "y": 0}])
        assert "it is 2 tiles wide" in outside["content"][0]["text"]
        assert (await client.call("get_tiles", keys=[{"z": 99, "x": 0, "y": 0}]))["isError"]
        assert (await client.call("get_tiles", keys=[{"z": 0, "x": 0, "y": 0}] * 65))["isError"]


async def drawn(stage: Stage) -> dict[str, int]:
    """Wait until land, sea and a marker are drawn, and return the number of pixels of each colour."""
    found: dict[str, int] = {}
    for _ in range(50):
        found = await colours(stage.page, await stage.view.locator("canvas").screenshot())
        if min(found.get(LAND, 0), found.get(SEA, 0)) > 5000 and found.get(PIN, 0) > 50:
            return found
    raise AssertionError(found.get(LAND), found.get(SEA), found.get(PIN))


async def model_context(stage: Stage, part: str) -> str:
    """Wait until the View sends model context that contains this text."""
    text = ""
    for _ in range(500):
        those = "messages.filter(message => message.method === 'ui/update-model-context')"
        updates: list[str] = await stage.page.evaluate(f"{those}.map(message => message.params.content[0].text)")
        text = updates[-1] if updates else ""
        if part in text:
            return text
        await stage.page.evaluate("new Promise(requestAnimationFrame)")
    raise AssertionError(text)


async def test_land_sea_and_markers_are_drawn_from_the_servers_tiles(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        await expect(stage.view.get_by_role("application")).to_have_accessible_name("Map of the world with 2 markers")
        calls = await stage.page.evaluate("messages.filter(m => m.method === 'tools/call').map(m => m.params.name)")
        assert set(calls) == {"get_tiles"}
        assert len(calls) <= 4


async def test_no_model_context_is_sent_before_the_user_moves_the_map(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        assert await stage.sent("ui/update-model-context", 0) == []


async def test_keys_move_and_zoom_the_map_and_update_the_model_context(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        canvas = stage.view.get_by_role("application")
        await canvas.focus()
        for _ in range(6):
            await canvas.press("+")
        text = await model_context(stage, "Markers in view: none.")
        assert re.search(r"\(zoom [456]\.\d of 6\)", text)
        await canvas.press("0")
        text = await model_context(stage, "Markers in view: Paris, Nairobi.")
        assert "Cairo" in text
        for _ in range(6):
            await canvas.press("ArrowRight")
        text = await model_context(stage, "Beijing")
        assert "Casablanca" not in text
        await expect(stage.view.get_by_role("status")).to_have_text(
            re.compile(r"^In view: .+° [NS] to .+° N, .+° [EW] to .+° E$")
        )


async def test_the_map_is_dragged_with_the_mouse(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        box = await stage.view.locator("canvas").bounding_box()
        assert box is not None
        middle_x, middle_y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        await stage.page.mouse.move(middle_x, middle_y)
        await stage.page.mouse.down()
        await stage.page.mouse.move(middle_x + 280, middle_y, steps=4)
        await stage.page.mouse.up()
        assert "Dakar" in await model_context(stage, "Dakar")


async def test_the_wheel_zooms_only_with_ctrl_or_in_full_screen(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        turn = "(canvas, ctrlKey) => !canvas.dispatchEvent("
        turn += "new WheelEvent('wheel', { deltaY: -100, ctrlKey, cancelable: true }))"
        canvas = stage.view.locator("canvas")
        assert await canvas.evaluate(turn, False) is False
        assert await canvas.evaluate(turn, True) is True
        await stage.view.get_by_role("button", name="Full screen").click()
        await expect(stage.view.get_by_role("button", name="Leave full screen")).to_be_visible()
        assert await canvas.evaluate(turn, False) is True


async def test_the_button_of_a_marker_centres_the_map_on_it(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        await stage.view.get_by_role("list", name="Markers").get_by_role("button", name="Nairobi").press("Enter")
        text = await model_context(stage, "Markers in view: Nairobi.")
        assert "(zoom 4.0 of 6)" in text


async def test_markers_on_both_sides_of_the_pacific_are_shown_across_it(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        await stage.run("show_map", {"places": [{"name": "Tokyo"}, {"name": "San Francisco"}]})
        await expect(stage.view.get_by_role("button", name="San Francisco")).to_be_visible()
        await stage.view.get_by_role("application").press("+")
        assert "Honolulu" in await model_context(stage, "Honolulu")


async def test_failed_tiles_are_requested_again_when_the_map_moves(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        client, stage.client = stage.client, Refusing()
        canvas = stage.view.get_by_role("application")
        for _ in range(4):
            await canvas.press("+")
        await expect(stage.view.get_by_role("status")).to_contain_text(
            "Parts of the map are missing: The host refuses."
        )
        asked = "messages.filter(m => m.method === 'tools/call').length"
        before = await stage.page.evaluate(asked)  # before the tiles can be had: the map may still be moving
        stage.client = client
        await canvas.press("ArrowUp")
        await stage.page.wait_for_function(f"{asked} > {before}", timeout=60_000)
        await expect(stage.view.get_by_role("status")).to_have_text(re.compile("^In view: "))


async def test_the_map_is_redrawn_in_the_theme_of_the_host(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await drawn(stage)
        await stage.notify("ui/notifications/host-context-changed", {"theme": "dark"})
        for _ in range(50):
            found = await colours(stage.page, await stage.view.locator("canvas").screenshot())
            if found.get("#39403f", 0) > 5000:
                break
        assert found.get("#39403f", 0) > 5000
        assert found.get(LAND, 0) < 50


async def test_a_failed_call_keeps_the_map_and_shows_the_reason(browser: Browser) -> None:
    async with showing(browser, "map") as stage:
        await stage.run("show_map", {"places": [{"name": "Atlantis"}]})
        await expect(stage.view.get_by_role("status")).to_contain_text("does not know where 'Atlantis' is")
        await stage.notify("ui/notifications/tool-cancelled", {})
        await expect(stage.view.get_by_role("status")).to_have_text("Cancelled")


async def test_safe_areas_are_kept_free(browser: Browser) -> None:
    insets = {"top": 30, "right": 4, "bottom": 50, "left": 8}
    async with showing(browser, "map", context={"safeAreaInsets": insets}) as stage:
        await expect(stage.view.locator("body")).to_have_css("padding", "50px 24px 70px 28px")
