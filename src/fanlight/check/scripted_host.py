"""A scripted host in a browser, and what a View does in it.

Its pages are answered by the browser's driver: there is no server. A page is used for scene after scene, since a
browser takes most of a second to begin one. Each scene has an origin of its own: a View finds nothing of another.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import anyio

from fanlight import __version__
from fanlight.protocol.csp import CSP_LISTS, Csp, is_source
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.headers import permissions_policy, policy, view_directives
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage
from fanlight.rules.observation import LATER, VIEW_ORIGIN, Document, Scene

if TYPE_CHECKING:
    from playwright.async_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Error,
        Frame,
        Page,
        Request,
        Route,
        ViewportSize,
    )

HOST_ORIGIN: Final = "https://host.fanlight-check.test"

_MARK: Final = "fanlight.check "
_TIMER: Final = re.compile(r"timer (\d+) (now|late) (.*)", re.DOTALL)
_START: Final = 15_000
_ANSWER: Final = 5_000
_QUIET: Final = 150
_LONGEST: Final = 1_500
_HANGS: Final = 40.0
"""After so many seconds a page that answers nothing is one that hangs; all that it is asked for takes much less."""
_OWN: Final = re.compile(r"https://[a-z0-9.]+\.fanlight-check\.test/")
_NUMBERS: Final = count(1)
_AGAIN: Final = 5_000
"""How long a page that was used may take to begin again, in milliseconds; then there is a new one."""
AGE: Final = 3_000
"""How old a View gets at least where it is shown in full. Errors of timers that are due later count nowhere."""

Answers = Callable[[str, JSONObject], Awaitable[JSONObject]]
"""Answers what a View asks of its server: method and params to `{"result": ...}` or `{"error": ...}`."""


@dataclass(frozen=True)
class Part:
    """What a View is shown with: its document, its tool, and what the tool answered."""

    document: Document
    tool: JSONObject
    arguments: JSONObject
    result: JSONObject
    answers: Answers
    tools: Sequence[JSONObject] = ()
    """All tools of the server."""


class Pages:
    """The pages of scripted hosts in one browser."""

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self._free: list[_Place] = []

    async def close(self) -> None:
        for place in self._free:
            await place.close()

    @asynccontextmanager
    async def open(self, part: Part, name: str) -> AsyncIterator["Script"]:
        """Open a page for a scene of a View. Only one on which it was played to its end is used again."""
        place = await self._place()
        script = place.script = Script(place.page, part, name)
        ended = False
        try:
            yield script
            ended = script.unfinished is None
        finally:
            place.script = None
            if ended:
                self._free.append(place)
            else:
                await place.close()

    async def _place(self) -> "_Place":
        while self._free:
            place = self._free.pop()
            if await place.again():
                return place
            await place.close()
        viewport: ViewportSize = {"width": 1280, "height": 900}
        context = await self._browser.new_context(viewport=viewport, locale="en-GB", timezone_id="UTC")
        try:
            place = _Place(await context.new_page())
            await place.begin()
        except BaseException:
            await _close(context)
            raise
        return place


class _Place:
    """A page for scene after scene. What comes between two scenes is heard by none."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.script: Script | None = None

    async def begin(self) -> None:
        page = self.page
        page.on("pageerror", self._threw)
        page.on("console", self._heard)
        page.on("request", self._requested)
        page.on("requestfailed", self._failed)
        await page.route("https://*.fanlight-check.test/**", self._file)
        await page.expose_function("hostAnswers", self._answers)
        await page.add_init_script(page_file("timers.js"))
        await page.add_init_script(page_file("measure.js"))
        await page.goto(f"{HOST_ORIGIN}/")

    async def again(self) -> bool:
        """Load the page anew; False if it does not come back, whatever keeps it."""
        from playwright.async_api import Error

        try:
            await self.page.context.clear_cookies()
            await self.page.goto(f"{HOST_ORIGIN}/", timeout=_AGAIN)
        except Error:
            return False
        return True

    async def close(self) -> None:
        await _close(self.page.context)

    def _threw(self, error: "Error") -> None:
        if self.script is not None:
            self.script.threw(error)

    def _heard(self, message: "ConsoleMessage") -> None:
        if self.script is not None:
            self.script.heard(message)

    def _requested(self, request: "Request") -> None:
        if self.script is not None:
            self.script.requested(request)

    def _failed(self, request: "Request") -> None:
        if self.script is not None:
            self.script.failed(request)

    async def _file(self, route: "Route") -> None:
        url = route.request.url
        if url.startswith(f"{HOST_ORIGIN}/"):
            script = url.endswith("/host.js")
            kind = "text/javascript" if script else "text/html"
            await route.fulfill(body=page_file("host.js" if script else "host.html"), content_type=kind)
        elif self.script is not None and url == f"{self.script.origin}/view":
            await route.fulfill(body=self.script.part.document.html, headers=_headers(self.script.part.document))
        else:
            await route.fulfill(status=404, body="")

    async def _answers(self, method: str, params: JSONObject) -> JSONObject:
        if self.script is None:
            return {"error": {"code": -32000, "message": "The scene is over."}}
        return await self.script.part.answers(method, params)


async def _close(context: "BrowserContext") -> None:
    from playwright.async_api import Error

    with anyio.CancelScope(shield=True), suppress(Error):
        await context.close()


class ViewHangsError(RemoteError):
    """The page does not answer any more."""


class NavigationError(RemoteError):
    """The View reloaded itself or navigated away."""


class HandshakeError(RemoteError):
    """The View does not finish the handshake."""


class Script:
    """One scene as it is played."""

    def __init__(self, page: "Page", part: Part, name: str) -> None:
        self.page = page
        self.part = part
        self.name = name
        self.origin = f"https://view.{next(_NUMBERS)}.fanlight-check.test"
        self.step = "start"
        self.welcome: JSONObject = {}
        self.unfinished: str | None = None
        self.errors: list[tuple[str, str]] = []
        self.timers = Timers()
        self.console: list[str] = []
        self.violations: list[str] = []
        self.unreached: list[str] = []
        self.loaded: list[str] = []
        """What the View's frame loaded: the View, then the pages that it navigated to."""
        self.marks: dict[str, JSONObject] = {}
        self.answers: dict[str, JSONObject] = {}
        self.steps: dict[str, int] = {}

    def threw(self, error: "Error") -> None:
        self.errors.append((self.step, first_line(self._written(f"{error.name}: {error.message}"))))

    @property
    def navigations(self) -> list[str]:
        return [self._written(url) for url in self.loaded[1:]]

    def requested(self, request: "Request") -> None:
        if request.is_navigation_request() and request.frame.parent_frame == self.page.main_frame:
            self.loaded.append(request.url)

    def failed(self, request: "Request") -> None:
        if not _OWN.match(request.url) and "csp" not in str(request.failure):
            self.unreached.append(request.url)

    def heard(self, message: "ConsoleMessage") -> None:
        text = self._written(message.text)
        if message.type == "debug" and text.startswith(_MARK):
            if not self.timers.heard(text):
                self.violations.append(text.removeprefix(_MARK))
        elif message.type == "error" and is_own_words(text) and not message.location["url"].startswith(HOST_ORIGIN):
            self.console.append(first_line(text))

    def _written(self, text: str) -> str:
        return text.replace(self.origin, VIEW_ORIGIN)

    async def begin(
        self,
        context: JSONObject,
        capabilities: JSONObject,
        *,
        size: tuple[int, int] | None = None,
        refuse: JSONObject | None = None,
        stay: bool = False,
    ) -> None:
        """Show the View, and wait until the handshake is over."""
        host_info = {"name": "fanlight-check", "version": __version__}
        self.welcome = {"hostInfo": host_info, "hostCapabilities": capabilities, "hostContext": context}
        script: JSONObject = {"url": f"{self.origin}/view", "welcome": self.welcome, "stay": stay}
        if size is not None:
            script |= {"width": size[0], "height": size[1]}
        if refuse is not None:
            script["refuse"] = refuse
        await self.evaluate("(script) => host.begin(script)", script)
        initialized = await self.evaluate(f"host.initialized({_START})")
        self._check_navigation()
        if not initialized:
            raise HandshakeError

    async def take(self, step: str) -> None:
        """Begin a step."""
        await self.rest(0)
        self.step = step
        self.steps[step] = await self.evaluate("host.said.length")

    async def tell(self, method: str, params: JSONObject) -> None:
        await self.evaluate("([method, params]) => host.notify(method, params)", [method, params])

    async def ask(self, name: str, method: str, params: JSONObject) -> None:
        """Ask the View something, and keep its answer under a name."""
        self.steps[f"{name}?"] = await self.evaluate("host.said.length")
        answer = await self.evaluate(
            "([method, params, patience]) => host.request(method, params, patience)", [method, params, _ANSWER]
        )
        if answer is not None:
            self.answers[name] = answer

    async def rest(self, quiet: int = _QUIET) -> None:
        """Wait until the View is at rest; one that never is gets so long."""
        await self.inside(f"rest({quiet}, {_LONGEST})")

    async def mark(self, name: str) -> None:
        await self.rest()
        measured = await self.inside("measure()")
        if isinstance(measured, dict):
            self.marks[name] = measured

    async def inside(self, call: str, of: str = "fanlight.check") -> Any:
        """Call what measure.js, or another script, put into the View."""
        self._check_navigation()
        frame = self._frame()
        return None if frame is None else await self.evaluate(f'window[Symbol.for("{of}")]?.{call}', frame=frame)

    def _check_navigation(self) -> None:
        if self.navigations:
            raise NavigationError

    def _frame(self) -> "Frame | None":
        return next((frame for frame in self.page.frames if frame.url.startswith(self.origin)), None)

    async def input(self) -> None:
        await self.take("input")
        await self.tell("ui/notifications/tool-input", {"arguments": self.part.arguments})

    async def result(self) -> None:
        await self.take("result")
        await self.tell("ui/notifications/tool-result", self.part.result)

    async def evaluate(self, script: str, given: Any = None, frame: "Frame | None" = None) -> Any:
        """Run something in the host's page, or in a frame; raise `ViewHangsError` if it does not get to it."""
        with anyio.move_on_after(_HANGS):
            return await (frame or self.page).evaluate(script, given)
        raise ViewHangsError

    async def written(self) -> Scene:
        from playwright.async_api import Error

        said: list[JSONObject] = []
        with anyio.move_on_after(5), suppress(Error):
            said = await self.page.evaluate("host.said")
        return Scene(
            self.name,
            self.welcome,
            [
                RecordedMessage(each["by"], each["message"], each["at"] / 1000)
                for each in said
                if isinstance(each["message"], dict)
            ],
            self.timers.counted(self.errors),
            self.console,
            list(dict.fromkeys(self.violations)),
            list(dict.fromkeys(self.unreached)),
            self.marks,
            self.answers,
            self.steps,
            self.unfinished,
            self.navigations,
        )


class Timers:
    """What timers.js told of the errors of timers."""

    def __init__(self) -> None:
        self._told: dict[str, list[tuple[float, bool]]] = {}

    def heard(self, text: str) -> bool:
        """Take a line of the console; False if it is no such line."""
        told = _TIMER.fullmatch(text.removeprefix(_MARK))
        if told is not None:
            due, when, error = told.groups()
            self._told.setdefault(first_line(error), []).append((float(due), when == "late"))
        return told is not None

    def counted(self, errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the errors without those of timers that were due too late; what is about no message comes later."""
        thrown = Counter(text for _, text in errors)
        counted = []
        for step, text in errors:
            told = self._told.get(text, [])
            early = [late for due, late in told if due <= AGE]
            if thrown[text] > len(told):  # not all are of timers
                counted.append((step, text))
            elif early:
                counted.append((LATER if any(early) else step, text))
        return counted


def _headers(document: Document) -> dict[str, str]:
    directives = view_directives(_csp(document), [HOST_ORIGIN])
    directives = {name: sources for name, sources in directives.items() if name != "report-uri"}
    return {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy(directives),
        "permissions-policy": permissions_policy(()),
    }


def _csp(document: Document) -> Csp | None:
    """Return what a document declares, without invalid sources."""
    if "csp" not in document.ui:
        return None
    declared = {field: document.csp.get(name) for name, field in CSP_LISTS.items()}
    return Csp(
        **{field: [*filter(is_source, sources)] for field, sources in declared.items() if isinstance(sources, list)}
    )


def first_line(text: str) -> str:
    """Return a text's first line, and not all of a long one."""
    line = text.strip().split("\n")[0]
    return line if len(line) <= 200 else f"{line[:197]}..."


def is_own_words(text: str) -> bool:
    """Tell whether an error on the console is the View's own, and not the browser's on networks and policies."""
    theirs = (
        "Failed to load resource",
        "Permissions policy violation",
        "An iframe which has both",
        "Access to ",
        "Refused to ",
    )
    return not text.startswith(theirs) and "Content Security Policy" not in text


@cache
def page_file(name: str) -> str:
    """Return a file of `check/pages`."""
    return files("fanlight.check").joinpath("pages", name).read_text(encoding="utf-8")
