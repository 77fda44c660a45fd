"""The report of a check: as text, JSON, JUnit XML and SARIF."""

import json
import os
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import quote

from fanlight import __version__
from fanlight.check.finding import Finding
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.rule import Problem, Rule
from fanlight.rules.table import RULES

_MAX_PLACES: Final = 12
"""How many places a line names if the same problem is in all of them."""
_GROUPS: Final = (
    ("MUST", "Violations of the standard"),
    ("SHOULD", "Recommendations of the standard"),
    ("implied", "Expectations of hosts"),
    ("security", "Security review"),
    ("advice", "Advice"),
)
_COLOURS: Final = {"error": "31", "warning": "33", "note": "36"}
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class CheckedServer:
    """What of a server was checked."""

    name: str
    versions: tuple[str, ...]
    views: dict[str, JSONObject] = field(default_factory=dict)
    """Per View: `sha256`, `bytes`, `ready_ms` (until it was usable), and the `scenes` that were played."""
    called: tuple[str, ...] = ()
    """The tools that were called."""


@dataclass(frozen=True)
class Report:
    """The result of a check. `str(report)` is the text for people."""

    servers: tuple[CheckedServer, ...]
    """What was checked, per server: `name`, `versions`, `views` and `called`."""
    findings: tuple[Finding, ...]
    """All findings, also those that do not count."""
    rules: tuple[Rule, ...] = RULES
    """The rules that were checked."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """The reasons to skip, by rule or `RULE:PLACE`."""

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that count: neither skipped nor in the baseline."""
        return tuple(finding for finding in self.findings if finding.skipped is None)

    @property
    def conforms(self) -> bool:
        """Whether no MUST of the standard is violated."""
        return not any(finding.breaks_a_must for finding in self.findings)

    def named(self, id: str) -> list[Finding]:
        """Return the open findings of a rule, by its id or an alias."""
        return [finding for finding in self.open if id in finding.rule.names]

    def __str__(self) -> str:
        return "\n".join(_lines(self, colour=False))


# Text


def write(report: Report, to: IO[str]) -> None:
    """Write a report as text, in colour if that is a terminal with colours."""
    for line in _lines(report, colour=uses_colour(to)):
        print(line, file=to)


def uses_colour(to: IO[str]) -> bool:
    """Return whether to write in colour."""
    return to.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _lines(report: Report, *, colour: bool) -> Iterator[str]:
    for server in report.servers:
        views = f"{len(server.views)} View{'' if len(server.views) == 1 else 's'}"
        yield f"{server.name}: {views}, {', '.join(server.versions)}"
    several = len(report.servers) > 1
    raised = [finding for finding in report.open if finding.problem.raised]
    others = [finding for finding in report.open if not finding.problem.raised]
    sections = [(title, [each for each in others if each.rule.strength == strength]) for strength, title in _GROUPS]
    for title, found in [("Exceptions of your tools", raised), *sections]:
        if not found:
            continue
        yield ""
        groups = _grouped(sorted(found, key=_order))
        places = f", in {len(found)} places" if len(found) > len(groups) else ""
        yield _painted(f"{title} ({len(groups)}{places})", "1", colour)
        for group in groups:
            yield from _finding_lines(group, several, colour)
    yield from _not_counted(report, colour)
    yield ""
    yield _summary(report, colour)


def _not_counted(report: Report, colour: bool) -> Iterator[str]:
    """Yield the findings that do not count, a line for each rule and reason."""
    counts = dict.fromkeys(report.reasons.items(), 0)
    for finding in report.findings:
        if finding.skipped is not None:
            skip = (_skip_of(finding, report.reasons), finding.skipped)
            counts[skip] = counts.get(skip, 0) + 1
    if counts:
        yield ""
        yield _painted(f"Skipped ({sum(counts.values())})", "1", colour)
        for (id, reason), count in sorted(counts.items()):
            yield f"  {id:<8} {_count(count, 'finding') if count else 'matches no finding'}: {reason}"


def _skip_of(finding: Finding, reasons: Mapping[str, str]) -> str:
    """Return the `RULE` or `RULE:PLACE` by which a finding is skipped, or its rule if it is in the baseline."""
    for text, reason in reasons.items():
        name = text.partition(":")[0]
        is_rule = name in finding.rule.names or finding.rule.id.startswith(f"{name.rstrip('-')}-")
        if is_rule and reason == finding.skipped:
            return text
    return finding.rule.id


def _order(finding: Finding) -> tuple[Any, ...]:
    worst = {"error": 0, "warning": 1, "note": 2}[finding.level]
    return (worst, finding.server, finding.problem.where, finding.rule.id, finding.problem.line or 0)


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group findings that differ only in their place, such as a field that all Views of a server lack."""
    groups: dict[tuple[Any, ...], list[Finding]] = {}
    for each in findings:
        problem = each.problem
        same = (each.server, each.rule.id, problem.severity, problem.message, problem.fix, each.versions)
        groups.setdefault(same, []).append(each)
    return list(groups.values())


def _place(problem: Problem) -> str:
    if problem.library is not None:
        return f"{problem.where}, in a bundled library ({problem.library}:{problem.line})"
    if problem.path is not None:
        return f"{_in_checkout(problem.path)}:{problem.line} ({problem.where})"
    return problem.where if problem.line is None else f"{problem.where}:{problem.line}"


def _finding_lines(group: Sequence[Finding], several: bool, colour: bool) -> Iterator[str]:
    finding = group[0]
    problem = finding.problem
    places = [_place(each.problem) for each in group]
    more = f" and {len(places) - _MAX_PLACES} more" if len(places) > _MAX_PLACES else ""
    place = f"{finding.server} " if several else ""
    place += f"{', '.join(places[:_MAX_PLACES])}{more}"
    labels = [label for label in (problem.severity, "guess" if problem.is_guess else None) if label]
    severity = f" [{', '.join(labels)}]" if labels else ""
    versions = f" (on {', '.join(finding.versions)})" if finding.versions else ""
    id = _painted(f"{finding.rule.id:<8}", _COLOURS[finding.level], colour)
    yield f"  {id} {place}{severity}: {problem.message}{versions}"
    yield f"           {_painted(problem.fix, '2', colour)}"


def _summary(report: Report, colour: bool) -> str:
    checked = sum(rule.is_checked for rule in report.rules)
    listed = [group[0] for group in _grouped(report.open)]
    counts = {
        level: sum(each.level == level for each in listed if each.rule.strength != "MUST")
        for level in ("error", "warning", "note")
    }
    musts = sum(finding.breaks_a_must for finding in listed)
    skipped = len(report.findings) - len(report.open)
    parts = [f"{_count(musts, 'violation') if musts else 'No violations'} of the standard"]
    parts += [_count(counts["error"], "security risk")] if counts["error"] else []
    parts += [_count(counts["warning"], "warning")] if counts["warning"] else []
    parts += [_count(counts["note"], "suggestion")] if counts["note"] else []
    parts += [f"{skipped} skipped"] if skipped else []
    return _painted(f"{', '.join(parts)}. {_count(checked, 'rule')} checked.", "31" if musts else "32", colour)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def listing(rules: Sequence[Rule] = RULES) -> str:
    """Return the table of rules as text."""
    lines: list[str] = []
    for section, members in groupby(rules, lambda rule: rule.section):
        lines += ["", section]
        for rule in members:
            lines.append(f"  {rule.id:<9}{rule.strength:<9}{rule.binds:<8} {rule.sentence}")
            if not rule.is_checked:
                how = f"not checked: {rule.why}" if rule.why else f"checked by fanlight {_checked_by(rule)}"
                lines.append(f"{'':28}{how}")
    checked = sum(rule.is_checked for rule in rules)
    probed = sum(rule.why is None for rule in rules) - checked
    summary = f"{len(rules)} rules: fanlight check checks {checked}, fanlight probe {probed}."
    return "\n".join([*lines, "", summary]).lstrip("\n")


def as_markdown(rules: Sequence[Rule] = RULES) -> str:
    """Return the tables of rules for the reference page, with an anchor for each id: `#res-03`."""
    lines: list[str] = []
    for section, members in groupby(rules, lambda rule: rule.section):
        lines += ["", f"### {section}", "", "| id | rule | strength | binds | checked by |", "|---|---|---|---|---|"]
        lines += [_markdown_row(rule) for rule in members]
    return "\n".join([*lines[1:], ""])


def _markdown_row(rule: Rule) -> str:
    anchor = f'<a id="{rule.id.lower()}" href="#{rule.id.lower()}">{rule.id}</a>'
    aliases = ", ".join(f"`{alias}`" for alias in rule.aliases)
    sentence = f"{rule.sentence} ({aliases})" if aliases else rule.sentence
    return f"| {anchor} | {sentence} | {rule.strength} | {rule.binds} | {_checked_by(rule)} |"


def _checked_by(rule: Rule) -> str:
    """Return the command that checks a rule, or why none does."""
    if rule.is_checked:
        return "check"
    if rule.why is None:
        return "probe, with your help" if rule.probe is not None and rule.probe.by == "person" else "probe"
    return f"nothing: {rule.why.rstrip('.')}"


# Formats for programs


def as_json(report: Report) -> str:
    """Return a report as JSON."""
    return json.dumps(
        {
            "fanlight": __version__,
            "conforms": report.conforms,
            "servers": [
                {
                    "name": server.name,
                    "versions": list(server.versions),
                    "views": server.views,
                    "called": list(server.called),
                }
                for server in report.servers
            ],
            "findings": [_as_dict(finding) for finding in report.findings],
            "rules": [
                {
                    "id": rule.id,
                    "aliases": list(rule.aliases),
                    "binds": rule.binds,
                    "strength": rule.strength,
                    "section": rule.section,
                    "sentence": rule.sentence,
                    "checked": rule.is_checked,
                    "why": rule.why,
                }
                for rule in report.rules
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def _as_dict(finding: Finding) -> JSONObject:
    problem = finding.problem
    return {
        "rule": finding.rule.id,
        "strength": finding.rule.strength,
        "level": finding.level,
        "server": finding.server,
        "where": problem.where,
        "file": problem.path and _in_checkout(problem.path),
        "line": problem.line,
        "severity": problem.severity,
        "guess": problem.is_guess,
        "library": problem.library,
        "message": problem.message,
        "fix": problem.fix,
        "versions": list(finding.versions),
        "skipped": finding.skipped,
    }


def as_junit(report: Report, *, strict: bool = False) -> str:
    """Return a report as JUnit XML: a suite for each server, a case for each rule.

    A case has the `file` and `line` of its first finding. With `strict`, warnings are failures, too.
    """
    root = ET.Element("testsuites", name="fanlight check")
    checked = [rule for rule in report.rules if rule.is_checked]
    for server in report.servers:
        mine = [finding for finding in report.findings if finding.server == server.name]
        failures = skipped = 0
        suite = ET.SubElement(root, "testsuite", name=server.name, tests=str(len(checked)), errors="0")
        for rule in checked:
            name = f"{rule.id} {rule.sentence}"
            case = ET.SubElement(suite, "testcase", classname=f"fanlight.{server.name}.{rule.section}", name=name)
            found = [finding for finding in mine if finding.rule.id == rule.id]
            counted = [finding for finding in found if finding.skipped is None]
            text = "\n".join(f"{_place(each.problem)}: {each.problem.message} {each.problem.fix}" for each in counted)
            for name, value in _junit_place(counted[0].problem).items() if counted else ():
                case.set(name, value)
            if any(finding.breaks_a_must or (strict and finding.level != "note") for finding in counted):
                failures += 1
                ET.SubElement(case, "failure", message=counted[0].problem.message, type=rule.strength).text = text
            elif counted:
                ET.SubElement(case, "system-out").text = text
            elif found:
                skipped += 1
                ET.SubElement(case, "skipped", message=found[0].skipped or "")
        suite.set("failures", str(failures))
        suite.set("skipped", str(skipped))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _junit_place(problem: Problem) -> dict[str, str]:
    """Return the attributes `file` and `line`, as far as they are known."""
    file = problem.where if problem.path is None else _in_checkout(problem.path)
    return {"file": file} if problem.line is None else {"file": file, "line": str(problem.line)}


def as_sarif(report: Report, target: str | None = None) -> str:
    """Return a report as SARIF 2.1.0, for code scanning.

    Code scanning accepts only files of the checkout. A finding is located in its file, if there is one, or else in the
    `target` that was checked; the message names the resource.
    """
    used = {finding.rule.id for finding in report.findings}
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.sentence},
            "defaultConfiguration": {"level": rule.level},
            "properties": {"strength": rule.strength, "section": rule.section, "aliases": list(rule.aliases)},
        }
        for rule in report.rules
        if rule.id in used
    ]
    run = {
        "tool": {"driver": {"name": "fanlight check", "version": __version__, "rules": rules}},
        "results": [_sarif_result(finding, target) for finding in report.findings],
    }
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _sarif_result(finding: Finding, target: str | None) -> JSONObject:
    problem = finding.problem
    path = problem.path or _file_of(problem.where, target)
    place: JSONObject = {"artifactLocation": {"uri": quote(_in_checkout(path or _server_file(target)))}}
    if problem.line is not None and path is not None:
        place["region"] = {"startLine": problem.line}
    result: JSONObject = {
        "ruleId": finding.rule.id,
        "level": finding.level,
        "message": {"text": f"{problem.where}: {problem.message} {problem.fix}"},
        "locations": [{"physicalLocation": place, "logicalLocations": [{"fullyQualifiedName": problem.where}]}],
        "partialFingerprints": {"finding": finding.key},
    }
    if finding.skipped is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.skipped}]
    return result


def _file_of(where: str, target: str | None) -> Path | None:
    """Return the file of a finding in a saved View, which is in the checked folder or next to it."""
    if "://" in where:
        return None
    return next((path for path in (Path(target or ".", where), Path(where)) if path.is_file()), None)


def _server_file(target: str | None) -> Path:
    """Return the file of the checked server, for findings without a file."""
    path = Path(target or "server.py")
    return path / "server.py" if path.is_dir() else path


def _in_checkout(path: Path) -> str:
    """Return the path of a file relative to the working directory, or its name."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.name
