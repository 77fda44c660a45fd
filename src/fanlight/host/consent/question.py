"""What a user is asked, and the parts of a host that can ask."""

from dataclasses import dataclass
from typing import Literal, Protocol

from fanlight.host.consent.policy import App
from fanlight.host.views.page.frames import Answer, AskUser

Kind = Literal["tool", "app-tool", "link", "download", "message", "model-context", "sampling", "document", "external"]


@dataclass(frozen=True)
class ViewRequest:
    """What every request of a View has: the app, and what the View belongs to."""

    app: App
    """The app that makes the request."""

    @property
    def user(self) -> str | None:
        """The user that the View belongs to, or None in a program with one user."""
        return self.app.user

    @property
    def conversation(self) -> str | None:
        """The conversation that the View belongs to, or None."""
        return self.app.conversation

    @property
    def view(self) -> str:
        """The id of the View."""
        return self.app.view

    @property
    def server(self) -> str:
        """The server that the View comes from."""
        return self.app.server


@dataclass(frozen=True)
class Question(ViewRequest):
    """A request for the user's consent. All texts are safe to show: invisible characters in them are spelled out."""

    kind: Kind
    """`tool`, `app-tool`, `link`, `download`, `message`, `model-context`, `sampling`, `document` or `external`."""
    text: str
    """What would happen, in one sentence."""
    details: tuple[tuple[str, str], ...]
    """Labels and values to show: the tool, its arguments, the address and so on."""
    always: str = ""
    """What the answer "always" would allow, in one sentence."""
    warning: str = ""
    """What may go wrong, in one sentence, or nothing."""
    once: str = ""
    """What the answer "once" would allow, in one sentence, if that is more than this one request."""


class Asker(Protocol):
    """A page that can ask the user."""

    @property
    def attached(self) -> bool: ...

    async def question(self, question: AskUser) -> Answer | None:
        """Show a question and return the answer.

        If there is none, return None, or raise `RequestError` with the reason.
        """
