"""What a View found about its host: checked, kept, and written for people and models."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fanlight.probe.rules import HOST_RULES
from fanlight.protocol.errors import RemoteError
from fanlight.protocol.jsonrpc import JSONObject

STATUSES: Final = ("pass", "fail", "untested", "you")
_MOST_NOTE: Final = 500
_MOST_NOTES: Final = 40
_BINDING: Final = ("MUST", "MUST NOT", "REQUIRED")


class ReportError(RemoteError, ValueError):
    """A report that no probe wrote."""


def checked(report: object) -> JSONObject:
    """Return a report with what the table says of each rule, or raise. What a View says is only believed as data."""
    if not isinstance(report, Mapping) or not isinstance(report.get("rules"), list):
        raise ReportError("A report is an object with a list of rules.")
    found = {entry.get("id"): entry for entry in report["rules"] if isinstance(entry, Mapping)}
    rules = []
    for rule in HOST_RULES:
        entry = found.get(rule.id, {})
        status = entry.get("status")
        notes = entry.get("notes")
        rules.append(
            {
                "id": rule.id,
                "strength": rule.strength,
                "section": rule.section,
                "sentence": rule.sentence,
                "aliases": list(rule.aliases),
                "status": status if status in STATUSES else "untested",
                "notes": [str(note)[:_MOST_NOTE] for note in notes[:_MOST_NOTES]] if isinstance(notes, list) else [],
            }
        )
    counts = Counter(entry["status"] for entry in rules)
    broken = [entry["id"] for entry in rules if entry["status"] == "fail" and entry["strength"] in _BINDING]
    kept = {key: report[key] for key in ("probe", "host", "view", "finished", "at") if key in report}
    return {**kept, "counts": {status: counts[status] for status in STATUSES}, "broken": broken, "rules": rules}


def summary(report: Mapping[str, Any]) -> str:
    """Write a checked report as text."""
    host = report.get("host")
    info = host.get("info") if isinstance(host, Mapping) else None
    name = f"{info.get('name')} {info.get('version')}" if isinstance(info, Mapping) else "a host without a name"
    counts = report["counts"]
    lines = [
        f"Host probe of {name}: {counts['pass']} rules pass, {counts['fail']} fail, "
        f"{counts['untested']} were not tested, {counts['you']} need a person."
    ]
    for entry in report["rules"]:
        if entry["status"] == "fail":
            lines.append(f"FAIL {entry['id']} ({entry['strength']}): {entry['sentence']} {' '.join(entry['notes'])}")
    return "\n".join(line.rstrip() for line in lines)


def write(report: Mapping[str, Any], path: Path) -> None:
    """Write a report to a file that is whole at any time."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
