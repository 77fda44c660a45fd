"""The functions of the program that a host calls for its Views, and what they get."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fanlight.host.consent.question import Question, ViewRequest
from fanlight.host.errors import CredentialsRejectedError
from fanlight.host.upstream.auth.sign_in import SignIn
from fanlight.host.views.page.frames import Answer
from fanlight.protocol.content import joined_text
from fanlight.protocol.jsonrpc import JSONObject


@dataclass(frozen=True)
class Message(ViewRequest):
    """A message that a View adds to its conversation in the user's name."""

    role: str
    """The role that the View gives, usually "user"."""
    content: list[JSONObject]
    """The content blocks, as they are on the wire."""

    @property
    def text(self) -> str:
        """The text blocks of `content`, one below the other."""
        return joined_text(self.content)


@dataclass(frozen=True)
class SamplingRequest(ViewRequest):
    """A request of a View to the model."""

    params: JSONObject
    """The params of `sampling/createMessage`, as they are on the wire."""


MessageHandler = Callable[[Message], Awaitable[None] | None]
SamplingHandler = Callable[[SamplingRequest], Awaitable[JSONObject]]
QuestionHandler = Callable[[Question], Awaitable[Answer] | Answer]
SignInHandler = Callable[[SignIn], Awaitable[None] | None]
RejectionHandler = Callable[[CredentialsRejectedError], Awaitable[None] | None]


@dataclass
class Handlers:
    """The handlers that the program has set so far. `Host.on_message` and its siblings set them."""

    message: MessageHandler | None = None
    """Adds a View's message to a conversation."""
    sampling: SamplingHandler | None = None
    """Answers a View's sampling request."""
    question: QuestionHandler | None = None
    """Answers a question in the user's place."""
    question_replaces_page: bool = False
    """Whether the question handler is called even if a page could ask the user."""
    rejection: RejectionHandler | None = None
    """Is notified that a server rejected credentials."""
    sign_in: SignInHandler | None = None
    """Is notified that a user has to sign in."""
