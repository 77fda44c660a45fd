"""The image viewer: a PNG file that the View assembles from chunks."""

import base64
import struct
import zlib
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import colours
from support.examples import Refusing, client_of, namespace_of, showing
from support.wire import NO_UI, Wire, WireError

pytestmark = pytest.mark.anyio

NAMES = ("dunes", "ripples", "night")


def parts(png: bytes) -> dict[bytes, bytes]:
    """Parse a PNG file (RFC 2083)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    found: dict[bytes, bytes] = {}
    at = 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size]) == (zlib.crc32(kind + data),)
        found[kind] = data
        at += 12 + size
    return found


async def whole(client: Wire, shown: dict[str, Any]) -> tuple[bytes, int]:
    """Read a picture in chunks, and return it with the number of chunks."""
    data, chunks = b"", 0
    while len(data) < shown["size"]:
        item = await client.read(f"image://{shown['name']}/{len(data)}")
        chunk = base64.b64decode(item["blob"])
        assert 0 < len(chunk) <= shown["chunk"]
        data, chunks = data + chunk, chunks + 1
    return data, chunks


@pytest.mark.parametrize("name", NAMES)
async def test_the_chunks_of_a_picture_are_a_png_file(name: str) -> None:
    async with client_of("image") as client:
        shown = (await client.call("show_picture", name=name))["structuredContent"]
        data, chunks = await whole(client, shown)
    assert len(data) == shown["size"]
    assert chunks >= 3
    found = parts(data)
    assert list(found) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, depth, kind = struct.unpack(">IIBB", found[b"IHDR"][:10])
    assert (width, height, depth, kind) == (shown["width"], shown["height"], 8, 3)
    rows = zlib.decompress(found[b"IDAT"])
    assert len(rows) == height * (width + 1)
    assert max(rows) < len(found[b"PLTE"]) // 3


async def test_a_picture_is_the_same_each_time() -> None:
    first, second = namespace_of("image"), namespace_of("image")
    assert first["painted"]("night", 120, 75) == second["painted"]("night", 120, 75)


async def test_a_model_gets_text_and_a_thumbnail() -> None:
    async with client_of("image", NO_UI) as client:
        text, small = (await client.call("show_picture", name="ripples"))["content"]
        assert text["text"].startswith("Two stones in a pond: Two sets of rings")
        assert "image://ripples/0" in text["text"]
        assert small["mimeType"] == "image/png"
        assert struct.unpack(">I", parts(base64.b64decode(small["data"]))[b"IHDR"][:4]) == (240,)
        assert "blob" in await client.read("image://ripples/0")  # also without any View


@pytest.mark.parametrize(
    "uri", ["image://mona-lisa/0", "image://dunes/99999999", "image://dunes/-1", "image://dunes/x"]
)
async def test_an_unknown_chunk_is_an_error(uri: str) -> None:
    async with client_of("image") as client:
        with pytest.raises(WireError):
            await client.read(uri)


async def test_the_view_assembles_the_picture_and_fits_it_in(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        picture = stage.view.locator("canvas")
        await expect(picture).to_be_visible()
        await expect(stage.view.get_by_role("heading")).to_have_text("Night over the hills")
        assert await picture.evaluate("canvas => [canvas.width, canvas.height]") == [1200, 750]
        assert await picture.evaluate("canvas => canvas.clientWidth <= document.body.clientWidth - 40")
        reads = await stage.page.evaluate("messages.filter(m => m.method === 'resources/read').map(m => m.params.uri)")
        assert reads[:2] == ["image://night/0", f"image://night/{24 * 1024}"]
        await expect(stage.view.locator("#status")).to_contain_text(f"in {len(reads)} chunks")
        assert len(await colours(stage.page, await picture.screenshot())) > 100


async def test_the_picture_is_zoomed_with_buttons_keys_and_wheel(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        zoom, frame = stage.view.locator("#zoom"), stage.view.locator("#stage")
        await expect(zoom).to_have_text("50 %")
        await stage.view.get_by_role("button", name="Zoom in").click()
        await expect(zoom).to_have_text("75 %")
        assert await frame.evaluate("stage => stage.scrollWidth > stage.clientWidth && stage.scrollLeft > 0")
        await frame.press("+")
        await expect(zoom).to_have_text("113 %")
        await frame.press("-")
        await expect(zoom).to_have_text("75 %")
        await frame.evaluate("stage => stage.dispatchEvent(new WheelEvent('wheel', { deltaY: -100, ctrlKey: true }))")
        await expect(zoom).to_have_text("106 %")
        await frame.press("0")
        await expect(zoom).to_have_text("50 %")
        await stage.view.get_by_role("button", name="Zoom out").click()
        await expect(zoom).to_have_text("50 %")


async def test_a_zoomed_picture_is_dragged_with_the_mouse(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        await stage.view.get_by_role("button", name="Zoom in").click()
        frame = stage.view.locator("#stage")
        box = await frame.bounding_box()
        assert box is not None
        before = await frame.evaluate("stage => stage.scrollLeft")
        await stage.page.mouse.move(box["x"] + 200, box["y"] + 100)
        await stage.page.mouse.down()
        await stage.page.mouse.move(box["x"] + 140, box["y"] + 100, steps=3)
        await stage.page.mouse.up()
        assert await frame.evaluate("stage => stage.scrollLeft") == pytest.approx(before + 60, abs=3)


async def test_choosing_another_picture_updates_the_model_context(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        await stage.view.get_by_label("Picture", exact=True).select_option("dunes")
        await expect(stage.view.get_by_role("heading")).to_have_text("Dunes at dusk")
        (model_context,) = await stage.sent("ui/update-model-context", 1)
        assert "Five rows of dunes" in model_context["content"][0]["text"]
        await expect(stage.view.locator("#status")).to_contain_text("chunks")


class Breaking(Wire):
    """A client that returns only the first chunk of a picture."""

    def __init__(self, client: Wire) -> None:
        self._client = client
        self.chunks = 0

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        if method == "resources/read":
            self.chunks += 1
            if self.chunks > 1:
                raise WireError({"code": -32000, "message": "The line is dead."})
        return await self._client.request(method, params)


async def test_a_failed_download_is_shown_and_can_be_retried(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        client = stage.client
        assert client is not None
        stage.client = Breaking(client)
        choice = stage.view.get_by_label("Picture", exact=True)
        await choice.select_option("dunes")
        message = "The picture could not be loaded: The line is dead."
        await expect(stage.view.locator("#status")).to_have_text(message)
        await expect(stage.view.locator("#loading")).to_be_hidden()
        stage.client = client
        await choice.select_option("night")
        await expect(stage.view.locator("canvas")).to_be_visible()


async def test_loading_shows_progress_and_can_be_stopped(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        hold = "() => { const answer = window.hostAnswers; let chunks = 0;"
        hold += " window.hostAnswers = (method, params) => method === 'resources/read' && ++chunks > 2"
        hold += " ? new Promise(() => {}) : answer(method, params); }"
        await stage.page.evaluate(hold)
        await stage.view.get_by_label("Picture", exact=True).select_option("dunes")
        progress = stage.view.get_by_role("progressbar")
        await expect(stage.view.locator("#share")).to_have_text("25 % of 195 kB")
        assert 0.2 < await progress.evaluate("bar => bar.value") < 0.3
        await stage.view.get_by_role("button", name="Stop").click()
        await expect(stage.view.locator("#status")).to_have_text("Stopped. Choose a picture to load it.")
        await expect(stage.view.locator("#stage")).to_be_focused()
        assert await stage.sent("notifications/cancelled", 1)


async def test_a_chunk_that_is_too_long_or_empty_is_an_error(browser: Browser) -> None:
    for blob in ("", base64.b64encode(b"x" * 2_000_000).decode()):
        async with showing(browser, "image") as stage:
            await expect(stage.view.locator("canvas")).to_be_visible()
            swap = "(blob) => { const answer = window.hostAnswers; window.hostAnswers = (method, params) =>"
            swap += " method === 'resources/read' ? { result: { contents: [{ blob }] } } : answer(method, params); }"
            await stage.page.evaluate(swap, blob)
            await stage.view.get_by_label("Picture", exact=True).select_option("dunes")
            await expect(stage.view.locator("#status")).to_contain_text("less or more than the picture")


async def test_a_rejected_choice_and_a_cancelled_call_are_shown(browser: Browser) -> None:
    async with showing(browser, "image") as stage:
        await expect(stage.view.locator("canvas")).to_be_visible()
        stage.client = Refusing()
        await stage.view.get_by_label("Picture", exact=True).select_option("dunes")
        await expect(stage.view.locator("#status")).to_have_text("The host refuses.")
        await stage.notify("ui/notifications/tool-cancelled", {"reason": "Never mind."})
        await expect(stage.view.locator("#status")).to_have_text("Cancelled: Never mind.")
