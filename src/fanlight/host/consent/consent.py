"""Enforces a policy: asks the user if the policy says so, keeps the answers, and records each decision."""

import inspect
import json
import unicodedata
from collections import deque
from time import monotonic
from typing import Final, get_args

import anyio

from fanlight.host.consent.audit import Audit, now
from fanlight.host.consent.policy import Allow, App, Ask, Decision, Deny
from fanlight.host.consent.question import Asker, Kind, Question
from fanlight.host.errors import RequestError
from fanlight.host.handlers import Handlers
from fanlight.host.limits import Limits
from fanlight.host.store.base import AuditRecord, Grant, Store
from fanlight.host.views.frames import Answer, AskUser
from fanlight.protocol.errors import ArgumentError

_MOST_TEXT: Final = 2_000
_MINUTE: Final = 60.0


class _View:
    """The consent state of one View."""

    def __init__(self) -> None:
        self.allowed: set[tuple[Kind, str]] = set()
        self.asked: deque[float] = deque()
        self.denials = 0
        self.lock = anyio.Lock()


class Consent:
    """Allows a request of a View, or raises `RequestError` with the reason."""

    def __init__(self, store: Store, audit: Audit, handlers: Handlers, limits: Limits) -> None:
        self._store = store
        self._audit = audit
        self._handlers = handlers
        self._limits = limits
        self._views: dict[str, _View] = {}

    def forget(self, view: str) -> None:
        """Drop all consent state of a closed View."""
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
        """Return if a policy's decision, or the user, allows a request; otherwise raise RequestError.

        Args:
            app: The app that makes the request.
            decision: What the policy decided.
            kind: The kind of request.
            key: Which one of its kind, such as a tool's name. A grant of "always" is for this key.
            details: Labels and values to show to the user.
            asker: The page that can ask the user. Without one, the program's handler is asked, or the answer is no.
            once_per_view: Whether the answer "once" holds until the View is closed.
        """
        match decision:
            case Allow():
                self._record(app, kind, key, "allowed", "policy")
            case Deny(reason):
                self._record(app, kind, key, "denied", "policy", reason)
                raise RequestError(reason)
            case Ask(text):
                by, refusal = await self._ask(app, text, kind, key, details, asker, once_per_view)
                self._record(app, kind, key, "allowed" if refusal is None else "denied", by, refusal)
                if refusal is not None:
                    raise RequestError(refusal)

    def _record(self, app: App, kind: Kind, key: str, outcome: str, by: str, reason: str | None = None) -> None:
        data = {"key": key} if reason is None else {"key": key, "reason": reason}
        self._audit.buffer(
            AuditRecord(
                now(), "decision", kind, outcome, app.view, app.server, app.conversation, app.user, by, data=data
            )
        )

    async def _ask(
        self,
        app: App,
        text: str,
        kind: Kind,
        key: str,
        details: tuple[tuple[str, object], ...],
        asker: Asker | None,
        once_per_view: bool,
    ) -> tuple[str, str | None]:
        """Return what decided the request ("user", "limit" and so on), and the reason if it was denied."""
        view = self._views.setdefault(app.view, _View())
        grant = Grant(app.server, app.uri, kind, key, app.user)
        async with view.lock:  # one question at a time: the answer may settle the next one, too
            if (kind, key) in view.allowed:
                return "user, before", None
            if self._store.is_granted(grant):
                return "user, always", None
            if view.denials >= self._limits.denials:
                return "limit", "The user denied too many requests. Further requests of this View are denied."
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
                return by, "The user denied this."
            view.denials = 0
            if answer == "always":
                self._store.grant(grant)
            elif once_per_view:
                view.allowed.add((kind, key))
            return by, None

    async def _answer(self, question: Question, asker: Asker | None) -> tuple[str, Answer | None]:
        if asker is not None and asker.attached and not self._handlers.question_replaces_page:
            return "user", await asker.question(_frame(question))
        if self._handlers.question is None:
            return "nobody", None
        answer = self._handlers.question(question)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer not in get_args(Answer):
            expected = ", ".join(get_args(Answer))
            raise ArgumentError(f"The question handler returned {answer!r}, expected one of: {expected}.")
        return "program", answer


def _frame(question: Question) -> AskUser:
    """Return the frame that shows a question, without details that its heading (the app) or its text contain."""
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
    """Return what a grant allows: one thing, for one app of one server, in every conversation."""
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
    """Return a value as text in which invisible characters, and those that reverse text, are spelled out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]} … ({len(text):,} characters in all)"
    return "".join(f"<U+{ord(char):04X}>" if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
