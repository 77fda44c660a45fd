"""Which rules are checked, and which findings do not count."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from fanlight.check.finding import Finding
from fanlight.protocol.errors import UsageError
from fanlight.rules.rule import Problem, Rule
from fanlight.rules.table import BY_NAME, RULES


def select_rules(only: Collection[str]) -> tuple[Rule, ...]:
    """Return the rules with these names, or all rules without any name."""
    if not only:
        return RULES
    ids = {rule.id for name in only for rule in _rules_named(name)}
    return tuple(rule for rule in RULES if rule.id in ids)


@dataclass(frozen=True)
class Skip:
    """Findings of some rules that do not count, everywhere or at one place, and why."""

    rules: frozenset[str]
    place: str | None
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Return whether a finding is skipped."""
        return finding.rule.id in self.rules and (self.place is None or _is_at(finding.problem, self.place))


def parse_skips(skips: Mapping[str, str]) -> list[Skip]:
    """Parse `RULE` or `RULE:PLACE`, mapped to the reason. A place is a file, a tool, a View or a library."""
    found = []
    for text, reason in skips.items():
        name, _, place = text.partition(":")
        if not reason.strip():
            raise UsageError(f"The reason to skip {text} is empty. Write --skip {text}='we like the default'.")
        found.append(Skip(frozenset(rule.id for rule in _rules_named(name)), place or None, reason))
    return found


def mark_skipped(finding: Finding, skips: Collection[Skip], baseline: Collection[str]) -> Finding:
    """Return a finding with the reason why it does not count, if it does not."""
    for skip in skips:
        if skip.covers(finding):
            return replace(finding, skipped=skip.reason)
    return replace(finding, skipped="It is in the baseline.") if finding.key in baseline else finding


def _rules_named(name: str) -> list[Rule]:
    """Return the rules with a name: an id, an alias, or the beginning of ids such as REV."""
    if name in BY_NAME:
        return [BY_NAME[name]]
    found = [rule for rule in RULES if rule.id.startswith(f"{name.rstrip('-')}-")]
    if not found:
        raise UsageError(f"There is no rule {name!r}. fanlight check --list prints them all.")
    return found


def _is_at(problem: Problem, place: str) -> bool:
    path = problem.path.as_posix() if problem.path is not None else ""
    names = (problem.where, problem.library or "", path, path.rpartition("/")[2])
    return any(fnmatchcase(name, place) for name in names) or bool(path and path.endswith(f"/{place}"))
