"""A finding: a problem that a rule found, as it is reported.

The function of a rule yields problems (`Problem`). A finding adds to one of them the rule, the server and the protocol
versions, and whether it counts. (`SchemaError` is a step earlier: what a client found in a response, which LNT-11 and
LNT-16 report as problems.)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fanlight.rules.rule import Level, Problem, Rule, Severity

_LEVELS: Final[Mapping[Severity, Level]] = {"high": "error", "medium": "warning", "low": "note"}


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
        return self.rule.level if self.problem.severity is None else _LEVELS[self.problem.severity]

    @property
    def breaks_a_must(self) -> bool:
        """Whether the rule is a MUST, and the finding counts."""
        return self.rule.strength == "MUST" and self.skipped is None

    @property
    def key(self) -> str:
        """What identifies the finding in a baseline. It has no line numbers and no measured values."""
        where, what = self.problem.identity
        return f"{'error' if self.problem.thrown else self.rule.id} {self.server} {where}: {what}"
