"""One live View: the place where bridge, browser and server meet."""

import itertools
import logging
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any, Final, Protocol

import anyio
from anyio.abc import TaskGroup
from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from fanlight.host.background import guarded
from fanlight.host.errors import RequestError
from fanlight.host.limits import Limits, Rate
from fanlight.host.validation import check_seconds
from fanlight.host.views.channel import PageChannel, PageSocket
from fanlight.host.views.frames import (
    Answer,
    AskUser,
    CancelCommand,
    Closed,
    Command,
    CommandResult,
    Download,
    MessageToView,
    OpenLink,
    Resize,
    SetDisplayMode,
    ShowView,
    read_answer,
)
from fanlight.protocol import events, jsonrpc
from fanlight.protocol.bridge import Bridge
from fanlight.protocol.events import Event
from fanlight.protocol.jsonrpc import INTERNAL_ERROR, REFUSED, JSONObject, Message, RequestId

logger = logging.getLogger(__name__)
views_logger = logging.getLogger("fanlight.views")
"""What Views log: a name of its own, so that a program can be deaf to it."""

# The tracer of the SDK, so that what a View asks for and what that causes at its server are one trace.
_tracer = get_tracer("mcp-python-sdk")


_served: ContextVar[RequestId | None] = ContextVar("served", default=None)
"""The View's request that a task serves."""

_PENANCE: Final = 0.02
"""How long a View that is over a limit is not heard, in seconds, for each message too many."""

_MOST_LOGGED: Final = 2000
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}


class Progress(Protocol):
    """Hears how far a request of the View has come."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Heard:
    """A message of a View, as it came."""

    __slots__ = ("at", "id", "method", "params", "size")

    def __init__(self, message: object, size: int, at: float) -> None:
        fields = message if isinstance(message, dict) else {}
        method, id, params = fields.get("method"), fields.get("id"), fields.get("params")
        self.method = method if isinstance(method, str) else "(answer)" if "id" in fields else "(nonsense)"
        self.id: RequestId | None = id if isinstance(method, str) and jsonrpc.is_id(id) else None
        self.params: JSONObject = params if isinstance(params, dict) else {}
        self.size = size
        self.at = at


class Backend(Protocol):
    """What a session needs of the host around it."""

    def answered(self, session: "Session", heard: Heard, answer: Message, size: int) -> None:
        """Write down that a request is about to be answered."""

    def told(self, session: "Session", heard: Heard, event: Event | None) -> None:
        """Write down what a View said that needs no answer."""

    def dropped(self, session: "Session", heard: Heard, reason: str) -> None:
        """Write down what was too much to be read."""

    def spoke(self, session: "Session", older: str, today: str) -> None:
        """Write down that a View used a word of an older dialect for the first time."""

    async def call_tool_for_view(
        self, session: "Session", name: str, arguments: JSONObject, progress: Progress
    ) -> JSONObject: ...

    async def ask_server(self, session: "Session", method: str, params: JSONObject) -> JSONObject: ...

    async def sample(self, session: "Session", params: JSONObject) -> JSONObject: ...

    async def message(self, session: "Session", role: str, content: tuple[JSONObject, ...]) -> None: ...

    async def update_context(self, session: "Session", update: JSONObject) -> None: ...

    async def keep_state(self, session: "Session", state: Any) -> None: ...

    async def link(self, session: "Session", url: str) -> None: ...

    async def download(
        self, session: "Session", contents: tuple[JSONObject, ...]
    ) -> tuple[list[JSONObject], list[str]]: ...

    async def app_tools_changed(self, session: "Session") -> None: ...

    async def closing(self, session: "Session") -> None: ...


@dataclass(frozen=True)
class Timeouts:
    """How long the host waits, in seconds from 0 up. `math.inf` means without a limit."""

    tools: float = 5.0
    """For servers to answer for the first time, counted from their start, when `Host.tools` is called."""
    connect: float = 10.0
    """For a server to connect, when one of its tools is called."""
    call: float = 300.0
    """For a server to run a tool."""
    teardown: float = 2.0
    """For a View to answer `ui/resource-teardown`."""
    browser: float = 30.0
    """For a page to do something, such as opening a link, or to reconnect while a question is open."""
    app_tool: float = 30.0
    """For a View to run one of its own tools (D-SEC-04)."""
    question: float = 120.0
    """For a user to answer a question. After that it counts as denied."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_seconds(field.name, getattr(self, field.name))


class Session:
    """Runs one bridge. What a View asks runs in a task of the host's, and ends with the session."""

    def __init__(
        self,
        id: str,
        bridge: Bridge,
        backend: Backend,
        tasks: TaskGroup,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        self.id = id
        self._labels = {"fanlight.view": id, **(labels or {})}
        self.bridge = bridge
        self.line = PageChannel()
        self.height: float | None = None
        self.away_since: float | None = (began := monotonic())
        """Since when no page shows the View; None while one does."""
        self._backend = backend
        self._tasks = tasks
        self._timeouts = timeouts or Timeouts()
        self._limits = limits or Limits()
        self._messages = Rate(self._limits.messages_per_second, began)
        self._sizes = Rate(self._limits.size_changes_per_second, began)
        self._size_waits = False
        self._heard: dict[RequestId, Heard] = {}
        self._running: dict[RequestId, anyio.CancelScope] = {}
        self._answers: dict[int, _Promise] = {}
        self._commands: dict[int, _Promise] = {}
        self._command_ids = itertools.count(1)
        self._partial_frame = 0

    # The page

    async def begin(self, socket: PageSocket, show: ShowView) -> None:
        """Use the socket of a page that is about to load the View."""
        self.away_since = None
        await self.line.begin(socket, show)

    async def resume(self, socket: PageSocket, seen: int) -> None:
        """Use the socket of a page that still has the View, and send what it has missed."""
        self.away_since = None
        await self.line.resume(socket, seen)
        await self.flush()

    def detach(self, socket: PageSocket, *, closed: bool = False) -> None:
        """Stop using a socket. With `closed`, its page is gone; otherwise the page may reconnect on another socket.

        Commands fail when the page is closed, or when it does not reconnect in time.
        """
        self.line.detach(socket)
        if self.attached:
            return
        self.away_since = monotonic()
        if closed:
            self._give_up("The page was closed.")
        elif self._commands:
            self._start(None, self._miss(self.away_since))

    async def _miss(self, away_since: float) -> None:
        """Wait a while for a page that was lost."""
        await anyio.sleep(self._timeouts.browser)
        if self.away_since == away_since:
            self._give_up("The page was lost.")

    def _give_up(self, reason: str) -> None:
        for command in self._commands.values():
            command.settle({}, RequestError(reason))

    async def flush(self) -> None:
        """Deliver what the bridge has to say. An answer is written down before it leaves."""
        for message in self.bridge.outgoing():
            is_partial = message.get("method", "").endswith("/notifications/tool-input-partial")
            # Only one partial input is under way at a time, so the page acknowledges it at once.
            number, text = self.line.keep(MessageToView(message, ack_now=is_partial or None))
            if is_partial:
                self._partial_frame = number
            elif "method" not in message:
                text = self._answered(message, number, text)
            await self.line.deliver(text)

    def _answered(self, message: Message, number: int, text: str) -> str:
        """Write an answer to the View down, and return what is sent of it."""
        most = self._limits.result_bytes
        if "result" in message and len(text) > most:
            self.line.withdraw(number)
            reason = f"The result has {len(text):,} characters; a View is given at most {most:,}."
            message = jsonrpc.error(message["id"], REFUSED, reason)
            _, text = self.line.keep(MessageToView(message))
        heard = self._heard.pop(message["id"], None)
        if heard is not None:
            self._backend.answered(self, heard, message, len(text))
        return text

    def flush_soon(self) -> None:
        """The same for those who must not wait for a page."""
        self._start(None, self.flush())

    @property
    def attached(self) -> bool:
        """Whether a page shows the View now."""
        return self.line.attached

    @property
    def partial_under_way(self) -> bool:
        """Whether the page has not yet got the last partial input."""
        return self._partial_frame > self.line.acknowledged

    async def receive(self, message: object, size: int = 0) -> None:
        """Take a message from the View, within the limits."""
        heard = Heard(message, size, monotonic())
        excess = self._excess(heard)
        if excess is not None:
            self.bridge.turn_away(message, excess)
            if heard.id is not None and heard.id not in self.bridge.open_requests:
                self._heard[heard.id] = heard
            self._backend.dropped(self, heard, excess)
            await self.flush()
            await anyio.sleep(_PENANCE)
            return
        if heard.id is not None and heard.id not in self.bridge.open_requests:
            self._heard[heard.id] = heard
        known = len(self.bridge.older_words)
        event = self.bridge.receive(message)
        if len(self.bridge.older_words) > known:
            for older, today in tuple(self.bridge.older_words.items())[known:]:
                self._backend.spoke(self, older, today)
        if heard.id is None:
            self._backend.told(self, heard, event)
        await self.flush()
        if event is not None:
            await self._act(event)

    def _excess(self, heard: "Heard") -> str | None:
        """Say which limit a message is over, if any."""
        if not self._messages.take(heard.at):
            return f"This View sends too much: at most {self._limits.messages_per_second:g} messages a second."
        if heard.id is not None and len(self.bridge.open_requests) >= self._limits.requests_in_flight:
            return f"This View waits for {self._limits.requests_in_flight} answers already, which is the most."
        return None

    async def question(self, question: AskUser) -> Answer:
        """Have the page ask the user, and tell the View that it waits. Raises RequestError if no answer came."""
        waiting = _served.get()
        if waiting is not None:
            self.bridge.progress(waiting, 0, message="Waiting for the user to decide.")
            await self.flush()
        return read_answer(await self.command(question, self._timeouts.question))

    async def command(self, command: Command, seconds: float | None = None) -> JSONObject:
        """Send a command to the page and return its result. Raises RequestError if it failed or timed out."""
        if not self.attached:
            raise RequestError("No page shows this View now.")
        id = next(self._command_ids)
        promise = self._commands[id] = _Promise()
        number = await self.line.send(replace(command, id=id))
        try:
            with anyio.fail_after(self._timeouts.browser if seconds is None else seconds):
                return await promise.wait()
        except TimeoutError:
            raise RequestError("The page did not answer in time.") from None
        finally:
            if self._commands.pop(id, None) is not None:
                self.line.withdraw(number)
                await self._take_back(id)

    async def _take_back(self, id: int) -> None:
        """Tell the page that a command is over, whatever became of it."""
        with anyio.CancelScope(shield=True):
            await self.line.send(CancelCommand(id))

    def receive_command_result(self, result: CommandResult) -> None:
        """Complete a command with the page's result. Does nothing if the command was cancelled."""
        promise = self._commands.pop(result.id, None)
        if promise is not None:
            promise.settle(result.result or {}, None if result.error is None else RequestError(result.error))

    # What the View wants

    async def _act(self, event: Event) -> None:
        match event:
            case events.SizeChanged(height=height) if height is not None:
                self.height = height
                await self._tell_size()
            case events.Ready() if "tools" in self.bridge.app_capabilities:
                self._start(None, self._backend.app_tools_changed(self))
            case events.AppToolsChanged():
                self._start(None, self._backend.app_tools_changed(self))
            case events.Logged(level=level, data=data):
                # As repr, so that a View cannot write lines of its own.
                views_logger.log(_LEVELS.get(level, logging.ERROR), "%s: %.*s", self.id, _MOST_LOGGED, repr(data))
            case events.TeardownRequested():
                self.close_soon()
            case events.Cancelled(id=id):
                self._heard.pop(id, None)
                if (scope := self._running.pop(id, None)) is not None:
                    scope.cancel()
            case events.Answered(id=id, result=result, error=error):
                if (promise := self._answers.pop(id, None)) is not None:
                    promise.settle(result or {}, None if error is None else _view_error(error))
            case events.ToolCalled(id=id, name=name, arguments=arguments):
                work = self._backend.call_tool_for_view(self, name, arguments, self._progress_of(id))
                self._start(id, self._answer(id, work))
            case events.ServerAsked(id=id, method=method, params=params):
                self._start(id, self._answer(id, self._backend.ask_server(self, method, params)))
            case events.SamplingRequested(id=id, params=params):
                self._start(id, self._answer(id, self._backend.sample(self, params)))
            case events.MessageRequested(id=id, role=role, content=content):
                self._start(id, self._answer(id, _empty(self._backend.message(self, role, content))))
            case events.ContextUpdated(id=id, content=content, structured=structured):
                update: JSONObject = {"content": list(content)}
                if structured is not None:
                    update["structuredContent"] = structured
                self._start(id, self._answer(id, _empty(self._backend.update_context(self, update))))
            case events.StateKept(id=id, state=state):
                self._start(id, self._answer(id, _empty(self._backend.keep_state(self, state))))
            case events.LinkRequested(id=id, url=url):
                self._start(id, self._answer(id, self._open_link(url)))
            case events.DownloadRequested(id=id, contents=contents):
                self._start(id, self._answer(id, self._save(contents)))
            case events.DisplayModeRequested(id=id, mode=mode):
                self._start(id, self._answer(id, self._change_mode(mode)))

    def _start(self, id: RequestId | None, work: Awaitable[None]) -> None:
        scope = anyio.CancelScope()
        # What ends the session must not be ended by it.
        if id is not None:
            self._running[id] = scope

        async def task() -> None:
            _served.set(id)
            with scope:
                try:
                    await work
                except Exception:  # one View's misfortune is not that of all others
                    logger.exception("View %s: the host failed at what it did for the View", self.id)
            if id is not None and self._running.get(id) is scope:
                del self._running[id]

        self._tasks.start_soon(guarded, task)

    async def _answer(self, id: RequestId, work: Awaitable[JSONObject]) -> None:
        heard = self._heard.get(id)
        name = "ui" if heard is None else heard.method
        with _tracer.start_as_current_span(name, kind=SpanKind.SERVER, attributes=self._labels) as span:
            try:
                result = await work
            except RequestError as failed:
                span.set_status(StatusCode.ERROR, str(failed))
                self.bridge.refuse(id, str(failed), failed.code, failed.data)
            except Exception as error:
                logger.exception("View %s: a request of the View failed inside the host", self.id)
                span.record_exception(error)
                span.set_status(StatusCode.ERROR)
                self.bridge.refuse(id, "The host failed to answer.", INTERNAL_ERROR)
            else:
                self.bridge.respond(id, result)
        await self.flush()

    def _progress_of(self, id: RequestId) -> Progress:
        async def relay(progress: float, total: float | None, message: str | None) -> None:
            self.bridge.progress(id, progress, total, message)
            await self.flush()

        return relay

    async def _tell_size(self) -> None:
        """Give the page the View's height; where heights come too fast, only the last of them."""
        if self.height is not None and self._sizes.take(monotonic()):
            await self.line.send(Resize(self.height))
        elif not self._size_waits:
            self._size_waits = True
            self._start(None, self._tell_size_later())

    async def _tell_size_later(self) -> None:
        await anyio.sleep(max(1 / self._limits.size_changes_per_second, 0.05))
        self._size_waits = False
        await self._tell_size()

    async def _open_link(self, url: str) -> JSONObject:
        await self._backend.link(self, url)
        await self.command(OpenLink(url=url))
        return {}

    async def _save(self, contents: tuple[JSONObject, ...]) -> JSONObject:
        files, links = await self._backend.download(self, contents)
        if files:
            await self.command(Download(files=files))
        for url in links:
            await self._open_link(url)
        return {}

    async def show_as(self, mode: str) -> None:
        """Have the page show the View in another display mode, and tell the View."""
        await self._change_mode(mode)
        await self.flush()

    async def _change_mode(self, mode: str) -> JSONObject:
        done = await self.command(SetDisplayMode(mode=mode))
        now = done.get("mode", mode)
        self.bridge.set_context({"displayMode": now})  # DSP-08: Views keep the notification, not the answer
        return {"mode": now}

    # What the host wants

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Ask the View something, such as to call one of its own tools."""
        id = self.bridge.ask(method, params)
        promise = self._answers[id] = _Promise()
        await self.flush()
        try:
            with anyio.fail_after(self._timeouts.app_tool):
                return await promise.wait()
        except TimeoutError:
            raise RequestError(f"The View did not answer {method} in {self._timeouts.app_tool:g} seconds.") from None
        finally:
            if self._answers.pop(id, None) is not None:
                self.bridge.give_up(id)
                await self.flush()

    def close_soon(self) -> None:
        """Close for those through whom the View's own answer has to come."""
        self._start(None, self._backend.closing(self))

    async def close(self, reason: str | None = None) -> None:
        """Let the View get ready, for a bounded time, and end the session (TDN-01, TDN-03)."""
        if self.attached and (id := self.bridge.teardown(reason)) is not None:
            promise = self._answers[id] = _Promise()
            await self.flush()
            with anyio.move_on_after(self._timeouts.teardown):
                await promise.wait_settled()
        self.stop()
        await self.line.send(Closed())

    def stop(self) -> None:
        """End the session at once, as when its document is loaded anew."""
        self.bridge.close()
        for waiting in (*self._answers.values(), *self._commands.values()):
            waiting.settle({}, RequestError("The View was closed."))
        for scope in self._running.values():
            scope.cancel()
        self._running.clear()


class _Promise:
    """An answer that will come."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._result: JSONObject = {}
        self._error: RequestError | None = None

    def settle(self, result: JSONObject, error: RequestError | None) -> None:
        if not self._event.is_set():
            self._result, self._error = result, error
            self._event.set()

    async def wait_settled(self) -> None:
        await self._event.wait()

    async def wait(self) -> JSONObject:
        await self._event.wait()
        if self._error is not None:
            raise self._error
        return self._result


async def _empty(work: Awaitable[None]) -> JSONObject:
    await work
    return {}


def _view_error(error: JSONObject) -> RequestError:
    code = error.get("code")
    message = error.get("message")
    return RequestError(
        message if isinstance(message, str) else "The View answered with an error.",
        code if isinstance(code, int) else REFUSED,
        error.get("data"),
    )
