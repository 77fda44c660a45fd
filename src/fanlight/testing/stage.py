"""A stage for Views: a host on a free port of this machine, and a browser whose pages show Views.

    async with Stage({"clock": server}) as stage:
        async with stage.open("clock", "get_time", {"zone": "UTC"}, theme="dark") as view:
            await view.frame.get_by_role("button").click()
            await view.settled()
            assert view.sent("tools/call") == [...]

Everything runs in the event loop of the test, the server too if it is an object of this program.
"""

import itertools
import json
import math
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import anyio
import uvicorn
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.host.call import Call
from fanlight.host.consent.policy import Policy
from fanlight.host.host import Host
from fanlight.host.store.base import ViewRecord
from fanlight.host.upstream.connection import Unfinished
from fanlight.host.views.channel import Frame as LineFrame
from fanlight.host.views.channel import Line
from fanlight.host.views.page import PageLink
from fanlight.host.views.session import Session
from fanlight.host.web.asgi import Socket
from fanlight.host.web.csp_reports import is_probe
from fanlight.host.web.origins import Origins
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.transcript import RecordedMessage, Sender, json_lines
from fanlight.testing.browser import launched, running_loop
from fanlight.testing.given import ALLOW, served

if TYPE_CHECKING:
    from playwright.async_api import Browser, ConsoleMessage, Frame, Page, ViewportSize
    from playwright.async_api import Request as BrowserRequest

__all__ = ["ConsoleLine", "LiveView", "Stage", "StageError", "Unsettled", "Violation", "open_view"]

Mode = Literal["inline", "fullscreen", "pip"]
Theme = Literal["light", "dark"]
Step = Literal["connect", "tool", "call", "open", "initialize", "settle", "render"]

QUIET_LOOKS: Final = 8
"""A View has settled when it looked the same so many times, a frame or more apart."""

_LONGEST_ANIMATION: Final = 2.0
"""How long a View may go on asking for frames with nothing else happening, in seconds. An endless animation does."""

_MARK: Final = "fanlight.stage"
_ENDLESS: Final = ("websocket", "eventsource", "media")
_FRAME_PATIENCE: Final = 10.0

_SHOW = """([view, token]) => {
  addEventListener("mcp-error", ({ detail }) => (window.stageError = detail.reason));
  addEventListener("mcp-closed", () => (window.stageError = "The View was closed."));
  addEventListener("mcp-link", (event) => event.preventDefault());
  const element = document.createElement("mcp-app");
  for (const [name, value] of Object.entries({ view, token, src: "/apps" })) element.setAttribute(name, value);
  document.body.append(element);
}"""
_LOOK = 'window[Symbol.for("fanlight.stage")]?.look()'


class StageError(FanlightError):
    """A View could not be shown. The message says why."""

    def __init__(self, step: Step, message: str) -> None:
        self.step = step
        """The step that failed: `connect`, `tool`, `call`, `open`, `initialize`, `settle` or `render`."""
        super().__init__(message)


class Unsettled(StageError):
    """A View was shown and did not settle in time. The message says what is still going on."""

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

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} ({self.url}:{self.line})"


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

    @property
    def is_probe(self) -> bool:
        """Whether it is the harmless test of a schema library whether it may compile code."""
        return is_probe({"blocked": self.blocked, "sample": self.sample})

    def __str__(self) -> str:
        return f"{self.directive} blocked {self.blocked} ({self.url}:{self.line})"


@dataclass
class _Cue:
    """What the host has to know of a View on the stage."""

    context: JSONObject
    began: float = field(default_factory=monotonic)
    messages: list[RecordedMessage] = field(default_factory=list)
    conversation: list[JSONObject] = field(default_factory=list)
    open_requests: dict[tuple[Sender, Any], str] = field(default_factory=dict)

    def note(self, by: Sender, message: object) -> None:
        """Write a message down."""
        fields: JSONObject = message if isinstance(message, dict) else {"(nonsense)": message}
        said = RecordedMessage(by, fields, monotonic() - self.began)
        self.messages.append(said)
        id = fields.get("id")
        if said.method is not None and isinstance(id, str | int):
            self.open_requests[by, id] = said.method
        elif isinstance(id, str | int):
            self.open_requests.pop(("host" if by == "view" else "view", id), None)
        elif said.method == "notifications/cancelled":
            self.open_requests.pop((by, said.params.get("requestId")), None)


class _NotedLine(Line):
    """A line whose messages are written down."""

    def __init__(self, note: Callable[[Sender, object], None]) -> None:
        super().__init__()
        self._note = note

    def keep(self, frame: LineFrame) -> tuple[int, str]:
        if frame.get("type") == "message":
            self._note("host", frame["message"])
        return super().keep(frame)

    def take(self, frame: LineFrame) -> bool:
        news = super().take(frame)
        if news and frame.get("type") == "message":
            self._note("view", frame.get("message"))
        return news


class _StageHost(Host):
    """A host that knows, by conversation, how each View is to be shown."""

    def __init__(self, servers: Mapping[str, object], **options: Any) -> None:
        super().__init__(servers, **options)
        self.cues: dict[str, _Cue] = {}

    def _session(self, record: ViewRecord, tasks: TaskGroup) -> Session:
        session = super()._session(record, tasks)
        if (cue := self.cues.get(record.conversation or "")) is not None:
            session.line = _NotedLine(cue.note)
            session.bridge.set_context(cue.context)
        return session

    def show_result(self, call: Call, arguments: JSONObject, result: JSONObject) -> None:
        """Show a call's View a result that no server has given, or open the View that it brings."""
        call.result = result
        if call.view is None:
            self._embed(call, arguments, result)
            return
        self._views.change(call.view, arguments=arguments, result=result)
        session = self._views.live(call.view)
        session.bridge.tool_input(arguments)
        session.bridge.tool_result(result)
        session.flush_soon()

    async def open(self, frame: LineFrame, origins: Origins, channel: Socket) -> PageLink:
        link = await super().open(frame, origins, channel)
        record = self._views.record(frame["view"])
        cue = None if record is None else self.cues.get(record.conversation or "")
        if cue is not None:
            # Once more: what a page told of itself came in between. Nothing has gone out before this.
            self._views.live(frame["view"]).bridge.set_context(cue.context)
        return link


class _Web(uvicorn.Server):
    """A web server that leaves the program's signals alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class LiveView:
    """A View in a browser. `Stage.open` and `open_view` open one.

    The View's policy forbids `eval`, so Playwright's `frame.wait_for_function` does not work; `frame.evaluate`,
    locators and `expect` do.
    """

    def __init__(
        self, page: "Page", host: Host, call: Call, cue: _Cue, uri: str, conversation: str, frozen: bool
    ) -> None:
        self.page = page
        """The host page, a Playwright `Page`."""
        self.host = host
        """The host."""
        self.call = call
        """The tool call that the View shows."""
        self.uri = uri
        """The `ui://` URI of the View."""
        self.console: list[ConsoleLine] = []
        """The lines in the browser console, from the View or about it."""
        self.errors: list[str] = []
        """Uncaught exceptions in the View."""
        self.violations: list[Violation] = []
        """The violations of the View's Content-Security-Policy."""
        self._cue = cue
        self._conversation = conversation
        # Where time is held, every animation has an end.
        self._longest_animation = math.inf if frozen else _LONGEST_ANIMATION
        self._loading: dict[BrowserRequest, str] = {}
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        page.on("request", self._requested)
        page.on("requestfinished", self._loaded)
        page.on("requestfailed", self._loaded)

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
    def messages(self) -> list[RecordedMessage]:
        """All messages in both directions, in order."""
        return self._cue.messages

    def sent(self, method: str) -> list[JSONObject]:
        """Return the params of each message with a method that the View sent."""
        return [said.params for said in self.messages if said.by == "view" and said.method == method]

    def received(self, method: str) -> list[JSONObject]:
        """Return the params of each message with a method that the host sent."""
        return [said.params for said in self.messages if said.by == "host" and said.method == method]

    @property
    def model_context(self) -> JSONObject | None:
        """The last model context update of the View, or None."""
        for told in self.host.model_context(self._conversation):
            return {key: value for key, value in told.items() if key not in ("view", "server")}
        return None

    @property
    def conversation(self) -> list[JSONObject]:
        """The messages that the View added to the conversation, each with `role` and `content`."""
        return self._cue.conversation

    def log(self) -> str:
        """Return the messages as JSON lines."""
        return json_lines(self.messages)

    async def initialized(self, within: float = 15.0) -> None:
        """Wait until the handshake is done. Raise `StageError` with what is missing."""
        with anyio.move_on_after(within):
            while not self.sent("ui/notifications/initialized"):
                await self._check()
                await anyio.sleep(0.01)
            return
        if self._frame() is None:
            raise StageError("open", f"The page did not load the View within {within:g} seconds.")
        if not self.sent("ui/initialize"):
            raise StageError(
                "initialize", f"The View did not send ui/initialize within {within:g} seconds.{self._why()}"
            )
        raise StageError(
            "initialize", f"The View did not send ui/notifications/initialized within {within:g} seconds.{self._why()}"
        )

    async def settled(self, within: float = 10.0) -> None:
        """Wait until the View is idle: it has its result, nothing is pending, and nothing has changed for a while.

        Raise `Unsettled` if that takes longer than `within` seconds.
        """
        await self.initialized(within)
        state = ""
        with anyio.move_on_after(within):
            before: tuple[Any, ...] = ()
            quiet = 0
            moved = monotonic()
            while True:
                await self._check()
                look: JSONObject | None = await self._look()
                now = (len(self.messages), look and look["changes"], look and look["layout"])
                state = self._under_way(look)
                if now != before or state:
                    before, quiet, moved = now, 0, monotonic()
                elif look is not None and look["busy"] and monotonic() - moved < self._longest_animation:
                    quiet = 0
                else:
                    quiet += 1
                if quiet >= QUIET_LOOKS:
                    return
        raise Unsettled(f"The View did not come to rest within {within:g} seconds: {state or 'it goes on changing'}.")

    def _under_way(self, look: JSONObject | None) -> str:
        """Say what the View still waits for, if anything."""
        result = ("ui/notifications/tool-result", "ui/notifications/tool-cancelled")
        if look is None:
            return "its document is not there"
        if look["loading"]:
            return "its document loads"
        if (self.call.result is not None or self.call.cancelled is not None) and not any(map(self.received, result)):
            return "it has not got its result"
        if self._cue.open_requests:
            by, method = next((by, method) for (by, _), method in self._cue.open_requests.items())
            return f"{'the host' if by == 'view' else 'the View'} has not answered {method}"
        if self._loading:
            return f"it loads {next(iter(self._loading.values()))}"
        return ""

    async def _look(self) -> JSONObject | None:
        from playwright.async_api import Error

        frame = self._frame()
        try:
            look: JSONObject | None = None if frame is None else await frame.evaluate(_LOOK)
        except Error:  # it went away, or another document comes
            look = None
        if look is None:
            await anyio.sleep(0.02)
        return look

    async def _check(self) -> None:
        """Raise if the page has given the View up."""
        reason = await self.page.evaluate("window.stageError ?? null")
        if reason is not None:
            raise StageError("open", str(reason))

    def _why(self) -> str:
        """Return what may explain that a View does nothing."""
        told = [*self.errors, *(str(line) for line in self.console if line.kind == "error")]
        return f" {told[0].splitlines()[0]}" if told else ""

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
                # A window that shows all of it: the browser draws nothing of other origins outside of the window.
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

    # What the browser tells

    def _named(self, url: str) -> str:
        """Return the View's own address for the one where its document is served here."""
        frame = self._frame()
        return self.uri if frame is not None and url == frame.url else url

    def _heard(self, message: "ConsoleMessage") -> None:
        text, location = message.text, message.location
        if message.type == "debug" and text.startswith(_MARK):
            told = json.loads(text.removeprefix(_MARK))
            self.violations.append(
                Violation(
                    told["effectiveDirective"],
                    told["blockedURI"],
                    self._named(told["sourceFile"] or self.frame.url),
                    told["lineNumber"],
                    told["columnNumber"],
                    told["sample"],
                )
            )
        elif _is_views(location["url"]):
            self.console.append(
                ConsoleLine(message.type, text, self._named(location["url"]), location["lineNumber"] + 1)
            )

    def _requested(self, request: "BrowserRequest") -> None:
        if request.resource_type not in _ENDLESS and request.url.startswith("http"):
            self._loading[request] = request.url

    def _loaded(self, request: "BrowserRequest") -> None:
        self._loading.pop(request, None)


class Stage:
    """A host on a free port of this machine, and a browser that shows its Views. Use it with `async with`.

    Views of several servers can be open at once. A View that is opened stays open until the end of its block.

    Args:
        servers: Names mapped to what `Host` accepts, or to what the command line accepts: a `.py` file, a folder, a
            URL.
        browser: A Playwright browser that runs, or the path of one to start. Default: one that is found.
        policy: Decides what Views may do. Default: everything is allowed.
        options: The options of `Host`.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        browser: "Browser | str | Path | None" = None,
        policy: Policy | None = None,
        **options: Any,
    ) -> None:
        given = {name: served(server) for name, server in servers.items()}
        self.host: Host
        """The host."""
        self.host = self._host = _StageHost(given, policy=policy or Policy(ALLOW), **options)
        self.address = ""
        """The address of the host page, while the stage is open."""
        self.browser: Browser
        """The Playwright browser, while the stage is open."""
        self._given = browser
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)
        self._host.on_message(self._message)

    async def __aenter__(self) -> Self:
        running_loop()
        async with AsyncExitStack() as stack:
            if self._given is None or isinstance(self._given, str | Path):
                self.browser = await stack.enter_async_context(launched(self._given))
            else:
                self.browser = self._given
            await stack.enter_async_context(self._host)
            await stack.enter_async_context(self._served())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        app = self._host.wrap(Starlette(routes=[Route("/", _page)]))
        config = uvicorn.Config(
            app,
            log_level="error",
            lifespan="off",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=1,
        )
        web = _Web(config)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            self.address = f"http://localhost:{listener.getsockname()[1]}"
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(web.serve, [listener])
                try:
                    yield
                finally:
                    web.should_exit = True

    async def _message(self, conversation: str | None, role: str, content: list[JSONObject]) -> None:
        if (cue := self._host.cues.get(conversation or "")) is not None:
            cue.conversation.append({"role": role, "content": content})

    @asynccontextmanager
    async def open(
        self,
        server: str,
        tool: str,
        arguments: JSONObject | None = None,
        *,
        theme: Theme | None = None,
        size: tuple[int, int] = (800, 600),
        mode: Mode = "inline",
        locale: str | None = None,
        time_zone: str | None = None,
        context: JSONObject | None = None,
        freeze: bool = False,
        scale: float = 1,
        run: bool = True,
        result: JSONObject | None = None,
        settle: bool = True,
        within: float = 20.0,
        on_leave: Callable[[LiveView], Awaitable[None]] | None = None,
        script: str = "",
    ) -> AsyncIterator[LiveView]:
        """Call a tool and show its View in a window of its own, for a block. Raise `StageError` if it does not appear.

        Of several Views that a result brings, the first is shown.

        Args:
            server: The server to call.
            tool: The tool to call.
            arguments: The arguments of the call.
            theme: The theme of the browser, which the View gets too.
            size: Width and height of the window.
            mode: The display mode.
            locale: The locale of the browser, which the View gets too.
            time_zone: The time zone of the browser, which the View gets too.
            context: Further keys of the host context.
            freeze: Whether to fix time, random numbers and animations.
            scale: Device pixels per CSS pixel.
            run: Whether to run the call. If not, it has only begun: use `view.call.feed`, `run` and `cancel`.
            result: A result to show, instead of calling the tool.
            settle: Whether to wait until the View is idle. A View that never is idle is not an error.
            within: How many seconds to wait.
            on_leave: `await on_leave(view)` is called before the page is closed, also if the View did not appear.
            script: JavaScript that runs in each document before its own.
        """
        told = context or {}
        cue = _Cue({**told, "displayMode": mode})
        conversation = f"stage-{next(self._numbers)}"
        self._host.cues[conversation] = cue
        call = await self._begin(server, tool, conversation)
        if call.view is None:
            await self._bring(call, arguments or {}, run, result)
        record = self._host._views.record(call.view or "")
        assert record is not None
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        browser = await self.browser.new_context(
            viewport=viewport,
            color_scheme=theme or told.get("theme") or "light",
            locale=locale or told.get("locale") or "en-US",
            timezone_id=time_zone or told.get("timeZone") or "UTC",
            reduced_motion="reduce" if freeze else "no-preference",
            device_scale_factor=scale,
        )
        try:
            await browser.add_init_script(_scripts(freeze) + script)
            page = await browser.new_page()
            view = LiveView(page, self._host, call, cue, record.uri, conversation, freeze)
            try:
                await page.goto(self.address)
                await page.evaluate(_SHOW, [call.view, call.token])
                if call.result is None and result is not None:
                    self._host.show_result(call, arguments or {}, result)
                elif call.result is None and run:
                    await self._run(call, arguments or {})
                if settle:
                    await _settle(view, within)
                yield view
            finally:
                if on_leave is not None:
                    await on_leave(view)
        finally:
            await browser.close()

    async def _begin(self, server: str, tool: str, conversation: str) -> Call:
        try:
            await self._host.servers[server].ready(30)
        except FanlightError as error:
            raise StageError("connect", str(error)) from None
        try:
            return self._host.begin(server, tool, conversation)
        except KeyError as error:
            raise StageError("tool", str(error.args[0])) from None

    async def _bring(self, call: Call, arguments: JSONObject, run: bool, result: JSONObject | None) -> None:
        """Let the result bring the View that the tool has no link to, as with mcp-ui."""
        if result is not None:
            self._host.show_result(call, arguments, result)
        elif run:
            await self._run(call, arguments)
        if call.view is None:
            brings = ", and its result brings none" if call.result is not None else ""
            reason = f"The tool {call.tool!r} has no View: there is no ui.resourceUri in its _meta{brings}."
            raise StageError("tool", reason)

    async def _run(self, call: Call, arguments: JSONObject) -> None:
        try:
            await call.run(arguments)
        except Unfinished as error:
            raise StageError("call", str(error)) from None


@asynccontextmanager
async def open_view(
    server: object,
    tool: str,
    arguments: JSONObject | None = None,
    *,
    browser: "Browser | str | Path | None" = None,
    policy: Policy | None = None,
    **options: Any,
) -> AsyncIterator[LiveView]:
    """Open one View of one server for a block, with a stage of its own.

    Args:
        server: What `Stage` accepts for a server.
        tool: The tool to call.
        arguments: The arguments of the call.
        browser: As for `Stage`.
        policy: As for `Stage`.
        options: The options of `Stage.open`.
    """
    async with (
        Stage({"server": server}, browser=browser, policy=policy) as stage,
        stage.open("server", tool, arguments, **options) as view,
    ):
        yield view


async def _settle(view: LiveView, within: float) -> None:
    try:
        await view.settled(within)
    except Unsettled:
        if view._frame() is None:
            raise


def _is_views(url: str) -> bool:
    """Tell whether an address is not of the page or the proxy around a View."""
    return ".sandbox.localhost:" in url or "localhost:" not in url


async def _page(request: Request) -> Response:
    return HTMLResponse(_file("stage.html"))


@cache
def _file(name: str) -> str:
    return files("fanlight.testing").joinpath(name).read_text(encoding="utf-8")


def _scripts(freeze: bool) -> str:
    # As one, so that they run in this order.
    return _file("watch.js") + (_file("freeze.js") if freeze else "")
