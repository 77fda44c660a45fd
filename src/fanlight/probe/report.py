"""The report of a probe: validated, summarized and written to a file."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fanlight.protocol.errors import RemoteError
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.rules.rule import MUST, Rule
from fanlight.rules.table import HOST_RULES

STATUSES: Final = ("pass", "fail", "untested", "person")
_MAX_NOTE_LENGTH: Final = 500
_MAX_NOTES: Final = 40


class ReportError(RemoteError, ValueError):
    """The data is not the report of a probe."""


def rules_for_view() -> list[JSONObject]:
    """Return the rules for hosts in the form that the probe's View reads."""
    return [{**_row(rule), "test": rule.probe.by, "text": rule.probe.text} for rule in HOST_RULES if rule.probe]


def validate_report(report: object) -> JSONObject:
    """Return a View's report, completed from the table of rules; raise `ReportError` if it is not one.

    Of each rule, only the status and the notes are taken from the View.
    """
    if not isinstance(report, Mapping) or not isinstance(report.get("rules"), list):
        raise ReportError('Expected a report: an object with a list "rules".')
    found = {entry.get("id"): entry for entry in report["rules"] if isinstance(entry, Mapping)}
    rules = [_validate_entry(rule, found.get(rule.id, {})) for rule in HOST_RULES]
    counts = Counter(entry["status"] for entry in rules)
    broken = [entry["id"] for entry in rules if entry["status"] == "fail" and entry["strength"] == MUST]
    kept = {key: report[key] for key in ("probe", "host", "view", "finished", "at") if key in report}
    return {**kept, "counts": {status: counts[status] for status in STATUSES}, "broken": broken, "rules": rules}


def _validate_entry(rule: Rule, entry: Mapping[str, Any]) -> JSONObject:
    status, notes = entry.get("status"), entry.get("notes")
    return {
        **_row(rule),
        "status": status if status in STATUSES else "untested",
        "notes": [str(note)[:_MAX_NOTE_LENGTH] for note in notes[:_MAX_NOTES]] if isinstance(notes, list) else [],
    }


def _row(rule: Rule) -> JSONObject:
    return {
        "id": rule.id,
        "strength": rule.strength,
        "section": rule.section,
        "sentence": rule.sentence,
        "aliases": list(rule.aliases),
    }


def summarize(report: Mapping[str, Any]) -> str:
    """Return a validated report as text for people and models."""
    host = report.get("host")
    info = host.get("info") if isinstance(host, Mapping) else None
    name = f"{info.get('name')} {info.get('version')}" if isinstance(info, Mapping) else "a host without a name"
    counts = report["counts"]
    lines = [
        f"Host probe of {name}: {counts['pass']} rules pass, {counts['fail']} fail, "
        f"{counts['untested']} were not tested, {counts['person']} need a person."
    ]
    for entry in report["rules"]:
        if entry["status"] == "fail":
            lines.append(f"FAIL {entry['id']} ({entry['strength']}): {entry['sentence']} {' '.join(entry['notes'])}")
    return "\n".join(line.rstrip() for line in lines)


def write_report(report: Mapping[str, Any], path: Path) -> None:
    """Write a report to a file, atomically."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
