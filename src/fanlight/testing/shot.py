"""Takes pictures of a View with its data, in several themes, sizes, modes and locales, for `fanlight shot`."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from fanlight.host.consent.policy import Policy
from fanlight.protocol.errors import sentence
from fanlight.protocol.headers import CspProfile
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.testing.live_view import LiveView, StageError, Step, UnsettledError
from fanlight.testing.permissive import ALLOW_ALL
from fanlight.testing.pictures import contact_sheet
from fanlight.testing.render import not_rendered, tool_failure
from fanlight.testing.stage import Mode, Stage, Theme

__all__ = ["Appearance", "Picture", "Shot", "appearances"]


_AT_ONCE: Final = 3
_LONGEST_TEXT: Final = 20_000


@dataclass(frozen=True)
class Appearance:
    """One combination of theme, size, display mode and locale."""

    theme: Theme = "light"
    """`"light"` or `"dark"`."""
    size: tuple[int, int] = (800, 600)
    """Width and height of the window."""
    mode: Mode = "inline"
    """The display mode: `"inline"`, `"fullscreen"` or `"pip"`."""
    locale: str = "en-US"
    """The locale, such as `"de-DE"`."""

    def __str__(self) -> str:
        width, height = self.size
        return f"{self.theme}, {width}x{height}, {self.mode}, {self.locale}"


@dataclass(frozen=True)
class Picture:
    """One picture of a View."""

    appearance: Appearance
    """How the View was shown."""
    png: bytes
    """The picture."""
    failure: str | None
    """Why the View does not count as rendered, or None."""
    notes: tuple[str, ...] = ()
    """Hints for people, such as that the View is higher than the window."""
    step: Step = "render"
    """The step that failed, if there is a failure."""
    shown: bool = True
    """Whether the picture shows the View. If the View did not appear, it shows the page without it."""
    defects: tuple[str, ...] = ()
    """What went wrong in a View that is rendered all the same: uncaught errors, and what its policy blocked."""
    text: str = ""
    """The text that the View shows, at most 20,000 characters."""


def appearances(
    themes: Sequence[Theme], sizes: Sequence[tuple[int, int]], modes: Sequence[Mode], locales: Sequence[str]
) -> list[Appearance]:
    """Return every combination of the given values."""
    return [
        Appearance(theme, size, mode, locale)
        for locale, mode, size, theme in itertools.product(locales, modes, sizes, themes)
    ]


@dataclass(frozen=True)
class Shot:
    """What to take pictures of, and how: the work of `fanlight shot`."""

    server: object
    """What `Stage` accepts for a server."""
    tool: str
    """The tool to call."""
    arguments: JSONObject
    """The arguments of the call."""
    appearances: Sequence[Appearance]
    """How to show the View, a picture each."""
    freeze: bool = False
    """Whether to fix time, random numbers and animations."""
    full: bool = False
    """Whether to show the whole View, not only the part in the window."""
    scale: float = 1
    """Device pixels per CSS pixel."""
    time_zone: str = "UTC"
    """The time zone of the browser."""
    timeout: float = 20.0
    """How many seconds to wait for the View."""
    browser: str | Path | None = None
    """The path of a browser to start. Default: one that is found."""
    view: str | None = None
    """The `ui://` URI of the View to show, if the result brings several. Default: the first."""
    profile: CspProfile = "strict"
    """The Content-Security-Policy of the View: `"strict"` or `"compat"`."""

    async def take(self) -> tuple[bytes, list[Picture]]:
        """Return one PNG, which is a contact sheet if there are several pictures, and the pictures.

        The tool is called once, so all pictures show the same data. Raise `StageError` or `BrowserMissingError`.
        """
        policy = Policy({**ALLOW_ALL, "profile": self.profile})
        async with Stage({"server": self.server}, browser=self.browser, policy=policy) as stage:
            pictures: dict[int, Picture] = {}
            result = await self._one(stage, 0, pictures, None)
            limit = anyio.CapacityLimiter(_AT_ONCE)
            failures: list[StageError] = []
            # A View that fails to load once fails in every picture, and each would take the whole timeout.
            is_shown = pictures[0].shown

            async def add(number: int) -> None:
                async with limit:
                    try:
                        await self._one(stage, number, pictures, result)
                    except StageError as error:
                        failures.append(error)

            async with anyio.create_task_group() as tasks:
                for number in range(1, len(self.appearances) if is_shown else 1):
                    tasks.start_soon(add, number)
            if failures:
                raise failures[0]
            made = [pictures[number] for number in sorted(pictures)]
            if len(made) == 1:
                return made[0].png, made
            sheet = await contact_sheet(
                stage.browser, [(str(picture.appearance), picture.png) for picture in made], scale=self.scale
            )
            return sheet, made

    async def _one(
        self, stage: Stage, number: int, pictures: dict[int, Picture], result: JSONObject | None
    ) -> JSONObject:
        appearance = self.appearances[number]
        async with stage.open(
            "server",
            self.tool,
            self.arguments,
            theme=appearance.theme,
            size=appearance.size,
            mode=appearance.mode,
            locale=appearance.locale,
            time_zone=self.time_zone,
            freeze=self.freeze,
            scale=self.scale,
            result=result,
            view=self.view,
            settle=False,
        ) as view:
            pictures[number] = await self._picture(view, appearance)
            return view.call.result or {}

    async def _picture(self, view: LiveView, appearance: Appearance) -> Picture:
        notes = []
        try:
            try:
                await view.wait_until_settled(self.timeout)
            except UnsettledError as error:
                notes.append(str(error))
            png = await view.screenshot(full=self.full)
        except StageError as error:
            failure = await tool_failure(view)
            step: Step = error.step if failure is None else "call"
            return Picture(appearance, await view.page.screenshot(), failure or str(error), step=step, shown=False)
        failure = await not_rendered(view, png)
        height = await view.frame.evaluate("innerHeight")
        if not self.full and height > appearance.size[1]:
            notes.append(f"The View is {height} high: --full shows all of it.")
        defects = [sentence(f"A script of the View threw {error}") for error in view.errors]
        for line in view.console:
            if line.is_exception:
                place = line.source or f"{line.url}:{line.line}"
                defects.append(f"A handler of the View threw {line.text.splitlines()[0]} ({place}).")
        defects += [f"Blocked: {each}. {each.fix}" for each in view.violations if not each.is_probe]
        text = await view.frame.evaluate("(most) => (document.body?.innerText ?? '').slice(0, most)", _LONGEST_TEXT)
        return Picture(appearance, png, failure, tuple(notes), defects=tuple(dict.fromkeys(defects)), text=text)
