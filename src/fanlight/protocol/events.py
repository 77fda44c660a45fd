"""The events of a link, one class each, as returned by `Bridge.receive`.

`id` is the View's request id. Answer it with `Bridge.respond` or `Bridge.respond_error`.
"""

from dataclasses import dataclass
from typing import Any

from fanlight.protocol.jsonrpc import JSONObject, RequestId


@dataclass(frozen=True, slots=True)
class HandshakeStarted:
    """The View sent `ui/initialize` and was answered."""

    app: JSONObject
    capabilities: JSONObject
    version: str
    again: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The View is initialized, and queued messages go out."""


@dataclass(frozen=True, slots=True)
class SizeChanged:
    """The View's content has this size. The width is that of the viewport, so do not apply it to the frame."""

    width: float | None
    height: float | None


@dataclass(frozen=True, slots=True)
class TeardownRequested:
    """The View asks to be closed (D-TDN-01)."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The View wrote a log line."""

    level: str
    data: Any
    logger: str | None


@dataclass(frozen=True, slots=True)
class AppToolsChanged:
    """The tools that the View offers have changed."""


@dataclass(frozen=True, slots=True)
class LinkRequested:
    id: RequestId
    url: str


@dataclass(frozen=True, slots=True)
class MessageRequested:
    id: RequestId
    role: str
    content: tuple[JSONObject, ...]


@dataclass(frozen=True, slots=True)
class ContextUpdated:
    """The View sets its context for the model, which replaces the previous one (MCX-01)."""

    id: RequestId
    content: tuple[JSONObject, ...]
    structured: JSONObject | None


@dataclass(frozen=True, slots=True)
class StateSaved:
    """A View for ChatGPT saves a state, to get it back when it is loaded again."""

    id: RequestId
    state: Any


@dataclass(frozen=True, slots=True)
class DisplayModeRequested:
    """The View requests a display mode that both sides offer."""

    id: RequestId
    mode: str


@dataclass(frozen=True, slots=True)
class DownloadRequested:
    id: RequestId
    contents: tuple[JSONObject, ...]


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The View calls a tool of its own server, which is one that it may call (VIS-03, VIS-04)."""

    id: RequestId
    name: str
    arguments: JSONObject
    meta: JSONObject
    """The request's `_meta` without the View's progress token, which is not for the server."""


@dataclass(frozen=True, slots=True)
class ServerRequested:
    """The View sends a request that its server answers: resources, prompts, tools/list."""

    id: RequestId
    method: str
    params: JSONObject


@dataclass(frozen=True, slots=True)
class SamplingRequested:
    id: RequestId
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The View cancelled one of its requests, which gets no response."""

    id: RequestId
    reason: str | None


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The View answered a request of the host."""

    id: int
    method: str
    result: JSONObject | None
    error: JSONObject | None


@dataclass(frozen=True, slots=True)
class Rejected:
    """A message was invalid, unexpected or not allowed. If it was a request, it was answered with an error."""

    reason: str


Event = (
    HandshakeStarted
    | Ready
    | SizeChanged
    | TeardownRequested
    | Logged
    | AppToolsChanged
    | LinkRequested
    | MessageRequested
    | ContextUpdated
    | StateSaved
    | DisplayModeRequested
    | DownloadRequested
    | ToolCalled
    | ServerRequested
    | SamplingRequested
    | Cancelled
    | ResponseReceived
    | Rejected
)
