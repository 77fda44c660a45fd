"""One MCP server, connected for as long as the host runs, and reconnected when it is lost.

    connecting ──▶ ready ──▶ retrying ──▶ connecting ...      failed: no further attempt is possible
         └────────────────────▲                               closed: the host has stopped it

What a server sends is kept as it came: tools and results are wire objects, less the fields that only
the 2026-07-28 wire needs.
"""

import logging
import math
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Final, cast

import anyio
import mcp_types as types
from mcp.client import Client, ClientExtension, IncomingMessage, Transport, advertise
from mcp.client.auth import OAuthFlowError
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from fanlight import __version__
from fanlight.host.errors import (
    CallTimeoutError,
    ConnectionLostError,
    InvalidResponseError,
    NotConnectedError,
    ServerError,
    ServerStartError,
)
from fanlight.host.upstream.callbacks import Handler, elicitation, sampling
from fanlight.host.upstream.config import InProcess, Streams, Target, Url, target
from fanlight.host.upstream.diagnostics import cause, not_mcp, why_ended, why_failed, why_silent
from fanlight.host.upstream.events import (
    Listener,
    News,
    PromptsChanged,
    ResourcesChanged,
    ResourceUpdated,
    Status,
    StatusChanged,
    ToolsChanged,
)
from fanlight.host.upstream.malformed import Unreadable
from fanlight.host.upstream.process import Launcher
from fanlight.host.upstream.subscriptions import Followed, Subscriptions
from fanlight.host.upstream.transport import Attempt, ServersOwn, Tap, Unavailable, open_transport
from fanlight.host.upstream.wire import (
    InputRefusedError,
    all_tools,
    at_cursor,
    dumped,
    finished,
    sent,
    without_wire_fields,
)
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.extension import EXTENSION_ID, OLDER_EXTENSION_ID, OLDER_SETTINGS, SERVER_SETTINGS
from fanlight.protocol.jsonrpc import JSONObject

logger = logging.getLogger(__name__)

Asked = tuple[str, JSONObject]
StandIn = Callable[[str, JSONObject], Awaitable[JSONObject | None]]
"""Takes a method and its params, and returns an answer, or None to let the server answer."""

_CONNECT_LIMIT: Final = 60.0
_SIGN_IN_LIMIT: Final = 600.0  # someone may have to do it by hand
_LIST_LIMIT: Final = 60.0


@dataclass(frozen=True)
class Backoff:
    """How long to wait before each further attempt: doubling, with jitter, up to `most`."""

    first: float = 0.25
    most: float = 30.0
    steady: float = 10.0
    """A connection that held this long starts again at `first`."""

    def delay(self, attempt: int) -> float:
        # Half to all of it: servers that died together do not come back together.
        longest = min(self.most, self.first * 2.0 ** min(attempt - 1, 32))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not a secret)


class Connection:
    """The connection to one server. `run` keeps it; everything else may be called from any task.

    `patience` is how long a call waits for a connection that is not ready, `slow` how long a server may take to answer
    for the first time before its status says so. `on_sampling` and `on_elicitation` answer what the server asks of the
    model and of the user (see fanlight.host.upstream.callbacks); it is offered what is given.
    """

    def __init__(
        self,
        name: str,
        given: object,
        *,
        mode: str = "auto",
        client_info: types.Implementation | None = None,
        patience: float = 10.0,
        slow: float = 5.0,
        connect_timeout: float | None = None,
        backoff: Backoff | None = None,
        on_sampling: Handler | None = None,
        on_elicitation: Handler | None = None,
        dialects: bool = True,
    ) -> None:
        self.name = name
        self.target: Target = target(given, name)
        self.tools: tuple[JSONObject, ...] = ()
        """The tools of all pages, as the server sent them; the last known ones while it is away."""
        self.info: JSONObject = {}
        """The server's own name and version, if it told them."""
        self.instructions: str | None = None
        self.capabilities: JSONObject = {}
        self.protocol_version: str | None = None
        self.tap: Tap | None = None
        """Hears each message of the next connections, as a wire object: `tap("sent" | "received", message)`."""
        self.on_stderr: Callable[[str], None] | None = None
        """Hears each line that the next processes of a command write to their stderr."""
        self.stand_in: StandIn | None = None
        """Is asked before each request is sent: it can take its time, raise, or answer in the server's place."""
        self.retries = True
        """Whether an attempt that failed at once is repeated. If not, the connection waits for `restart`."""
        self._launcher: Launcher | None = None
        self._shows_views = True
        self._dialects = dialects
        self._mode = mode
        self._client_info = client_info or types.Implementation(name="fanlight", version=__version__)
        self._patience = patience
        self._slow = slow
        signs_in = isinstance(self.target, Url) and self.target.auth is not None
        self._connect_timeout = connect_timeout or (_SIGN_IN_LIMIT if signs_in else _CONNECT_LIMIT)
        self._backoff = backoff or Backoff()
        self._on_sampling = on_sampling and sampling(name, on_sampling)
        self._on_elicitation = on_elicitation and elicitation(name, on_elicitation)
        self._listeners: list[Listener] = []
        self._followed = Followed()
        self._current: Attempt | None = None
        self._held = 0.0  # seconds that the last connection was ready
        self._hopeless = False  # waiting will not help: the command cannot even be started
        self._refused = False  # nobody signed in
        self.reset()

    def reset(self) -> None:
        """Get ready to run, for the first time or once more; in another event loop, perhaps."""
        self._status = Status("connecting")
        self._trying: tuple[Attempt, float] | None = None  # and since when
        self._changed = anyio.Event()
        self._wanted = anyio.Event()
        self._closing = anyio.Event()
        self._waiting: anyio.CancelScope | None = None  # made where there is an event loop
        self._restarting = False
        self._followed.more = anyio.Event()

    @property
    def status(self) -> Status:
        """Where the connection stands."""
        status = self._status
        if status.state == "connecting" and status.reason is None and self._trying is not None:
            attempt, began = self._trying
            silent = monotonic() - began
            if silent >= self._slow:
                return replace(status, reason=why_silent(self.target, attempt, silent))
        return status

    # What runs

    async def run(self) -> None:
        """Keep the connection until `close` is called or the task is cancelled."""
        number = 1
        try:
            while not self._closing.is_set():
                self._set(Status("connecting", self.status.reason, number))
                self._held = 0.0
                failure = await self._attempt()
                if self._closing.is_set():
                    return
                if self._restarting:
                    self._restarting, number = False, 1
                    continue
                number = 1 if self._held > self._backoff.steady else number + 1
                await self._wait_after(failure, number)
        finally:
            self._set(Status("closed"))

    def close(self) -> None:
        """End the connection; `run` returns once the child process, if any, is gone."""
        self._closing.set()
        if self._waiting is not None:
            self._waiting.cancel()
        if self._current is not None:
            self._current.over.set()

    def restart(self) -> None:
        """End the connection and open it again at once, as when the server's own code has changed."""
        self._restarting = True
        if self._current is not None:
            if self._current.child is not None:
                self._current.child.hurried = True
            self._current.end("It is being restarted.")
        elif self._waiting is not None:
            self._waiting.cancel()

    def launch_with(self, launcher: Launcher) -> None:
        """Start the next processes of a command with a launcher."""
        self._launcher = launcher

    def show_views(self, shown: bool) -> None:
        """Say whether the server is told that Views are shown (NEG-01); if it was told otherwise, connect anew."""
        if shown != self._shows_views:
            self._shows_views = shown
            if self._waiting is not None:
                self.restart()

    async def _attempt(self) -> str:
        """Connect once and stay connected; return why it ended."""
        attempt = Attempt(self.tap, self.on_stderr, dialects=self._dialects)
        self._trying = (attempt, monotonic())
        self._hopeless = self._refused = False
        try:
            with anyio.CancelScope() as self._waiting:
                await self._live(attempt)
            return why_ended(self.target, attempt)
        except Exception as error:
            logger.debug("%s: the connection failed", self.name, exc_info=True)
            first = cause(error)
            self._hopeless = isinstance(first, ServerStartError)
            self._refused = isinstance(first, OAuthFlowError)
            return why_failed(first, self.target, attempt, self._connect_timeout)

    async def _live(self, attempt: Attempt) -> None:
        with anyio.fail_after(self._connect_timeout) as limit:
            async with self._client(attempt) as client:
                changes = await self._greet(client)
                limit.deadline = math.inf
                self._waiting = anyio.CancelScope()  # from here on, closing is asking politely
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._subscriptions(client, attempt).run)
                    tasks.start_soon(self._keep_fresh, attempt)
                    attempt.client = client
                    self._current = attempt
                    if self._closing.is_set():
                        attempt.over.set()
                    self._set(Status("ready"))
                    for news in changes:
                        self._tell(news)
                    began = anyio.current_time()
                    try:
                        await attempt.over.wait()
                    finally:
                        self._held = anyio.current_time() - began
                        self._current = None
                        if not self._closing.is_set():
                            # Told at once; the cause is known only when the other end is gone for good.
                            again = Status("connecting", "It is being restarted.")
                            self._set(again if self._restarting else Status("retrying", "The connection was lost."))
                        attempt.cut()
                    tasks.cancel_scope.cancel()

    async def _greet(self, client: Client) -> list[News]:
        """Learn what the server is and has; return what may have changed since it was last there."""
        known = self.protocol_version is not None
        info = client.server_info
        self.info = {} if info is None else dumped(info)
        self.instructions = client.instructions
        self.capabilities = dumped(client.server_capabilities)
        self.protocol_version = client.protocol_version
        before, self.tools = self.tools, await all_tools(client, self.name)
        if not known:
            return []
        tools = [ToolsChanged(self.name)] if self.tools != before else []
        return [*tools, ResourcesChanged(self.name), PromptsChanged(self.name)]

    async def _wait_after(self, failure: str, number: int) -> None:
        if isinstance(self.target, Streams) and self.target.once:
            reason = f"{failure} A transport can be opened only once: give a function that opens one."
            self._set(Status("failed", reason, number))
            await self._closing.wait()
            return
        if not self.retries and not self._held:
            self._set(Status("retrying", failure, number))
            with anyio.CancelScope() as self._waiting:
                await self._closing.wait()
            self._restarting = False
            return
        # A user who did not sign in is not asked again at once.
        delay = self._backoff.most if self._refused else self._backoff.delay(number - 1)
        self._wanted = anyio.Event()
        self._set(Status("retrying", failure, number, delay))
        with anyio.CancelScope() as self._waiting:
            least = min(delay, 1.0)
            await anyio.sleep(least)
            # Someone who calls the server now need not wait out a long pause.
            with anyio.move_on_after(delay - least):
                await self._wanted.wait()

    def _client(self, attempt: Attempt) -> Client:
        async def hear(message: IncomingMessage) -> None:
            self._hear(message, attempt)

        to = self.target
        return Client(
            to.server if isinstance(to, InProcess) else cast(Transport, open_transport(to, attempt, self._launcher)),
            mode=self._mode,
            cache=None,  # we keep raw results, and know ourselves when they are stale
            client_info=self._client_info,
            extensions=self._extensions(),
            message_handler=hear,
            sampling_callback=self._on_sampling,
            sampling_capabilities=types.SamplingCapability(tools=types.SamplingToolsCapability()),
            elicitation_callback=self._on_elicitation,
        )

    def _extensions(self) -> list[ClientExtension]:
        """Return what the server is told (NEG-01), also under the name that its first draft had."""
        if not self._shows_views:
            return []
        own = advertise(EXTENSION_ID, dict(SERVER_SETTINGS))
        return [own, advertise(OLDER_EXTENSION_ID, dict(OLDER_SETTINGS))] if self._dialects else [own]

    def _subscriptions(self, client: Client, attempt: Attempt) -> Subscriptions:
        return Subscriptions(self.name, client, attempt, self._followed, self._tell, self._backoff.delay)

    # News

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with all news from now on; return what stops it. It must not block."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _tell(self, news: News) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(news)
            except Exception:
                logger.exception("%s: a listener failed on %r", self.name, news)

    def _set(self, status: Status) -> None:
        self._status = status
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
        self._tell(StatusChanged(self.name, status))

    def _hear(self, message: IncomingMessage, attempt: Attempt) -> None:
        match message:
            case types.ToolListChangedNotification():
                attempt.stale.set()
            case types.ResourceListChangedNotification():
                self._tell(ResourcesChanged(self.name))
            case types.ResourceUpdatedNotification():
                self._tell(ResourceUpdated(self.name, str(message.params.uri)))
            case types.PromptListChangedNotification():
                self._tell(PromptsChanged(self.name))

    def follow(self, uri: str) -> None:
        """Ask to be told when a resource changes, where the server offers that; also of the next connections."""
        self._followed.add(uri)

    async def _keep_fresh(self, attempt: Attempt) -> None:
        while True:
            await attempt.stale.wait()
            attempt.stale = anyio.Event()
            assert attempt.client is not None
            try:
                with anyio.fail_after(_LIST_LIMIT):
                    tools = await all_tools(attempt.client, self.name)
            except (MCPError, ValidationError, TimeoutError) as error:
                logger.warning("%s: its tools changed, but cannot be listed: %s", self.name, error)
                continue
            if tools != self.tools:
                self.tools = tools
                self._tell(ToolsChanged(self.name))

    # What is asked

    async def ready(self, within: float | None = None) -> None:
        """Wait until the connection is ready, or raise `NotConnectedError` with the reason that it is not."""
        if self._alive():
            return
        with anyio.move_on_after(self._patience if within is None else within):
            while not self._alive():
                if self.status.state in ("failed", "closed") or self._hopeless:
                    break
                self._wanted.set()
                await self._changed.wait()
        if not self._alive():
            reason = self.status.reason or f"it is {self.status.state}."
            raise NotConnectedError(self.name, f"not connected: {reason}")

    def _alive(self) -> bool:
        # One that is over stays for a moment, until `run` has noticed.
        return self._current is not None and not self._current.over.is_set()

    async def settled(self) -> None:
        """Wait until the first attempt has succeeded or failed, or the server is found to be slow."""
        while (status := self.status).state == "connecting" and status.reason is None:
            left = self._slow if self._trying is None else self._trying[1] + self._slow - monotonic()
            with anyio.move_on_after(max(left, 0.0)):
                await self._changed.wait()

    async def call_tool(
        self,
        name: str,
        arguments: JSONObject | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        on_progress: ProgressFnT | None = None,
        timeout: float = 300.0,  # noqa: ASYNC109 (each View and tool has its own)
    ) -> JSONObject:
        """Call a tool and return its result as the server sent it; cancelling the task cancels the call."""
        # The progress token is ours: one that a View chose could be another request's.
        sent = {key: value for key, value in (meta or {}).items() if key != "progressToken"}

        def request(answers: Any, state: str | None) -> types.CallToolRequest:
            params = types.CallToolRequestParams(
                name=name,
                arguments=arguments,
                input_responses=answers,
                request_state=state,
                _meta=cast("types.RequestParamsMeta", sent) if sent else None,
            )
            return types.CallToolRequest(params=params)

        async def send(client: Client) -> JSONObject:
            try:
                return await finished(client, request, on_progress)
            except MCPError as error:
                if error.code != types.HEADER_MISMATCH or client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                    raise
                # The server wants arguments in headers that we did not know of: its tools changed.
                self.tools = await all_tools(client, self.name)
                return await finished(client, request, on_progress)

        asked = {"name": name, "arguments": arguments or {}}
        return await self._ask(send, f"the tool {name}", timeout, ("tools/call", asked))

    async def read_resource(self, uri: str) -> JSONObject:
        """Read a resource; the URI is sent byte for byte."""

        def request(answers: Any, state: str | None) -> types.ReadResourceRequest:
            params = types.ReadResourceRequestParams(uri=uri, input_responses=answers, request_state=state)
            return types.ReadResourceRequest(params=params)

        asked = ("resources/read", {"uri": uri})
        return await self._ask(
            lambda client: finished(client, request, None), f"the resource {uri}", _LIST_LIMIT, asked
        )

    async def list_resources(self, cursor: str | None = None) -> JSONObject:
        """List one page of resources."""
        return await self._page(types.ListResourcesRequest(params=at_cursor(cursor)))

    async def list_resource_templates(self, cursor: str | None = None) -> JSONObject:
        """List one page of resource templates."""
        return await self._page(types.ListResourceTemplatesRequest(params=at_cursor(cursor)))

    async def list_prompts(self, cursor: str | None = None) -> JSONObject:
        """List one page of prompts."""
        return await self._page(types.ListPromptsRequest(params=at_cursor(cursor)))

    async def _page(self, request: types.ClientRequest) -> JSONObject:
        method = request.method
        return await self._ask(lambda client: sent(client, request), method, _LIST_LIMIT, (method, {}))

    async def _ask(
        self,
        send: Callable[[Client], Awaitable[JSONObject]],
        what: str,
        seconds: float,
        asked: Asked,
    ) -> JSONObject:
        """Send one request over a ready connection; turn what goes wrong into our errors."""
        await self.ready()
        attempt = self._current
        assert attempt is not None
        assert attempt.client is not None
        with anyio.move_on_after(seconds) as limit, attempt.call():
            if self.stand_in is not None and (answer := await self.stand_in(*asked)) is not None:
                return answer
            try:
                return without_wire_fields(await send(attempt.client))
            except MCPError as error:
                raise self._translated(error, attempt, what) from error
            except ValidationError as error:
                raise InvalidResponseError(self.name, types.INTERNAL_ERROR, not_mcp(what, error)) from error
        if limit.cancelled_caught:
            raise CallTimeoutError(self.name, f"{what} did not answer within {seconds:g} seconds.")
        raise ConnectionLostError(self.name, f"the connection was lost before {what} answered.")

    def _translated(self, error: MCPError, attempt: Attempt, what: str) -> FanlightError:
        if attempt.is_loss(error) and not isinstance(error, InputRefusedError):
            return ConnectionLostError(self.name, f"the connection was lost before {what} answered.")
        match error.data:
            case Unavailable(status):
                reason = (
                    f"the server is not available: its gateway answered {what} with HTTP {status}. Try again later."
                )
                return ConnectionLostError(self.name, reason)
            case Unreadable(reason):
                return InvalidResponseError(self.name, error.code, f"The answer of {what} cannot be read: {reason}.")
            case ServersOwn(data):
                return ServerError(self.name, error.code, error.message, data)
        return ServerError(self.name, error.code, error.message, error.data)
