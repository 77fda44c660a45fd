"""Serves the requests of Views: checks consent, then asks the server, the program or the page."""

import inspect
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import anyio

from fanlight.host.consent.consent import Consent
from fanlight.host.consent.labels import tool_title
from fanlight.host.consent.policy import App, Ask, Decision, Deny, Policy
from fanlight.host.errors import CallCancelledError, DeclinedError, NotConnectedError, RequestError, ServerError
from fanlight.host.handlers import Handlers, Message, SamplingRequest
from fanlight.host.json_text import encode_json
from fanlight.host.settings import Limits, Timeouts
from fanlight.host.tasks import HostTasks
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.router import ServerRouter
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.app_tools import AppTools
from fanlight.host.views.audit_trail import AuditTrail
from fanlight.host.views.interfaces import Progress, Requester
from fanlight.host.views.records import ViewRecords
from fanlight.host.views.requests.downloads import saved_file, saved_files
from fanlight.host.views.session import Session
from fanlight.protocol.jsonrpc import INVALID_PARAMS, JSONObject
from fanlight.protocol.visibility import for_app


class ViewRequests:
    """Serves the requests of all Views of a host, and the model's requests to them."""

    def __init__(
        self,
        servers: Servers,
        router: ServerRouter,
        records: ViewRecords,
        app_tools: AppTools,
        policy: Policy,
        consent: Consent,
        log: AuditTrail,
        handlers: Handlers,
        tasks: HostTasks,
        *,
        timeouts: Timeouts,
        limits: Limits,
    ) -> None:
        self._servers = servers
        self._router = router
        self._records = records
        self._app_tools = app_tools
        self._policy = policy
        self._consent = consent
        self._log = log
        self._handlers = handlers
        self._tasks = tasks
        self._timeouts = timeouts
        self._limits = limits

    # Requests of Views

    async def call_tool(self, session: Requester, name: str, arguments: JSONObject, progress: Progress) -> JSONObject:
        """Call a tool of the View's server."""
        connection = await self._connection(session.app)
        app = self._app(session)
        tool = next((tool for tool in connection.tools if tool["name"] == name and for_app(tool)), None)
        if tool is None:  # removed while the request was on its way
            raise RequestError(f"Unknown tool, or one that a View may not call: {name!r}.", INVALID_PARAMS)
        decision = self._policy.tool_call(app, tool, arguments)
        details = (("Tool", name), ("Server", app.server), ("Arguments", arguments))
        await self._consent.check(app, decision, "tool", name, details, asker=session, once_per_view=True)
        return await _for_view(
            self._router.call_tool(app.server, app.user, app.conversation, name, arguments, progress)
        )

    async def ask_server(self, session: Requester, method: str, params: JSONObject) -> JSONObject:
        """Forward a request that reads or lists something to the View's server."""
        app = session.app
        connection = await self._connection(app)
        cursor = params.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        match method:
            case "tools/list":
                return {"tools": [tool for tool in connection.tools if for_app(tool)]}
            case "resources/read":
                uri = params.get("uri")
                if not isinstance(uri, str):
                    raise RequestError("resources/read: uri is missing, expected a string.", INVALID_PARAMS)
                return await _for_view(self._router.read_resource(app.server, app.user, app.conversation, uri))
            case "resources/list":
                return await _for_view(connection.list_resources(cursor))
            case "resources/templates/list":
                return await _for_view(connection.list_resource_templates(cursor))
            case _:
                return await _for_view(connection.list_prompts(cursor))

    async def sample(self, session: Requester, params: JSONObject) -> JSONObject:
        """Let the program answer a sampling request."""
        handler = self._handlers.sampling
        assert handler is not None, "sampling is offered only if there is a handler"
        app = self._app(session)
        details = (("Question", params.get("messages", [])),)
        await self._consent.check(app, self._policy.sampling(app, params), "sampling", "", details, asker=session)
        return await handler(SamplingRequest(app, params))

    async def add_message(self, session: Requester, role: str, content: tuple[JSONObject, ...]) -> None:
        """Let the program add a message to the conversation."""
        handler = self._handlers.message
        if handler is None:
            raise RequestError("This host takes no messages from Views.")
        app = self._app(session)
        details = (("Message", _text(content)),)
        await self._consent.check(app, self._policy.message(app, content), "message", "", details, asker=session)
        done = handler(Message(app, role, list(content)))
        if inspect.isawaitable(done):
            await self._finish_message(done)

    async def _finish_message(self, done: Awaitable[None]) -> None:
        """Wait for a message handler for a limited time. It goes on even if the View is reloaded or closed."""
        failures: list[Exception] = []
        finished = anyio.Event()

        async def run() -> None:
            try:
                await done
            except Exception as error:
                failures.append(error)
            finally:
                finished.set()

        self._tasks.start_soon(run)
        with anyio.move_on_after(self._timeouts.message):
            await finished.wait()
        match failures:
            case [DeclinedError() as declined]:
                raise RequestError(str(declined), declined.code, declined.data)
            case [error]:
                raise error

    async def update_context(self, session: Session, update: JSONObject) -> Awaitable[None] | None:
        """Keep what the View wants the model to know, or return what does it after the user has allowed it."""
        self._check_size("update", update, "are kept for the model")
        app = self._app(session)
        decision = self._policy.model_context(app, update)
        work = self._update_context(session, app, update, decision)
        if isinstance(decision, Ask):
            return work
        await work
        return None

    async def _update_context(self, session: Session, app: App, update: JSONObject, decision: Decision) -> None:
        await self._check_update(session, app, update, decision)
        await self._keep(session, context=update, context_is_new=True)
        await session.report_model_context(update)

    async def update_relayed_context(self, requester: Requester, update: JSONObject) -> None:
        """Keep what a View without a session wants the model to know."""
        self._check_size("update", update, "are kept for the model")
        app = self._app(requester)
        await self._check_update(requester, app, update, self._policy.model_context(app, update))
        await self._records.change(requester.id, {"context": update, "context_is_new": True})

    async def _check_update(self, session: Requester, app: App, update: JSONObject, decision: Decision) -> None:
        """Raise RequestError unless a View may give the model an update."""
        details: tuple[tuple[str, object], ...] = ()
        if isinstance(decision, Ask):
            details = (("Text", _text(update.get("content", ()))), ("Data", update.get("structuredContent", {})))
        await self._consent.check(app, decision, "model-context", "", details, asker=session)

    async def keep_state(self, session: Session, state: Any) -> None:
        """Keep the state of a View for ChatGPT, and give it to the model if the policy or the user allows that."""
        self._check_size("state", {"state": state}, "are kept")
        await self._keep(session, state=state)
        app = self._app(session)
        decision = self._policy.widget_state(app, state)
        if isinstance(decision, Deny):
            return
        try:
            await self._consent.check(
                app, decision, "model-context", "state", (("Data", state),), asker=session, once_per_view=True
            )
        except RequestError:
            return  # the state is kept in any case
        update = {"content": [], "structuredContent": {"widgetState": state}}
        await self._keep(session, context=update, context_is_new=True)
        await session.report_model_context(update)

    async def _keep(self, session: Session, **changes: Any) -> None:
        if not await self._records.change_held(session.id, **changes):
            raise RequestError("Another page shows this View now.")

    def _check_size(self, what: str, value: JSONObject, outcome: str) -> None:
        size, most = len(encode_json(value)), self._limits.state_characters
        if size > most:
            raise RequestError(f"The {what} has {size:,} characters; at most {most:,} {outcome}.")

    async def check_link(self, session: Requester, url: str) -> None:
        """Raise RequestError unless the page may open a link."""
        if not is_web_link(url):
            raise RequestError("Only http and https links are opened.")
        app = self._app(session)
        origin = urlsplit(url).netloc.lower()
        details = (("Address", url),)
        await self._consent.check(app, self._policy.link(app, url), "link", origin, details, asker=session)

    async def download(self, session: Session, contents: tuple[JSONObject, ...]) -> tuple[list[JSONObject], list[str]]:
        """Return the files to save and the links to open: the browser fetches what is on the web."""
        files: list[JSONObject] = []
        links: list[str] = []
        for block in contents:
            uri = block.get("uri")
            if block.get("type") != "resource_link":
                files.append(saved_file(block))
            elif not isinstance(uri, str):
                raise RequestError("A resource_link has no uri.", INVALID_PARAMS)
            elif is_web_link(uri):
                links.append(uri)
            else:
                files += saved_files(await self.ask_server(session, "resources/read", {"uri": uri}))
        if files:
            app = self._app(session)
            names = [file["name"] for file in files]
            details = tuple(("File", name) for name in names)
            await self._consent.check(app, self._policy.download(app, names), "download", "", details, asker=session)
        return files, links

    async def app_tools_changed(self, session: Session) -> None:
        """Read the list of tools that a View offers again."""
        await self._app_tools.update(session, session.app.server, self._share_tools)

    async def _share_tools(self, view: str, tools: list[JSONObject]) -> None:
        """Let other workers know which tools a View offers."""
        if self._records.is_shared:
            await self._records.change_held(view, tools=tools or None)

    # Requests of the model

    async def call_app_tool(self, session: Session, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool that a View offers."""
        app = self._app(session)
        tool = self._app_tools.find(session.id, name)
        declared = {"name": name, "annotations": tool.annotations}
        decision = self._policy.app_tool(app, declared, arguments)
        details = (("Tool", name), ("Arguments", arguments))
        await self._consent.check(app, decision, "app-tool", name, details, asker=session, once_per_view=True)
        started, outcome = monotonic(), "error"
        try:
            result = await self._app_tools.call(session, tool, arguments)
            outcome = "ok"
        finally:
            await self._log.log_app_tool(app, name, arguments, outcome, monotonic() - started)
        return result

    async def _connection(self, app: App) -> Connection:
        """Return the connection of the View's user to its server, opened again if it was idle."""
        try:
            connection = await self._servers.connect(app.server, app.user)
            if not connection.tools:
                await connection.ready()
            return connection
        except CallCancelledError as error:
            raise _failed(error) from None

    def _app(self, session: Requester) -> App:
        """Return the View with the title that its tool has now, if the tools are known."""
        app = session.app
        with suppress(NotConnectedError):  # the connection was idle; nothing else here needs it
            title = tool_title(self._servers.find(app.server, app.user).tools, app.tool)
            return app if title == app.title else replace(app, title=title)
        return app


def is_web_link(url: str) -> bool:
    """Return whether a link is one that a browser opens as a page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


def _text(content: Any) -> str:
    """Return the text of content blocks, with the type of each block that has none."""
    return "\n".join(str(block.get("text", f"({block.get('type')})")) for block in content)


async def _for_view(work: Awaitable[JSONObject]) -> JSONObject:
    """Return a server's result, or raise its error as the one that the View gets."""
    try:
        return await work
    except ServerError as error:
        raise RequestError(error.message, error.code, error.data) from None
    except CallCancelledError as error:
        raise _failed(error) from None


def _failed(error: CallCancelledError) -> RequestError:
    return RequestError(error.user_message, reason=str(error))
