"""`Host`: connect MCP servers, give their tools to a model, and show their Views in pages."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from starlette.types import ASGIApp

from fanlight.host.calls.call import Call
from fanlight.host.calls.model_tools import ModelTool, model_tools
from fanlight.host.consent.audit import Keep
from fanlight.host.consent.policy import Policy
from fanlight.host.handlers import MessageHandler, QuestionHandler, SamplingHandler
from fanlight.host.limits import Limits
from fanlight.host.options import HostOptions
from fanlight.host.profile import Profile
from fanlight.host.runtime import Runtime
from fanlight.host.store.base import AuditQuery, AuditRecord, Grant, Store
from fanlight.host.timeouts import Timeouts
from fanlight.host.upstream.callbacks import Handler
from fanlight.host.upstream.config import load_config
from fanlight.host.upstream.servers import Servers
from fanlight.host.validation import check_arguments, check_object, check_path, check_text
from fanlight.host.views.app_tools import AppTool
from fanlight.host.web.page_socket import Authorize
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject


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
        origins: The origins of pages that show Views of this program and come from elsewhere, such as
            `"https://app.example.com"`. Default: none, so only the program's own pages can.
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
        origins: Collection[str] = (),
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
        options = HostOptions(
            store=store,
            sandbox_origin=sandbox_origin,
            info=info,
            context=context,
            policy=policy,
            hosts=hosts,
            origins=origins,
            authorize=authorize,
            timeouts=timeouts,
            limits=limits,
            linger=linger,
            dialects=dialects,
            profile=profile,
            report_errors=report_errors,
            audit_arguments=audit_arguments,
            on_server_sampling=on_server_sampling,
            on_elicitation=on_elicitation,
        )
        self._runtime = Runtime(servers, options)
        self.servers: Servers = self._runtime.servers
        """The connections by name. Each has a `status`, `await ready()` and `restart()`."""

    @classmethod
    def from_config(cls, path: str | Path, **options: Any) -> Self:
        """Create a host from an `mcpServers` JSON file, the format of Claude Desktop. `options` are those of `Host`."""
        return cls(load_config(path), **options)

    async def __aenter__(self) -> Self:
        await self._runtime.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runtime.__aexit__(kind, error, traceback)

    # For the model

    async def tools(self) -> list[ModelTool]:
        """Return the tools that the model may call, of all servers that are ready (VIS-02).

        Wait for servers that have just been started, for at most `Timeouts.tools`. A server that is not ready by then
        is left out; `host.servers[name].status` has the reason.
        """
        self._runtime.tasks.check_running()
        await self.servers.settled(self._runtime.timeouts.tools)
        return model_tools(self.servers.tools())

    async def call_tool(self, server: str, name: str, arguments: JSONObject, conversation: str | None = None) -> Call:
        """Call a tool for the model, and open its View if it has one.

        A JSON-RPC error of the server becomes a result with `isError`. A call that does not finish raises
        `CallCancelledError`.
        """
        self._runtime.tasks.check_running()
        check_arguments(arguments)
        await self.servers[server].ready()
        call = self.begin(server, name, conversation)
        await call.run(arguments)
        return call

    def begin(self, server: str, name: str, conversation: str | None = None) -> Call:
        """Begin a call while the model still writes its arguments. The View can be opened at once."""
        check_text("conversation", conversation, " The arguments are given to run(), or to call_tool().")
        calls = self._runtime.calls
        return Call(calls, server, name, calls.open_linked(server, name, conversation), conversation)

    def model_context(self, conversation: str | None = None) -> list[JSONObject]:
        """Return the last model context update of each open View of a conversation (MCX-02, MCX-06)."""
        contexts = self._runtime.store.contexts(conversation)
        return [{"view": id, "server": server, **context} for id, server, context in contexts]

    def on_message(self, handler: MessageHandler) -> MessageHandler:
        """Set the handler for messages that Views add to a conversation: `handler(conversation, role, content)`.

        Without a handler, such messages are refused.
        """
        self._runtime.handlers.message = handler
        return handler

    def on_sampling(self, handler: SamplingHandler) -> SamplingHandler:
        """Set the handler for sampling requests of Views: `await handler(conversation, params)` returns the result.

        Without a handler, sampling is not offered to Views.
        """
        self._runtime.handlers.sampling = handler
        return handler

    def app_tools(self, conversation: str | None = None) -> list[AppTool]:
        """Return the tools that the open Views of a conversation offer to the model (D-SEC-08)."""
        return self._runtime.views.app_tools(conversation)

    async def call_app_tool(self, view: str, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that an open View offers. Raise `UnknownViewError` if the View is closed (D-SEC-10).

        A result that is too large, or does not match the output schema of the tool, raises `RequestError`.
        """
        self._runtime.tasks.check_running()
        check_arguments(arguments)
        return await self._runtime.requests.call_app_tool(self._runtime.views.live(view), name, arguments)

    # For the user

    def on_question(self, handler: QuestionHandler, *, instead_of_pages: bool = False) -> QuestionHandler:
        """Set the handler that answers for the user: `handler(question)` returns "once", "always" or "deny".

        It is called if no page shows the View; with `instead_of_pages`, always.
        """
        self._runtime.handlers.question = handler
        self._runtime.handlers.question_replaces_page = instead_of_pages
        return handler

    def grants(self) -> list[Grant]:
        """Return the permanent grants of users: what they allowed with "always"."""
        return self._runtime.store.grants()

    def revoke(self, grant: Grant) -> None:
        """Revoke a grant. The user is asked again the next time."""
        self._runtime.store.revoke(grant)

    def approve_document(self, server: str, uri: str, sha256: str) -> None:
        """Approve the document of an app that has changed since it was pinned."""
        self._runtime.store.pin(server, uri, sha256)

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
        return self._runtime.audit.records(AuditQuery(view, server, conversation, kind, name, since, until, limit))

    # Open Views

    async def close_view(self, view: str) -> None:
        """Close a View: ask it to tear down, wait for at most `Timeouts.teardown`, and end its session."""
        self._runtime.tasks.check_running()
        await self._runtime.views.close(view)

    async def reload_views(self, server: str, *, changed: bool = False) -> None:
        """Reload the open Views of a server, with their input and result.

        With `changed`, reload only those with a document that has changed.
        """
        await self._runtime.opener.reload(server, only_changed=changed)

    def set_context(self, **changes: Any) -> None:
        """Change the host context, such as `theme` or `locale`, and notify the open Views."""
        check_object("context", changes, 'set_context(theme="dark")')
        self._runtime.views.set_context(changes)

    def pin_context(self, **values: Any) -> None:
        """Override parts of the host context that pages report, such as `safeAreaInsets`. None removes an override."""
        self._runtime.views.pin_context(values)

    async def show_as(self, view: str, mode: str) -> None:
        """Change the display mode of a View to "inline", "fullscreen" or "pip", as if the user had chosen it."""
        await self._runtime.views.show_as(view, mode)

    @property
    def profile(self) -> Profile:
        """What this host offers. A new profile applies to Views that are opened or loaded later."""
        return self._runtime.sessions.profile

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self._runtime.sessions.profile = profile
        self.servers.show_views(profile.extension)

    # For the web

    def wrap(self, app: ASGIApp, path: str = "/apps") -> ASGIApp:
        """Return an ASGI program that serves `app`, the host under `path`, and the sandbox host names."""
        if not callable(app):
            raise ArgumentError(f"app is {app!r}, expected an ASGI program, such as Starlette().")
        return self._runtime.web(check_path(path)).wrap(app)

    def sandbox_asgi(self) -> ASGIApp:
        """Return an ASGI program for the sandbox host names only.

        It can be served by another process than the program: by a host with the same `store`, `sandbox_origin`, `hosts`
        and `origins`, which needs no servers.
        """
        return self._runtime.web("/apps").sandbox_asgi()


def runtime_of(host: Host) -> Runtime:
    """Return the parts of a host, for tools that are built on it."""
    return host._runtime
