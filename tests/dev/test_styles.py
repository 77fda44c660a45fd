import re
from pathlib import Path

from fanlight.dev.styles import STYLES, VARIABLES

TYPES = Path(__file__).parents[2] / "node_modules/@modelcontextprotocol/ext-apps/dist/src/spec.types.d.ts"


def test_the_variables_are_those_of_the_standard() -> None:
    assert set(VARIABLES) == set(re.findall(r'"(--[a-z0-9-]+)"', TYPES.read_text("utf-8")))


def test_every_color_has_a_value_for_light_and_one_for_dark() -> None:
    for styles in STYLES.values():
        for name, value in (styles or {"variables": {}})["variables"].items():
            if name.startswith("--color-"):
                assert re.fullmatch(r"light-dark\((#[0-9a-f]{6}|transparent), (#[0-9a-f]{6}|transparent)\)", value)


def luminance(color: str) -> float:
    channels = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_can_be_read_on_its_background_in_both_themes() -> None:
    pairs = [(name, name) for name in ("primary", "inverse", "info", "danger", "success", "warning")]
    for text, background in (*pairs, ("secondary", "primary"), ("tertiary", "primary"), ("secondary", "secondary")):
        colors = (VARIABLES[f"--color-text-{text}"], VARIABLES[f"--color-background-{background}"])
        for front, back in zip(*(re.findall("#[0-9a-f]{6}", each) for each in colors), strict=True):
            lighter, darker = sorted((luminance(front), luminance(back)), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, background)
