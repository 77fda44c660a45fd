"""Dictation: the microphone granted, forbidden and missing, and what the server measures of a recording."""

import io
import math
import wave
from array import array
from typing import Any

import pytest
from playwright.async_api import Browser, FilePayload, expect

from fanlight.host import Host, Policy
from support.browser import view_frame
from support.examples import Refusing, client_of, namespace_of, server_of, showing
from support.program import program_of
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

RATE = 16_000
# A microphone that hears a tone: browsers in tests have no device.
MICROPHONE = """() => {
  navigator.mediaDevices.getUserMedia = async () => {
    const audio = new AudioContext();
    const [tone, sink] = [audio.createOscillator(), audio.createMediaStreamDestination()];
    tone.connect(sink);
    tone.start();
    return sink.stream;
  };
}"""
DENIED = """() => {
  navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("Permission denied", "NotAllowedError"));
}"""
VOICE = """() => {
  window.spoken = [];
  speechSynthesis.getVoices = () => [{}];
  speechSynthesis.speak = ({ text }) => spoken.push(text);
  speechSynthesis.dispatchEvent(new Event("voiceschanged"));
}"""


def recording(*parts: tuple[float, float]) -> bytes:
    """Return a WAV file of tones, each with a length in seconds and an amplitude."""
    samples = array("h")
    for seconds, amplitude in parts:
        samples.extend(round(32767 * amplitude * math.sin(n * 0.3)) for n in range(int(seconds * RATE)))
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    return stream.getvalue()


def host_of(permissions: list[str]) -> Host:
    rules: dict[str, Any] = {"permissions": permissions}
    return Host({"speech": server_of("speech")}, policy=Policy(rules))


def parts_of(*parts: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the spoken parts that the server finds in a recording."""
    example = namespace_of("speech")
    with wave.open(io.BytesIO(recording(*parts))) as file:
        samples = array("h", file.readframes(file.getnframes()))
    return [(part.start, part.end) for part in example["spoken_parts"](example["loudness"](samples, RATE))]


def test_parts_are_separated_by_silence_and_short_pauses_belong_to_a_part() -> None:
    found = parts_of((0.5, 0.001), (1, 0.5), (0.2, 0.001), (1, 0.4), (0.6, 0.001), (0.8, 0.5), (0.4, 0.001))
    assert [(round(start, 1), round(end, 1)) for start, end in found] == [(0.5, 2.7), (3.3, 4.1)]


def test_silence_and_a_click_are_not_speech() -> None:
    assert parts_of((2, 0)) == []
    assert parts_of((1, 0.001), (0.04, 0.8), (1, 0.001)) == []


async def test_a_client_without_views_is_told_to_ask_in_writing() -> None:
    async with client_of("speech", NO_UI) as client:
        text = (await client.call("dictate", question="Where does it hurt?"))["content"][0]["text"]
        assert text == "This client cannot record. Ask the user to write an answer: Where does it hurt?"


async def test_a_file_is_measured_and_shown_and_reaches_the_model(browser: Browser) -> None:
    async with showing(browser, "speech") as stage:
        buffer = recording((0.5, 0.001), (1, 0.5), (0.6, 0.001), (0.8, 0.5), (0.4, 0.001))
        file: FilePayload = {"name": "answer.wav", "mimeType": "audio/wav", "buffer": buffer}
        await stage.view.locator("#file").set_input_files([file])
        await expect(stage.view.get_by_role("status")).to_have_text("3.3 seconds, 2 spoken parts")
        await expect(stage.view.get_by_role("img")).to_have_accessible_name(
            "Recording of 3.3 seconds with 2 spoken parts"
        )
        await expect(stage.view.get_by_role("button", name="Play 2.1 – 2.9 s")).to_be_visible()
        text = (await stage.sent("ui/update-model-context", 1))[0]["content"][0]["text"]
        assert text.startswith("The user recorded 3.3 s. Spoken parts: 0.5 to 1.5 s, 2.1 to 2.9 s, 55% of the time.")
        await stage.view.get_by_role("button", name="Send to the conversation").click()
        (message,) = await stage.sent("ui/message", 1)
        assert message["content"][0]["text"].startswith('My answer to "How was your day?": The user recorded')


async def test_a_file_that_is_not_sound_and_a_lost_server_are_shown(browser: Browser) -> None:
    async with showing(browser, "speech") as stage:
        broken: FilePayload = {"name": "answer.wav", "mimeType": "audio/wav", "buffer": b"no sound"}
        await stage.view.locator("#file").set_input_files([broken])
        await expect(stage.view.get_by_role("status")).to_have_text("This browser cannot read the recording.")
        stage.client = Refusing()
        file: FilePayload = {"name": "answer.wav", "mimeType": "audio/wav", "buffer": recording((0.5, 0.5))}
        await stage.view.locator("#file").set_input_files([file])
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
        await expect(stage.view.get_by_role("button", name="Record")).to_have_attribute("aria-disabled", "false")


async def test_the_question_is_read_aloud_if_the_browser_has_a_voice(browser: Browser) -> None:
    async with showing(browser, "speech") as stage:
        aloud = stage.view.get_by_role("button", name="Read aloud")
        await expect(aloud).to_be_hidden()
        frame = stage.page.frames[1]
        await frame.evaluate(VOICE)
        await aloud.click()
        assert await frame.evaluate("spoken") == ["How was your day?"]


async def test_a_granted_microphone_is_recorded_and_measured_in_the_host(browser: Browser) -> None:
    with program_of(host_of(["microphone"])) as program:
        async with program.shown(browser, "speech", "dictate", {}) as (page, problems):
            view = await view_frame(page)
            await view.evaluate(MICROPHONE)
            await view.get_by_role("button", name="Record").click()
            await expect(view.get_by_role("status")).to_have_text("Recording…")
            await expect(view.locator("#clock")).to_have_text("0:01")
            await view.get_by_role("button", name="Stop").click()
            await expect(view.get_by_role("status")).to_contain_text("1 spoken part")
            await expect(view.get_by_role("button", name="Record again")).to_be_visible()
            await expect(page.get_by_role("dialog")).to_have_count(0)  # measuring changes nothing
            assert problems == []


async def test_a_microphone_that_the_user_denies_or_that_is_missing_is_explained(browser: Browser) -> None:
    with program_of(host_of(["microphone"])) as program:
        async with program.shown(browser, "speech", "dictate", {}) as (page, problems):
            view = await view_frame(page)
            await page.context.grant_permissions(["microphone"])
            await view.get_by_role("button", name="Record").click()
            await expect(view.get_by_role("status")).to_contain_text("This computer has no microphone.")
            await view.evaluate(DENIED)
            await view.get_by_role("button", name="Record").click()
            await expect(view.get_by_role("status")).to_contain_text("The microphone was denied.")
            await expect(view.locator("#file")).to_be_focused()
            assert problems == []


async def test_a_host_that_forbids_the_microphone_is_named_as_the_reason(browser: Browser) -> None:
    with program_of(host_of([])) as program:
        async with program.shown(browser, "speech", "dictate", {}) as (page, problems):
            view = await view_frame(page)
            await view.get_by_role("button", name="Record").click()
            await expect(view.get_by_role("status")).to_contain_text("This host does not give the microphone to apps.")
            assert problems == []
