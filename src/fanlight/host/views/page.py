"""What a page says about the View it shows."""

from typing import Final, Protocol

from fanlight.host.store.base import AuditKind
from fanlight.host.views.channel import Channel, Frame
from fanlight.host.views.session import Session
from fanlight.protocol.jsonrpc import JSONObject

_CONTEXT: Final = frozenset(
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


class Desk(Protocol):
    """Whom a page's words concern."""

    def noticed(self, session: Session, kind: AuditKind, name: str, what: str) -> None: ...


class PageLink:
    """A View opened by a page."""

    def __init__(self, desk: Desk, session: Session, channel: Channel) -> None:
        self._desk = desk
        self._session = session
        self._channel = channel

    async def receive(self, frame: Frame, size: int) -> None:
        """Take a frame of the page, of so many bytes."""
        session, line = self._session, self._session.line
        if not line.take(frame):
            return
        match frame.get("type"):
            case "message":
                await session.receive(frame.get("message"), size)
                await line.acknowledge()
            case "context":
                session.bridge.set_context(browser_context(frame))
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
            case "failed":
                self._desk.noticed(session, "document", "failed", _text(frame, "reason"))
            case "violation":
                self._desk.noticed(session, "violation", _text(frame, "directive"), _text(frame, "blocked"))
            case "close":
                session.close_soon()

    async def lost(self, *, closed: bool = False) -> None:
        """Take note that the page has gone; `closed` if it said so, and cannot come back to where it was."""
        self._session.detach(self._channel, closed=closed)


def _text(frame: Frame, key: str) -> str:
    value = frame.get(key)
    return value[:500] if isinstance(value, str) else ""


def browser_context(frame: Frame) -> JSONObject:
    """Return what a page may say of its surroundings, and nothing else."""
    context = frame.get("context")
    if not isinstance(context, dict):
        return {}
    return {key: value for key, value in context.items() if key in _CONTEXT and value is not None}
