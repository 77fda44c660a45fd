"""The functions of the program that a host calls for its Views."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fanlight.host.consent.question import Question
from fanlight.host.views.frames import Answer
from fanlight.protocol.jsonrpc import JSONObject

MessageHandler = Callable[[str | None, str, list[JSONObject]], Awaitable[None] | None]
SamplingHandler = Callable[[str | None, JSONObject], Awaitable[JSONObject]]
QuestionHandler = Callable[[Question], Awaitable[Answer] | Answer]


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
