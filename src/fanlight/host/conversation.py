"""`Conversation`: everything that an agent does with a host, for one user and one chat."""

from dataclasses import dataclass
from functools import partial

from fanlight.host.bus.messages import CancelBegun
from fanlight.host.calls.call import Call
from fanlight.host.calls.model_tools import ModelTool, find_by_name, plain_name
from fanlight.host.calls.runner import CallView
from fanlight.host.calls.turn import Turn, ViewHandler
from fanlight.host.errors import NotConnectedError, RequestError, UnknownToolError, UnknownViewError
from fanlight.host.runtime import Runtime
from fanlight.host.store.base import ViewRecord
from fanlight.host.upstream.connection import Connection
from fanlight.host.validation import check_arguments, check_text, check_user
from fanlight.host.views.info import ViewInfo
from fanlight.host.views.records import Owner
from fanlight.protocol.content import joined_text
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.extension import MIME_TYPE
from fanlight.protocol.jsonrpc import JSONObject


@dataclass(frozen=True)
class ContextUpdate:
    """What an open View wants the model to know. It comes from the View, not from the user: mark it as such."""

    view: str
    """The id of the View."""
    server: str
    """The server that the View comes from."""
    tool: str
    """The tool whose call opened the View."""
    content: list[JSONObject]
    """Content blocks, as they are on the wire."""
    structured_content: JSONObject | None
    """Structured content, if the View gave any."""

    @property
    def text(self) -> str:
        """The text blocks of `content`, one below the other."""
        return joined_text(self.content)


class Conversation:
    """One conversation of one user. `Host.conversation` returns one.

    A handle without state of its own: create one wherever it is needed, for example for each request. All methods see
    the tools, Views and updates of this user and this conversation only.
    """

    def __init__(self, runtime: Runtime, id: str | None, user: str | None) -> None:
        check_text("id", id)
        check_user(user)
        if user is None and runtime.knows_users:
            raise ArgumentError("This host knows its users. Write host.conversation(id, user=...).")
        self.id = id
        """The id that the program gave the conversation, or None."""
        self.user = user
        """The user, or None in a program with one user."""
        self._runtime = runtime
        self._owner = Owner(user, id)

    async def tools(self) -> list[ModelTool]:
        """Return the tools that the model may call (VIS-02): those of servers that are ready, and of open Views.

        Wait for servers that have just been started, for at most `Timeouts.tools`. A server that is not ready by then
        is left out; `host.servers[name].status` has the reason.
        """
        self._runtime.tasks.check_running()
        await self._runtime.servers.wait_until_settled(self._runtime.timeouts.tools, self.user)
        return await self._runtime.model_tools(self._runtime.servers.tools(self.user), self._owner)

    async def call_tool(self, name: str, arguments: JSONObject) -> Call:
        """Call a tool by its name in `tools`, and open its View if it has one.

        A JSON-RPC error, and a View's tool that fails or is not allowed, become a result with `isError`. A call that
        does not finish raises `CallCancelledError`; `CredentialsRejectedError` and `SignInRequiredError` mean that the
        user has to sign in.
        """
        self._runtime.tasks.check_running()
        check_arguments(arguments)
        call = await self._begin_when_known(name)
        await call.run(arguments)
        return call

    async def begin(self, name: str) -> Call:
        """Begin one call while the model still writes its arguments. Its View can be opened at once.

        Whatever begins a call ends it with `run` or `cancel`. An agent that makes many calls uses `turn` instead.
        """
        self._runtime.tasks.check_running()
        servers = self._runtime.servers
        tool = find_by_name(await self._runtime.model_tools(servers.known_tools(self.user), self._owner), name)
        if tool.view is None:
            return await self._runtime.begin(tool.server, tool.tool, self._owner)
        execute = partial(self._call_view, tool.view, tool.tool)
        call = Call(self._runtime.calls, tool.server, tool.tool, self._owner, execute, brings_views=False)
        return self._runtime.begun.add(call)

    async def _call_view(self, view: str, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that a View offers. A failure becomes a result with `isError`, as with a server's tool."""
        try:
            return await self._runtime.call_app_tool(view, name, arguments)
        except (RequestError, UnknownViewError) as error:
            return _error_result(error)

    async def _begin_when_known(self, name: str) -> Call:
        """Begin a call, after waiting for the servers if the tool is not known yet."""
        servers = self._runtime.servers
        await servers.connect_all(self.user)
        try:
            return await self.begin(name)
        except UnknownToolError:
            await servers.wait_until_settled(self._runtime.timeouts.connect, self.user)
        try:
            return await self.begin(name)
        except UnknownToolError:
            # The tool of a server that is not there is not unknown: the reason is the server's.
            for server in servers:
                if name.startswith(f"{plain_name(server)}__"):
                    await (await self._connection(server)).ready()
        return await self.begin(name)

    async def _connection(self, server: str) -> Connection:
        """Return the connection that was tried last, or raise the reason why there is none."""
        try:
            return self._runtime.servers.find(server, self.user)
        except NotConnectedError:
            return await self._runtime.servers.connect(server, self.user)

    async def _begin_or_fail(self, name: str) -> Call:
        """Begin a call. With an unknown tool, its result is the error."""
        try:
            return await self._begin_when_known(name)
        except UnknownToolError as error:
            result = _error_result(error)

        async def fail(arguments: JSONObject) -> JSONObject:
            return result

        return Call(self._runtime.calls, "", name, self._owner, fail, brings_views=False)

    def turn(self, on_view: ViewHandler | None = None) -> Turn:
        """Return a turn for `async with`, which keeps the calls of an agent by the ids that its framework gives them.

        Args:
            on_view: Called with the id of a call and each `CallView` that it opens, as soon as a page can show it.
        """
        return Turn(self.begin, self._begin_or_fail, on_view, self._runtime.turns, self._owner)

    async def run_call(self, call_id: str, name: str, arguments: JSONObject) -> Call:
        """Run a call by the id that an agent framework gave it, in the open turn that was fed its arguments.

        Without an open turn, the call is a turn of its own. Use it where a framework calls tools, and `Turn.feed` where
        it streams what the model writes. A tool that does not exist becomes a result with `isError`.
        """
        if (turn := self._runtime.turns.find(self._owner, call_id)) is not None:
            return await turn.run(call_id, name, arguments)
        async with self.turn() as turn:
            return await turn.run(call_id, name, arguments)

    def views_of_call(self, call_id: str) -> tuple[CallView, ...]:
        """Return the Views that one of the newest calls has opened in this process, by the id of its framework."""
        return self._runtime.turns.views(self._owner, call_id)

    async def context(self, *, everything: bool = False) -> list[ContextUpdate]:
        """Return what open Views want the model to know since the last call of this method, the oldest View first.

        With `everything`, return the last update of each open View, and do not mark any as given to the model.
        """
        records = self._runtime.records
        contexts = await (records.contexts(self._owner) if everything else records.take_contexts(self._owner))
        return [
            ContextUpdate(view, server, tool, list(context.get("content") or ()), context.get("structuredContent"))
            for view, server, tool, context, _ in contexts
        ]

    async def views(self) -> list[ViewInfo]:
        """Return the Views that were not closed, the oldest first, whether or not a page shows them now."""
        return await self._runtime.view_infos(await self._runtime.records.summaries(self._owner))

    async def token(self, view: str) -> str:
        """Return a new token that lets a page open a View of this conversation. Issue one each time a page is made.

        Raise `UnknownViewError` if the conversation has no such View, or it was closed.
        """
        await self._record(view)
        return await self._runtime.tokens.issue(view)

    async def relay_app(self, view: str) -> JSONObject:
        """Return what a front end that renders MCP Apps itself needs to show a View, by way of `Host.relay`.

        It is the value of `mcp.app` in a tool call of assistant-ui, and of `toolMetadata.app` in one of the AI SDK. In
        a program with one user, it has a token: call this each time that a page is made. Otherwise it can be stored.
        """
        record = await self._record(view)
        token = "" if self._runtime.knows_users else f".{await self._runtime.tokens.issue(view)}"
        return {"resourceUri": record.uri, "mimeType": MIME_TYPE, "serverId": f"{view}{token}"}

    async def relay(self, view: str, method: str, params: JSONObject) -> JSONObject:
        """Serve a request of a View that a front end shows in its own way, and return the result.

        The policy, consent, limits and audit are those of Views in `<mcp-app>`, except that no page asks the user: the
        handler of `Host.on_question` does. Raise `RequestError` if the request fails or is refused.
        """
        return await self._runtime.relayed.serve(await self._record(view), method, params)

    async def _record(self, view: str) -> ViewRecord:
        """Return the record of an open View of this conversation, or raise UnknownViewError."""
        record = await self._runtime.records.find(view)
        if record is None or record.closed or (record.user, record.conversation) != self._owner:
            raise UnknownViewError(f"This conversation has no open View with the id {view!r}.")
        return record

    async def close(self) -> None:
        """End the conversation: cancel its calls that were begun and never run, and close its Views for good."""
        await self._runtime.begun.cancel_begun(self._owner)
        await self._runtime.workers.request_all(lambda _: CancelBegun(*self._owner), self._runtime.timeouts.handover)
        for summary in await self._runtime.records.summaries(self._owner):
            await self._runtime.closer.close(summary.id)


def _error_result(error: Exception) -> JSONObject:
    return {"content": [{"type": "text", "text": str(error)}], "isError": True}
