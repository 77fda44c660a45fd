"""Visit a server as plain MCP clients do: on each protocol version, with and without MCP Apps. Record what they see.

Every wait has a timeout. A tool is called only if it has a View, is not annotated as destructive, and if its arguments
were given or can be made from its schema.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from fanlight import __version__
from fanlight.check.arguments import example_arguments
from fanlight.check.progress import OnProgress, Progress
from fanlight.check.schema_errors import schema_errors_in
from fanlight.dev.tracebacks import find_exceptions
from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import InProcess, Streams, Target
from fanlight.host.upstream.diagnostics import explain_end, explain_failure, explain_invalid, first_error, quote_output
from fanlight.host.upstream.transport.malformed import MalformedResponse
from fanlight.host.upstream.transport.open import Attempt, open_transport
from fanlight.host.upstream.transport.wire import page_params, without_wire_fields
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS, URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model
from fanlight.rules.observation import Look, Response, SchemaError, ToolCall

VERSIONS: Final = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)

_MISSING: Final = f"{URI_SCHEME}fanlight-check/no-such-view"
_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_INFO: Final = types.Implementation(name="fanlight-check", version=__version__)
TIMEOUT: Final = 15.0
"""How many seconds to wait for each response of a server, and for a program to start."""
_SECOND_CHANCE: Final = 0.3
"""The share of that time for `initialize`, after `server/discover` got no response."""
_CLOSED: Final = "the connection was lost"
_MAX_PAGES: Final = 100
_MAX_TIMEOUTS: Final = 3
"""After this many calls without a response no more tools are called."""
_AT_ONCE: Final = 3
_STDERR_LOOKS: Final = 25


class ConnectError(RemoteError):
    """The server cannot be connected on any protocol version. The message says why."""


class _OtherVersion(Exception):
    """The server does not support the requested protocol version."""


@dataclass(frozen=True)
class Plan:
    """Which tools to call, with which arguments, and how long to wait."""

    call: bool = True
    arguments: Mapping[str, JSONObject] = field(default_factory=dict)
    response_timeout: float = TIMEOUT

    def arguments_for(self, tool: JSONObject) -> JSONObject | None:
        """Return the arguments to call a tool with, or None if it must not be called."""
        name = tool.get("name")
        if not isinstance(name, str):
            return None
        if name in self.arguments:
            return self.arguments[name]
        return example_arguments(tool.get("inputSchema")) if self.call and not is_destructive(tool) else None


def is_destructive(tool: JSONObject) -> bool:
    """Return whether a tool is annotated as destructive."""
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("destructiveHint") is True


_arrived: ContextVar[JSONObject | None] = ContextVar("_arrived", default=None)


class _Wire(JSONRPCDispatcher):
    """Keeps each result as it was received, in case the SDK rejects it."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **more: Any
    ) -> JSONObject:
        result = await super().send_raw_request(method, params, opts, **more)
        _arrived.set(result)
        return result


class Client:
    """One connected client."""

    def __init__(
        self,
        session: ClientSession,
        version: str,
        ui: bool,
        attempt: Attempt,
        stderr: Sequence[str],
        response_timeout: float,
    ) -> None:
        self.version = version
        self.ui = ui
        self.attempt = attempt
        self._stderr = stderr
        self._session = session
        self._timeout = response_timeout

    @property
    def capabilities(self) -> JSONObject:
        given = self._session.server_capabilities
        return {} if given is None else given.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def ask(self, request: types.ClientRequest) -> Response:
        """Send a request, and return the response, valid or not."""
        result: JSONObject | None = None
        try:
            with anyio.fail_after(self._timeout), self.attempt.call_scope():
                result = await self._session.send_request(request, _RAW)
        except MCPError as error:
            received = {"code": error.code, "message": error.message}
            if isinstance(error.data, MalformedResponse):
                unreadable = SchemaError("", f"gets a response that cannot be read: {error.message}.")
                return Response(error=received, schema_errors=(unreadable,))
            return Response(
                error=received, disconnected=error.message if self.attempt.is_connection_loss(error) else None
            )
        except TimeoutError:
            message = f"no response within {self._timeout:g} seconds"
            return Response(error={"code": 0, "message": message}, timed_out=True)
        except ValidationError as error:
            result = _arrived.get() or {}
            return Response(without_wire_fields(result), schema_errors=tuple(schema_errors_in(result, error)))
        if result is None:  # cancelled together with the connection
            return Response(error={"code": types.CONNECTION_CLOSED, "message": _CLOSED}, disconnected=_CLOSED)
        return Response(without_wire_fields(result))

    async def call(self, name: str, arguments: JSONObject) -> Response:
        written = len(self._stderr)
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        response = await self.ask(types.CallToolRequest(params=params))
        if response.error is None and not (response.result or {}).get("isError"):
            return response
        return replace(response, exception=await self._exception_since(written))

    async def _exception_since(self, written: int) -> str | None:
        """Return the exception of a failed call. Its traceback may arrive on stderr after the response."""
        for _ in range(_STDERR_LOOKS):
            if found := find_exceptions(self._stderr[written:]):
                error = next((each for each in reversed(found) if each.frames), found[-1])
                places = [frame.describe(Path.cwd()) for frame in error.frames]
                return f"{' '.join(str(error).split())} ({', '.join(places)})" if places else str(error)
            if self.attempt.child is None:
                return None
            await anyio.sleep(0.02)
        return None

    async def read(self, uri: str) -> Response:
        return await self.ask(types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri)))


@asynccontextmanager
async def open_client(
    target: Target, version: str, *, ui: bool, response_timeout: float = TIMEOUT
) -> AsyncIterator[Client]:
    """Connect on one protocol version. Raise `_OtherVersion`, or `ConnectError` with the reason."""
    stderr: list[str] = []
    attempt = Attempt(None, stderr.append)
    extensions = {EXTENSION_ID: dict(SERVER_SETTINGS)} if ui else None
    longest = response_timeout * (1 + _SECOND_CHANCE) if version in MODERN_PROTOCOL_VERSIONS else response_timeout
    try:
        transport = _in_process(target.server) if isinstance(target, InProcess) else open_transport(target, attempt)
        with anyio.fail_after(longest) as limit:
            async with (
                transport as (read, write),
                ClientSession(dispatcher=_Wire(read, write), client_info=_INFO, extensions=extensions) as session,
            ):
                await _greet(session, version, extensions, response_timeout)
                attempt.answered = True
                limit.deadline = float("inf")
                yield Client(session, version, ui, attempt, stderr, response_timeout)
    except (MCPError, ValidationError, TimeoutError, OSError, ServerStartError, ExceptionGroup) as error:
        first = first_error(error)
        if isinstance(first, _OtherVersion):
            raise first from None
        if isinstance(first, ValidationError):
            raise ConnectError(
                f"{target} does not answer as an MCP server. {explain_invalid('initialize', first)}"
            ) from error
        hint = " If it needs longer, set --timeout." if isinstance(first, TimeoutError) else ""
        raise ConnectError(f"{explain_failure(first, target, attempt, longest)}{hint}") from error


async def _greet(session: ClientSession, version: str, extensions: JSONObject | None, response_timeout: float) -> None:
    if version in MODERN_PROTOCOL_VERSIONS:
        try:
            session.adopt(
                types.DiscoverResult.model_validate(await _discover(session, version, extensions, response_timeout))
            )
        except (MCPError, ValidationError, RuntimeError):
            raise _OtherVersion(version) from None
        return
    result = await _initialize(session, version, extensions)
    if result.protocol_version != version:
        raise _OtherVersion(version)
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


async def _initialize(session: ClientSession, version: str, extensions: JSONObject | None) -> types.InitializeResult:
    capabilities = types.ClientCapabilities(extensions=extensions)
    params = types.InitializeRequestParams(protocol_version=version, capabilities=capabilities, client_info=_INFO)
    return await session.send_request(types.InitializeRequest(params=params), types.InitializeResult)


async def _discover(
    session: ClientSession, version: str, extensions: JSONObject | None, response_timeout: float
) -> JSONObject:
    # The SDK's own timeout is short; a program that is still starting may need longer.
    with anyio.move_on_after(response_timeout):
        while True:
            try:
                return await session.send_discover(version)
            except MCPError as error:
                if error.code != types.REQUEST_TIMEOUT:
                    raise
    # Older servers may ignore requests that they do not know. If this gets no response either, the caller times out.
    await _initialize(session, HANDSHAKE_PROTOCOL_VERSIONS[-1], extensions)
    raise _OtherVersion(version)


@dataclass
class _HeldConnection:
    """A connection that another task holds until `leave` is set."""

    client: Client
    leave: anyio.Event
    gone: anyio.Event
    reason: str | None = None
    """Why the connection ended, if the server ended it."""
    in_flight: list[str] = field(default_factory=list)
    """The tools that are being called."""
    blamed: str | None = None
    """The tool that was being called when the connection failed, if it was the only one."""


class Visitor:
    """A client that reconnects after a request that ended or blocked the server. Use it with `async with`."""

    def __init__(self, target: Target, version: str, *, ui: bool, response_timeout: float) -> None:
        self.noise: str | None = None
        """The first line on the server's stdout that is not MCP."""
        self.failed: dict[str, ToolCall] = {}
        """Calls that failed or got an invalid response, by tool."""
        self._target = target
        self._how = (version, ui, response_timeout)
        self._held: _HeldConnection | None = None
        self._connecting = anyio.Lock()
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._held is not None:
                self._held.leave.set()
                await self._held.gone.wait()
        finally:
            self._tasks.cancel_scope.cancel()
            # The group does not get the exception, because it would wrap it in a group.
            await self._tasks.__aexit__(None, None, None)

    async def connect(self) -> Client:
        """Connect. Raise `ConnectError` or `_OtherVersion`."""
        self._held = await self._tasks.start(self._hold)
        return self._held.client

    def connect_in_background(self) -> None:
        """Start to connect, so that the first request waits less."""
        self._tasks.start_soon(self._ready)

    async def reconnect(self) -> bool:
        """Connect if there is no connection, and return whether there is one."""
        return await self._ready() is not None

    async def _ready(self) -> _HeldConnection | None:
        async with self._connecting:
            if self._held is None or self._held.gone.is_set():
                try:
                    await self.connect()
                except (ConnectError, _OtherVersion):
                    return None
            return self._held

    async def _hold(self, *, task_status: TaskStatus[_HeldConnection]) -> None:
        """Hold a connection in a task of its own, because a transport that fails cancels its task."""
        version, ui, response_timeout = self._how
        held: _HeldConnection | None = None
        try:
            async with open_client(self._target, version, ui=ui, response_timeout=response_timeout) as client:
                held = _HeldConnection(client, anyio.Event(), anyio.Event())
                task_status.started(held)
                await held.leave.wait()
        except ConnectError as error:
            if held is None:
                raise
            held.reason = str(error)
        finally:
            if held is not None:
                held.client.attempt.cancel_calls()
                held.gone.set()

    async def read(self, uri: str) -> Response:
        held = await self._ready()
        return _NO_CONNECTION if held is None else await self._after(held, await held.client.read(uri))

    async def call(self, name: str, arguments: JSONObject) -> Response:
        held = await self._ready()
        if held is None:
            return _NO_CONNECTION
        held.in_flight.append(name)
        try:
            answer = await self._after(held, await held.client.call(name, arguments))
        finally:
            held.in_flight.remove(name)
        if answer.schema_errors or ((answer.disconnected is not None or answer.timed_out) and held.blamed == name):
            self.failed.setdefault(name, ToolCall(arguments, answer))
        return answer

    async def _after(self, held: _HeldConnection, answer: Response) -> Response:
        """Disconnect from a server that ended or may be blocked."""
        child = held.client.attempt.child
        self.noise = self.noise or (child.invalid_output if child else None)
        if answer.disconnected is None and (not answer.timed_out or isinstance(self._target, InProcess)):
            return answer
        if self._held is held:
            self._held = None
            held.blamed = held.in_flight[0] if len({*held.in_flight}) == 1 else None
            held.leave.set()
        await held.gone.wait()
        if answer.disconnected is None:
            return replace(answer, last_output=quote_output(held.client.attempt))
        return replace(answer, disconnected=held.reason or explain_end(self._target, held.client.attempt))


_NOT_RECONNECTED: Final = "It did not restart, so nothing after that was checked."
_NO_CONNECTION: Final = Response(error={"code": 0, "message": "the server did not restart"})


@asynccontextmanager
async def _in_process(server: Server[Any]) -> AsyncIterator[tuple[Any, Any]]:
    to_server, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    from_server, at_client = anyio.create_memory_object_stream[SessionMessage](10)
    async with to_server, at_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, at_server, from_server, server.create_initialization_options())
        yield at_client, to_server
        tasks.cancel_scope.cancel()


# Looks


async def visit(target: Target, plan: Plan, on_progress: OnProgress) -> list[Look]:
    """Look at a server on every protocol version that it supports. Raise `ConnectError` if there is none."""
    if isinstance(target, Streams) and target.once:
        raise ConnectError(
            "The check connects several times, and this transport can be opened only once. "
            "Pass a function that opens one."
        )
    looks: list[Look] = []
    reasons: dict[tuple[str, bool, bool], str] = {}
    unanswered: dict[str, Response] = {}

    async def look(version: str, ui: bool, calls: bool = False) -> None:
        try:
            async with Visitor(target, version, ui=ui, response_timeout=plan.response_timeout) as visitor:
                seen = await _look(visitor, unanswered, on_progress)
                with_view = {str(tool.get("name")) for tool, _ in (looks[0] if looks else seen).links()}
                if calls:
                    seen = await _with_calls(visitor, seen, with_view, plan, unanswered, on_progress)
                looks.append(replace(seen, stdout_noise=visitor.noise))
        except _OtherVersion:
            return
        except ConnectError as error:
            reasons[version, ui, calls] = str(error)

    # The newest version first and alone, because a server that cannot start would fail for each of them.
    for newest in reversed(VERSIONS):
        await look(newest, ui=True, calls=True)
        if looks or reasons:
            break
    if not looks:
        raise ConnectError(next(iter(reasons.values()), "It supports no known version of MCP."))
    older = VERSIONS[: VERSIONS.index(newest)]
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def look_in_turn(version: str, ui: bool, calls: bool) -> None:
        async with limit:
            await look(version, ui, calls)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(look_in_turn, newest, False, True)
        if newest in MODERN_PROTOCOL_VERSIONS:
            tasks.start_soon(look_in_turn, HANDSHAKE_PROTOCOL_VERSIONS[-1], False, False)
        for version in older:
            tasks.start_soon(look_in_turn, version, True, False)
    # A connection can fail because the machine is busy with the others, so each is tried again alone.
    failed, reasons = reasons, {}
    for version, ui, calls in failed:
        await look(version, ui, calls)
    if reasons:
        clients = ", ".join(f"{version} {'with' if ui else 'without'} MCP Apps" for version, ui, _ in reasons)
        failure = f"cannot be connected by every client ({clients}): {next(iter(reasons.values()))}"
        looks[0] = replace(looks[0], failures=[*looks[0].failures, failure])
    return sorted(looks, key=lambda seen: (seen.version, seen.ui))


async def _with_calls(
    visitor: Visitor,
    look: Look,
    wanted: Collection[str],
    plan: Plan,
    unanswered: dict[str, Response],
    on_progress: OnProgress,
) -> Look:
    """Call the wanted tools, if the model may call them."""
    calls: dict[str, ToolCall] = {}
    with_apps = "with" if look.ui else "without"
    for tool in look.tools:
        name = str(tool.get("name"))
        if name not in wanted or name in calls or _call_of(name) in unanswered or not for_model(tool):
            continue
        arguments = plan.arguments_for(tool)
        if arguments is None:
            if look.ui:
                on_progress(Progress(f"does not call {name}: {_why_not(tool, plan)}", is_lasting=True))
        elif sum(call.response.timed_out for call in calls.values()) >= _MAX_TIMEOUTS:
            reason = f"{_MAX_TIMEOUTS} others did not respond"
            on_progress(Progress(f"does not call {name}: {reason}", is_lasting=True))
        else:
            on_progress(Progress(f"calls {name} {with_apps} MCP Apps: {_short(arguments)}", is_lasting=True))
            response = await visitor.call(name, arguments)
            is_lost = response.disconnected is not None and not await visitor.reconnect()
            if is_lost:
                response = replace(response, disconnected=f"{response.disconnected} {_NOT_RECONNECTED}")
            calls[name] = ToolCall(arguments, response)
            if response.timed_out or response.disconnected is not None:
                unanswered[_call_of(name)] = response  # do not call it again
            if is_lost:
                break
    return replace(look, calls=calls)


def _call_of(name: str) -> str:
    return f"tools/call {name}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


def _why_not(tool: JSONObject, plan: Plan) -> str:
    if not plan.call:
        return "calling tools is turned off"
    if not isinstance(tool.get("name"), str):
        return "its name is not a string"
    if is_destructive(tool):
        return "it is annotated as destructive"
    return f"no arguments can be made from its schema; give them with --args {tool.get('name')}=JSON"


async def _look(visitor: Visitor, unanswered: dict[str, Response], on_progress: OnProgress) -> Look:
    client = await visitor.connect()
    version, ui = client.version, client.ui
    on_progress(Progress(f"connects with {version}, {'with' if ui else 'without'} MCP Apps"))
    failures: list[str] = []
    schema_errors: list[SchemaError] = []
    capabilities = client.capabilities
    tools, resources, templates = [
        await _all(client, kind, request, failures, schema_errors) if capability in capabilities else []
        for kind, capability, request in (
            ("tools", "tools", types.ListToolsRequest),
            ("resources", "resources", types.ListResourcesRequest),
            ("resourceTemplates", "resources", types.ListResourceTemplatesRequest),
        )
    ]
    look = Look(version, ui, capabilities, tools, resources, templates, failures=failures, schema_errors=schema_errors)

    async def read(uri: str) -> Response:
        answer = unanswered.get(uri) or await visitor.read(uri)
        if answer.timed_out or answer.disconnected is not None:
            unanswered[uri] = answer
        return answer

    uris = look.view_uris()
    reads = {uri: await read(uri) for uri in uris}
    again = {uri: await read(uri) for uri in uris} if ui and version == VERSIONS[-1] else {}
    missing = await read(_MISSING) if ui and uris else None
    return replace(look, reads=reads, rereads=again, missing_view=missing)


async def _all(
    client: Client, kind: str, request: Any, failures: list[str], schema_errors: list[SchemaError]
) -> list[JSONObject]:
    """Return all pages of a list."""
    found: list[JSONObject] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        answer = await client.ask(request(params=page_params(cursor)))
        schema_errors += [replace(each, where=each.where or f"the list of {kind}") for each in answer.schema_errors]
        if answer.result is None:
            assert answer.error is not None
            if (answer.error["code"] != types.METHOD_NOT_FOUND or kind == "tools") and not answer.schema_errors:
                failures.append(f"{kind} cannot be listed: {answer.error['message']}")
            return found
        page = answer.result.get(kind)
        if not isinstance(page, list):
            return found
        found += [item for item in page if isinstance(item, dict)]
        before, cursor = cursor, answer.result.get("nextCursor")
        if not isinstance(cursor, str):
            return found
        if cursor == before:
            break
    failures.append(f"the list of {kind} never ends.")
    return found
