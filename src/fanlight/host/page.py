"""What a page says about the View it shows."""

from typing import Any, Final, Protocol

from fanlight.host.line import Channel, Frame
from fanlight.host.session import Session

JSONObject = dict[str, Any]

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


class Closer(Protocol):
    """Ends a View."""

    async def closing(self, session: Session) -> None: ...


class PageLink:
    """A View opened by a page."""

    def __init__(self, closer: Closer, session: Session, channel: Channel) -> None:
        self._closer = closer
        self._session = session
        self._channel = channel

    async def receive(self, frame: Frame, size: int) -> None:
        """Take a frame of the page, of so many bytes."""
        session = self._session
        if not await session.line.take(frame):
            return
        match frame.get("type"):
            case "message":
                await session.receive(frame.get("message"), size)
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
            case "close":
                await self._closer.closing(session)

    async def lost(self) -> None:
        """Take note that the page has gone."""
        self._session.detach(self._channel)


def browser_context(frame: Frame) -> JSONObject:
    """Return what a page may say of its surroundings, and nothing else."""
    context = frame.get("context")
    if not isinstance(context, dict):
        return {}
    return {key: value for key, value in context.items() if key in _CONTEXT and value is not None}
