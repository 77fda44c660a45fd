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
    """One violation of a rule: where it is, what is wrong and how to fix it."""

    where: str
    """The tool, the View or the server that has the problem."""
    message: str
    """What is wrong."""
    fix: str
    """What to do about it."""
    line: int | None = None
    """The line in the document, or in `path`; or None."""
    severity: Literal["high", "medium", "low"] | None = None
    """The severity of a security finding, otherwise None."""
    key: str | None = None
    """What identifies it in a baseline, if the message differs from run to run."""
    path: Path | None = None
    """The author's own file that `line` refers to, if the View was bundled from files."""
    thrown: bool = False
    """Whether it is an error that a script threw."""

    @property
    def identity(self) -> tuple[str, str]:
        """What is the same in every run."""
        return self.where, self.key or self.message


_VARIES: Final = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,]\d+)*", re.IGNORECASE)


def steady(text: str) -> str:
    """Return a text without what may differ from run to run: numbers, times, lines."""
    return _VARIES.sub("#", text)


Check = Callable[[Any], Iterable[Problem]]


@dataclass(frozen=True)
class Rule:
    """A rule of the standard, or of Fanlight."""

    id: str
    """The id, such as `RES-03`."""
    role: str
    """Who has to keep the rule: `server`, `view`, `host`, `sandbox` or `all`."""
    strength: Strength
    """`MUST`, `SHOULD`, `MAY`, `implied`, `advice` or `security`."""
    sentence: str
    """What has to hold, in one sentence."""
    section: str = ""
    """The section of the reference page."""
    subject: Subject | None = None
    """What `check` gets: `look` (a client's view of the server), `server`, `document` or `view`."""
    check: Check | None = field(default=None, repr=False, compare=False)
    """The function that checks it, or None."""
    why: str | None = None
    """Why there is no `check`, or None."""
    aliases: tuple[str, ...] = ()
    """The ids of the same rule in other catalogues."""

    @property
    def level(self) -> Level:
        """How a violation is reported: `error`, `warning` or `note`."""
        return LEVELS[self.strength]

    @property
    def names(self) -> tuple[str, ...]:
        """The id and the aliases."""
        return (self.id, *self.aliases)


@dataclass(frozen=True)
class Finding:
    """A rule that a server violates, and how."""

    rule: Rule
    """The rule."""
    server: str
    """The name of the server."""
    problem: Problem
    """What is wrong."""
    versions: tuple[str, ...] = ()
    """The protocol versions that have the problem, if not all of them do."""
    skipped: str | None = None
    """Why it does not count: the reason that was given to skip the rule, or the baseline. None if it counts."""

    @property
    def level(self) -> Level:
        """How it is reported: `error`, `warning` or `note`."""
        return self.rule.level if self.problem.severity is None else SEVERITIES[self.problem.severity]

    @property
    def breaks_a_must(self) -> bool:
        """Whether the rule is a MUST, and the finding counts."""
        return self.rule.strength == "MUST" and self.skipped is None

    @property
    def key(self) -> str:
        """What identifies the finding in a baseline. It has no line numbers and no measured values."""
        where, what = self.problem.identity
        return f"{'error' if self.problem.thrown else self.rule.id} {self.server} {where}: {what}"
