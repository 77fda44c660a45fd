"""`Host`: connect MCP servers, give their tools to a model, and show their Views in pages."""

from collections.abc import AsyncIterator, Collection, Mapping
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from starlette.types import ASGIApp

from fanlight.host.bus.base import Bus
from fanlight.host.consent.audit import Keep
from fanlight.host.consent.policy import Policy
from fanlight.host.conversation import Conversation
from fanlight.host.handlers import MessageHandler, QuestionHandler, RejectionHandler, SamplingHandler, SignInHandler
from fanlight.host.options import HostOptions
from fanlight.host.runtime import Runtime
from fanlight.host.settings import Limits, Profile, Retention, Timeouts
from fanlight.host.store.base import AuditQuery, AuditRecord, Grant, Store
from fanlight.host.upstream.auth.credentials import Credentials
from fanlight.host.upstream.auth.oauth import UserOAuth
from fanlight.host.upstream.callbacks import Handler
from fanlight.host.upstream.config import load_config
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.info import ViewInfo
from fanlight.host.web.users import Authorize, Identify
from fanlight.protocol.jsonrpc import JSONObject


class Host:
    """A host of MCP Apps: connects servers, gives their tools to a model and shows their Views in pages.

    Use it with `async with`, or let `wrap` run it in a program's lifespan. Invalid arguments raise a TypeError or a
    ValueError that says what to write instead.

    Args:
        servers: Names mapped to command lines (a string or a list), URLs, transports of the `mcp` SDK, or server
            objects of this program. A server that needs headers or a sign-in is `{"url": ..., "headers": {...}}` or
            `{"url": ..., "auth": ...}` with any `httpx2.Auth`, such as the OAuth providers of the `mcp` package.
        store: `"sqlite:///path"`, `"postgresql://..."`, `"redis://..."`, or an object with the methods of `Store`.
            Default: in memory.
        bus: `"redis://..."`, or an object with the methods of `Bus`: connects several processes (workers) with the same
            store, any of which serves any page and any call. Default: the store's URL if that is Redis, otherwise none.
        sandbox_origin: The origin of the sandbox proxy; Views live one label below it. Default: `sandbox.localhost` on
            the port of the page.
        info: The name and version that Views see: `{"name": ..., "version": ...}`. Default: Fanlight's.
        context: The host context that Views see: `theme`, `locale`, `styles` and so on. Default: display modes and
            platform.
        policy: Decides what Views may do. Default: harmless requests are allowed, and the user is asked about others.
        hosts: The host names of the program. The host answers requests to its own routes under other names with 421;
            those of `app` are served under any name. Default: the names of this machine, or any name if there is a
            `sandbox_origin`.
        origins: The origins of pages that show Views of this program and come from elsewhere, such as
            `"https://app.example.com"`. Default: none, so only the program's own pages can.
        user: `user(connection) -> str | None`, sync or async: returns the user of a page from its cookies, headers or
            query, or None if nobody is signed in. With it, a View opens only for its own user, and only with its token.
            Default: the token decides, and all pages are of one user, who shares grants and conversations.
        credentials: `async (user, server)`: returns the headers, an `httpx2.Auth` or the environment variables with
            which a user's own connection to a server is opened, or None for the connection that all users share.
        oauth: Lets each user sign in to servers with OAuth, and stores their tokens. Needs `user`.
        authorize: `authorize(websocket, view) -> bool`, sync or async: can refuse a page that has the View's token and
            belongs to its user. It cannot allow more than that.
        timeouts: How long the host waits for servers, pages, Views and users.
        limits: How much one View may use.
        retention: Erases old Views and audit records on a schedule. Default: they are kept.
        dialects: Whether Views of mcp-ui, ChatGPT and older drafts are shown. If not, they are refused.
        profile: Offers less than this host can do, to behave like another host.
        report_errors: Report errors in a View's scripts as its log messages, with the logger `fanlight.error`. For
            developers: it changes the documents.
        audit_arguments: What the audit keeps of arguments: `"whole"`, `"hashed"` (a SHA-256 digest), `"none"`, or what
            a function `(name, arguments)` returns.
        on_server_sampling: `async (request) -> result`: answers servers that request sampling. Raise
            `DeclinedError` to refuse. Default: sampling is not offered to servers.
        on_elicitation: `async (request) -> result`: answers servers that ask the user. Raise `DeclinedError` to
            refuse. Default: elicitation is not offered to servers.
    """

    def __init__(
        self,
        servers: Mapping[str, object],
        *,
        store: Store | str | None = None,
        bus: Bus | str | None = None,
        sandbox_origin: str | None = None,
        info: JSONObject | None = None,
        context: JSONObject | None = None,
        policy: Policy | None = None,
        hosts: Collection[str] | None = None,
        origins: Collection[str] = (),
        user: Identify | None = None,
        credentials: Credentials | None = None,
        oauth: UserOAuth | None = None,
        authorize: Authorize | None = None,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        retention: Retention | None = None,
        dialects: bool = True,
        profile: Profile | None = None,
        report_errors: bool = False,
        audit_arguments: Keep = "hashed",
        on_server_sampling: Handler | None = None,
        on_elicitation: Handler | None = None,
    ) -> None:
        options = HostOptions(
            store=store,
            bus=bus,
            sandbox_origin=sandbox_origin,
            info=info,
            context=context,
            policy=policy,
            hosts=hosts,
            origins=origins,
            user=user,
            credentials=credentials,
            oauth=oauth,
            authorize=authorize,
            timeouts=timeouts,
            limits=limits,
            retention=retention,
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

    def conversation(self, id: str | None = None, *, user: str | None = None) -> Conversation:
        """Return the handle for all that an agent does: tools, calls, Views and what they want the model to know.

        Args:
            id: The id of the conversation, which the program chooses. Default: the only one of its user.
            user: The user that the conversation belongs to. Leave it out in a program with one user.
        """
        return Conversation(self._runtime, id, user)

    # Requests of Views

    def on_message(self, handler: MessageHandler) -> MessageHandler:
        """Set the handler for messages that Views add to a conversation: `handler(message)` gets a `Message`.

        It may run a whole turn of the model: it goes on if the page is reloaded, and after `Timeouts.message` the View
        no longer waits for it. Raise `DeclinedError` to refuse a message. Without a handler, messages are refused.
        """
        self._runtime.handlers.message = handler
        return handler

    def on_sampling(self, handler: SamplingHandler) -> SamplingHandler:
        """Set the handler for sampling requests of Views: `await handler(request)` returns the result.

        It gets a `SamplingRequest`. Without a handler, sampling is not offered to Views.
        """
        self._runtime.handlers.sampling = handler
        return handler

    def on_credentials_rejected(self, handler: RejectionHandler) -> RejectionHandler:
        """Set the handler that is called with a `CredentialsRejectedError` when a server rejects credentials.

        Use it to let the user sign in again, also if the call came from a View. It is called once for the same
        credentials, until the server has accepted them again.
        """
        self._runtime.handlers.rejection = handler
        return handler

    def on_sign_in(self, handler: SignInHandler) -> SignInHandler:
        """Set the handler that is called with a `SignIn` when a user has to sign in to a server of `Host(oauth=...)`.

        Use it to show the user a link. The connection is opened as soon as the user has signed in.
        """
        self._runtime.handlers.sign_in = handler
        return handler

    # For the user

    def on_question(self, handler: QuestionHandler, *, instead_of_pages: bool = False) -> QuestionHandler:
        """Set the handler that answers for the user: `handler(question)` returns "once", "always" or "deny".

        It is called if no page shows the View; with `instead_of_pages`, always.
        """
        self._runtime.handlers.question = handler
        self._runtime.handlers.question_replaces_page = instead_of_pages
        return handler

    async def grants(self, user: str | None = None) -> list[Grant]:
        """Return the permanent grants of a user: what they allowed with "always"."""
        return await self._runtime.consent.grants(user)

    async def revoke(self, grant: Grant) -> None:
        """Revoke a grant, for the user that it belongs to. That user is asked again the next time."""
        await self._runtime.consent.revoke(grant, "program")

    async def approve_document(self, server: str, uri: str, sha256: str, user: str | None = None) -> None:
        """Approve the document of an app that has changed since it was pinned, for one user."""
        await self._runtime.store.pin(server, uri, sha256, user)

    def audit(
        self,
        *,
        view: str | None = None,
        server: str | None = None,
        conversation: str | None = None,
        user: str | None = None,
        kind: str | None = None,
        name: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[AuditRecord]:
        """Return the audit records that match, the oldest first.

        The arguments are those of `AuditQuery`. `fanlight.host.json_line` converts a record to a line of JSON.
        """
        query = AuditQuery(view, server, conversation, user, kind, name, since, until, limit)
        return self._runtime.audit.records(query)

    async def forget(
        self,
        *,
        user: str | None = None,
        conversation: str | None = None,
        older_than: timedelta | None = None,
        audit: Literal["erase", "pseudonymise"] = "erase",
    ) -> None:
        """Erase what is stored of a user, of a conversation, or beyond an age; with several, what matches all of them.

        Views and tokens are erased, and open Views are closed. Grants, pinned documents, OAuth tokens and
        connections go with a whole user. Audit records are erased, too; with `audit="pseudonymise"`, they stay, without
        their data and with a random name in place of the user. With `older_than`, Views that are alive are kept.
        """
        await self._runtime.erasure.forget(user, conversation, older_than, audit)

    async def disconnect(self, user: str) -> None:
        """Disconnect the pages of a user, as after a sign-out.

        Each page connects again, and `Host(user=...)` is asked again. Views and grants are kept.
        """
        await self._runtime.disconnect_pages(user)

    async def drain(self, seconds: float) -> None:
        """Prepare to stop: take no new pages, and let calls and requests of Views finish for at most some seconds.

        Pages connect to other processes with the same store, which continue with their Views. What has not finished by
        then is cancelled. Call it before the program stops; `wrap` does so with `Timeouts.drain`.
        """
        await self._runtime.drain(seconds)

    # Views

    async def view(self, id: str) -> ViewInfo:
        """Return what is known about a View, such as its user and state. Raise `UnknownViewError` if there is none."""
        return await self._runtime.view_info(id)

    async def close_view(self, view: str) -> None:
        """Close a View: ask it to tear down, wait for at most `Timeouts.teardown`, and end its session."""
        await self._runtime.closer.close_open(view)

    async def show_as(self, view: str, mode: Literal["inline", "fullscreen", "pip"]) -> None:
        """Change the display mode of a View that a page shows, as a button of that page does.

        Raise `UnknownViewError` if no page shows it, and `RequestError` if the page does not answer.
        """
        await self._runtime.show_as(view, mode)

    async def reload_views(self, server: str, *, changed: bool = False) -> None:
        """Reload the open Views of a server, with their input and result.

        With `changed`, reload only those with a document that has changed.
        """
        await self._runtime.reload_views(server, only_changed=changed)

    def set_context(self, **changes: Any) -> None:
        """Change the host context, such as `theme` or `locale`, and notify the open Views."""
        self._runtime.views.set_context(changes)

    # For the web

    def wrap(self, app: ASGIApp, path: str = "/apps") -> ASGIApp:
        """Return an ASGI program that serves `app`, the host under `path`, and the sandbox host names."""
        return self._runtime.web(path).wrap(app)

    def relay(self) -> ASGIApp:
        """Return an ASGI program for one route: the back end of front ends that render MCP Apps themselves.

        It serves `McpAppsRemoteHost` of assistant-ui and `MCPAppRenderer` of the AI SDK. `Conversation.relay_app`
        returns what these need to show a View. Serve it inside the program that `wrap` is given.
        """
        return self._runtime.relay()

    def sandbox_asgi(self) -> ASGIApp:
        """Return an ASGI program for the sandbox host names only.

        It can be served by another process than the program: by a host with the same `store`, `sandbox_origin`, `hosts`
        and `origins`, which needs no servers.
        """
        return self._runtime.web("/apps").sandbox_asgi()


def runtime_of(host: Host) -> Runtime:
    """Return the parts of a host, for tools that are built on it."""
    return host._runtime
