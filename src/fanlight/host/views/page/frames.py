"""The page protocol: every frame between a page's `<mcp-app>` and the host, in both directions.

A frame is a JSON object with a `type`. `to_json` gives a frame of the host its wire form; `decode_frame` validates a
frame of the page. `PageChannel` adds the numbers `n` and `ack`. docs/reference/page-protocol.md describes every frame,
and tests/vectors/page has examples that Python and `mcp-app.js` both replay.
"""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, Literal, NamedTuple, Self

import orjson

from fanlight.host.json_text import byte_length, decode_object
from fanlight.protocol.jsonrpc import JSONObject, Message, RequestId, is_id

DisplayMode = Literal["inline", "fullscreen", "pip"]
Answer = Literal["once", "always", "deny"]
"""The user's answer to a question."""

CONTEXT_KEYS: Final = frozenset(
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
"""The keys of the host context that a page may set. The host decides about the others."""

MAX_TEXT: Final = 500
"""How many characters of a page's error texts are kept."""


def wire_names(frame: type[Any]) -> dict[str, str]:
    """Return the attributes of a frame class with the names of their fields on the wire."""
    names = {}
    for attribute in fields(frame):
        first, *rest = attribute.name.split("_")
        names[attribute.name] = first + "".join(map(str.capitalize, rest))
    return names


_wire_names: Final[dict[str, dict[str, str]]] = {}
"""What `wire_names` returned for each type of host frame."""


class Frame:
    """A frame of the page protocol."""

    __slots__ = ()
    TYPE: ClassVar[str]


# From the host to the page


class HostFrame(Frame):
    """A frame that the host sends."""

    __slots__ = ()

    def to_json(self) -> JSONObject:
        """Return the frame without its numbers. Fields that are None are left out."""
        names = _wire_names.get(self.TYPE)
        if names is None:
            names = _wire_names[self.TYPE] = wire_names(type(self))
        values = ((wire, getattr(self, name)) for name, wire in names.items())
        return {"type": self.TYPE} | {wire: value for wire, value in values if value is not None}


@dataclass(frozen=True, slots=True)
class ProxyAddress(HostFrame):
    """Answers `Prewarm`: load the sandbox proxy at this address and wait."""

    TYPE = "proxy"
    url: str


@dataclass(frozen=True, slots=True)
class ShowView(HostFrame):
    """Answers `OpenView`: load this document. Both ends start to count frames from 1."""

    TYPE = "show"
    proxy: str
    document: str
    sandbox: str
    allow: str
    title: str
    csp: str
    network: tuple[str, ...]
    max_bytes: int
    epoch: str = ""
    """Identifies this loading of the View. Only the page that was sent it can resume."""
    border: bool | None = None
    mode: str = "inline"


@dataclass(frozen=True, slots=True)
class Resumed(HostFrame):
    """Answers `OpenView` with `seen`: the View continues. The host has received the page's frames up to `seen`."""

    TYPE = "resumed"
    seen: int
    restarted: bool | None = None
    """True if another process continues with the View. The page withdraws the questions of the former one."""


@dataclass(frozen=True, slots=True)
class StatusText(HostFrame):
    """Show a text until the View has loaded."""

    TYPE = "status"
    message: str


@dataclass(frozen=True, slots=True)
class Error(HostFrame):
    """The View cannot be shown, or no longer. Show the reason instead."""

    TYPE = "error"
    message: str
    retry: bool | None = None
    """True if another attempt may succeed, so that the user should be offered one."""


@dataclass(slots=True)  # not frozen, which would double the cost of the most frequent frame
class MessageToView(HostFrame):
    """Deliver a JSON-RPC message to the View."""

    TYPE = "message"
    message: Message | orjson.Fragment
    """The message, or its JSON text."""
    ack_now: bool | None = None
    """True if the page must acknowledge this frame at once."""

    def to_json(self) -> JSONObject:
        if self.ack_now:
            return {"type": "message", "message": self.message, "ackNow": True}
        return {"type": "message", "message": self.message}


@dataclass(frozen=True, slots=True)
class Resize(HostFrame):
    """Give the View's frame a height in pixels."""

    TYPE = "resize"
    height: float


@dataclass(frozen=True, slots=True)
class ModelContext(HostFrame):
    """Show what the View has shared with the model: `content` and `structuredContent`."""

    TYPE = "model-context"
    update: JSONObject


@dataclass(frozen=True, slots=True)
class Reload(HostFrame):
    """Open the View again from the start; its document has changed."""

    TYPE = "reload"


@dataclass(frozen=True, slots=True)
class Closed(HostFrame):
    """The View was closed and cannot be opened again."""

    TYPE = "closed"


@dataclass(frozen=True, slots=True)
class Elsewhere(HostFrame):
    """Another page shows the View now. Show it here again only if the user wants that."""

    TYPE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Ack(HostFrame):
    """Acknowledge the other end's frames up to a number. Not numbered itself. Both ends send it."""

    TYPE = "ack"
    ack: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCommand(HostFrame):
    """A frame that the page answers with `CommandResult`."""

    id: int = 0
    """Identifies the answer. 0 is a question before the View is shown; a session counts from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDisplayMode(PageCommand):
    """Show the View in another display mode. The result is `{"mode": ...}`, the mode that is shown now."""

    TYPE = "set-display-mode"
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLink(PageCommand):
    """Open an http or https address in a new tab."""

    TYPE = "open-link"
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Download(PageCommand):
    """Save files. Each has a `name`, and `text` or `blob` (base64)."""

    TYPE = "download"
    files: list[JSONObject]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskUser(PageCommand):
    """Ask the user for consent. The result is `{"answer": ...}`: "once", "always" or "deny"."""

    TYPE = "question"
    app: str
    server: str
    requests: list[JSONObject]
    """What the View wants to do. Each has `text`, `warning`, `details`, `always` and `count`, all safe to show."""


@dataclass(frozen=True, slots=True)
class CancelCommand(HostFrame):
    """Withdraw a command that has no result yet."""

    TYPE = "cancel-command"
    id: int


HOST_FRAMES: Final[tuple[type[HostFrame], ...]] = (
    ProxyAddress,
    ShowView,
    Resumed,
    StatusText,
    Error,
    MessageToView,
    Resize,
    ModelContext,
    SetDisplayMode,
    OpenLink,
    Download,
    AskUser,
    CancelCommand,
    Reload,
    Closed,
    Elsewhere,
    Ack,
)
"""Every frame that the host sends."""


# From the page to the host


class PageFrame(Frame):
    """A frame that a page sends."""

    __slots__ = ()

    @classmethod
    def from_json(cls, values: JSONObject) -> Self | None:
        """Validate a frame; return None if a field that it needs is missing or invalid."""
        return cls()


@dataclass(frozen=True, slots=True)
class Prewarm(PageFrame):
    """Ask for the address of the sandbox proxy, before the page knows which View it will show."""

    TYPE = "prewarm"


class LostRequest(NamedTuple):
    """A request of a View that has no response yet."""

    id: RequestId
    method: str


@dataclass(frozen=True, slots=True)
class OpenView(PageFrame):
    """Open a View. With `seen` and `epoch`, resume it: the page still shows the View."""

    TYPE = "open"
    view: str
    token: str | None = None
    context: JSONObject = field(default_factory=dict)
    seen: int | None = None
    """The number of the last frame that the page has received, to resume."""
    epoch: str | None = None
    """The epoch of the `show` frame that made the page load what it shows, to resume."""
    close: bool = False
    """Whether to close the View instead: the page has no connection in which to send `CloseView`."""
    sent: int | None = None
    """The number of the last frame that the page has sent on any socket, to resume."""
    mode: str | None = None
    """The display mode, to resume."""
    requests: tuple[LostRequest, ...] = ()
    """The View's requests that were sent on a socket and have no response yet, to resume."""

    @classmethod
    def from_json(cls, values: JSONObject) -> Self | None:
        view, token, seen, epoch = (values.get(name) for name in ("view", "token", "seen", "epoch"))
        if not isinstance(view, str):
            return None
        return cls(
            view,
            token if isinstance(token, str) else None,
            _context(values),
            _integer(seen),
            epoch if isinstance(epoch, str) else None,
            values.get("close") is True,
            _integer(values.get("sent")),
            mode if isinstance(mode := values.get("mode"), str) else None,
            _lost_requests(values.get("requests")),
        )


@dataclass(slots=True)  # not frozen, as MessageToView
class MessageFromView(PageFrame):
    """A message that the View posted. The bridge validates it."""

    TYPE = "message"
    message: object

    @classmethod
    def from_json(cls, values: JSONObject) -> Self:
        return cls(values.get("message"))


@dataclass(frozen=True, slots=True)
class ContextChanged(PageFrame):
    """The parts of the host context that have changed in the browser."""

    TYPE = "context"
    context: JSONObject

    @classmethod
    def from_json(cls, values: JSONObject) -> Self:
        return cls(_context(values))


@dataclass(frozen=True, slots=True)
class DisplayModeChanged(PageFrame):
    """The user has changed the display mode."""

    TYPE = "display-mode"
    mode: DisplayMode

    @classmethod
    def from_json(cls, values: JSONObject) -> Self | None:
        match values.get("mode"):
            case "inline" | "fullscreen" | "pip" as mode:
                return cls(mode)
        return None


@dataclass(frozen=True, slots=True)
class CommandResult(PageFrame):
    """The result of a command, or the reason why it failed."""

    TYPE = "command-result"
    id: int
    result: JSONObject | None = None
    error: str | None = None

    @classmethod
    def from_json(cls, values: JSONObject) -> Self | None:
        id, result, error = _integer(values.get("id")), values.get("result"), values.get("error")
        if id is None:
            return None
        return cls(id, result if isinstance(result, dict) else None, error if isinstance(error, str) else None)


@dataclass(frozen=True, slots=True)
class LoadFailed(PageFrame):
    """The sandbox proxy or the View could not be loaded."""

    TYPE = "load-failed"
    message: str

    @classmethod
    def from_json(cls, values: JSONObject) -> Self:
        return cls(_text(values.get("message")))


@dataclass(frozen=True, slots=True)
class CspViolation(PageFrame):
    """The page's own Content-Security-Policy has blocked the sandbox proxy."""

    TYPE = "csp-violation"
    directive: str
    blocked: str

    @classmethod
    def from_json(cls, values: JSONObject) -> Self:
        return cls(_text(values.get("directive")), _text(values.get("blocked")))


@dataclass(frozen=True, slots=True)
class CloseView(PageFrame):
    """Close the View: the page does not need it any more."""

    TYPE = "close"


@dataclass(frozen=True, slots=True)
class PageAck(PageFrame):
    """Acknowledge the host's frames up to a number. Its number is in `ReceivedFrame.ack`, as that of every frame."""

    TYPE = Ack.TYPE


PAGE_FRAMES: Final[tuple[type[PageFrame], ...]] = (
    Prewarm,
    OpenView,
    MessageFromView,
    ContextChanged,
    DisplayModeChanged,
    CommandResult,
    LoadFailed,
    CspViolation,
    CloseView,
    PageAck,
)
"""Every frame that a page sends."""

_BY_TYPE: Final = {frame.TYPE: frame for frame in PAGE_FRAMES}


class ReceivedFrame(NamedTuple):
    """A frame of a page with its numbers."""

    frame: PageFrame | None
    """None if the type is unknown or a field is invalid. Such a frame is counted and otherwise ignored."""
    n: int | None
    """The frame's own number."""
    ack: int | None
    """The last frame of the host that the page had received when it sent this one."""
    size: int
    """The length of the frame in bytes."""


def decode_frame(text: str) -> ReceivedFrame | None:
    """Parse and validate a frame of a page. Return None if the text is not a JSON object, or is nested too deeply."""
    values = decode_object(text)
    if values is None:
        return None
    kind, n, ack = values.get("type"), values.get("n"), values.get("ack")
    frame_class = _BY_TYPE.get(kind) if isinstance(kind, str) else None
    frame = None if frame_class is None else frame_class.from_json(values)
    return ReceivedFrame(frame, _integer(n), _integer(ack), byte_length(text))


def read_answer(result: JSONObject | None) -> Answer:
    """Return the user's answer from the result of `AskUser`. Anything but a clear yes counts as "deny"."""
    answer: object = (result or {}).get("answer")
    return "once" if answer == "once" else "always" if answer == "always" else "deny"


_MAX_LOST: Final = 1000
_MAX_NUMBER: Final = 2**53 - 1


def _lost_requests(value: object) -> tuple[LostRequest, ...]:
    """Return the requests in a list of objects with `id` and `method`. Others are ignored."""
    items = value[:_MAX_LOST] if isinstance(value, list) else []
    return tuple(
        LostRequest(item["id"], item["method"][:200])
        for item in items
        if isinstance(item, dict) and is_id(item.get("id")) and isinstance(item.get("method"), str)
    )


def _integer(value: Any) -> int | None:
    """Return a number of a frame, or None if it is not one that JavaScript can count to."""
    return value if type(value) is int and 0 <= value <= _MAX_NUMBER else None


def _text(value: Any) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _context(values: JSONObject) -> JSONObject:
    context = values.get("context")
    if not isinstance(context, dict):
        return {}
    return {key: value for key, value in context.items() if key in CONTEXT_KEYS and value is not None}
