"""The rules as the probe's View gets them, and the report that it sends back."""

import re
from pathlib import Path

import pytest

from fanlight.probe.report import ReportError, rules_for_view, summarize, validate_report
from fanlight.rules.table import HOST_RULES
from probe.other_hosts import rules_tested_by

CHECKS = Path(__file__).parents[2] / "src" / "fanlight" / "probe" / "pages" / "checks.js"


def test_the_view_tests_exactly_the_rules_that_the_table_says() -> None:
    code = CHECKS.read_text(encoding="utf-8")
    tried = set(re.findall(r'"((?:D-)?[A-Z]{3}-\d\d[a-f]?)"', code))
    known = {rule.id for rule in HOST_RULES}
    assert tried <= known
    assert rules_tested_by("view") <= tried
    # The View tests nothing that the table calls untestable; for RES-10 it only notes what it sees.
    assert rules_tested_by("nobody") & tried == {"RES-10"}


def test_the_probe_shows_the_sentences_of_the_table() -> None:
    rows = {row["id"]: row for row in rules_for_view()}
    assert rows.keys() == {rule.id for rule in HOST_RULES}
    for rule in HOST_RULES:
        row = rows[rule.id]
        assert (row["strength"], row["sentence"], row["section"]) == (rule.strength, rule.sentence, rule.section)


def test_only_status_and_notes_are_taken_from_the_view() -> None:
    given = {
        "host": {"info": {"name": "x", "version": "1"}},
        "rules": [
            {"id": "TIN-01", "status": "fail", "notes": ["n" * 1000], "strength": "MAY"},
            {"id": "TIN-02", "status": "splendid", "notes": 7},
            {"id": "ZZZ-99", "status": "pass"},
            "nonsense",
        ],
        "secret": "not kept",
    }
    found = validate_report(given)
    assert found["counts"] == {"pass": 0, "fail": 1, "untested": len(HOST_RULES) - 1, "person": 0}
    assert found["broken"] == ["TIN-01"]
    first = next(rule for rule in found["rules"] if rule["id"] == "TIN-01")
    assert (first["strength"], len(first["notes"][0])) == ("MUST", 500)
    assert "secret" not in found
    assert summarize(found).splitlines()[1].startswith("FAIL TIN-01 (MUST)")
    wrong: object
    for wrong in (None, [], {"rules": 7}, {}):
        with pytest.raises(ReportError):
            validate_report(wrong)
