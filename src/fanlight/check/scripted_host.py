"""A scripted host in a browser, which records what a View does in it.

The browser's driver answers the requests for its pages, so there is no server. Pages are reused for further scenes,
because opening one takes most of a second. Each scene has its own origin, so Views share no storage.
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
from fanlight.rules.observation import LATER, VIEW_ORIGIN, Document, PolicyViolation, Scene

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
"""A page that has not responded for this many seconds hangs; every request to it takes much less."""
_OWN: Final = re.compile(r"https://[a-z0-9.]+\.fanlight-check\.test/")
_NUMBERS: Final = count(1)
_RELOAD_TIMEOUT: Final = 5_000
"""How many milliseconds a used page may take to reload. After that a new page is opened."""
AGE: Final = 3_000
"""The least time in milliseconds that a complete scene takes. Errors of later timers are ignored."""

Respond = Callable[[str, JSONObject], Awaitable[JSONObject]]
"""Answers a View's requests to its server: from method and params to `{"result": ...}` or `{"error": ...}`."""


@dataclass(frozen=True)
class SceneSetup:
    """What a View is shown with: its document, its tool, and the tool's result."""

    document: Document
    tool: JSONObject
    arguments: JSONObject
    result: JSONObject
    respond: Respond
    tools: Sequence[JSONObject] = ()
    """All tools of the server."""


class PagePool:
    """Pages of scripted hosts in one browser, kept for reuse."""

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self._free: list[_PooledPage] = []

    async def close(self) -> None:
        for pooled in self._free:
            await pooled.close()

    @asynccontextmanager
    async def open(self, setup: SceneSetup, name: str) -> AsyncIterator["ScenePage"]:
        """Open a page for a scene of a View. It is reused only if the scene was completed."""
        pooled = await self._free_page()
        script = pooled.script = ScenePage(pooled.page, setup, name)
        ended = False
        try:
            yield script
            ended = script.unfinished is None
        finally:
            pooled.script = None
            if ended:
                self._free.append(pooled)
            else:
                await pooled.close()

    async def _free_page(self) -> "_PooledPage":
        while self._free:
            pooled = self._free.pop()
            if await pooled.reload():
                return pooled
            await pooled.close()
        viewport: ViewportSize = {"width": 1280, "height": 900}
        context = await self._browser.new_context(viewport=viewport, locale="en-GB", timezone_id="UTC")
        try:
            pooled = _PooledPage(await context.new_page())
            await pooled.open()
        except BaseException:
            await _close(context)
            raise
        return pooled


class _PooledPage:
    """A page that is used for one scene after another. Events between two scenes are ignored."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.script: ScenePage | None = None

    async def open(self) -> None:
        page = self.page
        page.on("pageerror", self._on_error)
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        page.on("requestfailed", self._on_request_failed)
        await page.route("https://*.fanlight-check.test/**", self._file)
        await page.expose_function("hostAnswers", self._answers)
        await page.add_init_script(page_file("timers.js"))
        await page.add_init_script(page_file("measure.js"))
        await page.goto(f"{HOST_ORIGIN}/")

    async def reload(self) -> bool:
        """Reload the page, and return whether that succeeded."""
        from playwright.async_api import Error

        try:
            await self.page.context.clear_cookies()
            await self.page.goto(f"{HOST_ORIGIN}/", timeout=_RELOAD_TIMEOUT)
        except Error:
            return False
        return True

    async def close(self) -> None:
        await _close(self.page.context)

    def _on_error(self, error: "Error") -> None:
        if self.script is not None:
            self.script.on_error(error)

    def _on_console(self, message: "ConsoleMessage") -> None:
        if self.script is not None:
            self.script.on_console(message)

    def _on_request(self, request: "Request") -> None:
        if self.script is not None:
            self.script.on_request(request)

    def _on_request_failed(self, request: "Request") -> None:
        if self.script is not None:
            self.script.on_request_failed(request)

    async def _file(self, route: "Route") -> None:
        url = route.request.url
        if url.startswith(f"{HOST_ORIGIN}/"):
            script = url.endswith("/host.js")
            kind = "text/javascript" if script else "text/html"
            await route.fulfill(body=page_file("host.js" if script else "host.html"), content_type=kind)
        elif self.script is not None and url == f"{self.script.origin}/view":
            await route.fulfill(body=self.script.setup.document.html, headers=_headers(self.script.setup.document))
        else:
            await route.fulfill(status=404, body="")

    async def _answers(self, method: str, params: JSONObject) -> JSONObject:
        if self.script is None:
            return {"error": {"code": -32000, "message": "The scene is over."}}
        return await self.script.setup.respond(method, params)


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


class ScenePage:
    """A page while a scene is played on it, with what was recorded so far."""

    def __init__(self, page: "Page", setup: SceneSetup, name: str) -> None:
        self.page = page
        self.setup = setup
        self.name = name
        self.origin = f"https://view.{next(_NUMBERS)}.fanlight-check.test"
        self.step = "start"
        self.welcome: JSONObject = {}
        self.unfinished: str | None = None
        self.errors: list[tuple[str, str]] = []
        self.timers = Timers()
        self.console: list[str] = []
        self.violations: list[PolicyViolation] = []
        self.unreached: list[str] = []
        self.loaded: list[str] = []
        """What the View's frame loaded: the View, then the pages that it navigated to."""
        self.marks: dict[str, JSONObject] = {}
        self.answers: dict[str, JSONObject] = {}
        self.steps: dict[str, int] = {}

    def on_error(self, error: "Error") -> None:
        self.errors.append((self.step, first_line(self._written(f"{error.name}: {error.message}"))))

    @property
    def navigations(self) -> list[str]:
        return [self._written(url) for url in self.loaded[1:]]

    def on_request(self, request: "Request") -> None:
        if request.is_navigation_request() and request.frame.parent_frame == self.page.main_frame:
            self.loaded.append(request.url)

    def on_request_failed(self, request: "Request") -> None:
        if not _OWN.match(request.url) and "csp" not in str(request.failure):
            self.unreached.append(request.url)

    def on_console(self, message: "ConsoleMessage") -> None:
        text = self._written(message.text)
        if message.type == "debug" and text.startswith(_MARK):
            if not self.timers.on_console(text):
                directive, _, blocked = text.removeprefix(_MARK).partition(" ")
                self.violations.append(PolicyViolation(directive, blocked))
        elif message.type == "error" and is_from_view(text) and not message.location["url"].startswith(HOST_ORIGIN):
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
        """Show the View, and wait until the handshake is done."""
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

    async def begin_step(self, step: str) -> None:
        """Begin a step."""
        await self.wait_until_idle(0)
        self.step = step
        self.steps[step] = await self.evaluate("host.messages.length")

    async def notify(self, method: str, params: JSONObject) -> None:
        await self.evaluate("([method, params]) => host.notify(method, params)", [method, params])

    async def request(self, name: str, method: str, params: JSONObject) -> None:
        """Send the View a request, and keep the response under a name."""
        self.steps[f"{name}?"] = await self.evaluate("host.messages.length")
        answer = await self.evaluate(
            "([method, params, patience]) => host.request(method, params, patience)", [method, params, _ANSWER]
        )
        if answer is not None:
            self.answers[name] = answer

    async def wait_until_idle(self, quiet: int = _QUIET) -> None:
        """Wait until the View is idle, or for a limited time if it never is."""
        await self.inside(f"rest({quiet}, {_LONGEST})")

    async def measure(self, name: str) -> None:
        await self.wait_until_idle()
        measured = await self.inside("measure()")
        if isinstance(measured, dict):
            self.marks[name] = measured

    async def inside(self, call: str, of: str = "fanlight.check") -> Any:
        """Call a function that measure.js, or another script, put into the View."""
        self._check_navigation()
        frame = self._frame()
        return None if frame is None else await self.evaluate(f'window[Symbol.for("{of}")]?.{call}', frame=frame)

    def _check_navigation(self) -> None:
        if self.navigations:
            raise NavigationError

    def _frame(self) -> "Frame | None":
        return next((frame for frame in self.page.frames if frame.url.startswith(self.origin)), None)

    async def input(self) -> None:
        await self.begin_step("input")
        await self.notify("ui/notifications/tool-input", {"arguments": self.setup.arguments})

    async def result(self) -> None:
        await self.begin_step("result")
        await self.notify("ui/notifications/tool-result", self.setup.result)

    async def evaluate(self, script: str, given: Any = None, frame: "Frame | None" = None) -> Any:
        """Run something in the host's page, or in a frame; raise `ViewHangsError` if it does not respond."""
        with anyio.move_on_after(_HANGS):
            return await (frame or self.page).evaluate(script, given)
        raise ViewHangsError

    async def record(self) -> Scene:
        from playwright.async_api import Error

        messages: list[JSONObject] = []
        with anyio.move_on_after(5), suppress(Error):
            messages = await self.page.evaluate("host.messages")
        return Scene(
            self.name,
            self.welcome,
            [
                RecordedMessage(each["by"], each["message"], each["at"] / 1000)
                for each in messages
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
    """The errors of timers, as timers.js reports them."""

    def __init__(self) -> None:
        self._reports: dict[str, list[tuple[float, bool]]] = {}

    def on_console(self, text: str) -> bool:
        """Record a line of the console, and return whether it is a report of timers.js."""
        report = _TIMER.fullmatch(text.removeprefix(_MARK))
        if report is not None:
            due, when, error = report.groups()
            self._reports.setdefault(first_line(error), []).append((float(due), when == "late"))
        return report is not None

    def counted(self, errors: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the errors without those of late timers. Errors of timers of earlier steps get the step `LATER`."""
        thrown = Counter(text for _, text in errors)
        counted = []
        for step, text in errors:
            reports = self._reports.get(text, [])
            early = [late for due, late in reports if due <= AGE]
            if thrown[text] > len(reports):  # some were not thrown by timers
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
    """Return the first line of a text, shortened if it is long."""
    line = text.strip().split("\n")[0]
    return line if len(line) <= 200 else f"{line[:197]}..."


def is_from_view(text: str) -> bool:
    """Return whether the View wrote an error on the console, not the browser about networks and policies."""
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
