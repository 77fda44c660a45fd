"""A plain MCP client: one connection on one protocol version, with or without MCP Apps, which keeps invalid responses.

Every wait has a timeout.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.server.lowlevel import Server
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from fanlight import __version__
from fanlight.check.schema_errors import schema_errors_in
from fanlight.dev.tracebacks import find_exceptions
from fanlight.host.errors import ServerStartError
from fanlight.host.upstream.config import InProcess, Target
from fanlight.host.upstream.diagnostics import explain_failure, explain_invalid, first_error
from fanlight.host.upstream.transport.malformed import MalformedResponse
from fanlight.host.upstream.transport.open import Attempt, open_transport
from fanlight.host.upstream.transport.wire import without_wire_fields
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.extension import EXTENSION_ID, SERVER_SETTINGS
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.observation import Response, SchemaError

TIMEOUT: Final = 15.0
"""How many seconds to wait for each response of a server, and for a program to start."""
_SECOND_CHANCE: Final = 0.3
"""The share of that time for `initialize`, after `server/discover` got no response."""

_RAW: Final[TypeAdapter[Any]] = TypeAdapter(JSONObject)
_INFO: Final = types.Implementation(name="fanlight-check", version=__version__)
_CLOSED: Final = "the connection was lost"
_STDERR_LOOKS: Final = 25


class ConnectError(RemoteError):
    """The server cannot be connected on any protocol version. The message says why."""


class OtherVersionError(RemoteError):
    """The server does not support the requested protocol version."""


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
    """Connect on one protocol version. Raise `OtherVersionError`, or `ConnectError` with the reason."""
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
        if isinstance(first, OtherVersionError):
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
            raise OtherVersionError(version) from None
        return
    result = await _initialize(session, version, extensions)
    if result.protocol_version != version:
        raise OtherVersionError(version)
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
    raise OtherVersionError(version)


@asynccontextmanager
async def _in_process(server: Server[Any]) -> AsyncIterator[tuple[Any, Any]]:
    to_server, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    from_server, at_client = anyio.create_memory_object_stream[SessionMessage](10)
    async with to_server, at_client, anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, at_server, from_server, server.create_initialization_options())
        yield at_client, to_server
        tasks.cancel_scope.cancel()
