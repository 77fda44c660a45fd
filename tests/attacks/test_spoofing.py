"""Spoofing: a View tries to look like something else, or to appear where it should not."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Page, expect

from attacks.arena import DEFENDED, Arena, Way, arena, every_kind, host_of
from attacks.catalogue import attack

pytestmark = pytest.mark.anyio

WAYS = pytest.mark.parametrize("way", DEFENDED)
VIDEO = """async () => {
  const canvas = document.createElement("canvas");
  canvas.getContext("2d");
  const video = Object.assign(document.createElement("video"), {srcObject: canvas.captureStream(), muted: true});
  document.body.append(video);
  await Promise.race([video.play(), new Promise((done) => setTimeout(done, 500))]);
  return video.requestPictureInPicture().then(() => "shown", (error) => error.name);
}"""


@pytest.fixture(scope="module")
def stage() -> Iterator[Arena]:
    with arena(host_of(**every_kind())) as made:
        yield made


@attack("look-fullscreen")
@WAYS
async def test_a_view_cannot_go_full_screen_by_itself(way: Way, stage: Arena, page: Page) -> None:
    """Fails with `allow="fullscreen"` on both frames."""
    (view,) = await stage.open(page, way)
    asked = "document.documentElement.requestFullscreen().then(() => 'shown', (error) => error.message)"
    assert "permissions policy" in await view.evaluate(asked)
    assert await page.evaluate("document.fullscreenElement") is None


@attack("look-bar")
@pytest.mark.parametrize("mode", ["fullscreen", "pip"])
async def test_the_bar_above_a_large_view_names_its_server(mode: str, stage: Arena, page: Page) -> None:
    """Fails without the header in mcp-app.js, or with its text cut off where it is long."""
    (view,) = await stage.show(page, "strict")
    assert (await view.evaluate("mode => ask('ui/request-display-mode', {mode})", mode))["result"] == {"mode": mode}
    bar, frame = page.locator("mcp-app [part=bar]"), page.locator("mcp-app [part=frame]")
    await expect(bar).to_be_visible()
    await expect(bar).to_contain_text("show (strict)")
    above, below = await bar.bounding_box(), await frame.bounding_box()
    assert above is not None
    assert below is not None
    assert above["y"] >= 0
    assert below["y"] >= above["y"] + above["height"] - 1
    name = page.locator("mcp-app [part=title]")
    await name.evaluate("(span, text) => (span.textContent = text)", "W" * 40 + " (evil)")
    assert await name.evaluate("span => span.scrollWidth <= span.clientWidth && span.scrollHeight <= span.clientHeight")


@attack("look-stay")
async def test_a_view_cannot_keep_the_user_in_full_screen(stage: Arena, page: Page) -> None:
    """Fails without the button in the bar."""
    (view,) = await stage.show(page, "strict")
    await view.evaluate("addEventListener('keydown', (event) => event.preventDefault(), true)")
    await view.evaluate("ask('ui/request-display-mode', {mode: 'fullscreen'})")
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator("mcp-app [part=bar]")).to_be_hidden()


@attack("look-window")
@WAYS
async def test_a_view_cannot_open_a_window(way: Way, stage: Arena, page: Page) -> None:
    """Fails without picture-in-picture in the Permissions-Policy of the View and the proxy."""
    (view,) = await stage.open(page, way)
    assert await view.evaluate(VIDEO) == "SecurityError"
    asked = "globalThis.documentPictureInPicture?.requestWindow().then(() => 'shown', (error) => error.name)"
    assert await view.evaluate(asked) in (None, "NotAllowedError")


@attack("look-dialogs")
@WAYS
async def test_a_view_cannot_open_the_browsers_own_dialogs(way: Way, stage: Arena, page: Page) -> None:
    """Fails with allow-modals in the sandbox attributes of both frames."""
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    (view,) = await stage.open(page, way)
    assert await view.evaluate("[alert('a'), confirm('b'), prompt('c')]") == [None, False, None]
    assert await view.evaluate("Notification.requestPermission()") == "denied"
    assert said == []


@attack("look-pointer")
@WAYS
async def test_a_view_cannot_catch_the_pointer(way: Way, stage: Arena, page: Page) -> None:
    """Fails with allow-pointer-lock among the tokens that Host gives a View."""
    (view,) = await stage.open(page, way)
    asked = "document.body.requestPointerLock().then(() => 'caught', (error) => error.name)"
    assert await view.evaluate(asked) == "SecurityError"


@attack("look-title")
async def test_a_view_cannot_change_the_title_of_the_page(stage: Arena, page: Page) -> None:
    """Fails if the element takes its title from the document, or from the View's own name."""
    (view,) = await stage.show(page, "strict")
    await view.evaluate("document.title = 'Your bank'")
    hello = {"protocolVersion": "2026-01-26", "appInfo": {"name": "Your bank", "version": "1"}, "appCapabilities": {}}
    await view.evaluate("hello => ask('ui/initialize', hello)", hello)
    assert await page.title() == "Chat"
    assert await page.locator("mcp-app").get_attribute("title") is None
    assert "bank" not in await page.locator("mcp-app").evaluate("element => element.shadowRoot.innerHTML")


@attack("look-size")
async def test_the_height_of_a_view_is_limited_and_its_width_is_fixed(stage: Arena, page: Page) -> None:
    """Fails without clampHeight in mcp-app.js."""
    (view,) = await stage.show(page, "strict")
    wide = await page.locator("mcp-app").evaluate("element => element.clientWidth")
    for height in (-5, 1e300, 30_000):
        await view.evaluate(
            "height => say({method: 'ui/notifications/size-changed', params: {height, width: 9e9}})", height
        )
    frame = page.locator("mcp-app [part=frame]")
    await expect(frame).to_have_css("height", "20000px")
    assert await frame.evaluate("frame => frame.clientWidth") <= wide
