"""One rule, and what breaks it."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

Strength = Literal["MUST", "SHOULD", "MAY", "implied", "advice", "security"]
Subject = Literal["look", "server", "document", "view"]
Level = Literal["error", "warning", "note"]

LEVELS: Final[dict[str, Level]] = {
    "MUST": "error",
    "SHOULD": "warning",
    "implied": "warning",
    "security": "warning",
    "MAY": "note",
    "advice": "note",
}
SEVERITIES: Final[dict[str, Level]] = {"high": "error", "medium": "warning", "low": "note"}


@dataclass(frozen=True)
class Problem:
    """What a rule's function found: where, what, and what to do."""

    where: str
    message: str
    fix: str
    line: int | None = None
    severity: Literal["high", "medium", "low"] | None = None
    """Of a security finding."""
    key: str | None = None
    """What names it in a baseline, where the message holds what differs from run to run."""
    path: Path | None = None
    """The author's file that `line` is of, where it is not the document itself."""
    thrown: bool = False
    """Whether it is an error of a script: the same one, whichever rule tells of it."""

    @property
    def identity(self) -> tuple[str, str]:
        """What is the same each time that it is found."""
        return self.where, self.key or self.message


_VARIES: Final = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,]\d+)*", re.IGNORECASE)


def steady(text: str) -> str:
    """Return a text without what may differ from run to run: numbers, times, lines."""
    return _VARIES.sub("#", text)


Check = Callable[[Any], Iterable[Problem]]


@dataclass(frozen=True)
class Rule:
    """A sentence of the standard, or of ours, that something can be held against.

    `check` gets what `subject` names: a `Look`, a `Seen`, a `Document` or a `ViewSeen`. A rule without one says `why`.
    """

    id: str
    role: str
    strength: Strength
    sentence: str
    section: str = ""
    subject: Subject | None = None
    check: Check | None = field(default=None, repr=False, compare=False)
    why: str | None = None
    aliases: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        return LEVELS[self.strength]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.id, *self.aliases)


@dataclass(frozen=True)
class Finding:
    """A rule that is broken somewhere."""

    rule: Rule
    server: str
    problem: Problem
    versions: tuple[str, ...] = ()
    """The protocol versions on which it was seen, where it was not on all."""
    skipped: str | None = None
    """Why it does not count: what the user said, or that it is in the baseline."""

    @property
    def level(self) -> Level:
        return self.rule.level if self.problem.severity is None else SEVERITIES[self.problem.severity]

    @property
    def breaks_a_must(self) -> bool:
        return self.rule.strength == "MUST" and self.skipped is None

    @property
    def key(self) -> str:
        """What names this finding in a baseline: not its line, which moves, nor what was measured."""
        where, what = self.problem.identity
        return f"{'error' if self.problem.thrown else self.rule.id} {self.server} {where}: {what}"
