"""Pictures of a View with its data, in each wanted theme, size, mode and locale: the work of `fanlight shot`."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from fanlight.host.policy import Policy
from fanlight.protocol.headers import Profile
from fanlight.testing.given import ALLOW
from fanlight.testing.pictures import contact_sheet
from fanlight.testing.render import not_rendered
from fanlight.testing.stage import LiveView, Mode, Stage, StageError, Step, Theme, Unsettled

JSONObject = dict[str, Any]

_AT_ONCE: Final = 3


@dataclass(frozen=True)
class Look:
    """One way to show a View."""

    theme: Theme = "light"
    size: tuple[int, int] = (800, 600)
    mode: Mode = "inline"
    locale: str = "en-US"

    def __str__(self) -> str:
        width, height = self.size
        return f"{self.theme}, {width}x{height}, {self.mode}, {self.locale}"


@dataclass(frozen=True)
class Picture:
    """One picture. `notes` are what a person should know of it."""

    look: Look
    png: bytes
    failure: str | None
    """Why the View is not called rendered, if it is not."""
    notes: tuple[str, ...] = ()
    step: Step = "render"
    """How far it came, if it failed."""
    shown: bool = True
    """Whether it is the View that is seen; if that did not come, it is the page without it."""


def looks(
    themes: Sequence[Theme], sizes: Sequence[tuple[int, int]], modes: Sequence[Mode], locales: Sequence[str]
) -> list[Look]:
    """Return every combination."""
    return [
        Look(theme, size, mode, locale)
        for locale, mode, size, theme in itertools.product(locales, modes, sizes, themes)
    ]


@dataclass(frozen=True)
class Shot:
    """What to take pictures of, and how."""

    server: object
    tool: str
    arguments: JSONObject
    looks: Sequence[Look]
    freeze: bool = False
    full: bool = False
    scale: float = 1
    time_zone: str = "UTC"
    timeout: float = 20.0
    browser: str | Path | None = None
    profile: Profile = "strict"

    async def take(self) -> tuple[bytes, list[Picture]]:
        """Return one PNG (of several pictures, a sheet), and the pictures. Raises StageError or BrowserMissing.

        The tool is called once: all pictures show the same data.
        """
        policy = Policy({**ALLOW, "profile": self.profile})
        async with Stage({"server": self.server}, browser=self.browser, policy=policy) as stage:
            pictures: dict[int, Picture] = {}
            result = await self._one(stage, 0, pictures, None)
            limit = anyio.CapacityLimiter(_AT_ONCE)
            failures: list[StageError] = []
            # A View that does not come at all would not come in another look, and each would be waited for.
            came = pictures[0].shown

            async def add(number: int) -> None:
                async with limit:
                    try:
                        await self._one(stage, number, pictures, result)
                    except StageError as error:
                        failures.append(error)

            async with anyio.create_task_group() as tasks:
                for number in range(1, len(self.looks) if came else 1):
                    tasks.start_soon(add, number)
            if failures:
                raise failures[0]
            made = [pictures[number] for number in sorted(pictures)]
            if len(made) == 1:
                return made[0].png, made
            sheet = await contact_sheet(
                stage.browser, [(str(picture.look), picture.png) for picture in made], scale=self.scale
            )
            return sheet, made

    async def _one(
        self, stage: Stage, number: int, pictures: dict[int, Picture], result: JSONObject | None
    ) -> JSONObject:
        look = self.looks[number]
        async with stage.open(
            "server",
            self.tool,
            self.arguments,
            theme=look.theme,
            size=look.size,
            mode=look.mode,
            locale=look.locale,
            time_zone=self.time_zone,
            freeze=self.freeze,
            scale=self.scale,
            result=result,
            settle=False,
        ) as view:
            pictures[number] = await self._picture(view, look)
            return view.call.result or {}

    async def _picture(self, view: LiveView, look: Look) -> Picture:
        notes = []
        try:
            try:
                await view.settled(self.timeout)
            except Unsettled as error:
                notes.append(str(error))
            png = await view.screenshot(full=self.full)
        except StageError as error:
            return Picture(look, await view.page.screenshot(), str(error), step=error.step, shown=False)
        failure = await not_rendered(view, png)
        height = await view.frame.evaluate("innerHeight")
        if not self.full and height > look.size[1]:
            notes.append(f"The View is {height} high: --full shows all of it.")
        notes += [f"An error in the View: {error.splitlines()[0]}" for error in view.errors]
        notes += [f"Blocked: {violation}" for violation in view.violations if not violation.is_probe]
        return Picture(look, png, failure, tuple(notes))
