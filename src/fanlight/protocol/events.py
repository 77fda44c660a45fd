"""The news of a link: what `Bridge.receive` hands to the session, one frozen class per kind.

`id` is the View's own request id; answer with `Bridge.respond` or `Bridge.refuse`.
"""

from dataclasses import dataclass
from typing import Any

from fanlight.protocol.jsonrpc import JSONObject, RequestId


@dataclass(frozen=True, slots=True)
class Greeted:
    """The View introduced itself, and was answered."""

    app: JSONObject
    capabilities: JSONObject
    version: str
    again: bool


@dataclass(frozen=True, slots=True)
class Ready:
    """The View is initialized; what was held back is going out."""


@dataclass(frozen=True, slots=True)
class SizeChanged:
    """The View's content has this size now. Width is the viewport's and is not to be fed back."""

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
    """What the View wants the model to know; it replaces what it said before (MCX-01)."""

    id: RequestId
    content: tuple[JSONObject, ...]
    structured: JSONObject | None


@dataclass(frozen=True, slots=True)
class StateKept:
    """What a View for ChatGPT wants to find again when it is loaded anew."""

    id: RequestId
    state: Any


@dataclass(frozen=True, slots=True)
class DisplayModeRequested:
    """The View wants a mode that both sides offer."""

    id: RequestId
    mode: str


@dataclass(frozen=True, slots=True)
class DownloadRequested:
    id: RequestId
    contents: tuple[JSONObject, ...]


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The View calls a tool of its own server that it may call (VIS-03, VIS-04)."""

    id: RequestId
    name: str
    arguments: JSONObject
    meta: JSONObject
    """The request's `_meta` without the View's progress token, which stays on the link."""


@dataclass(frozen=True, slots=True)
class ServerAsked:
    """A request that the server answers: resources, prompts, tools/list."""

    id: RequestId
    method: str
    params: JSONObject


@dataclass(frozen=True, slots=True)
class SamplingRequested:
    id: RequestId
    params: JSONObject


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The View gave up a request of its own; no answer will be sent."""

    id: RequestId
    reason: str | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The View answered a request of ours."""

    id: int
    method: str
    result: JSONObject | None
    error: JSONObject | None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that is no message, or that nobody asked for. It was answered if it could be."""

    reason: str


Event = (
    Greeted
    | Ready
    | SizeChanged
    | TeardownRequested
    | Logged
    | AppToolsChanged
    | LinkRequested
    | MessageRequested
    | ContextUpdated
    | StateKept
    | DisplayModeRequested
    | DownloadRequested
    | ToolCalled
    | ServerAsked
    | SamplingRequested
    | Cancelled
    | Answered
    | Dropped
)
