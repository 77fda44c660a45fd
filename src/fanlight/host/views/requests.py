"""What Views ask for, and who serves it: the server behind a View, the program, or the page around it.

Everything passes the gate first, and is written down.
"""

import inspect
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from fanlight.host.consent.audit import Audit, now
from fanlight.host.consent.consent import Gate
from fanlight.host.consent.policy import App, Deny, Policy
from fanlight.host.errors import CallCancelledError, RequestError, ServerError
from fanlight.host.json_text import encode_json
from fanlight.host.limits import Limits
from fanlight.host.store.base import AuditKind, AuditRecord, ViewRecord
from fanlight.host.upstream.servers import Servers
from fanlight.host.views.app_tools import AppTools
from fanlight.host.views.downloads import saved_file, saved_files
from fanlight.host.views.frames import ModelContext
from fanlight.host.views.registry import OpenViews
from fanlight.host.views.session import Heard, Progress, Session, Timeouts
from fanlight.protocol.events import Dropped, Event
from fanlight.protocol.jsonrpc import INVALID_PARAMS, JSONObject, Message
from fanlight.protocol.visibility import for_app

MessageHandler = Callable[[str | None, str, list[JSONObject]], Awaitable[None] | None]
SamplingHandler = Callable[[str | None, JSONObject], Awaitable[JSONObject]]


class Desk:
    """Serves the requests of all Views of a host."""

    def __init__(
        self,
        servers: Servers,
        app_tools: AppTools,
        policy: Policy,
        gate: Gate,
        audit: Audit,
        timeouts: Timeouts,
        limits: Limits,
    ) -> None:
        self.views: OpenViews
        self.on_message: MessageHandler | None = None
        self.on_sampling: SamplingHandler | None = None
        self._servers = servers
        self._app_tools = app_tools
        self._policy = policy
        self._gate = gate
        self._audit = audit
        self._timeouts = timeouts
        self._limits = limits

    # What Views ask for

    async def call_tool_for_view(
        self, session: Session, name: str, arguments: JSONObject, progress: Progress
    ) -> JSONObject:
        app = self._app(session)
        connection = self._servers[app.server]
        tool = next((tool for tool in connection.tools if tool["name"] == name and for_app(tool)), None)
        if tool is None:  # gone while the View asked
            raise RequestError(f"Unknown tool, or one that a View may not call: {name!r}.", INVALID_PARAMS)
        decision = self._policy.tool_call(app, tool, arguments)
        details = (("Tool", name), ("Server", app.server), ("Arguments", arguments))
        await self._gate.check(app, decision, "tool", name, details, asker=session, once_per_view=True)
        return await _for_view(connection.call_tool(name, arguments, on_progress=progress, timeout=self._timeouts.call))

    async def ask_server(self, session: Session, method: str, params: JSONObject) -> JSONObject:
        connection = self._servers[self._record(session).server]
        cursor = params.get("cursor")
        cursor = cursor if isinstance(cursor, str) else None
        match method:
            case "tools/list":
                return {"tools": [tool for tool in connection.tools if for_app(tool)]}
            case "resources/read":
                uri = params.get("uri")
                if not isinstance(uri, str):
                    raise RequestError("resources/read: uri is missing, expected a string.", INVALID_PARAMS)
                return await _for_view(connection.read_resource(uri))
            case "resources/list":
                return await _for_view(connection.list_resources(cursor))
            case "resources/templates/list":
                return await _for_view(connection.list_resource_templates(cursor))
            case _:
                return await _for_view(connection.list_prompts(cursor))

    async def sample(self, session: Session, params: JSONObject) -> JSONObject:
        assert self.on_sampling is not None, "sampling is offered only where there is a handler"
        app = self._app(session)
        details = (("Question", params.get("messages", [])),)
        await self._gate.check(app, self._policy.sampling(app, params), "sampling", "", details, asker=session)
        return await self.on_sampling(app.conversation, params)

    async def message(self, session: Session, role: str, content: tuple[JSONObject, ...]) -> None:
        if self.on_message is None:
            raise RequestError("This host takes no messages from Views.")
        app = self._app(session)
        details = (("Message", _text(content)),)
        await self._gate.check(app, self._policy.message(app, content), "message", "", details, asker=session)
        done = self.on_message(app.conversation, role, list(content))
        if inspect.isawaitable(done):
            await done

    async def update_context(self, session: Session, update: JSONObject) -> None:
        size, most = len(encode_json(update)), self._limits.state_bytes
        if size > most:
            raise RequestError(f"The update has {size:,} characters; at most {most:,} are kept for the model.")
        app = self._app(session)
        details = (("Text", _text(update.get("content", ()))), ("Data", update.get("structuredContent", {})))
        decision = self._policy.model_context(app, update)
        await self._gate.check(app, decision, "model-context", "", details, asker=session)
        self.views.change(session.id, context=update)
        await session.line.send(ModelContext(update))

    async def keep_state(self, session: Session, state: Any) -> None:
        size, most = len(encode_json({"state": state})), self._limits.state_bytes
        if size > most:
            raise RequestError(f"The state has {size:,} characters; at most {most:,} are kept.")
        self.views.change(session.id, state=state)
        app = self._app(session)
        decision = self._policy.widget_state(app, state)
        if isinstance(decision, Deny):
            return
        try:
            await self._gate.check(
                app, decision, "model-context", "state", (("Data", state),), asker=session, once_per_view=True
            )
        except RequestError:
            return  # it is kept all the same
        update = {"content": [], "structuredContent": {"widgetState": state}}
        self.views.change(session.id, context=update)
        await session.line.send(ModelContext(update))

    async def link(self, session: Session, url: str) -> None:
        if not is_web_link(url):
            raise RequestError("Only http and https links are opened.")
        app = self._app(session)
        origin = urlsplit(url).netloc.lower()
        details = (("Address", url),)
        await self._gate.check(app, self._policy.link(app, url), "link", origin, details, asker=session)

    async def download(self, session: Session, contents: tuple[JSONObject, ...]) -> tuple[list[JSONObject], list[str]]:
        """Return the files to save and the links to open: what is on the web is for the browser to fetch."""
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
            await self._gate.check(app, self._policy.download(app, names), "download", "", details, asker=session)
        return files, links

    async def app_tools_changed(self, session: Session) -> None:
        await self._app_tools.look(session, self._record(session).server)

    async def closing(self, session: Session) -> None:
        self.views.forget(session.id)
        await session.close("the View asked to be closed")
        self._gate.forget(session.id)  # what it asked for while it closed

    # What the model does with a View

    async def call_app_tool(self, session: Session, name: str, arguments: JSONObject) -> JSONObject:
        """Call a tool of a View for the model."""
        app = self._app(session)
        tool = self._app_tools.find(session.id, name)
        declared = {"name": name, "annotations": tool.annotations}
        decision = self._policy.app_tool(app, declared, arguments)
        details = (("Tool", name), ("Arguments", arguments))
        await self._gate.check(app, decision, "app-tool", name, details, asker=session, once_per_view=True)
        began, outcome = monotonic(), "error"
        try:
            result = await self._app_tools.call(session, tool, arguments)
            outcome = "ok"
        finally:
            duration, data = monotonic() - began, self._audit.arguments(name, arguments)
            about = (app.view, app.server, app.conversation)
            self._audit.write(
                AuditRecord(now(), "app-tool", name, outcome, *about, duration=duration, data=data or None)
            )
        return result

    # What is written down

    def answered(self, session: Session, heard: Heard, answer: Message, size: int) -> None:
        error = answer.get("error")
        data = self._audit.arguments(heard.method, heard.params)
        if heard.method == "tools/call":
            data["tool"] = heard.params.get("name")
        if error is not None:
            data["error"] = error
        duration = monotonic() - heard.at
        outcome = "ok" if error is None else "error"
        server, conversation = self._whose(session)
        self._audit.write(
            AuditRecord(
                now(),
                "message",
                heard.method,
                outcome,
                session.id,
                server,
                conversation,
                None,
                heard.size,
                size,
                duration,
                data or None,
            )
        )

    def told(self, session: Session, heard: Heard, event: Event | None) -> None:
        self._say(session, heard, f"dropped: {event.reason}" if isinstance(event, Dropped) else "ok")

    def dropped(self, session: Session, heard: Heard, reason: str) -> None:
        self._say(session, heard, f"refused: {reason}")

    def _say(self, session: Session, heard: Heard, outcome: str) -> None:
        server, conversation = self._whose(session)
        self._audit.note(
            AuditRecord(now(), "message", heard.method, outcome, session.id, server, conversation, None, heard.size)
        )

    def spoke(self, session: Session, older: str, today: str) -> None:
        server, conversation = self._whose(session)
        self.translated(session.id, server, conversation, older, today)

    def translated(
        self,
        view: str | None,
        server: str | None,
        conversation: str | None,
        older: str,
        today: str,
        uri: str | None = None,
    ) -> None:
        """Write down the use of another dialect."""
        data = {"today": today} if uri is None else {"today": today, "uri": uri}
        self._audit.note(AuditRecord(now(), "dialect", older, "translated", view, server, conversation, data=data))

    def refused(
        self,
        server: str,
        conversation: str | None,
        older: str,
        reason: str,
        uri: str | None = None,
        view: str | None = None,
    ) -> None:
        """Write down that another dialect was refused."""
        data = {"reason": reason} if uri is None else {"reason": reason, "uri": uri}
        self._audit.note(AuditRecord(now(), "dialect", older, "refused", view, server, conversation, data=data))

    def noticed(self, session: Session, kind: AuditKind, name: str, what: str) -> None:
        """Write down what a page noticed of the View that it shows."""
        server, conversation = self._whose(session)
        self._audit.note(
            AuditRecord(now(), kind, name, "blocked", session.id, server, conversation, "page", data={"what": what})
        )

    def _whose(self, session: Session) -> tuple[str | None, str | None]:
        record = self.views.record(session.id)
        return (None, None) if record is None else (record.server, record.conversation)

    def _record(self, session: Session) -> ViewRecord:
        record = self.views.record(session.id)
        assert record is not None, "an open View has its record"
        return record

    def _app(self, session: Session) -> App:
        return app_of(self._record(session))


def app_of(record: ViewRecord, sha256: str | None = None) -> App:
    """Return whom a decision about a View is about."""
    return App(record.id, record.server, record.uri, record.tool, record.conversation, sha256)


def is_web_link(url: str) -> bool:
    """Tell whether a link is one that a browser opens as a page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme.lower() in ("http", "https") and bool(parts.netloc)


def _text(content: Any) -> str:
    """Return the text of content blocks, and what the others are."""
    return "\n".join(str(block.get("text", f"({block.get('type')})")) for block in content)


async def _for_view(work: Awaitable[JSONObject]) -> JSONObject:
    """Return what a server answered to a View, or raise what the View is told instead."""
    try:
        return await work
    except ServerError as error:
        raise RequestError(error.message, error.code, error.data) from None
    except CallCancelledError as error:
        raise RequestError(error.message) from None
