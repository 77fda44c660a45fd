"""Visit a server as plain MCP clients do, on each protocol version, with and without MCP Apps; write down what is seen.

Every wait is bounded. Tools are called only if that is safe: they have a View, their arguments can be made from their
schema or were given, and they are not annotated as destructive.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
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
from fanlight.check.schema_errors import schema_errors_in
from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import InProcess, Streams, Target
from fanlight.host.upstream.diagnostics import explain_end, explain_failure, explain_invalid, first_error, quote_output
from fanlight.host.upstream.malformed import MalformedResponse
from fanlight.host.upstream.transport import Attempt, open_transport
from fanlight.host.upstream.wire import page_params, without_wire_fields
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS, URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model
from fanlight.rules.observation import Look, Response, SchemaError, ToolCall

VERSIONS: Final = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)

_MISSING: Final = f"{URI_SCHEME}fanlight-check/no-such-view"
_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_INFO: Final = types.Implementation(name="fanlight-check", version=__version__)
PATIENCE: Final = 15.0
"""Seconds to wait for each answer of a server, and for a program to start."""
_SECOND_CHANCE: Final = 0.3
"""Of that time, for `initialize` where `server/discover` stayed without an answer."""
_CLOSED: Final = "the connection was lost"
_MOST_PAGES: Final = 100
_MOST_SILENT: Final = 3
"""As many calls may stay without an answer before no more tools are called."""
_AT_ONCE: Final = 3

Tell = Callable[[str], None]


class ConnectError(RemoteError):
    """The server cannot be connected on any protocol version. The message says why."""


class _OtherVersion(Exception):
    """The server does not speak the version that it was asked for."""


@dataclass(frozen=True)
class Plan:
    """What may be called, and with what."""

    call: bool = True
    arguments: Mapping[str, JSONObject] = field(default_factory=dict)
    patience: float = PATIENCE

    def arguments_for(self, tool: JSONObject) -> JSONObject | None:
        """Return the arguments to call a tool with; None if it is not to be called."""
        name = tool.get("name")
        if not isinstance(name, str):
            return None
        if name in self.arguments:
            return self.arguments[name]
        return example_arguments(tool.get("inputSchema")) if self.call and not destructive(tool) else None


def destructive(tool: JSONObject) -> bool:
    """Tell whether a tool is annotated as one that destroys."""
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("destructiveHint") is True


_arrived: ContextVar[JSONObject | None] = ContextVar("_arrived", default=None)


class _Wire(JSONRPCDispatcher):
    """Keeps a result as it came, for when the SDK refuses it."""

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **more: Any
    ) -> JSONObject:
        result = await super().send_raw_request(method, params, opts, **more)
        _arrived.set(result)
        return result


class Client:
    """One connected client."""

    def __init__(self, session: ClientSession, version: str, ui: bool, attempt: Attempt, patience: float) -> None:
        self.version = version
        self.ui = ui
        self.attempt = attempt
        self._session = session
        self._patience = patience

    @property
    def capabilities(self) -> JSONObject:
        given = self._session.server_capabilities
        return {} if given is None else given.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def ask(self, request: types.ClientRequest) -> Response:
        """Send a request, and return what came, whatever it is."""
        result: JSONObject | None = None
        try:
            with anyio.fail_after(self._patience), self.attempt.call_scope():
                result = await self._session.send_request(request, _RAW)
        except MCPError as error:
            told = {"code": error.code, "message": error.message}
            if isinstance(error.data, MalformedResponse):
                unreadable = SchemaError("", f"gets a response that cannot be read: {error.message}.")
                return Response(error=told, schema_errors=(unreadable,))
            return Response(error=told, disconnected=error.message if self.attempt.is_connection_loss(error) else None)
        except TimeoutError:
            message = f"no answer within {self._patience:g} seconds"
            return Response(error={"code": 0, "message": message}, timed_out=True)
        except ValidationError as error:
            came = _arrived.get() or {}
            return Response(without_wire_fields(came), schema_errors=tuple(schema_errors_in(came, error)))
        if result is None:  # cut, with the connection
            return Response(error={"code": types.CONNECTION_CLOSED, "message": _CLOSED}, disconnected=_CLOSED)
        return Response(without_wire_fields(result))

    async def call(self, name: str, arguments: JSONObject) -> Response:
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        return await self.ask(types.CallToolRequest(params=params))

    async def read(self, uri: str) -> Response:
        return await self.ask(types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri)))


@asynccontextmanager
async def connected(to: Target, version: str, *, ui: bool, patience: float = PATIENCE) -> AsyncIterator[Client]:
    """Connect on one protocol version. Raises _OtherVersion, or ConnectError with what kept it from connecting."""
    attempt = Attempt()
    transport = _in_process(to.server) if isinstance(to, InProcess) else open_transport(to, attempt)
    extensions = {EXTENSION_ID: dict(SERVER_SETTINGS)} if ui else None
    longest = patience * (1 + _SECOND_CHANCE) if version in MODERN_PROTOCOL_VERSIONS else patience
    try:
        with anyio.fail_after(longest) as limit:
            async with (
                transport as (read, write),
                ClientSession(dispatcher=_Wire(read, write), client_info=_INFO, extensions=extensions) as session,
            ):
                await _greet(session, version, extensions, patience)
                attempt.answered = True
                limit.deadline = float("inf")
                yield Client(session, version, ui, attempt, patience)
    except (MCPError, ValidationError, TimeoutError, OSError, ServerStartError, ExceptionGroup) as error:
        first = first_error(error)
        if isinstance(first, _OtherVersion):
            raise first from None
        if isinstance(first, ValidationError):
            raise ConnectError(
                f"{to} does not answer as an MCP server. {explain_invalid('initialize', first)}"
            ) from error
        hint = " Give it longer with --timeout, if it needs that." if isinstance(first, TimeoutError) else ""
        raise ConnectError(f"{explain_failure(first, to, attempt, longest)}{hint}") from error


async def _greet(session: ClientSession, version: str, extensions: JSONObject | None, patience: float) -> None:
    if version in MODERN_PROTOCOL_VERSIONS:
        try:
            session.adopt(
                types.DiscoverResult.model_validate(await _discovered(session, version, extensions, patience))
            )
        except (MCPError, ValidationError, RuntimeError):
            raise _OtherVersion(version) from None
        return
    result = await _initialized(session, version, extensions)
    if result.protocol_version != version:
        raise _OtherVersion(version)
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


async def _initialized(session: ClientSession, version: str, extensions: JSONObject | None) -> types.InitializeResult:
    capabilities = types.ClientCapabilities(extensions=extensions)
    params = types.InitializeRequestParams(protocol_version=version, capabilities=capabilities, client_info=_INFO)
    return await session.send_request(types.InitializeRequest(params=params), types.InitializeResult)


async def _discovered(
    session: ClientSession, version: str, extensions: JSONObject | None, patience: float
) -> JSONObject:
    # The SDK's own patience is that of a user; a program that only just starts may need more.
    with anyio.move_on_after(patience):
        while True:
            try:
                return await session.send_discover(version)
            except MCPError as error:
                if error.code != types.REQUEST_TIMEOUT:
                    raise
    # Older servers may drop what they do not know. One that does not answer this either runs into the caller's limit.
    await _initialized(session, HANDSHAKE_PROTOCOL_VERSIONS[-1], extensions)
    raise _OtherVersion(version)


@dataclass
class _Line:
    """A connection that another task holds, until it is told to leave."""

    client: Client
    leave: anyio.Event
    gone: anyio.Event
    reason: str | None = None
    """Why it ended by itself."""
    in_flight: list[str] = field(default_factory=list)
    """The tools that are being called."""
    blamed: str | None = None
    """The tool that was called when it failed, if there was but one."""


class Visitor:
    """A client that connects anew after a request that ended or blocked the server. Use it with `async with`."""

    def __init__(self, to: Target, version: str, *, ui: bool, patience: float) -> None:
        self.noise: str | None = None
        """What the server wrote to its stdout that is not MCP."""
        self.failed: dict[str, ToolCall] = {}
        """Calls that were not answered as they should be, by tool."""
        self._to = to
        self._how = (version, ui, patience)
        self._line: _Line | None = None
        self._connecting = anyio.Lock()
        self._tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._line is not None:
                self._line.leave.set()
                await self._line.gone.wait()
        finally:
            self._tasks.cancel_scope.cancel()
            # The group is not told of an error: it would wrap it.
            await self._tasks.__aexit__(None, None, None)

    async def connect(self) -> Client:
        """Connect. Raises ConnectError, or _OtherVersion."""
        self._line = await self._tasks.start(self._hold)
        return self._line.client

    def connect_meanwhile(self) -> None:
        """Begin to connect, so that the first request has less to wait for."""
        self._tasks.start_soon(self._ready)

    async def comes_back(self) -> bool:
        """Tell whether the server can be asked, and connect if need be."""
        return await self._ready() is not None

    async def _ready(self) -> _Line | None:
        async with self._connecting:
            if self._line is None or self._line.gone.is_set():
                try:
                    await self.connect()
                except (ConnectError, _OtherVersion):
                    return None
            return self._line

    async def _hold(self, *, task_status: TaskStatus[_Line]) -> None:
        """Hold a connection in a task of its own: where a transport fails, it takes its task with it."""
        version, ui, patience = self._how
        line: _Line | None = None
        try:
            async with connected(self._to, version, ui=ui, patience=patience) as client:
                line = _Line(client, anyio.Event(), anyio.Event())
                task_status.started(line)
                await line.leave.wait()
        except ConnectError as error:
            if line is None:
                raise
            line.reason = str(error)
        finally:
            if line is not None:
                line.client.attempt.cancel_calls()
                line.gone.set()

    async def read(self, uri: str) -> Response:
        line = await self._ready()
        return _NO_ANSWER if line is None else await self._after(line, await line.client.read(uri))

    async def call(self, name: str, arguments: JSONObject) -> Response:
        line = await self._ready()
        if line is None:
            return _NO_ANSWER
        line.in_flight.append(name)
        try:
            answer = await self._after(line, await line.client.call(name, arguments))
        finally:
            line.in_flight.remove(name)
        if answer.schema_errors or ((answer.disconnected is not None or answer.timed_out) and line.blamed == name):
            self.failed.setdefault(name, ToolCall(arguments, answer))
        return answer

    async def _after(self, line: _Line, answer: Response) -> Response:
        """Leave a server that is gone, or that may be blocked."""
        child = line.client.attempt.child
        self.noise = self.noise or (child.invalid_output if child else None)
        if answer.disconnected is None and (not answer.timed_out or isinstance(self._to, InProcess)):
            return answer
        if self._line is line:
            self._line = None
            line.blamed = line.in_flight[0] if len({*line.in_flight}) == 1 else None
            line.leave.set()
        await line.gone.wait()
        if answer.disconnected is None:
            return replace(answer, last_output=quote_output(line.client.attempt))
        return replace(answer, disconnected=line.reason or explain_end(self._to, line.client.attempt))


_GONE: Final = "It did not come back, so nothing after that was checked."
_NO_ANSWER: Final = Response(error={"code": 0, "message": "the server did not come back"})


@asynccontextmanager
async def _in_process(server: Server[Any]) -> AsyncIterator[tuple[Any, Any]]:
    to_server, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    from_server, at_client = anyio.create_memory_object_stream[SessionMessage](10)
    async with to_server, at_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, at_server, from_server, server.create_initialization_options())
        yield at_client, to_server
        tasks.cancel_scope.cancel()


# What is seen


async def visit(to: Target, plan: Plan, tell: Tell) -> list[Look]:
    """Look at a server on every version that it speaks. Raises ConnectError if it speaks none."""
    if isinstance(to, Streams) and to.once:
        raise ConnectError("A transport that can be opened only once is not enough: give a function that opens one.")
    looks: list[Look] = []
    reasons: list[str] = []
    unanswered: dict[str, Response] = {}

    async def look(version: str, ui: bool, calls: bool = False) -> None:
        try:
            async with Visitor(to, version, ui=ui, patience=plan.patience) as visitor:
                seen = await _look(visitor, unanswered, tell)
                with_view = {str(tool.get("name")) for tool, _ in (looks[0] if looks else seen).links()}
                if calls:
                    seen = await _with_calls(visitor, seen, with_view, plan, unanswered, tell)
                looks.append(replace(seen, stdout_noise=visitor.noise))
        except _OtherVersion:
            return
        except ConnectError as error:
            reasons.append(str(error))

    # First the newest, alone: a server that cannot start would fail again and again.
    for newest in reversed(VERSIONS):
        await look(newest, ui=True, calls=True)
        if looks or reasons:
            break
    if not looks:
        raise ConnectError(reasons[0] if reasons else "It speaks no version of MCP that we know.")
    older = VERSIONS[: VERSIONS.index(newest)]
    limit = anyio.CapacityLimiter(_AT_ONCE)

    async def limited(version: str, ui: bool, calls: bool) -> None:
        async with limit:
            await look(version, ui, calls)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(limited, newest, False, True)
        if newest in MODERN_PROTOCOL_VERSIONS:
            tasks.start_soon(limited, HANDSHAKE_PROTOCOL_VERSIONS[-1], False, False)
        for version in older:
            tasks.start_soon(limited, version, True, False)
    return sorted(looks, key=lambda seen: (seen.version, seen.ui))


async def _with_calls(
    visitor: Visitor, look: Look, wanted: Collection[str], plan: Plan, unanswered: dict[str, Response], tell: Tell
) -> Look:
    """Call the wanted tools, of those that the model may call."""
    calls: dict[str, ToolCall] = {}
    with_apps = "with" if look.ui else "without"
    for tool in look.tools:
        name = str(tool.get("name"))
        if name not in wanted or name in calls or _call_of(name) in unanswered or not for_model(tool):
            continue
        arguments = plan.arguments_for(tool)
        if arguments is None:
            if look.ui:
                tell(f"does not call {name}: {_why_not(tool, plan)}")
        elif sum(call.response.timed_out for call in calls.values()) >= _MOST_SILENT:
            tell(f"does not call {name}: {_MOST_SILENT} others did not answer")
        else:
            tell(f"calls {name} {with_apps} MCP Apps: {_short(arguments)}")
            answer = await visitor.call(name, arguments)
            if answer.disconnected is not None and not await visitor.comes_back():
                answer = replace(answer, disconnected=f"{answer.disconnected} {_GONE}")
            calls[name] = ToolCall(arguments, answer)
            if answer.timed_out or answer.disconnected is not None:
                unanswered[_call_of(name)] = answer  # once is enough
            if answer.disconnected is not None and answer.disconnected.endswith(_GONE):
                break
    return replace(look, calls=calls)


def _call_of(name: str) -> str:
    return f"tools/call {name}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


def _why_not(tool: JSONObject, plan: Plan) -> str:
    if not plan.call:
        return "no tools are to be called"
    if not isinstance(tool.get("name"), str):
        return "its name is no text"
    if destructive(tool):
        return "it is annotated as destructive"
    return f"no arguments can be made up for it; give them with --args {tool.get('name')}=JSON"


async def _look(visitor: Visitor, unanswered: dict[str, Response], tell: Tell) -> Look:
    client = await visitor.connect()
    version, ui = client.version, client.ui
    tell(f"speaks {version}, {'with' if ui else 'without'} MCP Apps")
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
    """List all pages of something."""
    found: list[JSONObject] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
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
