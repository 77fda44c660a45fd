"""Starts or reaches a server once, as a host will, to see that it works before a host gets it."""

from dataclasses import dataclass

from fanlight.host.documents.tool_link import view_uri
from fanlight.host.errors import NotConnectedError
from fanlight.host.upstream.config import Command, Url
from fanlight.host.upstream.servers import Servers


@dataclass(frozen=True)
class Started:
    """What a server lists."""

    tools: int
    views: int
    """How many of the tools have a View."""


async def start(name: str, target: Command | Url, seconds: float) -> Started:
    """Start or reach a server and list its tools. Raise `NotConnectedError` if that fails, or takes longer."""
    async with Servers({name: target}, start_timeout=seconds, slow_after=seconds) as servers:
        connection = servers[name]
        connection.wait_after_exit()
        await connection.wait_until_settled()
        if connection.status.state != "ready":
            reason = connection.status.reason or f"It did not list its tools within {seconds:g} seconds."
            raise NotConnectedError(name, f"it did not start. {reason}")
        return Started(len(connection.tools), sum(view_uri(tool) is not None for tool in connection.tools))
