"""The stage: settings reach Views immediately, and are applied to them."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from fanlight.dev.targets import EXAMPLES as NAMES
from fanlight.dev.targets import servers
from support.inspecting import EXAMPLES, call, in_process, mirror, opened, running, view

pytestmark = pytest.mark.anyio


async def size(page: Page) -> dict[str, int]:
    found: dict[str, int] = await page.locator(".card mcp-app").evaluate(
        "app => { const { width, height } = app.shadowRoot.querySelector('iframe').getBoundingClientRect();"
        " return { width: Math.round(width), height: Math.round(height) } }"
    )
    return found


async def test_each_setting_reaches_the_view_immediately(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        wide = {"width": 1700, "height": 1000}
        async with opened(browser, inspector, address, viewport=wide) as (page, problems):
            await call(page, "mirror")
            context = view(page).locator("#context")
            await expect(context).to_contain_text('"displayMode":"inline"')
            await page.get_by_text("More settings").click()
            stage = page.get_by_role("region", name="Stage")
            await page.get_by_label("Theme").select_option("dark")
            await expect(context).to_contain_text('"theme":"dark"')
            await page.get_by_label("Theme").select_option("light")
            await expect(context).to_contain_text('"theme":"light"')
            await stage.get_by_label("Locale").fill("ar-EG")
            await stage.get_by_label("Time zone").fill("Asia/Tokyo")
            await stage.get_by_label("Safe areas").select_option("portrait")
            await expect(context).to_contain_text('"locale":"ar-EG"')
            await expect(context).to_contain_text('"timeZone":"Asia/Tokyo"')
            await expect(context).to_contain_text('"safeAreaInsets":{"top":47,"right":0,"bottom":34,"left":0}')
            await stage.get_by_label("Device").select_option("touch, no hover")
            await expect(context).to_contain_text('"deviceCapabilities":{"touch":true,"hover":false}')
            await stage.get_by_label("Device").select_option("mouse")
            await expect(context).to_contain_text('"deviceCapabilities":{"touch":false,"hover":true}')
            assert problems == []


async def test_style_variables_and_fonts_are_sent_by_default_and_can_be_switched_off(
    browser: Browser, tmp_path: Path
) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            context = view(page).locator("#context")
            await expect(context).to_contain_text('"--color-background-primary":"light-dark(#ffffff, #1e1f23)"')
            await expect(context).to_contain_text("@font-face")
            await page.get_by_label("Show as").select_option("Claude")
            await expect(context).to_contain_text('"--color-background-primary":"light-dark(#ffffff, #1e1f23)"')
            await page.get_by_text("More settings").click()
            await page.get_by_label("Styles").select_option("none")
            await expect(context).not_to_contain_text("styles")
            await page.get_by_label("Styles").select_option("tinted, with a serif font")
            await expect(context).to_contain_text('"--color-background-primary":"light-dark(#fbf7ff, #1f1a26)"')
            assert "styles=tinted" in page.url
            assert problems == []


@pytest.mark.parametrize("name", NAMES)
async def test_the_examples_follow_the_style_variables_in_both_themes(name: str, browser: Browser) -> None:
    with running(in_process(str(EXAMPLES / name)), reload=False) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page)
            body = view(page).locator("body")
            for theme, styles, color in (
                ("light", "neutral", "rgb(255, 255, 255)"),
                ("dark", "neutral", "rgb(30, 31, 35)"),
                ("dark", "tinted", "rgb(31, 26, 38)"),
                ("light", "tinted", "rgb(251, 247, 255)"),
            ):
                await page.get_by_label("Theme").select_option(theme)
                await page.locator("#styles").evaluate(
                    "(select, value) => { select.value = value; select.dispatchEvent(new Event('change')); }", styles
                )
                await expect(body).to_have_css("background-color", color)


async def test_widths_and_containers_are_reported_and_applied(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        wide = {"width": 1900, "height": 1000}
        async with opened(browser, inspector, address, viewport=wide) as (page, problems):
            await call(page, "mirror")
            context = view(page).locator("#context")
            await expect(context).to_contain_text("containerDimensions")
            for name, width in (("phone", 390), ("tablet", 768), ("desktop", 1100)):
                await page.locator("#width").select_option(f"{name}, {width}")
                await expect(context).to_contain_text(f'"width":{width}')
                assert (await size(page))["width"] == width
                await expect(page.locator(".size")).to_contain_text(f"{width} × ")
            await page.locator("#width").select_option("free (drag to resize)")
            await page.get_by_text("More settings").click()
            await page.get_by_label("Container").select_option("fixed")
            await page.get_by_label("Box width").fill("500")
            await page.get_by_label("Box width").press("Tab")
            await page.get_by_label("Box height").fill("300")
            await page.get_by_label("Box height").press("Tab")
            await expect(context).to_contain_text('"containerDimensions":{"width":500,"height":300}')
            assert await size(page) == {"width": 500, "height": 300}
            await page.get_by_label("Container").select_option("flexible, up to")
            await expect(context).to_contain_text('"containerDimensions":{"maxWidth":500,"maxHeight":300}')
            assert (await size(page))["width"] <= 500
            await page.get_by_label("Container").select_option("unbounded")
            await expect(context).to_contain_text('"containerDimensions":{}')
            await page.get_by_label("Container").select_option("default")
            await expect(context).not_to_contain_text('"containerDimensions":{}')
            assert problems == []


async def test_a_view_can_be_dragged_to_any_width(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, _):
            await call(page, "mirror")
            await expect(view(page).locator("#received")).to_contain_text("result")
            await expect(page.locator(".size")).to_contain_text("×")
            await page.wait_for_timeout(500)  # the page scrolls to a View that has got its size
            box = await page.locator(".card .easel").bounding_box()
            assert box is not None
            grip = page.get_by_role("separator", name="Width of the View")
            await grip.hover()
            await page.mouse.down()
            await page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 20, steps=5)
            await page.mouse.up()
            after = await page.locator(".card .easel").bounding_box()
            assert after is not None
            assert after["width"] < box["width"] - 60
            await grip.press("ArrowLeft")
            await expect(page.locator(".size")).to_contain_text(f"{round(after['width']) - 16} × ")


async def test_a_view_that_grows_stays_in_sight(browser: Browser, tmp_path: Path) -> None:
    folder = Path(mirror(tmp_path))
    document = (folder / "mirror.html").read_text("utf-8")
    grow = 'app.ontoolresult = () => setTimeout(() => (document.body.style.minHeight = "350px"), 400);\n'
    changed = document.replace("await app.connect", f"{grow}await app.connect")
    (folder / "mirror.html").write_text(changed, encoding="utf-8")
    with running(servers([str(folder)])) as (inspector, address):
        phone = {"width": 360, "height": 700}
        async with opened(browser, inspector, address, viewport=phone) as (page, _):
            await call(page, "mirror")
            await expect(page.locator(".size")).to_have_text(re.compile(r"× (3[5-9]\d|4\d\d)$"))
            await expect(page.get_by_text("What the model sees")).to_be_in_viewport()


async def test_the_display_mode_of_a_view_can_be_changed(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path))) as (inspector, address):
        async with opened(browser, inspector, address) as (page, problems):
            await call(page, "mirror")
            context = view(page).locator("#context")
            mode = page.get_by_label("Display mode")
            await mode.select_option("pip")
            await expect(context).to_contain_text('"displayMode":"pip"')
            await mode.select_option("fullscreen")
            await expect(context).to_contain_text('"displayMode":"fullscreen"')
            await page.locator(".card mcp-app").get_by_role("button", name="Close").click()
            await expect(context).to_contain_text('"displayMode":"inline"')
            await expect(mode).to_have_value("inline")
            assert problems == []


async def test_views_can_be_shown_side_by_side(browser: Browser, tmp_path: Path) -> None:
    with running(in_process(mirror(tmp_path)), policy="allow") as (inspector, address):
        wide = {"width": 1800, "height": 1000}
        async with opened(browser, inspector, address, viewport=wide) as (page, problems):
            await page.get_by_text("More settings").click()
            await page.get_by_label("Side by side").check()
            await call(page, "mirror")
            await expect(view(page).locator("#received")).to_contain_text("result")
            await call(page)
            await expect(view(page).locator("#received")).to_contain_text("result")
            first, second = [await page.get_by_role("article").nth(number).bounding_box() for number in (0, 1)]
            assert first is not None
            assert second is not None
            assert first["y"] == second["y"]
            await view(page, 0).locator("#send").click()
            await expect(page.locator(".message")).to_contain_text("hello from the View")
            await page.get_by_role("tab", name="Model").click()
            await expect(page.get_by_role("tabpanel")).to_contain_text("hello from the View")
            await page.get_by_role("button", name="Close mirror").first.click()
            await expect(page.get_by_role("article")).to_have_count(1)
            assert problems == []
