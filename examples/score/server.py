"""Sheet music: Python parses notes in a small notation, and the View draws them on staves and plays them."""

import re
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from fanlight import Apps

server = MCPServer("score")
apps = Apps(server)

ODE = """F F G A | A G F E | D D E F | F3/2 E/2 E2 |
F F G A | A G F E | D D E F | E3/2 D/2 D2 |
E E F D | E F/2 G/2 F D | E F/2 G/2 F E | D E A,2 |
F F G A | A G F E | D D E F | E3/2 D/2 D2 |"""
NOTATION = (
    "Notes in the manner of ABC. A letter is a quarter note: C is middle C, c an octave higher, c' two, C, one lower. "
    "C2 is a half note, C3/2 a dotted quarter, C/2 an eighth, z a rest; ^F is sharp, _B flat, =F natural until "
    "the bar ends. The key applies. | ends a bar; only the first and the last bar may be short."
)
LETTERS = "CDEFGAB"
SEMITONES = (0, 2, 4, 5, 7, 9, 11)
MAJOR = ["Cb", "Gb", "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#"]
MINOR = ["Abm", "Ebm", "Bbm", "Fm", "Cm", "Gm", "Dm", "Am", "Em", "Bm", "F#m", "C#m", "G#m", "D#m", "A#m"]
SHARPS = {name: count - 7 for names in (MAJOR, MINOR) for count, name in enumerate(names)}
"""The sharps of each key; flats are negative."""
ACCIDENTALS = {"^": 1, "_": -1, "=": 0}
BOTTOM = {"treble": 2, "bass": -10}
"""The step of the lowest line of each clef. Steps count the white keys from middle C."""
LENGTHS = [Fraction(length) for length in ("1/4", "3/8", "1/2", "3/4", "1", "3/2", "2", "3", "4", "6")]
NOTE = re.compile(r"([\^_=]?)([A-Ga-gz])([,']*)(\d{0,2})(/?)([1-9]?)\s*")

Clef = Literal["treble", "bass"]


@dataclass
class Note:
    beats: float
    """The length in quarter notes."""
    step: int | None = None
    """None is a rest."""
    pitch: int = 0
    """The number of the key, as in MIDI."""
    accidental: str = ""
    name: str = "rest"


@dataclass
class Score:
    title: str
    notes: str
    clef: Clef
    key: str
    sharps: int
    metre: str
    tempo: int
    bars: list[list[Note]]


def parse_bar(text: str, number: int, sharps: int, bottom: int) -> list[Note]:
    """Parse the notes of a bar. Accidentals count until it ends."""
    notes: list[Note] = []
    altered: dict[int, int] = {}
    while text:
        where = f"Bar {number}, note {len(notes) + 1}"
        if not (found := NOTE.match(text)):
            raise ToolError(f"{where}: {text.split()[0]!r} is not a note. Expected one such as C, ^f, _B,2 or z.")
        written, text = found[0].strip(), text[found.end() :]
        accidental, letter, octaves, count, slash, divisor = found.groups()
        length = Fraction(int(count or 1), int(divisor or (2 if slash else 1)))
        if length not in LENGTHS:
            listed = ", ".join(map(str, LENGTHS))
            raise ToolError(f"{where}: {written!r} lasts {length} quarter notes. Expected one of {listed}.")
        if letter == "z":
            notes.append(Note(float(length)))
            continue
        name = letter.upper()
        step = LETTERS.index(name) + 7 * (letter.islower() + octaves.count("'") - octaves.count(","))
        if not -6 <= step - bottom <= 14:
            raise ToolError(f"{where}: {written!r} is too far from the staff. Choose the other clef or octave.")
        if accidental:
            altered[step] = ACCIDENTALS[accidental]
        signed = (name in "FCGDAEB"[: max(sharps, 0)]) - (name in "BEADGCF"[: max(-sharps, 0)])
        change = altered.get(step, signed)
        pitch = 60 + 12 * (step // 7) + SEMITONES[step % 7] + change
        notes.append(Note(float(length), step, pitch, accidental, f"{name}{('', '#', 'b')[change]}{4 + step // 7}"))
    return notes


def parse(notes: str, sharps: int, metre: str, clef: Clef) -> list[list[Note]]:
    bars: list[list[Note]] = []
    texts = notes.strip().rstrip("|] \n").split("|")
    full = 4 * Fraction(metre)
    for number, text in enumerate(texts, 1):
        bars.append(parse_bar(text.strip(), number, sharps, BOTTOM[clef]))
        beats = Fraction(sum(note.beats for note in bars[-1]))
        if not beats:
            raise ToolError(f"Bar {number} is empty. Expected notes, or a rest such as z4.")
        if beats > full or (beats < full and 1 < number < len(texts)):
            raise ToolError(f"Bar {number} lasts {beats} quarter notes, expected {full} in {metre}. Move its bar line.")
    return bars


@apps.tool(view="score.html", annotations=ToolAnnotations(read_only_hint=True))
def show_score(
    title: Annotated[str, Field(max_length=100, examples=["Ode to Joy"])],
    notes: Annotated[str, Field(max_length=4000, description=NOTATION, examples=[ODE])],
    key: Annotated[str, Field(description="Such as D, Bb or F#m.", examples=["D"])],
    metre: Annotated[str, Field(pattern="^([2-9]|12)/[248]$")] = "4/4",
    tempo: Annotated[int, Field(ge=30, le=240, description="Quarter notes in a minute.")] = 100,
    clef: Clef = "treble",
) -> Annotated[CallToolResult, Score]:
    "Show a melody as sheet music. The user can play it and change it."
    if key not in SHARPS:
        raise ToolError(f"The key {key!r} is unknown. Expected one of {', '.join(SHARPS)}.")
    score = Score(title, notes, clef, key, SHARPS[key], metre, tempo, parse(notes, SHARPS[key], metre, clef))
    bars = [" ".join(f"{note.name}:{note.beats:g}" for note in bar) for bar in score.bars]
    text = f"{title}: {len(bars)} bars in {key}, {metre}, {tempo} quarter notes a minute. Each note has its length:\n"
    text += "\n".join(f"Bar {number}: {bar}" for number, bar in enumerate(bars, 1))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=asdict(score))


if __name__ == "__main__":
    server.run()
