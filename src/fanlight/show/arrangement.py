"""What arranges several things in one View: tabs, columns, and the small things between tables and figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanlight.protocol.errors import ArgumentError


class Tabs:
    """Several things, one at a time, each behind a tab.

    Args:
        tabs: What to show, by the label of its tab.
    """

    def __init__(self, tabs: Mapping[str, Any]) -> None:
        if not isinstance(tabs, Mapping) or not tabs:
            raise ArgumentError(f'Tabs({tabs!r}): expected a dict with at least one tab, such as {{"Orders": frame}}.')
        self.tabs = {str(label): value for label, value in tabs.items()}


class Columns:
    """Several things beside each other. On a narrow screen they are below each other.

    Args:
        things: What to show, from left to right.
    """

    def __init__(self, *things: Any) -> None:
        if not things:
            raise ArgumentError("Columns(): expected at least one thing to show, such as Columns(frame, figure).")
        self.things = things


@dataclass(frozen=True)
class Metric:
    """One number that matters, with its name."""

    label: str
    """What the number is."""
    value: Any
    """A number, which is shown in the format of the user's language, or text."""
    delta: str | float | None = None
    """How it changed. A minus sign at the start means that it fell."""
    good: bool | None = None
    """Whether that is good news. Default: a change is good unless it is a fall."""


@dataclass(frozen=True)
class Markdown:
    """Text with headings, lists, bold, italic, code and links. HTML in it is shown as text."""

    text: str
    """The text."""
