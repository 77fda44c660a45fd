"""Sends the requests of a conversation to a server, through this worker or the one that owns the conversation there."""

from collections.abc import Awaitable
from typing import Final

from mcp.shared.dispatcher import ProgressFnT

from fanlight.host.bus.messages import ForwardedRequest
from fanlight.host.bus.workers import OnProgress, Workers
from fanlight.host.errors import (
    BusError,
    CallCancelledError,
    ConnectionLostError,
    CredentialsRejectedError,
    NotConnectedError,
    RequestError,
    ServerError,
    SignInRequiredError,
    WorkerLostError,
)
from fanlight.host.settings import Timeouts
from fanlight.host.upstream.callers import Caller
from fanlight.host.upstream.config import Command, Url
from fanlight.host.upstream.servers import Servers
from fanlight.protocol.jsonrpc import JSONObject

_MARGIN: Final = 5.0
"""How many seconds longer than the other worker this one waits, so that the reason of a timeout arrives."""


class ServerRouter:
    """Sends requests to servers. With `affinity`, those of a conversation all go through one worker.

    Args:
        servers: The connections of this worker.
        workers: The other workers.
        timeouts: How long servers may take.
    """

    def __init__(self, servers: Servers, workers: Workers, timeouts: Timeouts) -> None:
        self._servers = servers
        self._workers = workers
        self._timeouts = timeouts

    @property
    def unrouted_commands(self) -> list[str]:
        """The servers that are commands without `affinity`, of which each worker has a process of its own."""
        return [
            name
            for name, connection in self._servers.items()
            if isinstance(connection.target, Command) and connection.target.affinity is None
        ]

    async def call_tool(
        self,
        server: str,
        user: str | None,
        conversation: str | None,
        name: str,
        arguments: JSONObject,
        on_progress: ProgressFnT | None = None,
    ) -> JSONObject:
        """Call a tool and return its result. Raise ServerError or CallCancelledError."""
        owner = await self._owner(server, user, conversation)
        if owner is not None:
            params = {"name": name, "arguments": arguments}
            request = ForwardedRequest(server, user, conversation, "tools/call", params)
            return await self._request(owner, request, self._timeouts.call, on_progress)
        return await self._call_tool(server, Caller(user, conversation), name, arguments, on_progress)

    async def read_resource(self, server: str, user: str | None, conversation: str | None, uri: str) -> JSONObject:
        """Read a resource. Raise ServerError or CallCancelledError."""
        owner = await self._owner(server, user, conversation)
        if owner is not None:
            request = ForwardedRequest(server, user, conversation, "resources/read", {"uri": uri})
            return await self._request(owner, request, self._timeouts.request, None)
        return await self._read_resource(server, Caller(user, conversation), uri)

    async def serve(self, request: ForwardedRequest, on_progress: OnProgress) -> JSONObject:
        """Send a request of another worker to a server. Return what came of it, for `_request` of that worker."""
        try:
            caller, params = Caller(request.user, request.conversation), request.params
            if request.method == "tools/call":
                work: Awaitable[JSONObject] = self._call_tool(
                    request.server, caller, params["name"], params["arguments"], on_progress
                )
            else:
                work = self._read_resource(request.server, caller, params["uri"])
            return {"result": await work}
        except ServerError as error:
            return {"error": {"code": error.code, "message": error.message, "data": error.data}}
        except CredentialsRejectedError as error:
            return {"rejected": {"user": error.user, "status": error.status, "message": error.message}}
        except SignInRequiredError as error:
            return {"sign_in": {"user": error.user, "url": error.url}}
        except CallCancelledError as error:
            return {"cancelled": error.message, "sent": not isinstance(error, NotConnectedError)}

    async def _call_tool(
        self, server: str, caller: Caller, name: str, arguments: JSONObject, on_progress: ProgressFnT | None
    ) -> JSONObject:
        connection = await self._servers.connect(server, caller.user)
        with connection.callers.running(caller):
            return await connection.call_tool(name, arguments, on_progress=on_progress, timeout=self._timeouts.call)

    async def _read_resource(self, server: str, caller: Caller, uri: str) -> JSONObject:
        connection = await self._servers.connect(server, caller.user)
        with connection.callers.running(caller):
            return await connection.read_resource(uri)

    async def _owner(self, server: str, user: str | None, conversation: str | None) -> str | None:
        """Return the worker that a conversation's requests to a server go to, if it is another one."""
        target = self._servers[server].target
        if not isinstance(target, Command | Url) or target.affinity != "conversation":
            return None
        try:
            return await self._workers.owner("affinity", server, user, conversation)
        except BusError as error:
            raise NotConnectedError(server, f"which worker has this conversation is not known: {error}") from error

    async def _request(
        self, owner: str, request: ForwardedRequest, seconds: float, on_progress: OnProgress | None
    ) -> JSONObject:
        wait = seconds + self._timeouts.connect + _MARGIN
        try:
            done = await self._workers.request(owner, request, wait, on_progress)
        except WorkerLostError as error:
            raise ConnectionLostError(request.server, f"{error} The tool may have run.") from error
        except RequestError as error:
            raise NotConnectedError(request.server, str(error)) from error
        if (failure := done.get("error")) is not None:
            raise ServerError(request.server, failure["code"], failure["message"], failure["data"])
        if (rejected := done.get("rejected")) is not None:
            raise CredentialsRejectedError(request.server, rejected["user"], rejected["status"], rejected["message"])
        if (sign_in := done.get("sign_in")) is not None:
            raise SignInRequiredError(request.server, sign_in["user"], sign_in["url"])
        if "cancelled" in done:
            kind = ConnectionLostError if done["sent"] else NotConnectedError
            raise kind(request.server, done["cancelled"])
        result: JSONObject = done["result"]
        return result
