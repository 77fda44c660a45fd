"""Enforces a policy: asks the user if the policy says so, keeps the answers, and records each decision."""

import inspect
import json
import unicodedata
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final, Literal, get_args

import anyio

from fanlight.host import metrics
from fanlight.host.consent.audit import Audit, now
from fanlight.host.consent.labels import granted_action, shortened, tool_label
from fanlight.host.consent.policy import Allow, App, Ask, Decision, Deny
from fanlight.host.consent.question import Asker, Kind, Question
from fanlight.host.errors import RequestError
from fanlight.host.handlers import Handlers
from fanlight.host.settings import Limits
from fanlight.host.store.base import AuditRecord, Grant, Store
from fanlight.host.validation import check_user
from fanlight.host.views.page.frames import Answer, AskUser
from fanlight.protocol.errors import ArgumentError
from fanlight.protocol.jsonrpc import JSONObject

_MAX_TEXT: Final = 2_000
_MAX_SENTENCE: Final = 400
"""The longest sentence about a request, in characters. The others are shortened, so that they hide nothing."""
_MINUTE: Final = 60.0
_MAX_REQUESTS: Final = 10
"""The most requests that one question has."""
_GATHER: Final = 0.05
"""How many seconds to wait for further requests of a View before its user is asked."""
NOBODY: Final = "Nobody is there to allow this."
"""Why a request is denied if no page shows its View, and the program has no handler."""


@dataclass(eq=False)
class _Request:
    """A request of a View that the policy wants the user to decide."""

    app: App
    ask: Ask
    kind: Kind
    key: str
    details: tuple[tuple[str, object], ...]
    asker: Asker | None
    once_per_view: bool
    outcome: tuple[str, str | None] | None = None
    """What decided the request ("user", "limit" and so on), and the reason if it was denied."""

    @property
    def grant(self) -> Grant:
        return Grant(self.app.server, self.app.uri, self.kind, self.key, self.app.user)

    def question(self) -> Question:
        """Return the request as the user sees it."""
        details = tuple((label, visible(value)) for label, value in self.details)
        text = self.ask.question
        for _, value in self.details:
            if isinstance(value, str) and value:
                text = text.replace(value, shortened(_spelled_out(value)))
        text = _spelled_out(text)
        if len(text) > _MAX_SENTENCE:
            details = (("Request", visible(self.ask.question)), *details)
            text = shortened(text, _MAX_SENTENCE // 2, _MAX_SENTENCE // 2)
        always = visible(_always(self.app, self.kind, self.key))
        once = visible(_once(self.kind, self.key)) if self.once_per_view else ""
        return Question(self.app, self.kind, text, details, always, visible(self.ask.warning), once)


class _View:
    """The consent state of one View."""

    def __init__(self) -> None:
        self.waiting: list[_Request] = []
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

    async def grants(self, user: str | None) -> list[Grant]:
        """Return the permanent grants of a user."""
        check_user(user)
        return await self._store.grants(user)

    async def revoke(self, grant: Grant, by: Literal["user", "program"]) -> None:
        """Revoke a permanent grant, and record that. Do nothing if there is no such grant."""
        if await self._store.is_granted(grant):
            await self._store.revoke(grant)
            data = {"key": grant.key, "uri": grant.uri}
            self._audit.buffer(
                AuditRecord(
                    now(), "decision", grant.kind, "revoked", None, grant.server, None, grant.user, by, data=data
                )
            )

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
            case Ask():
                by, refusal = await self._ask(_Request(app, decision, kind, key, details, asker, once_per_view))
                self._record(app, kind, key, "allowed" if refusal is None else "denied", by, refusal)
                if refusal is not None:
                    raise RequestError(refusal)

    def _record(self, app: App, kind: Kind, key: str, outcome: str, by: str, reason: str | None = None) -> None:
        metrics.decisions.add(1, {"kind": kind, "outcome": outcome, "by": by})
        data = {"key": key} if reason is None else {"key": key, "reason": reason}
        self._audit.buffer(
            AuditRecord(
                now(), "decision", kind, outcome, app.view, app.server, app.conversation, app.user, by, data=data
            )
        )

    async def _ask(self, request: _Request) -> tuple[str, str | None]:
        """Return what decided a request, and the reason if it was denied."""
        view = self._views.setdefault(request.app.view, _View())
        view.waiting.append(request)
        try:
            async with view.lock:  # one question at a time: its answer may settle others, too
                if request.outcome is None and not await self._settle(view, request):
                    await self._ask_user(view, request)
        finally:
            view.waiting.remove(request)
        assert request.outcome is not None
        return request.outcome

    async def _settle(self, view: _View, request: _Request) -> bool:
        """Settle a request without a question if that is possible, and return whether it was."""
        if (request.kind, request.key) in view.allowed:
            request.outcome = "user, before", None
        elif await self._store.is_granted(request.grant):
            request.outcome = "user, always", None
        elif view.denials >= self._limits.denials:
            reason = "The user denied too many requests. Further requests of this View are denied."
            request.outcome = "limit", reason
        return request.outcome is not None

    async def _ask_user(self, view: _View, request: _Request) -> None:
        """Settle a request with a question, together with those that its View makes at the same time."""
        moment, most = monotonic(), self._limits.questions_per_minute
        while view.asked and moment - view.asked[0] > _MINUTE:
            view.asked.popleft()
        if len(view.asked) >= most:
            request.outcome = "limit", f"This View asks too often: at most {most} times a minute."
            return
        view.asked.append(moment)
        requests = [request]
        if self._page_asks(request.asker):
            await anyio.sleep(_GATHER)
        if self._page_asks(request.asker):  # a program is asked about each request
            others = [one for one in view.waiting if one is not request and one.asker is request.asker]
            requests += [one for one in others if one.outcome is None and not await self._settle(view, one)]
            del requests[_MAX_REQUESTS:]
        try:
            by, answer = await self._answer([one.question() for one in requests], request.asker)
        except RequestError as unanswered:
            by, answer, refusal = "nobody", None, f"{unanswered} Nobody allowed this."
        else:
            refusal = NOBODY if answer is None else "The user denied this."
        if answer == "deny":
            view.denials += 1
        elif answer is not None:
            view.denials = 0
        for one in requests:
            one.outcome = by, None if answer in ("once", "always") else refusal
            if answer == "always":
                await self._store.grant(one.grant)
            elif answer == "once" and one.once_per_view:
                view.allowed.add((one.kind, one.key))

    def _page_asks(self, asker: Asker | None) -> bool:
        return asker is not None and asker.attached and not self._handlers.question_replaces_page

    async def _answer(self, questions: Sequence[Question], asker: Asker | None) -> tuple[str, Answer | None]:
        """Return who answered, and the answer. A page is asked all questions at once, a program only the first."""
        if asker is not None and self._page_asks(asker):
            return "user", await asker.question(_frame(questions))
        if self._handlers.question is None:
            return "nobody", None
        answer = self._handlers.question(questions[0])
        if inspect.isawaitable(answer):
            answer = await answer
        if answer not in get_args(Answer):
            expected = ", ".join(get_args(Answer))
            raise ArgumentError(f"The question handler returned {answer!r}, expected one of: {expected}.")
        return "program", answer


def _frame(questions: Sequence[Question]) -> AskUser:
    """Return the frame that shows the questions of one View: warnings first, and equal requests as one."""
    app = questions[0].app
    requests: dict[tuple[str, ...], JSONObject] = {}
    for question in questions:
        request = requests.setdefault(
            (question.text, question.warning, question.once, question.always),
            {
                "text": question.text,
                "warning": question.warning,
                "details": [],
                "once": question.once,
                "always": question.always,
                "count": 0,
            },
        )
        request["count"] += 1
        request["details"] += [detail for detail in _details(question) if detail not in request["details"]]
    warnings_first = sorted(requests.values(), key=lambda request: not request["warning"])
    return AskUser(app=app.name, server=app.server, requests=warnings_first)


def _details(question: Question) -> list[list[str]]:
    """Return the details that the text of a question does not contain."""
    text, app = question.text, question.app
    return [
        [label, value]
        for label, value in question.details
        if not (
            (label == "Server" and value == app.server)
            or (label == "Tool" and " wants to run " in text and tool_label({"name": value}) in text)
            or (label in ("Address", "Page") and text.endswith(f" {value}"))
            or (label == "File" and value in text)
            or (label == "Arguments" and value == "{}")
        )
    ]


def _once(kind: Kind, key: str) -> str:
    """Return what an answer of "once" allows where it holds until the View is closed."""
    return f"Once: until this View is closed, it may {granted_action(kind, key)} without asking."


def _always(app: App, kind: Kind, key: str) -> str:
    """Return what a grant allows: one thing, for one app of one server, in every conversation."""
    what = granted_action(kind, key)
    return f"Always: this app of {app.server} may {what} without asking, in every conversation, until you revoke that."


def visible(value: object) -> str:
    """Return a value as text in which invisible characters, and those that reverse text, are spelled out."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    if len(text) > _MAX_TEXT:
        text = f"{text[:_MAX_TEXT]} … ({len(text):,} characters in all)"
    return _spelled_out(text)


def _spelled_out(text: str) -> str:
    return "".join(f"<U+{ord(char):04X}>" if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
