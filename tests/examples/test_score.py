"""Sheet music: the notation with its errors, what is drawn at each width, and how it is played."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from support.browser import until
from support.examples import VIEWS, Refusing, client_of, showing
from support.stage import Stage
from support.wire import NO_UI

pytestmark = pytest.mark.anyio

ODE = VIEWS["score"][2]
# An audio clock that the test moves, and the notes that it was given: their times and frequencies.
AUDIO = """() => {
  window.clock = 0;
  window.sounds = [];
  const parameter = () => ({ setValueAtTime() {}, linearRampToValueAtTime() {}, setTargetAtTime() {} });
  window.AudioContext = class {
    get currentTime() { return window.clock; }
    async resume() {}
    createGain() { return { gain: parameter(), connect: (to) => to, disconnect() { window.silenced = true; } }; }
    createOscillator() {
      const frequency = { value: 0 };
      const start = (time) => window.sounds.push([Number(time.toFixed(2)), Math.round(frequency.value)]);
      return { frequency, connect: (to) => to, start, stop() {} };
    }
  };
}"""

# Whether everything that is drawn is within the picture.
INSIDE = """(svg) => {
  const all = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("path")].every((one) => {
    const box = one.getBoundingClientRect();
    const within = (edge, low, high) => edge >= low - 1 && edge <= high + 1;
    return [box.left, box.right].every((x) => within(x, all.left, all.right))
      && [box.top, box.bottom].every((y) => within(y, all.top, all.bottom));
  });
}"""


async def score_of(notes: str, **settings: Any) -> dict[str, Any]:
    async with client_of("score") as client:
        return await client.call("show_score", **({"title": "Test", "notes": notes, "key": "C"} | settings))


async def names_of(notes: str, **settings: Any) -> list[str]:
    bars = (await score_of(notes, **settings))["structuredContent"]["bars"]
    return [note["name"] for bar in bars for note in bar]


@asynccontextmanager
async def with_audio(browser: Browser) -> AsyncIterator[tuple[Stage, Any]]:
    async with showing(browser, "score") as stage:
        frame = stage.page.frames[1]
        await frame.evaluate(AUDIO)
        yield stage, frame


async def test_letters_octaves_and_lengths_are_parsed_with_and_without_spaces() -> None:
    bars = (await score_of("A, C c c' | C2 D/2E/2 z/ F/4 F/4 | G3/2 A/2 z2 | B4 |]"))["structuredContent"]["bars"]
    assert [note["pitch"] for note in bars[0]] == [57, 60, 72, 84]
    assert [note["beats"] for note in bars[1]] == [2, 0.5, 0.5, 0.5, 0.25, 0.25]
    assert [(note["name"], note["beats"]) for note in bars[2]] == [("G4", 1.5), ("A4", 0.5), ("rest", 2)]


async def test_the_key_applies_and_an_accidental_counts_until_the_end_of_its_bar() -> None:
    assert await names_of("F C G f", key="D") == ["F#4", "C#4", "G4", "F#5"]
    assert await names_of("B E A d", key="Cm") == ["Bb4", "Eb4", "Ab4", "D5"]
    assert await names_of("^F F f =F | F4", key="C") == ["F#4", "F#4", "F5", "F4", "F4"]


@pytest.mark.parametrize(
    ("notes", "error"),
    [
        ("C D E F | G H G2", "Bar 2, note 2: 'H' is not a note. Expected one such as C, ^f, _B,2 or z."),
        ("C5", "Bar 1, note 1: 'C5' lasts 5 quarter notes. Expected one of 1/4, 3/8, 1/2, 3/4, 1, 3/2, 2, 3, 4, 6."),
        ("C/0", "Bar 1, note 2: '0' is not a note."),
        ("C D E F | G2 | C4", "Bar 2 lasts 2 quarter notes, expected 4 in 4/4. Move its bar line."),
        ("C D E F G", "Bar 1 lasts 5 quarter notes, expected 4 in 4/4."),
        ("C4 | | C4", "Bar 2 is empty. Expected notes, or a rest such as z4."),
        ("C,,, C", "Bar 1, note 1: 'C,,,' is too far from the staff. Choose the other clef or octave."),
    ],
)
async def test_an_error_names_the_bar_and_the_note(notes: str, error: str) -> None:
    result = await score_of(notes)
    assert result["isError"]
    assert error in result["content"][0]["text"]


async def test_only_the_first_and_the_last_bar_may_be_short_and_keys_are_checked() -> None:
    assert len((await score_of("G | C D E F | C3"))["structuredContent"]["bars"]) == 3
    assert "The key 'H' is unknown" in (await score_of("C4", key="H"))["content"][0]["text"]


async def test_a_client_without_views_gets_the_bars() -> None:
    async with client_of("score", NO_UI) as client:
        text = (await client.call("show_score", **ODE))["content"][0]["text"]
    assert text.startswith("Ode to Joy: 4 bars in D, 4/4, 100 quarter notes a minute.")
    assert text.endswith("Bar 4: F#4:1.5 E4:0.5 E4:2")


async def test_every_note_is_drawn_once_and_a_narrow_view_has_more_lines(browser: Browser) -> None:
    for width, lines in ((900, 1), (390, 2)):
        async with showing(browser, "score", width=width) as stage:
            await expect(stage.view.locator(".note")).to_have_count(15)
            await expect(stage.view.locator(".staff")).to_have_count(lines)
            last = stage.view.get_by_role("button", name="Bar 4, note 1: F sharp 4, dotted quarter")
            await expect(last).to_be_visible()
            assert await stage.view.locator("svg").evaluate(INSIDE)


async def test_eighths_of_a_beat_are_joined_by_a_beam_and_stems_stay_in_the_picture(browser: Browser) -> None:
    async with showing(browser, "score") as stage:
        count = "svg => svg.querySelectorAll(':scope > g > path:not([class=staff], [class=line])').length"
        flat = {"title": "Bass", "key": "C", "metre": "6/8", "clef": "bass"}
        for notes, beams in (("C,/2 D,/2 E,/2 F,/2 E,/2 D,/2", 2), ("C, D,/2 E, F,/2", 0), ("E,,/2 C/2 C/2 C/2 z", 1)):
            await stage.run("show_score", flat | {"notes": notes})
            await expect(stage.view.locator("#about")).to_have_text("C major, 6/8")
            assert await stage.view.locator("svg").evaluate(count) == beams
            assert await stage.view.locator("svg").evaluate(INSIDE)


async def test_the_music_follows_the_audio_clock_and_the_tempo(browser: Browser) -> None:
    async with with_audio(browser) as (stage, frame):
        await stage.view.get_by_role("button", name="Play").click()
        await expect(stage.view.get_by_role("status")).to_have_text("Playing from bar 1 of 4.")
        await until(frame, "sounds.length === 1")
        await frame.evaluate("clock = 0.6")
        await until(frame, "sounds.length === 2")
        assert await frame.evaluate("sounds") == [[0.05, 370], [0.65, 370]]  # F sharp, twice in 1.2 seconds
        await frame.evaluate("clock = 0.7")
        await expect(stage.view.locator(".now")).to_have_accessible_name(re.compile("^Bar 1, note 2"))
        before = await stage.view.locator("#cursor").bounding_box()
        await stage.view.get_by_role("slider", name="Tempo").fill("200")
        await frame.evaluate("clock = 0.95")
        await until(frame, "sounds.length >= 3")
        after = await stage.view.locator("#cursor").bounding_box()
        assert before
        assert after
        assert after["x"] > before["x"]
        await stage.view.get_by_role("button", name="Pause").click()
        assert await frame.evaluate("silenced")
        await expect(stage.view.get_by_role("status")).to_have_text("Paused in bar 1 of 4.")


async def test_the_music_ends_and_returns_to_the_start(browser: Browser) -> None:
    async with with_audio(browser) as (stage, frame):
        await stage.view.get_by_role("button", name="Bar 4, note 3").click()
        await expect(stage.view.get_by_role("status")).to_have_text("Playing from bar 4 of 4.")
        await until(frame, "sounds.length === 1")
        await frame.evaluate("clock = 5")
        await expect(stage.view.get_by_role("status")).to_have_text("The end.")
        await expect(stage.view.get_by_role("button", name="Play", exact=True)).to_be_visible()
        await expect(stage.view.locator("#cursor")).to_be_hidden()


async def test_the_notes_are_one_stop_for_the_keyboard(browser: Browser) -> None:
    async with with_audio(browser) as (stage, frame):
        await expect(stage.view.locator(".note[tabindex='0']")).to_have_count(1)
        await stage.view.locator(".note[tabindex='0']").focus()
        for key in ("ArrowRight", "ArrowRight", "End", "ArrowRight", "ArrowLeft"):
            await stage.page.keyboard.press(key)
        note = stage.view.get_by_role("button", name="Bar 4, note 2: E4, eighth")
        await expect(note).to_be_focused()
        await stage.page.keyboard.press("Enter")
        await until(frame, "sounds.length === 1")
        assert await frame.evaluate("sounds") == [[0.05, 330]]


async def test_the_user_changes_the_notes_and_errors_keep_the_picture(browser: Browser) -> None:
    async with showing(browser, "score") as stage:
        await stage.view.get_by_text("Notation", exact=True).click()
        box = stage.view.get_by_role("textbox", name="Notation")
        await box.fill("C D X")
        await stage.view.get_by_role("button", name="Draw").click()
        await expect(stage.view.get_by_role("status")).to_contain_text("Bar 1, note 3: 'X' is not a note.")
        await expect(stage.view.locator(".note")).to_have_count(15)
        await box.fill("C D E")
        await stage.view.get_by_role("button", name="Draw").click()
        await expect(stage.view.locator(".note")).to_have_count(3)
        (context,) = await stage.sent("ui/update-model-context", 1)
        assert context["content"][0]["text"].endswith("Bar 1: C#4:1 D4:1 E4:1")
        stage.client = Refusing()
        await stage.view.get_by_role("button", name="Draw").click()
        await expect(stage.view.get_by_role("status")).to_have_text("The host refuses.")
