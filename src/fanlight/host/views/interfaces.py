"""What a session needs from the host: a handler for the View's requests, a log of its messages, background tasks."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from fanlight.host.consent.policy import App
from fanlight.host.consent.question import Asker
from fanlight.host.views.page.frames import LostRequest
from fanlight.host.views.requests.message import ViewMessage
from fanlight.protocol.events import Event
from fanlight.protocol.jsonrpc import JSONObject, Message

if TYPE_CHECKING:
    from fanlight.host.views.session import Session


class Progress(Protocol):
    """Receives the progress of a View's request."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class Tasks(Protocol):
    """Starts background tasks, and logs their errors."""

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]], /) -> object: ...


class Requester(Asker, Protocol):
    """What makes a request: a View with a session, or one that a front end shows in its own way."""

    @property
    def app(self) -> App:
        """The View, with its server and its owner."""

    @property
    def id(self) -> str:
        """The id of the View."""


class RequestHandler(Protocol):
    """Serves the requests of a View. Every method may raise `RequestError`."""

    async def call_tool(
        self, session: "Session", name: str, arguments: JSONObject, progress: Progress
    ) -> JSONObject: ...

    async def ask_server(self, session: "Session", method: str, params: JSONObject) -> JSONObject: ...

    async def sample(self, session: "Session", params: JSONObject) -> JSONObject: ...

    async def add_message(self, session: "Session", role: str, content: tuple[JSONObject, ...]) -> None: ...

    async def update_context(self, session: "Session", update: JSONObject) -> Awaitable[None] | None:
        """Do it, or return what does it after the user has allowed it."""

    async def keep_state(self, session: "Session", state: Any) -> None: ...

    async def check_link(self, session: "Session", url: str) -> None: ...

    async def download(
        self, session: "Session", contents: tuple[JSONObject, ...]
    ) -> tuple[list[JSONObject], list[str]]: ...

    async def app_tools_changed(self, session: "Session") -> None: ...


class MessageLog(Protocol):
    """Records the messages of a View."""

    def log_response(self, app: App, request: ViewMessage, response: Message, size: int) -> Coroutine[Any, Any, None]:
        """Record a response before it is sent."""

    def log_notification(self, app: App, message: ViewMessage, event: Event | None) -> None:
        """Record a message that needs no response."""

    def log_rejected(self, app: App, message: ViewMessage, reason: str) -> None:
        """Record a message that exceeded a limit."""

    def log_cancelled(self, app: App, request: ViewMessage) -> None:
        """Record a request that gets no response because its document is gone."""

    def log_lost(self, app: App, request: LostRequest, reason: str) -> None:
        """Record a request that a process that ended has received and not answered."""

    def log_dialect(self, app: App, older: str, today: str) -> None:
        """Record the first use of a name of an older dialect."""
