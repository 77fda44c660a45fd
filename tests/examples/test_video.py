"""The video: a WebM file in binary parts, played under the strict policy, with captions and a transcript."""

import base64

import pytest
from playwright.async_api import Browser, expect

from support.browser import colours, until
from support.examples import EXAMPLES, Refusing, client_of, namespace_of, showing
from support.wire import NO_UI, WireError

pytestmark = pytest.mark.anyio

FILE = EXAMPLES / "video" / "day.webm"


async def test_the_parts_are_the_file_and_each_is_far_below_one_mebibyte() -> None:
    async with client_of("video") as client:
        shown = (await client.call("show_video"))["structuredContent"]
        data = b""
        while len(data) < shown["size"]:
            part = (await client.read(f"video://day/{len(data)}"))["blob"]
            assert 0 < len(part) < 100_000
            data += base64.b64decode(part)
    assert data == FILE.read_bytes()
    assert len(data) < 200_000


@pytest.mark.parametrize("uri", ["video://day/-1", "video://day/999999", "video://day/x", "video://night/0"])
async def test_an_unknown_part_is_an_error(uri: str) -> None:
    async with client_of("video") as client:
        with pytest.raises(WireError):
            await client.read(uri)


async def test_the_model_gets_the_transcript_and_the_poster() -> None:
    async with client_of("video", NO_UI) as client:
        text, poster = (await client.call("show_video"))["content"]
        assert "0:02 The sun comes up behind the hills." in text["text"].splitlines()
        assert len(text["text"].splitlines()) == 7
        assert base64.b64decode(poster["data"]).startswith(b"\xff\xd8\xff")


def test_captions_of_several_lines_and_long_videos_are_one_line_of_the_transcript() -> None:
    captions = "WEBVTT\n\n01:02:03.000 --> 01:02:04.000\nOne\ntwo\n\n00:09.500 --> 00:10.000\nThree"
    assert namespace_of("video")["transcript"](captions) == "2:03 One two\n0:09 Three"


async def test_the_video_plays_with_captions_and_the_transcript_jumps(browser: Browser) -> None:
    async with showing(browser, "video") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("12 seconds, 113 kB")
        reads = await stage.page.evaluate("messages.filter(m => m.method === 'resources/read').map(m => m.params.uri)")
        assert reads[:2] == ["video://day/0", f"video://day/{16 * 1024}"]
        cues = stage.view.get_by_role("navigation", name="Transcript").get_by_role("button")
        await expect(cues).to_have_count(6)
        video, frame = stage.view.locator("video"), stage.page.frames[1]
        assert await video.evaluate("video => [video.videoWidth, video.videoHeight, video.controls]") == [
            640,
            360,
            True,
        ]
        await cues.nth(4).click()
        await expect(cues.nth(4)).to_have_attribute("aria-current", "true")
        told = (await stage.sent("ui/update-model-context", 1))[0]["content"][0]["text"]
        assert told.endswith("at 0:08 of 0:12. The caption there: Sunset, and the lamps go on.")
        await until(frame, "document.querySelector('video').readyState > 1")
        assert len(await colours(stage.page, await video.screenshot())) > 500
        await video.evaluate("video => video.play()")
        await until(frame, "document.querySelector('video').currentTime > 9")
        await video.evaluate("video => video.pause()")
        assert "has stopped the video" in (await stage.sent("ui/update-model-context", 2))[1]["content"][0]["text"]


async def test_a_refused_part_is_shown_and_can_be_tried_again(browser: Browser) -> None:
    async with showing(browser, "video") as stage:
        await expect(stage.view.get_by_role("status")).to_have_text("12 seconds, 113 kB")
        assert stage.client is not None
        client, shown = stage.client, await stage.client.call("show_video")
        stage.client = Refusing()
        await stage.notify("ui/notifications/tool-result", shown)
        await expect(stage.view.get_by_role("status")).to_have_text("The video was not loaded: The host refuses.")
        stage.client = client
        await stage.view.get_by_role("button", name="Try again").click()
        await expect(stage.view.get_by_role("status")).to_have_text("12 seconds, 113 kB")
        await expect(stage.view.get_by_role("button", name="Try again")).to_be_hidden()
