"""`PageConnection`: where the frames of a page, and with them the messages of its View, enter the host."""

from typing import Protocol

from fanlight.host.consent.policy import App
from fanlight.host.store.base import AuditKind
from fanlight.host.views.page.channel import PageSocket
from fanlight.host.views.page.frames import (
    CloseView,
    CommandResult,
    ContextChanged,
    CspViolation,
    DisplayModeChanged,
    LoadFailed,
    MessageFromView,
    ReceivedFrame,
)
from fanlight.host.views.session import Session


class PageObserver(Protocol):
    """Records what a page reports about its View."""

    def log_page_report(self, app: App, kind: AuditKind, name: str, what: str) -> None: ...


class PageConnection:
    """One socket of a page that shows the View of a session."""

    def __init__(self, observer: PageObserver, session: Session, socket: PageSocket) -> None:
        self._observer = observer
        self._session = session
        self._socket = socket

    async def receive(self, received: ReceivedFrame) -> None:
        """Handle a frame of the page."""
        session = self._session
        if not session.is_shown_on(self._socket) or not session.accept(received):
            return  # another page shows the View now, or the frame was received before
        match received.frame:
            case MessageFromView(message=message):
                await session.receive(message, received.size)
            case ContextChanged(context):
                session.report_context(context)
            case DisplayModeChanged(mode):
                session.set_context({"displayMode": mode})
            case CommandResult() as result:
                session.receive_command_result(result)
            case LoadFailed(message):
                self._observer.log_page_report(session.app, "document", "failed", message)
            case CspViolation(directive, blocked):
                self._observer.log_page_report(session.app, "violation", directive, blocked)
            case CloseView():
                session.close_soon()

    def disconnect(self, *, closed: bool = False) -> None:
        """Detach the page from its session. With `closed`, the page is gone for good; otherwise it may reconnect."""
        self._session.detach(self._socket, closed=closed)
