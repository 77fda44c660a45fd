"""What the audit records about Views: their messages, documents, dialects and violations."""

from collections.abc import Coroutine
from time import monotonic
from typing import Any, Final

from fanlight.host import metrics
from fanlight.host.consent.audit import Audit, now
from fanlight.host.consent.policy import App
from fanlight.host.store.base import AuditKind, AuditRecord
from fanlight.host.views.page.frames import LostRequest
from fanlight.host.views.records import Owner
from fanlight.host.views.requests.message import ViewMessage
from fanlight.protocol.events import Event, Rejected
from fanlight.protocol.jsonrpc import JSONObject, Message

_METHODS: Final = frozenset(
    {
        "ping",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/templates/list",
        "sampling/createMessage",
        "tools/call",
        "tools/list",
        "ui/download-file",
        "ui/initialize",
        "ui/message",
        "ui/open-link",
        "ui/request-display-mode",
        "ui/update-model-context",
    }
)


class AuditTrail:
    """Writes audit records about Views, with the server and the conversation of each."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def log_response(self, app: App, request: ViewMessage, response: Message, size: int) -> Coroutine[Any, Any, None]:
        """Record a response of `size` bytes to a View. It is in the store when this was awaited."""
        error = response.get("error")
        data = self._audit.arguments(request.method, request.params)
        if request.method == "tools/call":
            data["tool"] = request.params.get("name")
        if error is not None:
            data["error"] = error
            if request.failure not in (None, error["message"]):
                data["reason"] = request.failure
        duration = monotonic() - request.received_at
        outcome = "ok" if error is None else "error"
        # A View chooses the method, and each new one would be another time series.
        method = request.method if request.method in _METHODS else "other"
        metrics.requests.record(duration, {"method": method, "outcome": outcome})
        return self._audit.write(
            AuditRecord(
                now(),
                "message",
                request.method,
                outcome,
                app.view,
                app.server,
                app.conversation,
                app.user,
                None,
                request.size,
                size,
                duration,
                data or None,
            )
        )

    def log_notification(self, app: App, message: ViewMessage, event: Event | None) -> None:
        """Record a message that needs no response."""
        self._log_message(app, message, f"dropped: {event.reason}" if isinstance(event, Rejected) else "ok")

    def log_rejected(self, app: App, message: ViewMessage, reason: str) -> None:
        """Record a message that exceeded a limit."""
        self._log_message(app, message, f"refused: {reason}")

    def log_cancelled(self, app: App, request: ViewMessage) -> None:
        """Record a request that gets no response because its document is gone."""
        self._log_message(app, request, "cancelled")

    def log_lost(self, app: App, request: LostRequest, reason: str) -> None:
        """Record a request that a process that ended has received and not answered."""
        self._buffer(app, "message", request.method, "lost", data={"reason": reason})

    def _log_message(self, app: App, message: ViewMessage, outcome: str) -> None:
        self._buffer(app, "message", message.method, outcome, bytes_in=message.size)

    def log_dialect(self, app: App, older: str, today: str, uri: str | None = None) -> None:
        """Record that a name of another dialect was translated to today's."""
        data = {"today": today} if uri is None else {"today": today, "uri": uri}
        self._buffer(app, "dialect", older, "translated", data=data)

    def _buffer(self, app: App, kind: AuditKind, name: str, outcome: str, **more: Any) -> None:
        self._audit.buffer(
            AuditRecord(now(), kind, name, outcome, app.view, app.server, app.conversation, app.user, **more)
        )

    def log_refused_dialect(
        self,
        server: str,
        owner: Owner,
        older: str,
        reason: str,
        *,
        uri: str | None = None,
        view: str | None = None,
    ) -> None:
        """Record that a name of another dialect was refused."""
        data = {"reason": reason} if uri is None else {"reason": reason, "uri": uri}
        self._audit.buffer(
            AuditRecord(now(), "dialect", older, "refused", view, server, owner.conversation, owner.user, data=data)
        )

    def log_page_report(self, app: App, kind: AuditKind, name: str, what: str) -> None:
        """Record what a page reports about the View that it shows."""
        self._buffer(app, kind, name, "blocked", by="page", data={"what": what})

    async def log_document(self, app: App, data: JSONObject) -> None:
        """Record that a document is shown."""
        await self._audit.write(
            AuditRecord(
                now(), "document", app.uri, "shown", app.view, app.server, app.conversation, app.user, data=data
            )
        )

    def log_violation(
        self, server: str, view: str | None, owner: Owner, directive: str, outcome: str, data: JSONObject
    ) -> None:
        """Record a violation of a document's policy that a browser reports."""
        self._audit.buffer(
            AuditRecord(
                now(),
                "violation",
                directive,
                outcome,
                view,
                server,
                owner.conversation,
                owner.user,
                "browser",
                data=data,
            )
        )

    async def log_app_tool(self, app: App, name: str, arguments: JSONObject, outcome: str, duration: float) -> None:
        """Record the model's call of a tool that a View offers."""
        data = self._audit.arguments(name, arguments) or None
        await self._audit.write(
            AuditRecord(
                now(),
                "app-tool",
                name,
                outcome,
                app.view,
                app.server,
                app.conversation,
                app.user,
                duration=duration,
                data=data,
            )
        )
