"""Decides whether a View counts as rendered."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from fanlight.testing.live_view import LiveView, StageError
from fanlight.testing.pictures import is_blank

_MAX_TEXT: Final = 300
_BROKEN: Final = re.compile(
    r"\W*(?:(?:uncaught|unhandled|unexpected|internal|fatal|an?)\s+)*(?:[A-Z]\w*Error\b|error\b|exception\b|failed\b|"
    r"failure\b|could not\b|cannot\b|can't\b|unable to\b|something went wrong|oops)",
    re.IGNORECASE,
)
_WAITING: Final = re.compile(r"(?:loading|waiting|connecting|please wait|initiali[sz]ing)\b.{0,40}", re.IGNORECASE)


__all__ = ["not_rendered", "picture", "tool_failure"]


async def not_rendered(view: LiveView, png: bytes) -> str | None:
    """Return why a View does not count as rendered, such as that it is blank or shows an error; None if it does."""
    if (failure := await tool_failure(view)) is not None:
        return failure
    browser = view.page.context.browser
    assert browser is not None
    blocked = [str(violation) for violation in view.violations if not violation.is_probe]
    reasons = [*map(str, view.errors), *(str(line) for line in view.console if line.kind == "error"), *blocked]
    because = f" {_short(reasons[0].splitlines()[0])}" if reasons else ""
    if await is_blank(browser, png):
        return f"The View shows nothing: its picture has one colour.{because}"
    seen: dict[str, Any] = await view.frame.evaluate(_script())
    if seen["complaint"] is not None:
        return f"The View shows an error: {_short(seen['complaint'])}"
    text: str = seen["text"]
    if text and len(text) <= _MAX_TEXT and _BROKEN.match(text):
        return f"The View shows an error: {_short(text)}"
    if _WAITING.fullmatch(text):
        return f"The View still says: {_short(text)}{because}"
    return None


async def tool_failure(view: LiveView) -> str | None:
    """Return why the tool call failed, with the author's lines if it raised an exception; None if it succeeded."""
    result = view.call.result or {}
    if not result.get("isError"):
        return None
    if (error := await view.server_error()) is not None:
        return "\n".join([f"The tool raised {error}", *error.describe(Path.cwd())[1:]])
    return f"The tool answered with an error: {_short(_text_of(result))}"


async def picture(view: LiveView, *, full: bool = True, may_fail: bool = False) -> bytes:
    """Return a PNG of a View, or raise `StageError` if it is not rendered. `may_fail` accepts an error on show."""
    png = await view.screenshot(full=full)
    reason = await not_rendered(view, png)
    if reason is not None and not may_fail:
        raise StageError("render", reason)
    return png


def _text_of(result: dict[str, Any]) -> str:
    return " ".join(str(block.get("text", "")) for block in result.get("content", []) if isinstance(block, dict))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"


@cache
def _script() -> str:
    return files("fanlight.testing").joinpath("render.js").read_text(encoding="utf-8")
