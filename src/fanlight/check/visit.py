"""Visit a server as plain MCP clients do: on each protocol version, with and without MCP Apps. Record what they see.

Every wait has a timeout. A tool is called only if it has a View, is not annotated as destructive, and if its arguments
were given or can be made from its schema.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
import mcp_types as types
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from fanlight.check.client import TIMEOUT, Client, ConnectError, OtherVersionError
from fanlight.check.progress import OnProgress, Progress
from fanlight.check.visitor import Visitor
from fanlight.dev.arguments import example_arguments
from fanlight.host.upstream.config import Streams, Target
from fanlight.host.upstream.transport.wire import page_params
from fanlight.protocol.extension import URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_model
from fanlight.rules.observation import Look, Response, SchemaError, ToolCall

VERSIONS: Final = (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS)

_MISSING: Final = f"{URI_SCHEME}fanlight-check/no-such-view"
_MAX_PAGES: Final = 100
_MAX_TIMEOUTS: Final = 3
"""After this many calls without a response no more tools are called."""
_AT_ONCE: Final = 3


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


_NOT_RECONNECTED: Final = "It did not restart, so nothing after that was checked."


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
        except OtherVersionError:
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
