"""The messages between workers. Each is a frozen dataclass of JSON values, and travels under the name of its class."""

from dataclasses import asdict, dataclass
from typing import Final

from fanlight.protocol.jsonrpc import JSONObject


@dataclass(frozen=True)
class WorkerJoined:
    """The sender has connected to the bus. Its servers have to be those of the receiver."""

    servers: list[str]


@dataclass(frozen=True)
class CallChanged:
    """The caller of a View's call has stored its arguments, its result, or that it was cancelled."""

    view: str


@dataclass(frozen=True)
class PartialInput:
    """The arguments of a View's call, as far as the model has written them. It may be dropped."""

    view: str
    arguments: JSONObject


@dataclass(frozen=True)
class ViewHeld:
    """The sender has the session of a View whose call the receiver runs, and takes partial input."""

    view: str


@dataclass(frozen=True)
class HandOver:
    """Asks the holder of a View to end its session, because a page opens the View at the sender.

    With the epoch of a page that resumes, another page that shows the View keeps it, and a holder that drains keeps it
    while requests of the View run: the response says so.
    """

    view: str
    epoch: str | None


@dataclass(frozen=True)
class CloseView:
    """Asks the holder of a View to close it for good."""

    view: str


@dataclass(frozen=True)
class ShowAs:
    """Asks the holder of a View to change its display mode."""

    view: str
    mode: str


@dataclass(frozen=True)
class CallAppTool:
    """Asks the holder of a View to call a tool that the View offers."""

    view: str
    name: str
    arguments: JSONObject


@dataclass(frozen=True)
class EndErased:
    """Asks a worker to end its sessions of Views that were erased, and to store the audit records that it has buffered.

    The sender erases those records next.
    """

    views: list[str]


@dataclass(frozen=True)
class CancelBegun:
    """Asks a worker to cancel the calls of a conversation that were begun and never run, because it is over."""

    user: str | None
    conversation: str | None


@dataclass(frozen=True)
class UserErased:
    """A user was erased, so each worker drops that user's connections, documents and sign-ins."""

    user: str


@dataclass(frozen=True)
class PagesDisconnected:
    """The pages of a user have to prove again who they are for."""

    user: str


@dataclass(frozen=True)
class ViewsReloaded:
    """The open Views of a server are to be loaded again, or only those with a document that has changed."""

    server: str
    only_changed: bool


@dataclass(frozen=True)
class ForwardedRequest:
    """Asks the worker that owns a conversation's connection to a server to send that server a request."""

    server: str
    user: str | None
    conversation: str | None
    method: str
    params: JSONObject


@dataclass(frozen=True)
class SignInFinished:
    """A browser came back from an authorization server to another worker than the one that started the sign-in."""

    user: str
    query: JSONObject


@dataclass(frozen=True)
class SignedIn:
    """A user has signed in to a server, so connections that wait for this need not wait any longer."""

    user: str
    server: str


@dataclass(frozen=True)
class RequestProgress:
    """The progress of a request."""

    request: str
    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True)
class RequestCancelled:
    """The sender of a request no longer waits for its response."""

    request: str


@dataclass(frozen=True)
class Response:
    """The response to a request: a result, or an error with a message, a code and data."""

    request: str
    result: JSONObject | None = None
    error: JSONObject | None = None


WorkerMessage = (
    WorkerJoined
    | CallChanged
    | PartialInput
    | ViewHeld
    | HandOver
    | CloseView
    | ShowAs
    | CallAppTool
    | EndErased
    | CancelBegun
    | UserErased
    | PagesDisconnected
    | ViewsReloaded
    | ForwardedRequest
    | SignInFinished
    | SignedIn
    | RequestProgress
    | RequestCancelled
    | Response
)

_KINDS: Final = {kind.__name__: kind for kind in WorkerMessage.__args__}


def to_json(message: WorkerMessage) -> JSONObject:
    """Return a message as JSON."""
    return {"type": type(message).__name__, **asdict(message)}


def from_json(fields: JSONObject) -> WorkerMessage | None:
    """Return the message of which this is the JSON, or None if a worker of another version sent it."""
    kind = _KINDS.get(fields.get("type", ""))
    try:
        return None if kind is None else kind(**{name: value for name, value in fields.items() if name != "type"})
    except TypeError:
        return None
