"""What a rule is, and how the sections of the table declare theirs.

section = Section("Resources")

@section.rule("RES-02", SHOULD, "A View is listed with the MIME type of Views.", fix="…")
def listed_mime_type(look: Look) -> Iterator[Problem]: ...

section.host_rule("RES-09", IMPLIED, "The host draws a border as `prefersBorder` asks.", by_person("…"))
section.unchecked("DSC-04", MAY, "A server may leave Views out of `resources/list`.", NOT_BREAKABLE, binds="server")
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from fanlight.protocol.errors import LocalError
from fanlight.rules.observation import Document, Look, ServerObservation, ViewObservation

Strength = Literal["MUST", "SHOULD", "MAY", "implied", "advice", "security"]
MUST: Final = "MUST"
SHOULD: Final = "SHOULD"
MAY: Final = "MAY"
IMPLIED: Final = "implied"
"""The standard states it as a fact, and other implementations depend on it."""
ADVICE: Final = "advice"
SECURITY: Final = "security"

Level = Literal["error", "warning", "note"]
Severity = Literal["high", "medium", "low"]
Subject = Literal["look", "server", "document", "view"]
Binds = Literal["server", "view", "host", "sandbox", "all"]

_LEVELS: Final[Mapping[Strength, Level]] = {
    MUST: "error",
    SHOULD: "warning",
    IMPLIED: "warning",
    SECURITY: "warning",
    MAY: "note",
    ADVICE: "note",
}
_SUBJECTS: Final[Mapping[object, tuple[Subject, Binds]]] = {
    Look: ("look", "server"),
    ServerObservation: ("server", "server"),
    Document: ("document", "view"),
    ViewObservation: ("view", "view"),
}

# Why nothing checks a rule.
NOT_BREAKABLE: Final = "It allows something, so nothing can break it."
NEEDS_JUDGEMENT: Final = "Only a person can judge it."
NEEDS_SOURCE: Final = "It cannot be provoked without knowing the View's code."
NOT_OBSERVABLE: Final = "Neither a server nor a View can observe it."


@dataclass(frozen=True)
class Problem:
    """What a rule's function found: where it is, what is wrong and how to fix it."""

    where: str
    """The tool, the View or the server that has the problem."""
    message: str
    """What is wrong."""
    fix: str = ""
    """What to do about it. By default, the fix of the rule."""
    line: int | None = None
    """The line in the document, or in `path`; or None."""
    severity: Severity | None = None
    """The severity of a security finding, otherwise None."""
    key: str | None = None
    """What identifies it in a baseline, if the message differs from run to run."""
    path: Path | None = None
    """The author's own file that `line` refers to, if the View was bundled from files."""
    thrown: bool = False
    """Whether it is an error that a script threw."""
    raised: bool = False
    """Whether it is an exception that a tool of the server raised. The report has these first."""
    is_guess: bool = False
    """Whether the source suggests it and does not prove it."""
    library: str | None = None
    """The bundled library that has the problem; None for the author's own code."""

    @property
    def identity(self) -> tuple[str, str]:
        """The part that is the same in every run."""
        return self.where, self.key or self.message


_VARIABLE_PARTS: Final = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,]\d+)*", re.IGNORECASE)


def stable_text(text: str) -> str:
    """Return a text with "#" in place of numbers, times and hashes, which may differ from run to run."""
    return _VARIABLE_PARTS.sub("#", text)


Check = Callable[[Any], Iterable[Problem]]
_Check = TypeVar("_Check", bound=Check)


@dataclass(frozen=True)
class ProbeTest:
    """How `fanlight probe` tests a rule for hosts."""

    by: Literal["view", "person", "nobody"]
    """What tests it: the probe's View (in `probe/pages/checks.js`), a person, or nobody."""
    text: str = ""
    """What the person has to do, or why nobody can test it."""


BY_VIEW: Final = ProbeTest("view")


def by_person(task: str) -> ProbeTest:
    """Return a test that a person carries out and answers."""
    return ProbeTest("person", task)


def by_nobody(reason: str) -> ProbeTest:
    """Return the reason why a View cannot test a rule."""
    return ProbeTest("nobody", reason)


HOST_PAGE: Final = by_nobody("It shows in the host's own page, which a View cannot see.")
TWO_VIEWS: Final = by_nobody("It takes two Views, or two servers, to see it.")
VIEW_IS_GONE: Final = by_nobody("It applies after the View was closed.")


@dataclass(frozen=True)
class Rule:
    """A rule of the standard, or of Fanlight."""

    id: str
    """The id, such as `RES-03`."""
    strength: Strength
    """`MUST`, `SHOULD`, `MAY`, `implied`, `advice` or `security`."""
    sentence: str
    """What has to hold, in one sentence."""
    binds: Binds
    """What has to follow the rule: `server`, `view`, `host`, `sandbox` or `all`."""
    section: str
    """The section of the reference page."""
    aliases: tuple[str, ...] = ()
    """The ids of the same rule in other catalogues."""
    fix: str = ""
    """What to do about a violation, if that is the same for all."""
    subject: Subject | None = None
    """What `function` gets: `look` (one client's view of the server), `server`, `document` or `view`."""
    function: Check | None = field(default=None, repr=False, compare=False)
    """The function by which `fanlight check` checks the rule, or None."""
    probe: ProbeTest | None = None
    """How `fanlight probe` tests the rule, or None if the rule does not bind hosts."""
    why: str | None = None
    """Why nothing checks the rule, or None."""

    @property
    def level(self) -> Level:
        """How a violation is reported: `error`, `warning` or `note`."""
        return _LEVELS[self.strength]

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""
        return (self.id, *self.aliases)

    @property
    def is_checked(self) -> bool:
        """Whether `fanlight check` checks the rule."""
        return self.function is not None

    def problems(self, subject: Any) -> Iterator[Problem]:
        """Run the rule's function, and yield what it finds."""
        if self.function is None:
            raise LocalError(f"fanlight check does not check {self.id}.")
        for problem in self.function(subject):
            yield problem if problem.fix else replace(problem, fix=self.fix)


class Section:
    """One section of the table: the rules about one subject, in the order of the reference page."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rules: list[Rule] = []

    def rule(
        self,
        id: str,
        strength: Strength,
        sentence: str,
        *,
        aliases: Sequence[str] = (),
        fix: str = "",
        probe: ProbeTest | None = None,
    ) -> Callable[[_Check], _Check]:
        """Declare the decorated function as the check of a rule. Its parameter's type says what it judges.

        `probe` is for a rule that binds hosts, too.
        """

        def declare(function: _Check) -> _Check:
            subject, binds = _subject(function)
            self.rules.append(
                Rule(id, strength, sentence, binds, self.title, tuple(aliases), fix, subject, function, probe)
            )
            return function

        return declare

    def host_rule(
        self,
        id: str,
        strength: Strength,
        sentence: str,
        test: ProbeTest = BY_VIEW,
        *,
        aliases: Sequence[str] = (),
        binds: Binds = "host",
    ) -> None:
        """Declare a rule for hosts, which `fanlight probe` lists and tests if it can."""
        why = test.text if test.by == "nobody" else None
        self.rules.append(Rule(id, strength, sentence, binds, self.title, tuple(aliases), probe=test, why=why))

    def unchecked(
        self, id: str, strength: Strength, sentence: str, why: str, *, binds: Binds, aliases: Sequence[str] = ()
    ) -> None:
        """Declare a rule that neither `fanlight check` nor `fanlight probe` checks, and why."""
        self.rules.append(Rule(id, strength, sentence, binds, self.title, tuple(aliases), why=why))


def _subject(function: Check) -> tuple[Subject, Binds]:
    annotations = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
    kind = next(iter(annotations.values()), None)
    if len(annotations) != 1 or kind not in _SUBJECTS:
        expected = ", ".join(known.__name__ for known in _SUBJECTS if isinstance(known, type))
        raise LocalError(f"{function!r}: expected one parameter, annotated with one of {expected}.")
    return _SUBJECTS[kind]
