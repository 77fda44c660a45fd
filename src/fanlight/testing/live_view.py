"""One View in a browser page: its messages, errors and console, and waiting for it."""

import json
import math
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from fanlight.dev.csp_fixes import suggest_fix
from fanlight.dev.tracebacks import ServerException, find_exceptions
from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.host import Host, runtime_of
from fanlight.host.web.sandbox.csp_reports import is_probe
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage, Sender, json_lines

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Error, Frame, Page
    from playwright.async_api import Request as BrowserRequest

__all__ = ["ConsoleLine", "LiveView", "ScriptError", "StageError", "UnsettledError", "Violation"]

Step = Literal["connect", "tool", "call", "open", "initialize", "settle", "render"]
Locate = Callable[[int, int], str | None]
"""Maps a line and column of the View's document to the author's file and line, such as `clock.html:13`."""

QUIET_LOOKS: Final = 8
"""A View is idle after this many unchanged looks in a row, at least one animation frame apart."""
_LONGEST_ANIMATION: Final = 2.0
"""How many seconds a View may keep requesting frames while nothing else happens. Endless animations do."""
_DEAD_AFTER: Final = 1.0
"""How many seconds a View may stay idle after an uncaught error before its script counts as dead."""
_STDERR_LOOKS: Final = 25
"""How often to look for the traceback of a failed call, which may arrive after the result; for half a second."""
_MARK: Final = "fanlight.stage"
_ENDLESS: Final = ("websocket", "eventsource", "media")
_STACK_PLACE: Final = re.compile(r"(https?://[^\s()]+?):(\d+):(\d+)\)?$", re.MULTILINE)


class StageError(RemoteError):
    """A View could not be shown. The message says why."""

    def __init__(self, step: Step, message: str) -> None:
        self.step = step
        """The step that failed: `connect`, `tool`, `call`, `open`, `initialize`, `settle` or `render`."""
        super().__init__(message)


class UnsettledError(StageError):
    """A View was shown and did not become idle in time. The message says what is still going on."""

    def __init__(self, message: str) -> None:
        super().__init__("settle", message)


@dataclass(frozen=True)
class ConsoleLine:
    """A line in the browser console, from the View or about it."""

    kind: str
    """`error`, `warning`, `log` and so on."""
    text: str
    """The text of the line."""
    url: str
    """The document that it comes from. For the View's own document this is its `ui://` URI."""
    line: int
    """The line in that document."""
    source: str | None = None
    """The author's file and line, such as `clock.html:13`, if the server reports them; otherwise None."""
    is_exception: bool = False
    """Whether the line is an exception that a script caught and logged, as SDKs do with those of handlers."""

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} ({self.source or f'{self.url}:{self.line}'})"


@dataclass(frozen=True)
class ScriptError:
    """An uncaught exception in a View."""

    text: str
    """Name and message of the exception."""
    url: str = ""
    """The document or script that threw it, or an empty string if the browser does not say."""
    line: int = 0
    """The line in that document, or 0."""
    column: int = 0
    """The column in that line, or 0."""
    source: str | None = None
    """The author's file and line, such as `clock.html:13`, if the server reports them; otherwise None."""
    stack: str = ""
    """The whole stack trace."""

    def __str__(self) -> str:
        place = self.source or (f"{self.url}:{self.line}:{self.column}" if self.line else "")
        return f"{self.text} ({place})" if place else self.text


@dataclass(frozen=True)
class Violation:
    """A violation of the View's Content-Security-Policy."""

    directive: str
    """The directive that was violated."""
    blocked: str
    """What was blocked."""
    url: str
    """The document that caused it. For the View's own document this is its `ui://` URI."""
    line: int
    """The line in that document."""
    column: int
    """The column in that line."""
    sample: str
    """The beginning of the blocked code, if any."""
    source: str | None = None
    """The author's file and line, such as `clock.html:13`, if the server reports them; otherwise None."""

    @property
    def is_probe(self) -> bool:
        """Whether it is the harmless test of a schema library whether it may compile code."""
        return is_probe({"blocked": self.blocked, "sample": self.sample})

    @property
    def fix(self) -> str:
        """What to write instead."""
        return suggest_fix(self.directive, self.blocked)

    def __str__(self) -> str:
        return f"{self.directive} blocked {self.blocked} ({self.source or f'{self.url}:{self.line}'})"


@dataclass
class Recording:
    """What a View and the host have sent each other."""

    started: float = field(default_factory=monotonic)
    messages: list[RecordedMessage] = field(default_factory=list)
    conversation: list[JSONObject] = field(default_factory=list)
    open_requests: dict[tuple[Sender, Any], str] = field(default_factory=dict)

    def add(self, sender: Sender, message: object) -> None:
        """Record a message, and which requests are still without a response."""
        fields: JSONObject = message if isinstance(message, dict) else {"(invalid)": message}
        recorded = RecordedMessage(sender, fields, monotonic() - self.started)
        self.messages.append(recorded)
        id = fields.get("id")
        if recorded.method is not None and isinstance(id, str | int):
            self.open_requests[sender, id] = recorded.method
        elif isinstance(id, str | int):
            self.open_requests.pop(("host" if sender == "view" else "view", id), None)
        elif recorded.method == "notifications/cancelled":
            self.open_requests.pop((sender, recorded.params.get("requestId")), None)


class LiveView:
    """A View in a browser. `Stage.open` and `open_view` open one.

    The View's policy forbids `eval`, so Playwright's `frame.wait_for_function` does not work; `frame.evaluate`,
    locators and `expect` do.
    """

    def __init__(
        self,
        page: "Page",
        host: Host,
        call: Call,
        shown: CallView,
        recording: Recording,
        locate: Locate,
        stderr: Callable[[], Sequence[str]],
        *,
        frozen: bool,
    ) -> None:
        self.page = page
        """The host page, a Playwright `Page`."""
        self.host = host
        """The host."""
        self.call = call
        """The tool call that the View shows."""
        self.uri = shown.uri
        """The `ui://` URI of the View."""
        self.console: list[ConsoleLine] = []
        """The lines in the browser console, from the View or about it."""
        self.violations: list[Violation] = []
        """The violations of the View's Content-Security-Policy."""
        self._shown = shown
        self._recording = recording
        self._locate = locate
        self._stderr = stderr
        # With frozen time, every animation ends.
        self._longest_animation = math.inf if frozen else _LONGEST_ANIMATION
        self._loading: dict[BrowserRequest, str] = {}
        self._thrown: list[Error] = []
        self._error_places: list[JSONObject] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._thrown.append(error))
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_request_end)
        page.on("requestfailed", self._on_request_end)

    @property
    def frame(self) -> "Frame":
        """The View's own document, a Playwright `Frame`."""
        frame = self._frame()
        if frame is None:
            raise StageError("open", "The page shows no View now.")
        return frame

    def _frame(self) -> "Frame | None":
        for proxy in self.page.main_frame.child_frames:
            for frame in proxy.child_frames:
                if frame.url.startswith("http"):
                    return frame
        return None

    @property
    def is_loaded(self) -> bool:
        """Whether the page has loaded the View's document."""
        return self._frame() is not None

    @property
    def errors(self) -> list[ScriptError]:
        """Uncaught exceptions in the View."""
        return [self._script_error(error) for error in self._thrown]

    @property
    def messages(self) -> list[RecordedMessage]:
        """All messages in both directions, in order."""
        return self._recording.messages

    def sent(self, method: str) -> list[JSONObject]:
        """Return the params of each message with a method that the View sent."""
        return [each.params for each in self.messages if each.by == "view" and each.method == method]

    def received(self, method: str) -> list[JSONObject]:
        """Return the params of each message with a method that the host sent."""
        return [each.params for each in self.messages if each.by == "host" and each.method == method]

    @property
    def model_context(self) -> JSONObject | None:
        """The last model context update of the View, or None."""
        record = runtime_of(self.host).records.get(self._shown.view)
        return None if record is None else record.context

    @property
    def conversation(self) -> list[JSONObject]:
        """The messages that the View added to the conversation, each with `role` and `content`."""
        return self._recording.conversation

    def log(self) -> str:
        """Return the messages as JSON lines."""
        return json_lines(self.messages)

    async def server_error(self) -> ServerException | None:
        """Return the exception that the call raised in the server, if the server wrote a traceback to its stderr.

        Servers that run in this process write none.
        """
        for _ in range(_STDERR_LOOKS):
            if found := find_exceptions(self._stderr()):
                return next((each for each in reversed(found) if each.frames), found[-1])
            await anyio.sleep(0.02)
        return None

    async def show(self) -> None:
        """Put the View into its page. `Stage.open` calls it."""
        await self.page.evaluate("([view, token]) => showView(view, token)", [self._shown.view, self._shown.token])

    async def reload(self) -> None:
        """Reload the host page and show the View again."""
        await self.page.reload()
        await self.show()

    async def wait_until_initialized(self, within: float = 15.0) -> None:
        """Wait until the handshake is done. Raise `StageError` with what is missing.

        Raise early if a script of the View died: it threw an exception before `ui/initialize`, and nothing is pending.
        """
        idle_since: float | None = None
        with anyio.move_on_after(within):
            while not self.sent("ui/notifications/initialized"):
                await self._check_page()
                idle_since = (idle_since or monotonic()) if await self._is_dead() else None
                if idle_since is not None and monotonic() - idle_since >= _DEAD_AFTER:
                    raise StageError("initialize", f"A script of the View died before ui/initialize.{self._reason()}")
                await anyio.sleep(0.01)
            return
        if not self.is_loaded:
            raise StageError("open", f"The page did not load the View within {within:g} seconds.")
        missing = "ui/notifications/initialized" if self.sent("ui/initialize") else "ui/initialize"
        raise StageError("initialize", f"The View did not send {missing} within {within:g} seconds.{self._reason()}")

    async def _is_dead(self) -> bool:
        """Return whether a script threw before the handshake, and the View is idle."""
        if not self._thrown or self.sent("ui/initialize") or self._loading:
            return False
        look = await self._look()
        return look is not None and not (look["loading"] or look["busy"] or look["timers"])

    async def wait_until_settled(self, within: float = 10.0) -> None:
        """Wait until the View is idle: it has its result, nothing is pending, and nothing has changed for a while.

        Raise `UnsettledError` if that takes longer than `within` seconds.
        """
        await self.wait_until_initialized(within)
        state = ""
        with anyio.move_on_after(within):
            before: tuple[Any, ...] = ()
            quiet = 0
            moved = monotonic()
            while True:
                await self._check_page()
                look: JSONObject | None = await self._look()
                now = (len(self.messages), look and look["changes"], look and look["layout"])
                state = self._pending(look)
                if now != before or state:
                    before, quiet, moved = now, 0, monotonic()
                elif look is not None and look["busy"] and monotonic() - moved < self._longest_animation:
                    quiet = 0
                else:
                    quiet += 1
                if quiet >= QUIET_LOOKS:
                    return
        raise UnsettledError(f"The View did not become idle within {within:g} seconds: {state or 'it keeps changing'}.")

    def _pending(self, look: JSONObject | None) -> str:
        """Return what the View still waits for, or an empty string."""
        outcomes = ("ui/notifications/tool-result", "ui/notifications/tool-cancelled")
        if look is None:
            return "it has no document"
        if look["loading"]:
            return "its document is still loading"
        if (self.call.result is not None or self.call.cancelled is not None) and not any(map(self.received, outcomes)):
            return "it has not received its result"
        if self._recording.open_requests:
            sender, method = next((sender, method) for (sender, _), method in self._recording.open_requests.items())
            return f"{'the host' if sender == 'view' else 'the View'} has not answered {method}"
        if self._loading:
            return f"it is loading {next(iter(self._loading.values()))}"
        return ""

    async def _look(self) -> JSONObject | None:
        from playwright.async_api import Error

        frame = self._frame()
        try:
            script = 'window[Symbol.for("fanlight.stage")]?.look()'
            look: JSONObject | None = None if frame is None else await frame.evaluate(script)
        except Error:  # the document was closed or replaced
            look = None
        if look is None:
            await anyio.sleep(0.02)
        return look

    async def _check_page(self) -> None:
        """Raise if the page failed to show the View."""
        reason = await self.page.evaluate("window.stageError ?? null")
        if reason is not None:
            raise StageError("open", str(reason))

    def _reason(self) -> str:
        """Return what may explain that a View does nothing: its first error, or a blocked request."""
        reasons = [
            *map(str, self.errors),
            *(str(line) for line in self.console if line.kind == "error"),
            *(f"{each}. {each.fix}" for each in self.violations if not each.is_probe),
        ]
        return f" {reasons[0].splitlines()[0]}" if reasons else ""

    async def screenshot(self, path: str | Path | None = None, *, full: bool = True) -> bytes:
        """Return a PNG of the View, and write it to `path` if given. Without `full`, only the part in the window."""
        size = self.page.viewport_size
        box = await self.page.locator("mcp-app iframe").first.bounding_box()
        if box is None or size is None or box["height"] < 1 or box["width"] < 1:
            raise StageError("render", "The View has no height, so there is nothing to take a picture of.")
        needed = math.ceil(box["y"] + box["height"])
        if not full:
            box["height"] = max(1, min(box["height"], size["height"] - box["y"]))
        try:
            if full and needed > size["height"]:
                # The browser does not draw frames of other origins outside of the window, so enlarge the window.
                await self.page.set_viewport_size({"width": size["width"], "height": needed})
                await self._look()
                await self._look()
            png = await self.page.screenshot(clip=box, animations="disabled", caret="hide")
        finally:
            if self.page.viewport_size != size:
                await self.page.set_viewport_size(size)
        if path is not None:
            await anyio.Path(path).write_bytes(png)
        return png

    # Events of the browser

    def _public_url(self, url: str) -> str:
        """Return the View's `ui://` URI for the address at which the stage serves its document."""
        frame = self._frame()
        return self.uri if frame is not None and url == frame.url else url

    def _source(self, url: str, line: int, column: int) -> str | None:
        return self._locate(line, column) if url == self.uri and line else None

    def _script_error(self, error: "Error") -> ScriptError:
        text = f"{error.name}: {error.message}" if error.name else error.message
        stack = error.stack or ""
        if (found := self._stack_place(stack)) is not None:
            url, line, column = found
        else:  # syntax errors have no stack
            reported = (each for each in self._error_places if each["message"].endswith(error.message))
            place: JSONObject = next(reported, {"file": "", "line": 0, "column": 0})
            url, line, column = place["file"], place["line"], place["column"]
        url = self._public_url(url)
        return ScriptError(text, url, line, column, self._source(url, line, column), stack)

    def _stack_place(self, stack: str) -> tuple[str, int, int] | None:
        """Return document, line and column of a stack trace: of the first entry in the author's files, or the first."""
        places = [(found[1], int(found[2]), int(found[3])) for found in _STACK_PLACE.finditer(stack)]
        authored = (each for each in places if self._source(self._public_url(each[0]), each[1], each[2]) is not None)
        return next(authored, places[0] if places else None)

    def _on_console(self, message: "ConsoleMessage") -> None:
        text, location = message.text, message.location
        if message.type == "debug" and text.startswith(_MARK):
            report = json.loads(text.removeprefix(_MARK))
            if report["kind"] == "error":
                self._error_places.append(report)
            else:
                self.violations.append(self._violation(report))
        elif _is_in_view(location["url"]):
            logged = (location["url"], location["lineNumber"] + 1, location["columnNumber"] + 1)
            thrown = self._stack_place(text) if message.type == "error" else None
            url, line, column = thrown or logged
            url = self._public_url(url)
            source = self._source(url, line, column)
            self.console.append(ConsoleLine(message.type, text, url, line, source, thrown is not None))

    def _violation(self, report: JSONObject) -> Violation:
        url = self._public_url(report["sourceFile"] or self.frame.url)
        line, column = report["lineNumber"], report["columnNumber"]
        return Violation(
            report["effectiveDirective"],
            report["blockedURI"],
            url,
            line,
            column,
            report["sample"],
            self._source(url, line, column),
        )

    def _on_request(self, request: "BrowserRequest") -> None:
        if request.resource_type not in _ENDLESS and request.url.startswith("http"):
            self._loading[request] = request.url

    def _on_request_end(self, request: "BrowserRequest") -> None:
        self._loading.pop(request, None)


OnLeave = Callable[[LiveView], Awaitable[None]]


def _is_in_view(url: str) -> bool:
    """Return whether an address belongs neither to the host page nor to the sandbox proxy."""
    return ".sandbox.localhost:" in url or "localhost:" not in url
