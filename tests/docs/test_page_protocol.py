"""docs/reference/page-protocol.md describes the frames that frames.py defines, field by field, and its limits."""

import re
from collections.abc import Sequence

import pytest

from fanlight.host.json_text import MAX_DEPTH
from fanlight.host.views.page.channel import ACK_EVERY
from fanlight.host.views.page.frames import CONTEXT_KEYS, HOST_FRAMES, MAX_TEXT, PAGE_FRAMES, Frame, wire_names
from support.docs import ROOT

PAGE = (ROOT / "docs" / "reference" / "page-protocol.md").read_text(encoding="utf-8")
ELEMENT = (ROOT / "src" / "fanlight" / "browser" / "mcp-app.js").read_text(encoding="utf-8")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def documented(title: str) -> dict[str, set[str]]:
    """Return the fields of each type in the table of a section."""
    found: dict[str, set[str]] = {}
    kind = ""
    for name, field in re.findall(r"^\| (?:`([a-z-]+)`)? ?\| (?:`(\w+)`)? ?\|", section(title), re.MULTILINE):
        kind = name or kind
        found.setdefault(kind, set()).update({field} if field else ())
    return found


@pytest.mark.parametrize(
    ("title", "frames"),
    [("From the page to the host", PAGE_FRAMES), ("From the host to the page", HOST_FRAMES)],
)
def test_the_table_has_every_frame_with_its_fields(title: str, frames: Sequence[type[Frame]]) -> None:
    defined = {frame.TYPE: set(wire_names(frame).values()) for frame in frames}
    defined["ack"] = {"ack"}
    assert documented(title) == defined


def test_the_numbers_on_the_page_are_those_of_the_code() -> None:
    assert f"received {ACK_EVERY} frames" in PAGE
    assert f"first {MAX_TEXT} characters" in PAGE
    assert f"| {MAX_DEPTH} levels" in PAGE
    assert f"more than {constant('MAX_DEPTH')} |" in PAGE
    assert f"| {int(constant('MAX_KEPT')):,} characters" in PAGE
    for key in CONTEXT_KEYS:
        assert f"`{key}`" in section("From the page to the host")


def constant(name: str) -> str:
    """Return the value of a constant of mcp-app.js."""
    (value,) = re.findall(rf"^const {name} = ([\d_]+);", ELEMENT, re.MULTILINE)
    return str(value).replace("_", "")
