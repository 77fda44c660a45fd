"""Dictation: the View records the microphone, and the server finds the spoken parts with the standard library alone."""

import math
import sys
import wave
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps, View
from fanlight.show import UploadedFile

server = MCPServer("speech")
apps = Apps(server)

READ_ONLY = ToolAnnotations(read_only_hint=True)
LONGEST = 60
"""Seconds of a recording. The View stops then."""
STEP = 0.02
"""Seconds that one loudness is measured over."""
BARS = 120
SILENCE = 0.35
"""Shorter pauses are within a sentence."""


@dataclass
class Question:
    question: str
    longest: int


@dataclass
class Part:
    start: float
    end: float


@dataclass
class Recording:
    seconds: float
    parts: list[Part]
    bars: list[float]
    text: str


def loudness(samples: Sequence[int], rate: int) -> list[float]:
    """Return the loudness of each step, between 0 and 1: the root of the mean square."""
    size = max(int(rate * STEP), 1)
    steps = (samples[at : at + size] for at in range(0, len(samples), size))
    return [math.sqrt(sum(sample * sample for sample in step) / len(step)) / 32768 for step in steps]


def spoken_parts(levels: list[float]) -> list[Part]:
    """Return the parts that are much louder than the quiet ones. Parts that only a short pause separates are one."""
    ordered = sorted(levels)
    noise, loud = ordered[len(levels) // 10], ordered[-1 - len(levels) // 20]
    threshold = max(noise + (loud - noise) * 0.15, 0.01)
    parts: list[Part] = []
    for number, level in enumerate(levels):
        start, end = round(number * STEP, 2), round((number + 1) * STEP, 2)
        if level < threshold:
            continue
        if parts and start - parts[-1].end < SILENCE:
            parts[-1].end = end
        else:
            parts.append(Part(start, end))
    return [part for part in parts if part.end - part.start >= 0.1]


def result(text: str, structured: Question | Recording) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=asdict(structured))


@apps.tool(view=View("speech.html", permissions=["microphone"]), annotations=READ_ONLY)
def dictate(
    ctx: Context,
    question: Annotated[str, Field(max_length=300, description="What the user is asked.")] = "How was your day?",
) -> Annotated[CallToolResult, Question]:
    "Let the user answer a question by voice. You get the length, the loudness and the pauses, not the words."
    text = f"The user is asked {question!r} and can record the answer now. What the server measures of it will follow."
    if not apps.supported(ctx):
        text = f"This client cannot record. Ask the user to write an answer: {question}"
    return result(text, Question(question, LONGEST))


@apps.upload(accept=[".wav"], max_bytes=4_000_000, visibility=["app"], annotations=READ_ONLY)
def measure(file: UploadedFile) -> CallToolResult:
    "Measure a recording: its length, its loudness and its spoken parts."
    try:
        with file.open() as stream, wave.open(stream) as recording:
            rate, frames = recording.getframerate(), recording.getnframes()
            if (recording.getnchannels(), recording.getsampwidth()) != (1, 2) or not 0 < frames <= rate * LONGEST:
                raise ValueError(f"Expected at most {LONGEST} seconds of mono sound with 16 bits per sample.")
            samples = array("h", recording.readframes(frames))
    except (wave.Error, EOFError):
        raise ValueError("This is not a WAV file.") from None
    if sys.byteorder == "big":
        samples.byteswap()
    seconds, levels = len(samples) / rate, loudness(samples, rate)
    parts = spoken_parts(levels)
    bars = [max(levels[at * len(levels) // BARS : (at + 1) * len(levels) // BARS] or [0.0]) for at in range(BARS)]
    spoken = sum(part.end - part.start for part in parts)
    listed = ", ".join(f"{part.start:.1f} to {part.end:.1f} s" for part in parts) or "none"
    peak = 20 * math.log10(max(*levels, 1e-4))
    text = f"The user recorded {seconds:.1f} s. Spoken parts: {listed}, {spoken / seconds:.0%} of the time. "
    text += f"The loudest is at {peak:.0f} dB. The words are not known, because this server does not recognise speech."
    measured = Recording(round(seconds, 2), parts, [round(bar, 4) for bar in bars], text)
    return result(text, measured)


if __name__ == "__main__":
    server.run()
