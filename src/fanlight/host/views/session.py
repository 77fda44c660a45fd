"""One live View: connects its bridge, the page that shows it, and the host."""

import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, Final, Literal

import anyio

from fanlight.host import metrics
from fanlight.host.consent.policy import App
from fanlight.host.errors import StoreError
from fanlight.host.json_text import encode_json
from fanlight.host.settings import Limits, Timeouts
from fanlight.host.store.base import ViewRecord
from fanlight.host.views.interfaces import MessageLog, Progress, RequestHandler, Tasks
from fanlight.host.views.page.channel import RESTARTING, PageChannel, PageSocket
from fanlight.host.views.page.commands import PageCommands
from fanlight.host.views.page.frames import (
    Answer,
    AskUser,
    Closed,
    CommandResult,
    ContextChanged,
    DisplayModeChanged,
    Download,
    Elsewhere,
    MessageFromView,
    ModelContext,
    OpenLink,
    OpenView,
    PageCommand,
    ReceivedFrame,
    Reload,
    Resize,
    SetDisplayMode,
    ShowView,
    read_answer,
)
from fanlight.host.views.page.outbox import Outbox
from fanlight.host.views.rate_limit import RateLimit
from fanlight.host.views.requests.host_requests import HostRequests
from fanlight.host.views.requests.message import ViewMessage
from fanlight.host.views.requests.open_requests import OpenRequests, current_request
from fanlight.protocol import events
from fanlight.protocol.bridge import Bridge, State
from fanlight.protocol.events import Event
from fanlight.protocol.jsonrpc import JSONObject, RequestId

logger = logging.getLogger(__name__)
views_logger = logging.getLogger("fanlight.views")
"""The log messages of Views, under a name of their own so that a program can silence them."""

_FIRST_ID_AFTER_RESTART: Final = 2**30
"""Requests of a process that continues with a View have ids from here on, so that they differ from earlier ones."""

_LOST: Final = (
    "The host was restarted before it answered this request. It may have been carried out, so it was not repeated."
)

_STOPPED: Final = (
    "The host stopped before it finished this request. It may have been carried out, so it was not repeated."
)

_RATE_LIMIT_PAUSE: Final = 0.02
"""How many seconds the session stops reading for each message that exceeds a limit."""

_MAX_LOGGED: Final = 2000
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING}

MessageObserver = Callable[[Literal["host", "view"], object], None]
"""Called with the sender and each message between the host and a View, in order."""


Save = Callable[[JSONObject, bool], Awaitable[None]]
"""Stores what another process needs to continue with a View, and whether this one has ended its session."""


class Session:
    """Runs the bridge of one View and owns the channel to its page.

    A request of the View that may take long is served in a task of the host, which is cancelled when the session ends.
    Methods that change what the View knows send it in the background.

    Args:
        app: The View, with its server and its owner.
        bridge: The host's end of the protocol, which only this session uses.
        requests: Serves the View's requests.
        log: Records the View's messages.
        tasks: Runs background tasks.
        on_close: Closes the View when it or its page asks for it.
        timeouts: How long to wait for the page and the View.
        limits: How much the View may use.
        labels: Attributes of the View's trace spans.
        observer: Called with each message in both directions.
        fixed_context: Keys of the host context that the page's reports do not change.
        save: Stores what another process needs to continue with the View; with True, this one has ended its session.
        on_away: Called when no page shows the View any more.
        first_command: The id of the first command to the page.
    """

    def __init__(
        self,
        app: App,
        bridge: Bridge,
        requests: RequestHandler,
        log: MessageLog,
        tasks: Tasks,
        on_close: Callable[["Session"], Awaitable[None]],
        *,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        labels: Mapping[str, str] | None = None,
        observer: MessageObserver | None = None,
        fixed_context: Collection[str] = (),
        save: Save | None = None,
        on_away: Callable[[], None] = lambda: None,
        first_command: int = 1,
    ) -> None:
        self.app = app
        """The View, with its server and its owner."""
        self.id = app.view
        """The id of the View."""
        self.height: float | None = None
        """The height that the View reported last, in pixels."""
        self.away_since: float | None = (now := monotonic())
        """Since when no page shows the View; None while one does."""
        self._bridge = bridge
        self._channel = PageChannel()
        self._requests = requests
        self._log = log
        self._tasks = tasks
        self._on_close = on_close
        self._timeouts = timeouts or Timeouts()
        self._limits = limits or Limits()
        self._observer = observer
        self._fixed_context = fixed_context
        self._message_rate = RateLimit(self._limits.messages_per_second, now)
        self._size_rate = RateLimit(self._limits.size_changes_per_second, now)
        self._size_pending = False
        self._open_requests = OpenRequests(app, bridge, self.flush, log, tasks, labels or {})
        self._host_requests = HostRequests(bridge, self.flush)
        self._commands = PageCommands(self._channel, first_command)
        self._outbox = Outbox(
            bridge,
            self._channel,
            self._open_requests,
            tasks,
            self._limits.result_characters,
            None if observer is None else partial(observer, "host"),
            self._reach,
        )
        self._save = save
        self._on_away = on_away
        self._reached: dict[str, int] = {}
        self._lost_until = 0
        self._next_partial: JSONObject | None = None
        self._is_counted = True
        metrics.sessions.add(1)

    # State

    @property
    def attached(self) -> bool:
        """Whether a page shows the View now."""
        return self._channel.attached

    @property
    def is_new(self) -> bool:
        """Whether no document has sent `ui/initialize` yet."""
        return self._bridge.state is State.NEW

    @property
    def is_ready(self) -> bool:
        """Whether the View is initialized and not closing."""
        return self._bridge.state is State.READY

    @property
    def is_closed(self) -> bool:
        """Whether the session has ended."""
        return self._bridge.state is State.CLOSED

    @property
    def partial_in_flight(self) -> bool:
        """Whether the page has not acknowledged the last partial input yet."""
        return self._outbox.partial_in_flight

    @property
    def has_open_requests(self) -> bool:
        """Whether a request of the View has no response yet."""
        return bool(self._bridge.open_requests)

    async def wait_for_responses(self) -> None:
        """Wait until each request of the View has a response."""
        while self.has_open_requests:
            await self._open_requests.wait_for_change()

    @property
    def context(self) -> JSONObject:
        """The host context as the View gets it."""
        return self._bridge.context

    @property
    def capabilities(self) -> JSONObject:
        """The capabilities of the host for this View."""
        return self._bridge.capabilities

    # The page

    async def begin(self, socket: PageSocket, show: ShowView, sandbox: JSONObject) -> None:
        """Use the socket of a page that is about to load the View, and make it show the View.

        `sandbox` is what `hostCapabilities.sandbox` says: the approved `csp` and the granted `permissions`. A page
        that waits for the same document is released first: a session has one page.
        """
        self.release_page()
        self.away_since = None
        self._bridge.describe_sandbox(sandbox)
        epoch = secrets.token_urlsafe(9)
        self._reached.clear()
        self._lost_until = 0
        await self._channel.begin(socket, replace(show, mode=self._bridge.display_mode, epoch=epoch))

    async def take_over(self, socket: PageSocket, request: OpenView, record: ViewRecord) -> None:
        """Continue with a View for a process that ended, on the socket of the page that shows the View.

        Requests that the former process received and did not answer are answered with an error: it may have carried
        them out, so they are not repeated.
        """
        saved, seen = record.session, request.seen
        assert saved is not None, "the caller has compared the epochs"
        assert seen is not None, "the page resumes"
        self.away_since = None
        channel = saved.get("channel")
        if channel is not None and seen <= channel["last"]:
            await self._continue(socket, request, record, saved)
            return
        self._reached = {name: number for name, number in saved["reached"].items() if number <= seen}
        self._lost_until = request.sent or 0
        arguments = record.arguments if "input" in self._reached else None
        self._restore_bridge(saved["bridge"], request, arguments, has_outcome="outcome" in self._reached)
        for lost in request.requests:
            self._bridge.fail_lost(lost.id, _LOST)
            self._log.log_lost(self.app, lost, _LOST)
        await self._channel.take_over(socket, str(request.epoch), seen)
        await self._send_missing(record)

    async def _continue(self, socket: PageSocket, request: OpenView, record: ViewRecord, saved: JSONObject) -> None:
        """Continue with a View for a process that stopped in order: it answered each request that it received."""
        self._reached = dict(saved["reached"])
        arguments = record.arguments if "input" in self._reached else None
        self._restore_bridge(saved["bridge"], request, arguments, has_outcome="outcome" in self._reached)
        self._channel.restore(str(request.epoch), saved["channel"])
        await self._save_progress()  # what is stored of the channel is no longer true
        await self._channel.resume(socket, request.seen or 0)
        await self._send_missing(record)

    def _restore_bridge(
        self, snapshot: JSONObject, request: OpenView, arguments: JSONObject | None, *, has_outcome: bool
    ) -> None:
        first_id = _FIRST_ID_AFTER_RESTART + secrets.randbelow(_FIRST_ID_AFTER_RESTART)
        self._bridge.restore(snapshot, first_id, arguments, has_outcome=has_outcome)
        if request.mode is not None:
            self._bridge.set_context({"displayMode": request.mode})

    async def _send_missing(self, record: ViewRecord) -> None:
        """Send the View what it has not received of its call, and list the tools that it offers."""
        self.show_call(record)
        await self.flush()
        if "tools" in self._bridge.app_capabilities:
            self._start(self._requests.app_tools_changed(self))

    async def suspend(self) -> None:
        """End the session so that another process can continue with the View. Open requests are answered with an error.

        What the page has not received is stored, and the page is asked to connect again.
        """
        # Frames that arrive from now on are dropped: the page sends them again to the process that continues.
        socket = self._channel.release()
        for id in list(self._bridge.open_requests):
            self._open_requests.stop_serving(id)
            self._bridge.respond_error(id, _STOPPED)
        with anyio.move_on_after(self._timeouts.record) as late:
            await self._outbox.flush_all()
        # A response that cannot be recorded in time is lost, so the next process must not believe that all were sent.
        try:
            await self._save_progress(None if late.cancelled_caught else self._channel.snapshot(), has_ended=True)
        finally:
            self.stop()
            if socket is not None:
                await socket.close_socket(RESTARTING)

    async def _reach(self, method: str, number: int) -> None:
        """Save that the View is sent the input or the outcome of its call with a frame."""
        self._reached["input" if method.endswith("/tool-input") else "outcome"] = number
        await self._save_progress()

    async def _save_progress(self, channel: JSONObject | None = None, *, has_ended: bool = False) -> None:
        """Store what another process needs to continue with this View; `channel` only if this one has ended."""
        if self._save is not None and self.is_ready and self._channel.epoch is not None:
            progress = {
                "epoch": self._channel.epoch,
                "bridge": self._bridge.snapshot(),
                "reached": dict(self._reached),
            }
            await self._save(progress if channel is None else {**progress, "channel": channel}, has_ended)

    def release_page(self) -> None:
        """Stop using the page that shows the View, if one does, and make it say that another page shows it now."""
        socket = self._channel.release()
        if socket is not None:  # in the background, because that page may be too slow to receive anything
            self._start(socket.send(encode_json(Elsewhere().to_json())))

    async def disconnect_page(self) -> None:
        """Close the socket of the page that shows the View, if one does. The page has to prove again who it is for."""
        socket = self._channel.release()
        if socket is not None:
            self.away_since = monotonic()
            self._on_away()
            await socket.close_socket(RESTARTING)

    def is_shown_on(self, socket: PageSocket) -> bool:
        """Return whether a socket is that of the page that shows the View now."""
        return self._channel.is_current(socket)

    def is_elsewhere(self, epoch: str | None) -> bool:
        """Return whether a page is connected that is not the one with this epoch."""
        return self.attached and self._channel.epoch != epoch

    def can_resume(self, epoch: str | None, seen: int | None) -> bool:
        """Return whether the page with this epoch, which received frames up to `seen`, can continue with the View."""
        return self._bridge.state in (State.INITIALIZING, State.READY) and self._channel.can_resume(epoch, seen)

    async def resume(self, socket: PageSocket, seen: int) -> None:
        """Use the socket of a page that still shows the View, and send what it has missed."""
        self.away_since = None
        await self._channel.resume(socket, seen)
        await self.flush()

    def detach(self, socket: PageSocket, *, closed: bool = False) -> None:
        """Stop using a socket. With `closed`, its page is gone; otherwise the page may reconnect on another socket.

        Commands fail when the page is closed, or when it does not reconnect in time.
        """
        self._channel.detach(socket)
        if self.attached:
            return
        self.away_since = monotonic()
        self._on_away()
        if closed:
            self._commands.fail("The page was closed.")
        elif self._commands:
            self._start(self._fail_commands_later(self.away_since))

    async def _fail_commands_later(self, away_since: float) -> None:
        await anyio.sleep(self._timeouts.browser)
        if self.away_since == away_since:
            self._commands.fail("The page was lost.")

    def accept(self, received: ReceivedFrame) -> bool:
        """Read the numbers of a frame from the page, and return whether to process the frame."""
        is_new = self._channel.receive(received)
        if self._next_partial is not None:
            self._send_next_partial()
        return is_new and not (self._lost_until and self._was_lost(received))

    def _was_lost(self, received: ReceivedFrame) -> bool:
        """Return whether a process that ended may have carried out what a frame of the page requests.

        The notifications of a View are not among these: they do not matter if they come twice.
        """
        if received.n is None or received.n > self._lost_until:
            return False
        match received.frame:
            case MessageFromView(dict() as message):
                return "id" in message
            case _:
                return not isinstance(received.frame, ContextChanged | DisplayModeChanged)

    def report_context(self, changes: JSONObject) -> None:
        """Apply what the page reports about its surroundings."""
        self.set_context({key: value for key, value in changes.items() if key not in self._fixed_context})

    async def reload(self) -> None:
        """Make the page load the View again, if one shows it."""
        if self.attached:
            await self._channel.send(Reload())

    async def report_model_context(self, update: JSONObject) -> None:
        """Send the page what the View wants the model to know."""
        await self._channel.send(ModelContext(update))

    def flush(self) -> Coroutine[Any, Any, None]:
        """Deliver the bridge's outgoing messages, in order. A response is recorded before it is sent."""
        return self._outbox.flush()

    def _flush_soon(self) -> None:
        """Flush in a background task, for callers that must not block on the socket."""
        if self.is_ready:  # before that, the bridge holds notifications back
            self._start(self.flush())

    async def receive(self, message: object, size: int = 0) -> None:
        """Handle a message from the View. One that exceeds a limit is refused."""
        if self._observer is not None:
            self._observer("view", message)
        metrics.messages.add(1)
        bridge = self._bridge
        received = ViewMessage(message, size, monotonic())
        excess = self._excess(received)
        if received.id is not None:
            self._open_requests.add(received.id, received)
        if excess is not None:
            bridge.reject(message, excess)
            self._log.log_rejected(self.app, received, excess)
            await self._outbox.flush()
            await anyio.sleep(_RATE_LIMIT_PAUSE)
        else:
            known = len(bridge.older_names)
            event = bridge.receive(message)
            if len(bridge.older_names) > known:
                for older, today in tuple(bridge.older_names.items())[known:]:
                    self._log.log_dialect(self.app, older, today)
            if received.id is None:
                self._log.log_notification(self.app, received, event)
            if bridge.has_outgoing:
                await self._outbox.flush()
            if event is not None:
                await self._handle(event)
        if self._channel.owes_ack:
            await self._channel.acknowledge()

    def _excess(self, message: ViewMessage) -> str | None:
        """Return which limit a message exceeds, or None."""
        if not self._message_rate.take(message.received_at):
            return f"This View exceeds the limit of {self._limits.messages_per_second:g} messages per second."
        if message.id is not None and len(self._bridge.open_requests) >= self._limits.requests_in_flight:
            return f"This View has {self._limits.requests_in_flight} requests without a response, which is the limit."
        return None

    async def question(self, question: AskUser) -> Answer:
        """Make the page ask the user, and report to the View that it waits. Raise RequestError without an answer."""
        request = current_request.get()
        if request is not None:
            self._bridge.progress(request, 0, message="Waiting for the user to decide.")
            await self.flush()
        return read_answer(await self._command(question, self._timeouts.question))

    async def _command(self, command: PageCommand, seconds: float | None = None) -> JSONObject:
        """Send a command to the page and return its result. Raise RequestError if it failed or timed out."""
        return await self._commands.run(command, self._timeouts.browser if seconds is None else seconds)

    def receive_command_result(self, result: CommandResult) -> None:
        """Complete a command with the page's result. Does nothing if the command was cancelled."""
        self._commands.receive(result)

    # Events of the bridge

    async def _handle(self, event: Event) -> None:
        serve = self._open_requests.serve
        match event:
            case events.SizeChanged(height=height) if height is not None:
                self.height = height
                await self._send_size()
            case events.Ready():
                if not self._reached:
                    try:
                        await self._save_progress()
                    except StoreError as error:
                        # The next attempt comes with the input. Until then, a restart loads the View again.
                        logger.warning("View %s: its progress cannot be stored now: %s", self.id, error)
                if "tools" in self._bridge.app_capabilities:
                    self._start(self._requests.app_tools_changed(self))
            case events.AppToolsChanged():
                self._start(self._requests.app_tools_changed(self))
            case events.Logged(level=level, data=data):
                # repr() escapes line breaks, so that a View cannot forge log entries.
                extra = {"view": self.id, "view_data": data}
                views_logger.log(
                    _LEVELS.get(level, logging.ERROR), "%s: %.*s", self.id, _MAX_LOGGED, repr(data), extra=extra
                )
            case events.TeardownRequested():
                self.close_soon()
            case events.Cancelled(id=id):
                self._open_requests.cancel(id)
            case events.ResponseReceived():
                self._host_requests.receive(event)
            case events.ToolCalled(id=id, name=name, arguments=arguments):
                serve(id, self._requests.call_tool(self, name, arguments, self._progress_of(id)))
            case events.ServerRequested(id=id, method=method, params=params):
                serve(id, self._requests.ask_server(self, method, params))
            case events.SamplingRequested(id=id, params=params):
                serve(id, self._requests.sample(self, params))
            case events.MessageRequested(id=id, role=role, content=content):
                serve(id, _empty(self._requests.add_message(self, role, content)))
            case events.ContextUpdated(id=id, content=content, structured=structured):
                update: JSONObject = {"content": list(content)}
                if structured is not None:
                    update["structuredContent"] = structured
                await self._open_requests.serve_now(id, self._update_context(update))
            case events.StateSaved(id=id, state=state):
                serve(id, _empty(self._requests.keep_state(self, state)))
            case events.LinkRequested(id=id, url=url):
                serve(id, self._open_link(url))
            case events.DownloadRequested(id=id, contents=contents):
                serve(id, self._download(contents))
            case events.DisplayModeRequested(id=id, mode=mode):
                serve(id, self._change_mode(mode))

    def _start(self, work: Awaitable[None]) -> None:
        """Run work in a background task, which goes on when the session ends."""

        async def task() -> None:
            await work

        self._tasks.start_soon(task)

    def _progress_of(self, id: RequestId) -> Progress:
        async def relay(progress: float, total: float | None, message: str | None) -> None:
            self._bridge.progress(id, progress, total, message)
            await self.flush()

        return relay

    async def _send_size(self) -> None:
        """Send the View's height to the page. If heights come too fast, send only the last one, later."""
        if self.height is not None and self._size_rate.take(monotonic()):
            await self._channel.send(Resize(self.height))
        elif not self._size_pending:
            self._size_pending = True
            self._start(self._send_size_later())

    async def _send_size_later(self) -> None:
        await anyio.sleep(max(1 / self._limits.size_changes_per_second, 0.05))
        self._size_pending = False
        await self._send_size()

    async def _update_context(self, update: JSONObject) -> Awaitable[JSONObject] | JSONObject:
        work = await self._requests.update_context(self, update)
        return {} if work is None else _empty(work)

    async def _open_link(self, url: str) -> JSONObject:
        await self._requests.check_link(self, url)
        await self._command(OpenLink(url=url))
        return {}

    async def _download(self, contents: tuple[JSONObject, ...]) -> JSONObject:
        files, links = await self._requests.download(self, contents)
        if files:
            await self._command(Download(files=files))
        for url in links:
            await self._open_link(url)
        return {}

    async def show_as(self, mode: str) -> None:
        """Make the page show the View in another display mode, and notify the View."""
        await self._change_mode(mode)
        await self.flush()

    async def _change_mode(self, mode: str) -> JSONObject:
        done = await self._command(SetDisplayMode(mode=mode))
        now = done.get("mode", mode)
        self._bridge.set_context({"displayMode": now})  # DSP-08: Views keep the notification, not the response
        return {"mode": now}

    # What the host sends

    def show_call(self, record: ViewRecord) -> None:
        """Send what a record has of the call: the arguments and the outcome. What the View has already is left out."""
        if record.arguments is not None:
            self.tool_input(record.arguments)
        if record.result is not None:
            self.tool_result(record.result)
        elif record.cancelled is not None:
            self.tool_cancelled(record.cancelled or None)

    def tool_input(self, arguments: JSONObject) -> None:
        """Send the complete arguments of the call, unless the View was given them already."""
        if not self._bridge.has_input:
            self._bridge.tool_input(arguments)
            self._flush_soon()

    def tool_input_partial(self, arguments: JSONObject) -> None:
        """Send the arguments as far as the model has written them."""
        self._bridge.tool_input_partial(arguments)
        self._flush_soon()

    def offer_partial(self, arguments: JSONObject) -> None:
        """Send the arguments as far as the model has written them, or later if the page has not received the last ones.

        Only the newest arguments wait. Does nothing if the View has the complete ones.
        """
        self._next_partial = arguments
        self._send_next_partial()

    def _send_next_partial(self) -> None:
        if self._next_partial is None or self.partial_in_flight:
            return
        arguments, self._next_partial = self._next_partial, None
        if not self._bridge.has_input and not self.is_closed:
            self.tool_input_partial(arguments)

    def tool_result(self, result: JSONObject) -> None:
        """Send the result of the call, unless the View is closing or has an outcome already."""
        if self._bridge.state is not State.CLOSING and not self._bridge.has_outcome:
            self._bridge.tool_result(result)
            self._flush_soon()

    def tool_cancelled(self, reason: str | None) -> None:
        """Notify the View that no result will come (TCX-01), unless it is closing or has an outcome already."""
        if self._bridge.state is not State.CLOSING and not self._bridge.has_outcome:
            self._bridge.tool_cancelled(reason)
            self._flush_soon()

    def set_context(self, changes: JSONObject) -> None:
        """Change keys of the host context, and notify the View."""
        self._bridge.set_context(changes)
        self._flush_soon()

    def refresh_context(self) -> None:
        """Notify the View after a change of the context that is pinned for all Views."""
        self._bridge.refresh_context()
        self._flush_soon()

    def list_changed(self, kind: str) -> None:
        """Notify the View that its server's tools, resources or prompts changed."""
        self._bridge.list_changed(kind)
        self._flush_soon()

    def allow_state(self) -> None:
        """Let the View keep a state with the host, as Views for ChatGPT do."""
        self._bridge.allow_state()

    async def ask(self, method: str, params: JSONObject) -> JSONObject:
        """Send the View a request, such as `tools/call` for one of its own tools, and return the result."""
        return await self._host_requests.run(method, params, self._timeouts.app_tool)

    def close_soon(self) -> None:
        """Close in the background; use when the caller must keep receiving the View's messages."""
        self._start(self._on_close(self))

    async def close(self, reason: str | None = None) -> None:
        """Ask the View to tear down, wait for at most `Timeouts.teardown`, and end the session (TDN-01, TDN-03)."""
        if self.attached:
            await self._host_requests.tear_down(reason, self._timeouts.teardown)
        self.stop()
        await self._channel.send(Closed())

    def stop(self) -> None:
        """End the session at once, as when its document is loaded again. Open requests are recorded as cancelled."""
        if self._is_counted:
            self._is_counted = False
            metrics.sessions.add(-1)
        self._bridge.close()
        self._outbox.clear()
        self._open_requests.cancel_all()
        self._host_requests.fail("The View was closed.")
        self._commands.fail("The View was closed.")


async def _empty(work: Awaitable[None]) -> JSONObject:
    await work
    return {}
