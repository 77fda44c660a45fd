"""`Host`: connect MCP servers, give their tools to a model, and show their Views in pages."""

import contextlib
import re
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import anyio
from anyio.abc import TaskGroup
from starlette.types import ASGIApp

from fanlight.browser import watch_element
from fanlight.host.background import guarded
from fanlight.host.call import Call, CallView
from fanlight.host.consent.audit import Audit, Keep, now
from fanlight.host.consent.consent import Gate, QuestionHandler
from fanlight.host.consent.policy import Allow, App, Decision, Deny, Policy, allowed_domains, reachable
from fanlight.host.errors import (
    CallCancelledError,
    NotConnectedError,
    RequestError,
    ServerError,
    UnknownToolError,
    ViewError,
    ViewRefusedError,
)
from fanlight.host.limits import Limits, Rate
from fanlight.host.profile import Profile
from fanlight.host.store.base import AuditQuery, AuditRecord, Grant, Store, ViewRecord
from fanlight.host.store.open import open_store
from fanlight.host.upstream.callbacks import Handler
from fanlight.host.upstream.config import load_config
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.events import News, PromptsChanged, ResourcesChanged, ToolsChanged
from fanlight.host.upstream.servers import Servers
from fanlight.host.validation import (
    check_arguments,
    check_callable,
    check_hosts,
    check_info,
    check_object,
    check_path,
    check_seconds,
    check_text,
)
from fanlight.host.views.app_tools import AppTool, AppTools
from fanlight.host.views.documents import (
    ViewDocument,
    Views,
    embedded_view,
    link_row,
    view_uri,
)
from fanlight.host.views.frames import OpenView, Reload, ShowView, Status
from fanlight.host.views.page import PageConnection
from fanlight.host.views.registry import OpenViews
from fanlight.host.views.requests import Desk, MessageHandler, SamplingHandler, app_of
from fanlight.host.views.session import Session, Timeouts
from fanlight.host.views.throttle import PAUSE
from fanlight.host.web.asgi import Web
from fanlight.host.web.csp_reports import is_probe
from fanlight.host.web.dialect_documents import initial_state_fragment, served_html
from fanlight.host.web.document_cache import DocumentCache
from fanlight.host.web.inject import put_first
from fanlight.host.web.origins import HostNames, Origins, app_label
from fanlight.host.web.page_socket import Authorize, Socket
from fanlight.host.web.sandbox import proxy_url
from fanlight.protocol.bridge import Bridge, State
from fanlight.protocol.content import embedded_views
from fanlight.protocol.dialects import EMBEDDED
from fanlight.protocol.errors import ArgumentError, FanlightError, StateError
from fanlight.protocol.headers import allow_attribute
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.visibility import for_app, for_model

_REPORTS_PER_SECOND = 50.0
_UNPLAIN = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_TWICE = "The result has another resource of this URI before it, and a URI is one View."
_SANDBOX_TOKENS = "allow-scripts allow-same-origin allow-forms"


@dataclass(frozen=True)
class ModelTool:
    """A tool of a server that the model may call."""

    name: str
    """The name to give to the model: `server__tool`, at most 64 characters, and unique over all servers."""
    server: str
    """The server to call, by the name that `Host` has for it."""
    tool: str
    """The tool to call, by the name that the server has for it."""
    description: str
    """The description that the server gives."""
    input_schema: JSONObject
    """The JSON Schema of the arguments that the server gives."""


class Host:
    """A host of MCP Apps: connects servers, gives their tools to a model and shows their Views in pages.

    Use it with `async with`, or let `wrap` run it in a program's lifespan. Invalid arguments raise a TypeError or a
    ValueError that says what to write instead.

    Args:
        servers: Names mapped to command lines (a string or a list), URLs, transports of the `mcp` SDK, or server
            objects of this program. A server that needs headers or a sign-in is `{"url": ..., "headers": {...}}` or
            `{"url": ..., "auth": ...}` with any `httpx2.Auth`, such as the OAuth providers of the `mcp` package.
        store: `"sqlite:///path"`, or an object with the methods of `Store`. Default: in memory.
        sandbox_origin: The origin of the sandbox proxy; Views live one label below it. Default: `sandbox.localhost` on
            the port of the page.
        info: The name and version that Views see: `{"name": ..., "version": ...}`. Default: Fanlight's.
        context: The host context that Views see: `theme`, `locale`, `styles` and so on. Default: display modes and
            platform.
        policy: Decides what Views may do. Default: harmless requests are allowed, and the user is asked about others.
        hosts: The host names of the program. Requests to other names are answered with 421. Default: the names of this
            machine, or any name if there is a `sandbox_origin`.
        authorize: `authorize(websocket, view) -> bool`, sync or async: decides which page may open which View. Default:
            a page that has the View's token may.
        timeouts: How long the host waits for servers, pages, Views and users.
        limits: How much one View may use.
        linger: How many seconds a View without a page stays alive. After that it is restored from the store.
        dialects: Whether Views of mcp-ui, ChatGPT and older drafts are shown. If not, they are refused.
        profile: Offers less than this host can do, to behave like another host.
        report_errors: Report errors in a View's scripts as its log messages, with the logger `fanlight.error`. For
            developers: it changes the documents.
        audit_arguments: What the audit keeps of arguments: `"whole"`, `"hashed"` (a SHA-256 digest), `"none"`, or what
            a function `(name, arguments)` returns.
        on_server_sampling: `async (server, params) -> result`: answers servers that request sampling. Raise
            `DeclinedError` to refuse. Default: sampling is not offered to servers.
        on_elicitation: `async (server, params) -> result`: answers servers that ask the user. Raise `DeclinedError` to
            refuse. Default: elicitation is not offered to servers.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        store: Store | str | None = None,
        sandbox_origin: str | None = None,
        info: JSONObject | None = None,
        context: JSONObject | None = None,
        policy: Policy | None = None,
        hosts: Collection[str] | None = None,
        authorize: Authorize | None = None,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        linger: float = 300.0,
        dialects: bool = True,
        profile: Profile | None = None,
        report_errors: bool = False,
        audit_arguments: Keep = "hashed",
        on_server_sampling: Handler | None = None,
        on_elicitation: Handler | None = None,
    ) -> None:
        for name, value, kind in (
            ("policy", policy, Policy),
            ("timeouts", timeouts, Timeouts),
            ("limits", limits, Limits),
            ("profile", profile, Profile),
        ):
            if value is not None and not isinstance(value, kind):
                raise ArgumentError(f"{name} is {value!r}, expected a {kind.__name__}. Write {kind.__name__}(...).")
        check_callable("authorize", authorize, "authorize(websocket, view) -> bool")
        check_callable("on_server_sampling", on_server_sampling, "async (server, params) -> result")
        check_callable("on_elicitation", on_elicitation, "async (server, params) -> result")
        check_seconds("linger", linger)
        if info is not None:
            check_info(info)
        if context is not None:
            check_object("context", context, '{"theme": "dark"}')
        self._timeouts = timeouts or Timeouts()
        self.servers: Servers
        """The connections by name. Each has a `status`, `await ready()` and `restart()`."""
        self.servers = Servers(
            servers,
            patience=self._timeouts.connect,
            slow=self._timeouts.tools,
            on_sampling=on_server_sampling,
            on_elicitation=on_elicitation,
            dialects=dialects,
        )
        self.documents = DocumentCache()
        self._store = open_store(store)
        self._names = HostNames(sandbox_origin, None if hosts is None else check_hosts(hosts))
        self._info = info or {"name": "fanlight", "version": _version()}
        self._profile = profile or Profile()
        self._pinned: JSONObject = {}
        self._report_errors = report_errors
        self._context: JSONObject = {
            "displayMode": "inline",
            "availableDisplayModes": ["inline", "fullscreen", "pip"],
            "platform": "web",
            **(context or {}),
        }
        self._policy = policy or Policy()
        self._authorize = authorize
        self._limits = limits or Limits()
        self._dialects = dialects
        self._resources = Views(dialects=dialects)
        self._app_tools = AppTools(self._limits)
        self._audit = Audit(self._store, audit_arguments)
        self._gate = Gate(self._store, self._audit, self._limits)
        self._desk = Desk(
            self.servers, self._app_tools, self._policy, self._gate, self._audit, self._timeouts, self._limits
        )
        self._views = OpenViews(self._store, self._session, linger, self._ended)
        self._desk.views = self._views
        self._shown: dict[str, tuple[str, str, str]] = {}
        self._reports = Rate(_REPORTS_PER_SECOND, 0.0)
        self._tasks: TaskGroup | None = None
        self._thread = 0
        self._stack = AsyncExitStack()
        self.servers.listen(self._hear)
        self.servers.show_views(self._profile.extension)

    @classmethod
    def from_config(cls, path: str | Path, **options: Any) -> Self:
        """Create a host from an `mcpServers` JSON file, the format of Claude Desktop. `options` are those of `Host`."""
        return cls(load_config(path), **options)

    async def __aenter__(self) -> Self:
        if self._tasks is not None:
            raise StateError("This host runs already. Leave its `async with` block first, or make another Host.")
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._thread = threading.get_ident()
        self._views.start(self._tasks)
        self._tasks.start_soon(guarded, self._audit.run)
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
            self._views.stop()
            self._audit.flush()
            self._store.close()

    @asynccontextmanager
    async def lifetime(self) -> AsyncIterator[None]:
        """Run the host for a block, unless it runs already."""
        if self._tasks is not None:
            if self._thread != threading.get_ident():
                raise StateError(
                    "This host runs in another event loop already, as when two test clients are open at once. "
                    "Close the first one before the second, or make a Host for each."
                )
            yield
            return
        async with self:
            yield

    def _check_running(self) -> TaskGroup:
        if self._tasks is None:
            raise StateError(
                "This host does not run. Serve what host.wrap(app) returns, with its lifespan (with Starlette's "
                "TestClient that means `with TestClient(app) as client:`), or use `async with host:`."
            )
        return self._tasks

    # For the model

    async def tools(self) -> list[ModelTool]:
        """Return the tools that the model may call, of all servers that are ready (VIS-02).

        Wait for servers that have just been started, for at most `Timeouts.tools`. A server that is not ready by then
        is left out; `host.servers[name].status` has the reason.
        """
        self._check_running()
        await self.servers.settled(self._timeouts.tools)
        taken: set[str] = set()
        return [
            ModelTool(
                _model_name(server, tool["name"], taken),
                server,
                tool["name"],
                tool.get("description", ""),
                tool["inputSchema"],
            )
            for server, tools in self.servers.tools().items()
            for tool in tools
            if for_model(tool)
        ]

    async def call_tool(self, server: str, name: str, arguments: JSONObject, conversation: str | None = None) -> Call:
        """Call a tool for the model, and open its View if it has one.

        A JSON-RPC error of the server becomes a result with `isError`. A call that does not finish raises
        `CallCancelledError`.
        """
        self._check_running()
        check_arguments(arguments)
        await self.servers[server].ready()
        call = self.begin(server, name, conversation)
        await call.run(arguments)
        return call

    def begin(self, server: str, name: str, conversation: str | None = None) -> Call:
        """Begin a call while the model still writes its arguments. The View can be opened at once."""
        tasks = self._check_running()
        check_text("conversation", conversation, " The arguments are given to run(), or to call_tool().")
        tool = self._tool(server, name)
        uri = view_uri(tool, dialects=self._dialects)
        row = link_row(tool)
        older = None if row is None else row.older
        if uri is None:
            if older is not None and not self._dialects:
                self._desk.refused(server, conversation, older, "The tool's link is of another dialect.")
            return Call(self, server, name, (), conversation)
        record, _ = self._views.create(server, name, uri, conversation)
        if older is not None:
            self._desk.translated(record.id, server, conversation, older, "ui.resourceUri")
        tasks.start_soon(guarded, self._prefetch, record)
        return Call(self, server, name, (_view_of(record),), conversation)

    async def _prefetch(self, record: ViewRecord) -> None:
        """Read a View while its tool runs (DSC-03). If that fails, in whatever way, opening it will say why."""
        with contextlib.suppress(Exception):
            await self._resources.read(self.servers[record.server], record.uri)

    def show_partial(self, call: Call) -> None:
        """Show a call's View the arguments so far, if it is time to."""
        session = self._views.session(call.view)
        if session is not None and call.is_due(anyio.current_time(), under_way=session.partial_under_way):
            session.bridge.tool_input_partial(call.arguments)
            session.flush_soon()

    def watch_pauses(self, call: Call) -> None:
        """Show the arguments so far also when the model pauses."""

        async def watch() -> None:
            while call.is_streaming and self._views.session(call.view) is not None:
                await anyio.sleep(PAUSE)
                if call.is_streaming:
                    self.show_partial(call)

        if self._tasks is not None:
            self._tasks.start_soon(guarded, watch)

    async def run_call(self, call: Call, arguments: JSONObject) -> JSONObject:
        """Run a call and show its View the input and what came of it.

        An error of the server is a result too, with `isError`; only a call that never finished is cancelled.
        """
        self._views.change(call.view, arguments=arguments)
        session = self._views.session(call.view)
        if session is not None:
            session.bridge.tool_input(arguments)
            session.flush_soon()
        try:
            result = await self.servers[call.server].call_tool(call.tool, arguments, timeout=self._timeouts.call)
        except ServerError as error:
            result = {"content": [{"type": "text", "text": error.message}], "isError": True}
        except CallCancelledError as error:
            self.cancel_call(call, error.message)
            raise
        except anyio.get_cancelled_exc_class():
            self.cancel_call(call, call.cancelled or "The call was cancelled.")
            raise
        if call.view is None:
            self._embed(call, arguments, result)
            return result
        self._views.change(call.view, result=result)
        self._tell_outcome(call, lambda bridge: bridge.tool_result(result))
        return result

    def _embed(self, call: Call, arguments: JSONObject, result: JSONObject) -> None:
        """Open the Views that a result brings with it, as servers with mcp-ui do."""
        opened: dict[str, CallView] = {}
        items, most = embedded_views(result), self._limits.result_views
        for item in items[:most]:
            uri = item["uri"]
            if not self._dialects or uri in opened:
                reason = _TWICE if uri in opened else "A result that brings its own View is of another dialect."
                self._desk.refused(call.server, call.conversation, EMBEDDED, reason, uri)
                continue
            record, session = self._views.create(call.server, call.tool, uri, call.conversation)
            self._views.change(record.id, arguments=arguments, result=result)
            session.bridge.tool_input(arguments)
            session.bridge.tool_result(result)
            self._desk.translated(record.id, call.server, call.conversation, EMBEDDED, "ui.resourceUri", uri)
            opened[uri] = _view_of(record)
        if len(items) > most:
            reason = f"The result brings {len(items)} Views, and no more than {most} are opened."
            self._desk.refused(call.server, call.conversation, EMBEDDED, reason)
        call.views = tuple(opened.values())

    def cancel_call(self, call: Call, reason: str | None) -> None:
        """Tell a call's View that no result will come (TCX-01)."""
        self._views.change(call.view, cancelled=reason or "")
        self._tell_outcome(call, lambda bridge: bridge.tool_cancelled(reason))

    def _tell_outcome(self, call: Call, tell: Callable[[Bridge], None]) -> None:
        # The View may have been loaded anew while the tool ran, so its session is looked for again.
        session = self._views.session(call.view)
        if session is not None and session.bridge.state is not State.CLOSING:
            tell(session.bridge)
            session.flush_soon()

    def model_context(self, conversation: str | None = None) -> list[JSONObject]:
        """Return the last model context update of each open View of a conversation (MCX-02, MCX-06)."""
        return [{"view": id, "server": server, **context} for id, server, context in self._store.contexts(conversation)]

    def on_message(self, handler: MessageHandler) -> MessageHandler:
        """Set the handler for messages that Views add to a conversation: `handler(conversation, role, content)`.

        Without a handler, such messages are refused.
        """
        self._desk.on_message = handler
        return handler

    def on_sampling(self, handler: SamplingHandler) -> SamplingHandler:
        """Set the handler for sampling requests of Views: `await handler(conversation, params)` returns the result.

        Without a handler, sampling is not offered to Views.
        """
        self._desk.on_sampling = handler
        return handler

    def app_tools(self, conversation: str | None = None) -> list[AppTool]:
        """Return the tools that the open Views of a conversation offer to the model (D-SEC-08)."""
        return [
            tool
            for record, session in self._views
            if record.conversation == conversation and session.attached
            for tool in self._app_tools.of(session.id)
        ]

    async def call_app_tool(self, view: str, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that an open View offers. Raise `UnknownViewError` if the View is closed (D-SEC-10).

        A result that is too large, or does not match the output schema of the tool, raises `RequestError`.
        """
        self._check_running()
        check_arguments(arguments)
        return await self._desk.call_app_tool(self._views.live(view), name, arguments)

    def on_question(self, handler: QuestionHandler, *, instead_of_pages: bool = False) -> QuestionHandler:
        """Set the handler that answers for the user: `handler(question)` returns "once", "always" or "deny".

        It is called where no page shows the View; with `instead_of_pages`, always.
        """
        self._gate.on_question = handler
        self._gate.asks_program = instead_of_pages
        return handler

    def grants(self) -> list[Grant]:
        """Return the permanent grants of users: what they allowed with "always"."""
        return self._store.grants()

    def revoke(self, grant: Grant) -> None:
        """Revoke a grant. The user is asked again the next time."""
        self._store.revoke(grant)

    def audit(
        self,
        *,
        view: str | None = None,
        server: str | None = None,
        conversation: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[AuditRecord]:
        """Return the audit records that match, the oldest first.

        The arguments are those of `AuditQuery`. `fanlight.host.json_line` converts a record to a line of JSON.
        """
        return self._audit.records(AuditQuery(view, server, conversation, kind, name, since, until, limit))

    async def close_view(self, view: str) -> None:
        """Close a View: ask it to tear down, wait for at most `Timeouts.teardown`, and end its session."""
        self._check_running()
        session = self._views.live(view)
        await session.close()
        self._views.forget(view)

    def set_context(self, **changes: Any) -> None:
        """Change the host context, such as `theme` or `locale`, and notify the open Views."""
        check_object("What Views are told", changes, 'set_context(theme="dark")')
        self._context |= changes
        for _, session in self._views:
            session.bridge.set_context(changes)
            session.flush_soon()

    def pin_context(self, **values: Any) -> None:
        """Override parts of the host context that pages report, such as `safeAreaInsets`. None removes an override."""
        for key, value in values.items():
            if value is None:
                self._pinned.pop(key, None)
            else:
                self._pinned[key] = value
        for _, session in self._views:
            session.bridge.refresh()
            session.flush_soon()

    async def show_as(self, view: str, mode: str) -> None:
        """Change the display mode of a View to "inline", "fullscreen" or "pip", as if the user had chosen it."""
        if mode not in self._profile.display_modes:
            raise ArgumentError(f"mode is {mode!r}, expected one of {', '.join(self._profile.display_modes)}.")
        await self._views.live(view).show_as(mode)

    @property
    def profile(self) -> Profile:
        """What this host offers. A new profile applies to Views that are opened or loaded later."""
        return self._profile

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self._profile = profile
        self.servers.show_views(profile.extension)

    # For the web

    def wrap(self, app: ASGIApp, path: str = "/apps") -> ASGIApp:
        """Return an ASGI program that serves `app`, the host under `path`, and the sandbox host names."""
        check_callable("app", app, "an ASGI program, such as Starlette()")
        return self._web(check_path(path)).wrap(app)

    def sandbox_asgi(self) -> ASGIApp:
        """Return an ASGI program for the sandbox host names only, to be served by a process of its own."""
        return self._web("/apps").sandbox_asgi()

    def _web(self, path: str) -> Web:
        return Web(
            self,
            self._names,
            path=path,
            authorize=self._authorize,
            max_bytes=self._limits.message_bytes,
            question_timeout=self._timeouts.question,
        )

    async def open(self, request: OpenView, origins: Origins, socket: Socket) -> PageConnection:
        """Open a View for a page: go on with the live one, or bring one back from the store."""
        record = self._views.record(request.view)
        token = request.token
        allowed = self._authorize is not None or (
            record is not None
            and token is not None
            and secrets.compare_digest(token.encode("utf-8", "replace"), record.token.encode())
        )
        if record is None or not allowed:
            raise ViewRefusedError("There is no such View, or the token does not fit it.")
        if record.closed:
            raise ViewRefusedError("This View was closed.")
        session = self._views.session(record.id)
        if session is not None and request.seen is not None and _can_resume(session, request.seen):
            session.bridge.set_context(request.context)
            await session.resume(socket, request.seen)
        else:
            show, document = await self._show(record, origins, socket)
            session = await self._views.fresh(record)
            session.bridge.set_context(request.context)
            if document.form == "openai":
                session.bridge.keeps_state = True
                fragment = self._initial_state(record, session.bridge)
                show = replace(show, document=f"{show.document}#{fragment}")
            await session.begin(socket, replace(show, mode=session.bridge.display_mode))
        return PageConnection(self._desk, session, socket)

    def _initial_state(self, record: ViewRecord, bridge: Bridge) -> str:
        """Return the initial state of a document for ChatGPT."""
        now = self._views.record(record.id) or record
        return initial_state_fragment(bridge.context, bridge.capabilities, now.arguments, now.result, now.state)

    async def _show(self, record: ViewRecord, origins: Origins, socket: Socket) -> tuple[ShowView, ViewDocument]:
        """Make a View's document ready to be served, and return what tells a page to show it."""
        connection = self.servers[record.server]
        if connection.status.state != "ready":
            await socket.send_frame(Status(f"Waiting for the server {record.server} …"))
        try:
            document = await self._document(record)
        except FanlightError as error:
            raise ViewRefusedError(f"The View cannot be shown: {error}") from None
        app = app_of(record, document.sha256)
        await self._admit(app, document, origins, socket)
        csp, denied = allowed_domains(self._policy, app, document.csp)
        granted = tuple(name for name in document.permissions if isinstance(self._policy.permission(app, name), Allow))
        label = app_label(record.server, record.uri)
        self._shown[label] = (record.server, record.uri, document.sha256)
        html = served_html(document)
        if self._report_errors:
            html = put_first(watch_element(), html)
        served = self.documents.serve(label, html, csp, granted, origins.ancestors, self._policy.profile(app))
        for older, today in document.older.items():
            self._desk.translated(app.view, app.server, app.conversation, older, today)
        for older, today in document.refused.items():
            reason = f"It is of another dialect, which this host does not read. Write {today}."
            self._desk.refused(app.server, app.conversation, older, reason, document.uri, app.view)
        policy = served.headers["content-security-policy"]
        data = {
            "uri": record.uri,
            "sha256": document.sha256,
            "csp": policy,
            "asked": document.permissions,
            "permissions": granted,
            "denied": denied,
            "problems": document.problems,
        }
        self._audit.write(
            AuditRecord(now(), "document", document.uri, "shown", app.view, app.server, app.conversation, data=data)
        )
        show = ShowView(
            proxy=proxy_url(origins),
            document=f"{origins.view(label)}/{served.address}",
            sandbox=_SANDBOX_TOKENS,
            allow=allow_attribute(granted),
            title=app.name,
            csp=policy,
            network=tuple(reachable(csp)),
            max_bytes=socket.max_bytes,
            border=document.prefers_border,
        )
        return show, document

    async def _admit(self, app: App, document: ViewDocument, origins: Origins, page: Socket) -> None:
        """Raise unless a document may be shown."""
        decision = self._policy.document(app, document.sha256, self._store.pinned(app.server, app.uri))
        details = (("Server", app.server), ("SHA-256", document.sha256))
        try:
            await self._gate.check(app, decision, "document", document.sha256, details, asker=page)
            if document.url is not None:
                (origin,) = reachable(document.csp)
                decision = self._external(app, document.url, origin, origins)
                await self._gate.check(app, decision, "external", origin, (("Page", document.url),), asker=page)
        except RequestError as failed:
            raise ViewRefusedError(f"The View is not shown. {failed}") from None
        self._store.pin(app.server, app.uri, document.sha256)

    def _external(self, app: App, url: str, origin: str, origins: Origins) -> Decision:
        """Decide on framing a page. One of the program's own, or of its sandbox, never is: it would not be apart."""
        authority = urlsplit(origin).netloc
        ours = authority == urlsplit(origins.host).netloc or self._names.role(authority)[0] in ("proxy", "view")
        return Deny(f"The page {url} is the program's own.") if ours else self._policy.external(app, url, origin)

    async def _document(self, record: ViewRecord) -> ViewDocument:
        """Return the document of a View: what its result brought, if the tool has no link to it, or the server's."""
        connection = self.servers[record.server]
        tool = next((tool for tool in connection.tools if tool["name"] == record.tool), {})
        item = next((item for item in embedded_views(record.result or {}) if item["uri"] == record.uri), None)
        if item is not None and view_uri(tool, dialects=self._dialects) != record.uri:
            if not self._dialects:
                raise ViewError("A result that brings its own View is of another dialect, which this host refuses.")
            return embedded_view(item)
        return await self._resources.read(connection, record.uri)

    async def reload_views(self, server: str, *, changed: bool = False) -> None:
        """Reload the open Views of a server, with their input and result.

        With `changed`, reload only the Views whose document has changed.
        """
        self._resources.forget(server)
        for record, session in list(self._views):
            if record.server != server or not session.attached:
                continue
            if not changed or await self._is_another(record):
                await session.line.send(Reload())

    async def _is_another(self, record: ViewRecord) -> bool:
        """Tell whether the document of a View is not the one that was shown last. One that is gone stays on show."""
        shown = self._shown.get(app_label(record.server, record.uri))
        try:
            return shown is not None and (await self._document(record)).sha256 != shown[2]
        except FanlightError:
            return False

    def approve_document(self, server: str, uri: str, sha256: str) -> None:
        """Approve the document of an app that has changed since it was pinned."""
        self._store.pin(server, uri, sha256)

    def log_csp_report(self, label: str, report: JSONObject) -> None:
        """Write down what a View's browser blocked. The report names the app; the View, if it is the only one open."""
        app = self._shown.get(label)
        if app is None or not self._reports.take(anyio.current_time()):
            return
        open_views = [record for record, _ in self._views if (record.server, record.uri) == app[:2]]
        view = open_views[0] if len(open_views) == 1 else None
        self._audit.note(
            AuditRecord(
                now(),
                "violation",
                report["directive"],
                "probe" if is_probe(report) else "blocked",
                None if view is None else view.id,
                app[0],
                None if view is None else view.conversation,
                by="browser",
                data={"uri": app[1], **report},
            )
        )

    # Sessions

    def _session(self, record: ViewRecord, tasks: TaskGroup) -> Session:
        """Make the session of a View."""
        connection = self.servers[record.server]
        tool = next((tool for tool in connection.tools if tool["name"] == record.tool), None)
        context = dict(self._context)
        if tool is not None:
            context["toolInfo"] = {"tool": tool}
        profile = self._profile
        capabilities = profile.served(self._capabilities())
        bridge = Bridge(
            self._info if profile.info is None else dict(profile.info),
            capabilities,
            profile.told(context),
            tools=_CallableTools(connection),
            dialects=self._dialects,
            pinned=self._pinned,
            silent=profile.silent,
            advertised=profile.advertised(capabilities),
            of_server=row.dialect if (row := link_row(tool or {})) is not None else None,
        )
        labels = {"fanlight.server": record.server, "fanlight.tool": record.tool}
        if record.conversation is not None:
            labels["fanlight.conversation"] = record.conversation
        return Session(record.id, bridge, self._desk, tasks, self._timeouts, self._limits, labels)

    def _ended(self, view: str) -> None:
        self._app_tools.forget(view)
        self._gate.forget(view)

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
        if self._desk.on_message is not None:
            capabilities["message"] = {"text": {}, "image": {}, "resource": {}, "resourceLink": {}}
        if self._desk.on_sampling is not None:
            capabilities["sampling"] = {"tools": {}}
        return capabilities

    def _tool(self, server: str, name: str) -> JSONObject:
        connection = self.servers[server]
        for tool in connection.tools:
            if tool["name"] == name:
                return tool
        status = connection.status
        if not connection.tools and status.state != "ready":
            reason = status.reason or f"it is {status.state}."
            wait = f"Before begin(), `await host.tools()` or `await host.servers[{server!r}].ready()`."
            raise NotConnectedError(server, f"its tools are not known yet: {reason} {wait}")
        known = ", ".join(tool["name"] for tool in connection.tools) or "none"
        raise UnknownToolError(f"The server {server!r} has no tool {name!r}. Its tools are: {known}.")

    def _hear(self, news: News) -> None:
        kind = {ToolsChanged: "tools", ResourcesChanged: "resources", PromptsChanged: "prompts"}.get(type(news))
        if kind is None or self._tasks is None:
            return
        for record, session in self._views:
            if record.server == news.server:
                session.bridge.list_changed(kind)
                session.flush_soon()


def _view_of(record: ViewRecord) -> CallView:
    return CallView(record.id, record.token, record.uri)


def _model_name(server: str, tool: str, taken: set[str]) -> str:
    """Return a name that every model takes, and that no other tool has, whatever servers call theirs."""
    plain = _UNPLAIN.sub("_", f"{server}__{tool}")[:_LONGEST_NAME]
    name, number = plain, 2
    while name in taken:
        suffix = f"_{number}"
        name, number = plain[: _LONGEST_NAME - len(suffix)] + suffix, number + 1
    taken.add(name)
    return name


def _can_resume(session: Session, seen: int) -> bool:
    """Return True if a page that has received frames up to `seen` can continue with this session."""
    greeted = session.bridge.state in (State.GREETED, State.READY)
    return greeted and session.line.can_resume(seen)


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


def _version() -> str:
    import fanlight

    return fanlight.__version__
