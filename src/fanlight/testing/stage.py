"""A stage for Views: a host on a free port of this machine, and a browser whose pages show Views.

    async with Stage({"clock": server}) as stage:
        async with stage.open("clock", "get_time", {"zone": "UTC"}, theme="dark") as view:
            await view.frame.get_by_role("button").click()
            await view.wait_until_settled()
            assert view.sent("tools/call") == [...]

Everything runs in the event loop of the test, including servers that are objects of this program.
"""

import itertools
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from fanlight.dev.source_lines import Lines
from fanlight.dev.targets import resolve_server, with_diagnostics
from fanlight.host.calls.call import Call
from fanlight.host.calls.runner import CallView
from fanlight.host.consent.policy import Policy
from fanlight.host.errors import CallCancelledError, UnknownToolError
from fanlight.host.handlers import Message
from fanlight.host.host import Host, runtime_of
from fanlight.host.upstream.config import Command
from fanlight.host.views.records import Owner
from fanlight.host.views.session_factory import SessionOptions
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.testing.browser import launch_browser, running_loop
from fanlight.testing.live_view import LiveView, OnLeave, Recording, StageError, UnsettledError
from fanlight.testing.permissive import ALLOW_ALL

if TYPE_CHECKING:
    from playwright.async_api import Browser, ViewportSize

__all__ = ["Stage", "open_view"]

Mode = Literal["inline", "fullscreen", "pip"]
Theme = Literal["light", "dark"]


class _Web(uvicorn.Server):
    """A web server that does not handle the signals of this program."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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
        self._lines = Lines()
        targets = {name: self._with_diagnostics(resolve_server(server)) for name, server in servers.items()}
        self.host: Host
        """The host."""
        self.host = Host(targets, policy=policy or Policy(ALLOW_ALL), **options)
        self.address = ""
        """The address of the host page, while the stage is open."""
        self.browser: Browser
        """The Playwright browser, while the stage is open."""
        self._given_browser = browser
        self._stderr: dict[str, list[str]] = {name: [] for name in targets}
        for name, lines in self._stderr.items():
            self.host.servers[name].observe_stderr(lines.append)
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)
        self._recordings: dict[str, Recording] = {}
        self.host.on_message(self._message)

    def _with_diagnostics(self, server: object) -> object:
        return with_diagnostics(server, self._lines) if isinstance(server, Command) else server

    async def __aenter__(self) -> Self:
        running_loop()
        async with AsyncExitStack() as stack:
            stack.callback(self._lines.close)
            if self._given_browser is None or isinstance(self._given_browser, str | Path):
                self.browser = await stack.enter_async_context(launch_browser(self._given_browser))
            else:
                self.browser = self._given_browser
            await stack.enter_async_context(self.host)
            await stack.enter_async_context(self._serve())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[None]:
        app = self.host.wrap(Starlette(routes=[Route("/", _page)]))
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

    async def _message(self, message: Message) -> None:
        if (recording := self._recordings.get(message.conversation or "")) is not None:
            recording.conversation.append({"role": message.role, "content": message.content})

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
        view: str | None = None,
        settle: bool = True,
        within: float = 20.0,
        on_leave: OnLeave | None = None,
        script: str = "",
    ) -> AsyncIterator[LiveView]:
        """Call a tool and show its View in a window of its own, for a block. Raise `StageError` if it does not appear.

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
            view: The `ui://` URI of the View to show, if the result brings several. Default: the first.
            settle: Whether to wait until the View is idle. A View that is never idle is not an error.
            within: How many seconds to wait.
            on_leave: `await on_leave(view)` is called before the page is closed, also if the View did not appear.
            script: JavaScript that runs in each document before its own.
        """
        own_context = context or {}
        recording = Recording()
        conversation = f"stage-{next(self._numbers)}"
        self._recordings[conversation] = recording
        options = SessionOptions({**own_context, "displayMode": mode}, recording.add)
        runtime_of(self.host).sessions.set_options(conversation, options)
        call = await self._begin(server, tool, conversation)
        written = len(self._stderr[server])
        shown = await self._choose(call, view, arguments or {}, run, result)
        viewport: ViewportSize = {"width": size[0], "height": size[1]}
        browser_context = await self.browser.new_context(
            viewport=viewport,
            color_scheme=theme or own_context.get("theme") or "light",
            locale=locale or own_context.get("locale") or "en-US",
            timezone_id=time_zone or own_context.get("timeZone") or "UTC",
            reduced_motion="reduce" if freeze else "no-preference",
            device_scale_factor=scale,
        )
        try:
            await browser_context.add_init_script(_scripts(freeze) + script)
            page = await browser_context.new_page()
            locate = partial(self._locate, server, shown.uri)
            stderr = partial(self._stderr_since, server, written)
            live = LiveView(page, self.host, call, shown, recording, locate, stderr, frozen=freeze)
            try:
                await page.goto(self.address)
                await live.show()
                if call.result is None and result is not None:
                    await call.show_result(arguments or {}, result)
                elif call.result is None and run:
                    await self._run(call, arguments or {})
                if settle:
                    await _settle(live, within)
                yield live
            finally:
                if on_leave is not None:
                    await on_leave(live)
        finally:
            await browser_context.close()

    def _stderr_since(self, server: str, written: int) -> list[str]:
        return self._stderr[server][written:]

    def _locate(self, server: str, uri: str, line: int, column: int) -> str | None:
        """Return the author's file and line for a place in a View's document, if the server reported them."""
        digest = runtime_of(self.host).opener.shown_digest(server, uri, None)
        place = self._lines.place(digest or "", line, column)
        return None if place is None else f"{place.file}:{place.line}"

    async def _begin(self, server: str, tool: str, conversation: str) -> Call:
        try:
            await self.host.servers[server].ready(30)
        except FanlightError as error:
            raise StageError("connect", str(error)) from None
        try:
            return await runtime_of(self.host).begin(server, tool, Owner(None, conversation))
        except UnknownToolError as error:
            raise StageError("tool", str(error)) from None

    async def _choose(
        self, call: Call, view: str | None, arguments: JSONObject, run: bool, result: JSONObject | None
    ) -> CallView:
        """Return the View to show. Get the result first if only the result can bring that View, as with mcp-ui."""
        linked = call.views[0].uri if call.views else None
        if linked is None or view not in (None, linked):
            if result is not None:
                await call.show_result(arguments, result)
            elif run:
                await self._run(call, arguments)
        if not call.views:
            brings = ", and its result brings none" if call.result is not None else ""
            reason = f"The tool {call.tool!r} has no View: there is no ui.resourceUri in its _meta{brings}."
            raise StageError("tool", reason)
        chosen = next((each for each in call.views if view in (None, each.uri)), None)
        if chosen is None:
            uris = ", ".join(each.uri for each in call.views)
            raise StageError("tool", f"The tool {call.tool!r} shows no View {view!r}. It shows {uris}.")
        return chosen

    async def _run(self, call: Call, arguments: JSONObject) -> None:
        try:
            await call.run(arguments)
        except CallCancelledError as error:
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
        await view.wait_until_settled(within)
    except UnsettledError:
        if not view.is_loaded:
            raise


async def _page(request: Request) -> Response:
    return HTMLResponse(_file("stage.html"))


@cache
def _file(name: str) -> str:
    return files("fanlight.testing").joinpath(name).read_text(encoding="utf-8")


def _scripts(freeze: bool) -> str:
    # One script, because the browser does not promise to run several in order.
    return _file("watch.js") + (_file("freeze.js") if freeze else "")
