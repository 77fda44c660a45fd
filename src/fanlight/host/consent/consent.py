"""Carries a policy out: asks the user where it says so, remembers the answers, and writes down who decided."""

import inspect
import json
import unicodedata
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal, Protocol, get_args

import anyio

from fanlight.host.consent.audit import Audit, now
from fanlight.host.consent.policy import Allow, App, Ask, Decision, Deny
from fanlight.host.errors import RequestError
from fanlight.host.limits import Limits
from fanlight.host.store.base import AuditRecord, Grant, Store
from fanlight.host.views.frames import Answer, AskUser
from fanlight.protocol.errors import ArgumentError

Kind = Literal["tool", "app-tool", "link", "download", "message", "model-context", "sampling", "document", "external"]

_MOST_TEXT: Final = 2_000
_MINUTE: Final = 60.0


@dataclass(frozen=True)
class Question:
    """A request for the user's consent. All texts are safe to show: invisible characters in them are spelled out."""

    app: App
    """The app that makes the request."""
    kind: Kind
    """`tool`, `app-tool`, `link`, `download`, `message`, `model-context`, `sampling`, `document` or `external`."""
    text: str
    """What would happen, in one sentence."""
    details: tuple[tuple[str, str], ...]
    """Labels and values to show: the tool, its arguments, the address and so on."""
    always: str = ""
    """What the answer "always" would allow, in one sentence."""


class Asker(Protocol):
    """A page that can ask the user."""

    @property
    def attached(self) -> bool: ...

    async def question(self, question: AskUser) -> Answer | None:
        """Show a question and return the answer.

        Where none comes, return None, or raise `RequestError` with the reason.
        """


QuestionHandler = Callable[[Question], Awaitable[Answer] | Answer]


class _View:
    """What the gate knows of one View."""

    def __init__(self) -> None:
        self.allowed: set[tuple[Kind, str]] = set()
        self.asked: deque[float] = deque()
        self.denials = 0
        self.lock = anyio.Lock()


class Gate:
    """Lets what Views ask for pass, or raises `RequestError` with the reason."""

    def __init__(self, store: Store, audit: Audit, limits: Limits) -> None:
        self.on_question: QuestionHandler | None = None
        self.asks_program = False
        """Whether the program's handler is asked also where a page shows the View."""
        self._store = store
        self._audit = audit
        self._limits = limits
        self._views: dict[str, _View] = {}

    def forget(self, view: str) -> None:
        """Take it that a View has gone."""
        self._views.pop(view, None)

    async def check(
        self,
        app: App,
        decision: Decision,
        kind: Kind,
        key: str,
        details: tuple[tuple[str, object], ...] = (),
        *,
        asker: Asker | None = None,
        once_per_view: bool = False,
    ) -> None:
        """Let something pass that a policy decided on. `key` says which one of its kind, for "always".

        `once_per_view` takes an answer of "once" for the life of the View. A question goes to the page that shows
        the View, or to the program's own handler; where there is neither, the answer is no.
        """
        match decision:
            case Allow():
                self._note(app, kind, key, "allowed", "policy")
            case Deny(reason):
                self._note(app, kind, key, "denied", "policy", reason)
                raise RequestError(reason)
            case Ask(text):
                by, objection = await self._asked(app, text, kind, key, details, asker, once_per_view)
                self._note(app, kind, key, "allowed" if objection is None else "denied", by, objection)
                if objection is not None:
                    raise RequestError(objection)

    def _note(self, app: App, kind: Kind, key: str, outcome: str, by: str, reason: str | None = None) -> None:
        data = {"key": key} if reason is None else {"key": key, "reason": reason}
        self._audit.note(
            AuditRecord(now(), "decision", kind, outcome, app.view, app.server, app.conversation, by, data=data)
        )

    async def _asked(
        self,
        app: App,
        text: str,
        kind: Kind,
        key: str,
        details: tuple[tuple[str, object], ...],
        asker: Asker | None,
        once_per_view: bool,
    ) -> tuple[str, str | None]:
        """Return who decided, and the reason if the answer is no."""
        view = self._views.setdefault(app.view, _View())
        grant = Grant(app.server, app.uri, kind, key)
        async with view.lock:  # one question at a time; the next may be answered by the same word
            if (kind, key) in view.allowed:
                return "user, before", None
            if self._store.is_granted(grant):
                return "user, always", None
            if view.denials >= self._limits.denials:
                return "limit", "The user said no too often, so this View is not asked for again."
            moment = monotonic()
            while view.asked and moment - view.asked[0] > _MINUTE:
                view.asked.popleft()
            if len(view.asked) >= self._limits.questions_per_minute:
                return "limit", f"This View asks too often: at most {self._limits.questions_per_minute} times a minute."
            view.asked.append(moment)
            shown = tuple((label, visible(value)) for label, value in details)
            try:
                question = Question(app, kind, visible(text), shown, visible(_always(app, kind, key)))
                by, answer = await self._answer(question, asker)
            except RequestError as unanswered:
                return "nobody", f"{unanswered} Nobody allowed this."
            if answer is None:
                return "nobody", "Nobody is there to allow this."
            if answer == "deny":
                view.denials += 1
                return by, "The user said no."
            view.denials = 0
            if answer == "always":
                self._store.grant(grant)
            elif once_per_view:
                view.allowed.add((kind, key))
            return by, None

    async def _answer(self, question: Question, asker: Asker | None) -> tuple[str, Answer | None]:
        if asker is not None and asker.attached and not self.asks_program:
            return "user", await asker.question(_frame(question))
        if self.on_question is None:
            return "nobody", None
        answer = self.on_question(question)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer not in get_args(Answer):
            expected = ", ".join(get_args(Answer))
            raise ArgumentError(f"The question handler returned {answer!r}, expected one of: {expected}.")
        return "program", answer


def _frame(question: Question) -> AskUser:
    """Return a question for a page, without the details that its heading (the app) or its sentence say already."""
    text, app = question.text, question.app
    details = [
        [label, value]
        for label, value in question.details
        if not (
            (label == "Server" and value == app.server)
            or (label == "Tool" and repr(value) in text)
            or (label in ("Address", "Page") and text.endswith(f" {value}"))
            or (label == "Arguments" and value == "{}")
        )
    ]
    return AskUser(text=text, app=app.name, details=details, always=question.always)


def _always(app: App, kind: Kind, key: str) -> str:
    """Say what a grant is for: one thing, one app of one server, every conversation."""
    what = {
        "tool": f"run the tool {key!r}",
        "app-tool": f"have its tool {key!r} run by the model",
        "link": f"open pages of {key}",
        "download": "save files",
        "message": "send messages in your name",
        "model-context": "tell the model what it likes",
        "sampling": "ask the model",
        "document": "show this very document",
        "external": f"show pages of {key}",
    }[kind]
    return f"Always: this app of {app.server} may {what} without asking, in every conversation, until that is revoked."


def visible(value: object) -> str:
    """Write a value so that a person sees all of it: what is invisible, or turns text around, is spelled out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]} … ({len(text):,} characters in all)"
    return "".join(f"<U+{ord(char):04X}>" if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
