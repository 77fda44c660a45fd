"""Calls of a host's tools by the names that servers give them, with or without a View, whether or not for the model."""

from typing import Any

from fanlight.host import Call, Host
from fanlight.host.host import runtime_of
from fanlight.host.views.app_tools import AppTool
from fanlight.host.views.records import Owner


async def begin(host: Host, server: str, tool: str, conversation: str | None = None, user: str | None = None) -> Call:
    return await runtime_of(host).begin(server, tool, Owner(user, conversation))


async def call_tool(
    host: Host,
    server: str,
    tool: str,
    arguments: dict[str, Any],
    conversation: str | None = None,
    user: str | None = None,
) -> Call:
    connection = await runtime_of(host).servers.connect(server, user)
    await connection.ready()
    call = await begin(host, server, tool, conversation, user)
    await call.run(arguments)
    return call


async def context_of(host: Host, conversation: str | None = None, user: str | None = None) -> list[dict[str, Any]]:
    """Return the last update of each open View of a conversation."""
    contexts = await runtime_of(host).records.contexts(Owner(user, conversation))
    return [{"view": each.view, "server": each.server, **each.context} for each in contexts]


def app_tools_of(host: Host, conversation: str | None = None, user: str | None = None) -> list[AppTool]:
    """Return the tools that the open Views of a conversation offer."""
    return runtime_of(host).views.app_tools(Owner(user, conversation))


async def call_app_tool(host: Host, view: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    runtime = runtime_of(host)
    return await runtime.requests.call_app_tool(runtime.views.live(view), tool, arguments)
