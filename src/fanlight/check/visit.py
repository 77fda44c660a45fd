"""Visit a server as plain MCP clients do, on each protocol version, with and without MCP Apps; write down what is seen.

Every wait is bounded. Tools are called only if that is safe: they have a View, their arguments can be made from their
schema or were given, and they are not annotated as destructive.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from fanlight import __version__
from fanlight.check.arguments import made_arguments
from fanlight.check.observation import Answer, Called, JSONObject, Look
from fanlight.host.attempt import Attempt, open_transport
from fanlight.host.config import InProcess, Streams, Target
from fanlight.host.process import CannotStart
from fanlight.host.reasons import cause, why_failed
from fanlight.host.resources import for_model
from fanlight.host.wire import at_cursor, without_wire_fields
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS, URI_SCHEME

VERSIONS: Final = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)

_MISSING: Final = f"{URI_SCHEME}fanlight-check/no-such-view"
_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_INFO: Final = types.Implementation(name="fanlight-check", version=__version__)
_CONNECT: Final = 30.0
_ASK: Final = 20.0
_CALL: Final = 30.0
_MOST_PAGES: Final = 100
_AT_ONCE: Final = 3

Tell = Callable[[str], None]


class CannotConnect(FanlightError):
    """The server speaks no version of MCP with us; says why."""


class _OtherVersion(Exception):
    """The server does not speak the version that it was asked for."""


@dataclass(frozen=True)
class Plan:
    """What may be called, and with what."""

    call: bool = True
    arguments: Mapping[str, JSONObject] = field(default_factory=dict)

    def arguments_for(self, tool: JSONObject) -> JSONObject | None:
        """Return the arguments to call a tool with; None if it is not to be called."""
        name = str(tool.get("name"))
        if name in self.arguments:
            return self.arguments[name]
        return made_arguments(tool.get("inputSchema")) if self.call and not destructive(tool) else None


def destructive(tool: JSONObject) -> bool:
    """Tell whether a tool is annotated as one that destroys."""
    annotations = tool.get("annotations")
    return isinstance(annotations, Mapping) and annotations.get("destructiveHint") is True


class Client:
    """One connected client."""

    def __init__(self, session: ClientSession, version: str, ui: bool) -> None:
        self.version = version
        self.ui = ui
        self._session = session

    @property
    def capabilities(self) -> JSONObject:
        given = self._session.server_capabilities
        return {} if given is None else given.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def ask(self, request: types.ClientRequest, seconds: float = _ASK) -> Answer:
        """Send a request, and return what came, whatever it is."""
        try:
            with anyio.fail_after(seconds):
                result: JSONObject = await self._session.send_request(request, _RAW)
        except MCPError as error:
            return Answer(error={"code": error.code, "message": error.message})
        except TimeoutError:
            return Answer(error={"code": 0, "message": f"no answer within {seconds:g} seconds"})
        except (ValidationError, ValueError) as error:
            return Answer(error={"code": 0, "message": f"the answer is not MCP: {error}"})
        return Answer(without_wire_fields(result))

    async def call(self, name: str, arguments: JSONObject) -> Answer:
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        return await self.ask(types.CallToolRequest(params=params), _CALL)

    async def read(self, uri: str) -> Answer:
        return await self.ask(types.ReadResourceRequest(params=types.ReadResourceRequestParams(uri=uri)))


@asynccontextmanager
async def connected(to: Target, version: str, *, ui: bool) -> AsyncIterator[Client]:
    """Connect on one protocol version. Raises _OtherVersion, or what kept it from connecting."""
    attempt = Attempt()
    transport = _in_process(to.server) if isinstance(to, InProcess) else open_transport(to, attempt)
    extensions = {EXTENSION_ID: dict(SERVER_SETTINGS)} if ui else None
    try:
        with anyio.fail_after(_CONNECT) as limit:
            async with (
                transport as (read, write),
                ClientSession(
                    dispatcher=JSONRPCDispatcher(read, write), client_info=_INFO, extensions=extensions
                ) as session,
            ):
                await _greet(session, version, extensions)
                limit.deadline = float("inf")
                yield Client(session, version, ui)
    except (MCPError, ValidationError, TimeoutError, OSError, CannotStart, ExceptionGroup) as error:
        first = cause(error)
        if isinstance(first, _OtherVersion):
            raise first from None
        if attempt.client is None and isinstance(first, Exception):
            raise CannotConnect(why_failed(first, to, attempt, _CONNECT)) from error
        raise


async def _greet(session: ClientSession, version: str, extensions: JSONObject | None) -> None:
    if version in MODERN_PROTOCOL_VERSIONS:
        try:
            session.adopt(types.DiscoverResult.model_validate(await _discovered(session, version)))
        except (MCPError, ValidationError, RuntimeError):
            raise _OtherVersion(version) from None
        return
    capabilities = types.ClientCapabilities(extensions=extensions)
    params = types.InitializeRequestParams(protocol_version=version, capabilities=capabilities, client_info=_INFO)
    result = await session.send_request(types.InitializeRequest(params=params), types.InitializeResult)
    if result.protocol_version != version:
        raise _OtherVersion(version)
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


async def _discovered(session: ClientSession, version: str) -> JSONObject:
    try:
        return await session.send_discover(version)
    except MCPError as error:
        if error.code != types.REQUEST_TIMEOUT:
            raise
        # The SDK's patience is that of a user; a program that only just starts may need more.
        return await session.send_discover(version)


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
    """Look at a server on every version that it speaks. Raises CannotConnect if it speaks none."""
    if isinstance(to, Streams) and to.once:
        raise CannotConnect("A transport that can be opened only once is not enough: give a function that opens one.")
    looks: list[Look] = []
    reasons: list[str] = []

    async def look(version: str, ui: bool, calls: bool = False) -> None:
        try:
            async with connected(to, version, ui=ui) as client:
                seen = await _look(client, tell)
                with_view = {str(tool.get("name")) for tool, _ in (looks[0] if looks else seen).links()}
                looks.append(await _with_calls(client, seen, with_view, plan, tell) if calls else seen)
        except _OtherVersion:
            return
        except CannotConnect as error:
            reasons.append(str(error))

    # First the newest, alone: a server that cannot start would fail again and again.
    for newest in reversed(VERSIONS):
        await look(newest, ui=True, calls=True)
        if looks or reasons:
            break
    if not looks:
        raise CannotConnect(reasons[0] if reasons else "It speaks no version of MCP that we know.")
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


async def _with_calls(client: Client, look: Look, wanted: Collection[str], plan: Plan, tell: Tell) -> Look:
    """Call the wanted tools, of those that the model may call."""
    calls: dict[str, Called] = {}
    with_apps = "with" if look.ui else "without"
    for tool in look.tools:
        name = str(tool.get("name"))
        if name not in wanted or not for_model(tool):
            continue
        arguments = plan.arguments_for(tool)
        if arguments is not None:
            tell(f"calls {name} {with_apps} MCP Apps: {_short(arguments)}")
            calls[name] = Called(arguments, await client.call(name, arguments))
        elif look.ui:
            tell(f"does not call {name}: {_why_not(tool, plan)}")
    return replace(look, calls=calls)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."


def _why_not(tool: JSONObject, plan: Plan) -> str:
    if not plan.call:
        return "no tools are to be called"
    if destructive(tool):
        return "it is annotated as destructive"
    return f"no arguments can be made up for it; give them with --args {tool.get('name')}=JSON"


async def _look(client: Client, tell: Tell) -> Look:
    tell(f"speaks {client.version}, {'with' if client.ui else 'without'} MCP Apps")
    failures: list[str] = []
    capabilities = client.capabilities
    tools, resources, templates = [
        await _all(client, kind, request, failures) if capability in capabilities else []
        for kind, capability, request in (
            ("tools", "tools", types.ListToolsRequest),
            ("resources", "resources", types.ListResourcesRequest),
            ("resourceTemplates", "resources", types.ListResourceTemplatesRequest),
        )
    ]
    look = Look(client.version, client.ui, capabilities, tools, resources, templates, failures=failures)
    uris = look.view_uris()
    reads = {uri: await client.read(uri) for uri in uris}
    again = {uri: await client.read(uri) for uri in uris} if client.ui and client.version == VERSIONS[-1] else {}
    missing = await client.read(_MISSING) if client.ui and uris else None
    return replace(look, reads=reads, again=again, missing=missing)


async def _all(client: Client, kind: str, request: Any, failures: list[str]) -> list[JSONObject]:
    """List all pages of something."""
    found: list[JSONObject] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        answer = await client.ask(request(params=at_cursor(cursor)))
        if answer.result is None:
            assert answer.error is not None
            if answer.error["code"] != types.METHOD_NOT_FOUND or kind == "tools":
                failures.append(f"{kind} cannot be listed: {answer.error['message']}")
            return found
        page = answer.result.get(kind)
        if not isinstance(page, list):
            failures.append(f"{kind} are listed without a list.")
            return found
        found += [item for item in page if isinstance(item, dict)]
        before, cursor = cursor, answer.result.get("nextCursor")
        if cursor is None:
            return found
        if cursor == before:
            break
    failures.append(f"the list of {kind} never ends.")
    return found
