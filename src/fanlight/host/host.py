"""`Host`: connect MCP servers, give their tools to a model, and show their Views in pages."""

import contextlib
import inspect
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import anyio
from anyio.abc import TaskGroup
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from fanlight.host.call import Call
from fanlight.host.config import load_config
from fanlight.host.connection import (
    Connection,
    News,
    PromptsChanged,
    ResourcesChanged,
    ServerError,
    ToolsChanged,
    Unfinished,
)
from fanlight.host.documents import Documents, served_document
from fanlight.host.origins import Names, Origins, app_label
from fanlight.host.resources import Views, for_app, for_model, view_uri
from fanlight.host.servers import Servers
from fanlight.host.session import Channel, Progress, RequestFailed, Session, Timeouts
from fanlight.host.store import Store, ViewRecord, open_store
from fanlight.host.web import Refused, Socket, Web, proxy_url
from fanlight.protocol.bridge import Bridge, State
from fanlight.protocol.errors import FanlightError
from fanlight.protocol.headers import Profile, allow_attribute
from fanlight.protocol.jsonrpc import REFUSED

JSONObject = dict[str, Any]
Frame = dict[str, Any]

MOST_APP_TOOLS = 50
_SANDBOX_TOKENS = "allow-scripts allow-same-origin allow-forms"
_BROWSER_CONTEXT = frozenset(
    {
        "theme",
        "locale",
        "timeZone",
        "containerDimensions",
        "deviceCapabilities",
        "safeAreaInsets",
        "platform",
        "userAgent",
    }
)
_UNSAFE_NAME = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u202a-\u202e\u2066-\u2069]+')
_RESERVED_NAME = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


class UnknownView(FanlightError, KeyError):
    """No open View has this id."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class ModelTool:
    """A tool that the model may see. `name` is unique over all servers."""

    name: str
    server: str
    tool: str
    description: str
    input_schema: JSONObject


@dataclass(frozen=True)
class AppTool:
    """A tool that an open View offers to the model, gone when the View is (D-SEC-08)."""

    name: str
    view: str
    tool: str
    description: str
    input_schema: JSONObject


MessageHandler = Callable[[str | None, str, list[JSONObject]], Awaitable[None] | None]
SamplingHandler = Callable[[str | None, JSONObject], Awaitable[JSONObject]]


class Host:
    """A host of MCP Apps. Use it with `async with`, or let `wrap` run it in a program's lifespan.

    `servers` maps names to command lines, URLs, transports or servers in this program. `compat` names servers
    whose Views get the looser policy profile; see fanlight.protocol.headers.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        store: Store | str | None = None,
        sandbox_origin: str | None = None,
        info: JSONObject | None = None,
        context: JSONObject | None = None,
        compat: Collection[str] = (),
        authorize: Callable[[WebSocket, str], Awaitable[bool]] | None = None,
        timeouts: Timeouts | None = None,
        call_timeout: float = 300.0,
    ) -> None:
        self.servers = Servers(servers)
        self.documents = Documents()
        self._store = open_store(store)
        self._names = Names(sandbox_origin)
        self._info = info or {"name": "fanlight", "version": _version()}
        self._context: JSONObject = {
            "displayMode": "inline",
            "availableDisplayModes": ["inline", "fullscreen", "pip"],
            "platform": "web",
            **(context or {}),
        }
        self._compat = frozenset(compat)
        self._authorize = authorize
        self._timeouts = timeouts
        self._call_timeout = call_timeout
        self._views = Views()
        self._sessions: dict[str, Session] = {}
        self._records: dict[str, ViewRecord] = {}
        self._on_message: MessageHandler | None = None
        self._on_sampling: SamplingHandler | None = None
        self._tasks: TaskGroup | None = None
        self._stack = AsyncExitStack()
        self.servers.listen(self._hear)

    @classmethod
    def from_config(cls, path: str | Path, **options: Any) -> Self:
        """Make a host of the servers in an `mcpServers` JSON file, as Claude Desktop has it."""
        return cls(load_config(path), **options)

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise RuntimeError("This host runs already.")
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        await self._stack.enter_async_context(self.servers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._tasks is not None
        self._tasks.cancel_scope.cancel()
        try:
            await self._stack.aclose()
        finally:
            self._tasks = None
            self._store.close()

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        """Run the host for a block, unless it runs already."""
        if self._tasks is not None:
            yield
            return
        async with self:
            yield

    # For the model

    async def tools(self) -> list[ModelTool]:
        """Return what the model may call, over all servers that answer (VIS-02)."""
        await self.servers.settled()
        return [
            ModelTool(
                f"{server}__{tool['name']}", server, tool["name"], tool.get("description", ""), tool["inputSchema"]
            )
            for server, tools in self.servers.tools().items()
            for tool in tools
            if for_model(tool)
        ]

    async def call_tool(self, server: str, name: str, arguments: JSONObject, conversation: str | None = None) -> Call:
        """Call a tool for the model, and open its View if it has one."""
        await self.servers[server].ready()
        call = self.begin(server, name, conversation)
        await call.run(arguments)
        return call

    def begin(self, server: str, name: str, conversation: str | None = None) -> Call:
        """Begin a call whose arguments are still being written. Its View can be opened at once."""
        tool = self._tool(server, name)
        uri = view_uri(tool)
        if uri is None:
            return Call(self, server, name, None, None)
        record = ViewRecord(
            secrets.token_urlsafe(12), secrets.token_urlsafe(24), server, name, uri, conversation=conversation
        )
        self._keep(record)
        self._open(record)
        assert self._tasks is not None
        self._tasks.start_soon(self._prefetch, record)
        return Call(self, server, name, record.id, record.token)

    async def _prefetch(self, record: ViewRecord) -> None:
        """Read a View while its tool runs (DSC-03). If that fails, opening it will say why."""
        with contextlib.suppress(FanlightError):
            await self._views.read(self.servers[record.server], record.uri)

    async def show_partial(self, call: Call, arguments: JSONObject) -> None:
        """Show a call's View the arguments so far."""
        session = self._sessions.get(call.view or "")
        if session is not None:
            session.bridge.tool_input_partial(arguments)
            await session.flush()

    async def run_call(self, call: Call, arguments: JSONObject) -> JSONObject:
        """Run a call and show its View the input and what came of it.

        An error of the server is a result too, with `isError`; only a call that never finished is cancelled.
        """
        session = self._sessions.get(call.view or "")
        if session is not None:
            session.bridge.tool_input(arguments)
            self._change(call.view, arguments=arguments)
            await session.flush()
        try:
            result = await self.servers[call.server].call_tool(call.tool, arguments, timeout=self._call_timeout)
        except ServerError as error:
            result = {"content": [{"type": "text", "text": error.message}], "isError": True}
        except Unfinished as error:
            await self.cancel_call(call, error.message)
            raise
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.cancel_call(call, "The call was cancelled.")
            raise
        self._change(call.view, result=result)
        if session is not None and session.bridge.state is not State.CLOSED:
            session.bridge.tool_result(result)
            await session.flush()
        return result

    async def cancel_call(self, call: Call, reason: str | None) -> None:
        """Tell a call's View that no result will come (TCX-01)."""
        session = self._sessions.get(call.view or "")
        self._change(call.view, cancelled=reason or "")
        if session is not None and session.bridge.state is not State.CLOSED:
            session.bridge.tool_cancelled(reason)
            await session.flush()

    def model_context(self, conversation: str | None = None) -> list[JSONObject]:
        """Return what the open Views of a conversation told the model, the last word of each (MCX-02, MCX-06)."""
        records = self._store.of_conversation(conversation)
        return [
            {"view": record.id, "server": record.server, **record.context}
            for record in records
            if record.context is not None and not record.closed
        ]

    def on_message(self, handler: MessageHandler) -> MessageHandler:
        """Set who takes the messages that Views put into a conversation: `handler(conversation, role, content)`."""
        self._on_message = handler
        return handler

    def on_sampling(self, handler: SamplingHandler) -> SamplingHandler:
        """Set who answers when a View asks the model: `await handler(conversation, params)`."""
        self._on_sampling = handler
        return handler

    async def app_tools(self, conversation: str | None = None) -> list[AppTool]:
        """Return the tools that the open Views of a conversation offer, at most fifty of each (D-SEC-04)."""
        found: list[AppTool] = []
        for session in list(self._sessions.values()):
            record = self._records[session.id]
            if record.conversation != conversation or "tools" not in session.bridge.app_capabilities:
                continue
            try:
                tools = (await session.ask("tools/list", {})).get("tools", [])
            except (RequestFailed, FanlightError):
                continue
            found += [
                AppTool(
                    f"app_{session.id}__{tool['name']}",
                    session.id,
                    tool["name"],
                    str(tool.get("description", "")),
                    tool.get("inputSchema", {"type": "object"}),
                )
                for tool in tools[:MOST_APP_TOOLS]
                if isinstance(tool, dict) and isinstance(tool.get("name"), str)
            ]
        return found

    async def call_app_tool(self, view: str, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that an open View offers; one of a closed View is an error (D-SEC-10)."""
        return await self._live(view).ask("tools/call", {"name": name, "arguments": arguments})

    async def close_view(self, view: str) -> None:
        """Close a View after it was asked to get ready."""
        session = self._live(view)
        await session.close()
        self._forget(view)

    async def set_context(self, **changes: Any) -> None:
        """Change what Views know of the host, such as `theme` or `locale`; the open ones are told."""
        self._context |= changes
        for session in list(self._sessions.values()):
            session.bridge.set_context(changes)
            await session.flush()

    # For the web

    def wrap(self, app: ASGIApp, path: str = "/apps") -> ASGIApp:
        """Return an ASGI program that is the given one with the host beside it."""
        return self._web(path).wrap(app)

    def sandbox_asgi(self) -> ASGIApp:
        """Return an ASGI program for the sandbox names alone."""
        return self._web("/apps").sandbox_asgi()

    def _web(self, path: str) -> Web:
        return Web(self, self._names, path=path, authorize=self._authorize)

    async def open(self, frame: Frame, origins: Origins, channel: Socket) -> "_Link":
        """Open a View for a page: go on with the live one, or bring one back from the store."""
        record = self._records.get(frame["view"]) or self._store.load(frame["view"])
        token = frame.get("token")
        allowed = self._authorize is not None or (
            record is not None
            and isinstance(token, str)
            and secrets.compare_digest(token.encode(), record.token.encode())
        )
        if record is None or not allowed:
            raise Refused("There is no such View, or the token does not fit it.")
        if record.closed:
            raise Refused("This View was closed.")
        session = self._sessions.get(record.id)
        if session is None or not (frame.get("resume") and session.bridge.state in (State.GREETED, State.READY)):
            session = await self._fresh(record, _browser_context(frame))
            await self._show(record, session, origins, channel)
        else:
            session.bridge.set_context(_browser_context(frame))
        await session.attach(channel)
        return _Link(self, session, channel)

    async def _fresh(self, record: ViewRecord, context: JSONObject) -> Session:
        """Return a session whose document is about to load: the one that waits for it, or a new one."""
        session = self._sessions.get(record.id)
        if session is None or session.bridge.state is not State.NEW:
            if session is not None:
                session.stop()
            session = self._open(record)
        session.bridge.set_context(context)
        return session

    async def _show(self, record: ViewRecord, session: Session, origins: Origins, channel: Channel) -> None:
        try:
            document = await self._views.read(self.servers[record.server], record.uri)
        except FanlightError as error:
            raise Refused(f"The View cannot be shown: {error}") from None
        label = app_label(record.server, record.uri)
        profile: Profile = "compat" if record.server in self._compat else "strict"
        served = served_document(label, document.html, document.csp, (), origins.ancestors, profile)
        self.documents.add(served)
        await channel.send(
            {
                "type": "show",
                "proxy": proxy_url(origins, label),
                "document": f"{origins.view(label)}/{served.address}",
                "sandbox": _SANDBOX_TOKENS,
                "allow": allow_attribute(()),
                "title": f"{record.tool} ({record.server})",
                "border": document.prefers_border,
                "mode": session.bridge.display_mode,
            }
        )

    # Sessions

    def _open(self, record: ViewRecord) -> Session:
        """Start a session with what the record holds."""
        if self._tasks is None:
            raise RuntimeError("The host does not run. Use `async with host:`, or host.wrap(app) with a server.")
        connection = self.servers[record.server]
        tool = next((tool for tool in connection.tools if tool["name"] == record.tool), None)
        context = dict(self._context)
        if tool is not None:
            context["toolInfo"] = {"tool": tool}
        bridge = Bridge(self._info, self._capabilities(), context, tools=_CallableTools(connection))
        session = Session(record.id, bridge, self, self._timeouts)
        if record.arguments is not None:
            bridge.tool_input(record.arguments)
        if record.result is not None:
            bridge.tool_result(record.result)
        elif record.cancelled is not None:
            bridge.tool_cancelled(record.cancelled or None)
        self._sessions[record.id] = session
        self._records[record.id] = record
        self._tasks.start_soon(session.run)
        return session

    def _capabilities(self) -> JSONObject:
        capabilities: JSONObject = {
            "openLinks": {},
            "downloadFile": {},
            "logging": {},
            "serverTools": {"listChanged": True},
            "serverResources": {"listChanged": True},
            "updateModelContext": {
                "text": {},
                "image": {},
                "resource": {},
                "resourceLink": {},
                "structuredContent": {},
            },
        }
        if self._on_message is not None:
            capabilities["message"] = {"text": {}, "image": {}, "resource": {}, "resourceLink": {}}
        if self._on_sampling is not None:
            capabilities["sampling"] = {"tools": {}}
        return capabilities

    def _tool(self, server: str, name: str) -> JSONObject:
        connection = self.servers[server]
        for tool in connection.tools:
            if tool["name"] == name:
                return tool
        known = ", ".join(tool["name"] for tool in connection.tools) or "none"
        raise KeyError(f"The server {server!r} has no tool {name!r}. Its tools are: {known}.")

    def _live(self, view: str) -> Session:
        session = self._sessions.get(view)
        if session is None or session.bridge.state is State.CLOSED:
            raise UnknownView(f"No open View has the id {view!r}.")
        return session

    def _keep(self, record: ViewRecord) -> None:
        self._records[record.id] = record
        self._store.save(record)

    def _change(self, view: str | None, **changes: Any) -> None:
        if view is not None and view in self._records:
            self._keep(replace(self._records[view], **changes))

    def _forget(self, view: str) -> None:
        self._change(view, closed=True)
        self._sessions.pop(view, None)
        self._records.pop(view, None)

    def _hear(self, news: News) -> None:
        kind = {ToolsChanged: "tools", ResourcesChanged: "resources", PromptsChanged: "prompts"}.get(type(news))
        if kind is None or self._tasks is None:
            return
        for session in self._sessions.values():
            if self._records[session.id].server == news.server:
                session.bridge.list_changed(kind)
                self._tasks.start_soon(session.flush)

    # What sessions need

    async def call_tool_for_view(
        self, session: Session, name: str, arguments: JSONObject, progress: Progress
    ) -> JSONObject:
        connection = self.servers[self._records[session.id].server]
        work = connection.call_tool(name, arguments, on_progress=progress, timeout=self._call_timeout)
        return await _for_view(work)

    async def ask_server(self, session: Session, method: str, params: JSONObject) -> JSONObject:
        connection = self.servers[self._records[session.id].server]
        cursor = params.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        match method:
            case "tools/list":
                return {"tools": [tool for tool in connection.tools if for_app(tool)]}
            case "resources/read":
                uri = params.get("uri")
                if not isinstance(uri, str):
                    raise RequestFailed("resources/read: uri is missing, expected a string.", -32602)
                return await _for_view(connection.read_resource(uri))
            case "resources/list":
                return await _for_view(connection.list_resources(cursor))
            case "resources/templates/list":
                return await _for_view(connection.list_resource_templates(cursor))
            case _:
                return await _for_view(connection.list_prompts(cursor))

    async def sample(self, session: Session, params: JSONObject) -> JSONObject:
        assert self._on_sampling is not None, "sampling is offered only where there is a handler"
        return await self._on_sampling(self._records[session.id].conversation, params)

    async def message(self, session: Session, role: str, content: tuple[JSONObject, ...]) -> None:
        if self._on_message is None:
            raise RequestFailed("This host takes no messages from Views.")
        done = self._on_message(self._records[session.id].conversation, role, list(content))
        if inspect.isawaitable(done):
            await done

    async def update_context(self, session: Session, update: JSONObject) -> None:
        self._change(session.id, context=update)

    async def link(self, session: Session, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
            raise RequestFailed("Only http and https links are opened.", REFUSED)

    async def download(self, session: Session, contents: tuple[JSONObject, ...]) -> list[JSONObject]:
        return [_download(block) for block in contents]

    async def closing(self, session: Session) -> None:
        self._forget(session.id)
        await session.close("the View asked to be closed")


async def _for_view(work: Awaitable[JSONObject]) -> JSONObject:
    """Return what a server answered to a View, or raise what the View is told instead."""
    try:
        return await work
    except ServerError as error:
        raise RequestFailed(error.message, error.code, error.data) from None
    except Unfinished as error:
        raise RequestFailed(error.message) from None


class _CallableTools(Collection[str]):
    """The names of the tools of one server that its Views may call, as it is now (VIS-03, VIS-04)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __contains__(self, name: object) -> bool:
        return any(tool["name"] == name and for_app(tool) for tool in self._connection.tools)

    def __iter__(self) -> Any:
        return (tool["name"] for tool in self._connection.tools if for_app(tool))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Link:
    """A View opened by a page: what the page says about it."""

    def __init__(self, host: Host, session: Session, channel: Channel) -> None:
        self._host = host
        self._session = session
        self._channel = channel

    async def receive(self, frame: Frame) -> None:
        session = self._session
        match frame.get("type"):
            case "message":
                await session.receive(frame.get("message"))
            case "context":
                session.bridge.set_context(_browser_context(frame))
                await session.flush()
            case "mode" if frame.get("mode") in ("inline", "fullscreen", "pip"):
                session.bridge.set_context({"displayMode": frame["mode"]})
                await session.flush()
            case "done" if isinstance(frame.get("id"), int):
                result, error = frame.get("result"), frame.get("error")
                session.done(
                    frame["id"],
                    result if isinstance(result, dict) else None,
                    error if isinstance(error, str) else None,
                )
            case "close":
                await self._host.closing(session)

    async def lost(self) -> None:
        self._session.detach(self._channel)


def _browser_context(frame: Frame) -> JSONObject:
    context = frame.get("context")
    if not isinstance(context, dict):
        return {}
    return {key: value for key, value in context.items() if key in _BROWSER_CONTEXT and value is not None}


def _download(block: JSONObject) -> JSONObject:
    """Return what a page saves for one block of `ui/download-file`."""
    resource = block.get("resource")
    if block.get("type") != "resource" or not isinstance(resource, dict):
        raise RequestFailed("Only embedded resources can be saved.")
    body = {key: resource[key] for key in ("text", "blob") if isinstance(resource.get(key), str)}
    if len(body) != 1:
        raise RequestFailed("An embedded resource has either text or a blob.")
    return {"name": safe_name(str(resource.get("uri", ""))), "mimeType": str(resource.get("mimeType", "")), **body}


def safe_name(uri: str) -> str:
    """Return a file name made of the last part of a URI, safe on any system (D-DL-02, D-DL-04)."""
    last = unquote(urlsplit(uri).path).replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = _UNSAFE_NAME.sub("_", last).strip(". ")[:150]
    return "download" if not name or _RESERVED_NAME.fullmatch(name) else name


def _version() -> str:
    import fanlight

    return fanlight.__version__
