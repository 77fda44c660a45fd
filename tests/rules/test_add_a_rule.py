"""The page that shows how to add a rule works as written."""

from typing import Any

from fanlight.rules.rule import Section
from rules import samples
from support.docs import ROOT, blocks

PAGE = ROOT / "docs" / "how-to" / "add-a-rule.md"


def test_the_rule_of_the_page_passes_the_tests_of_the_page() -> None:
    rule_code, samples_code = (code for language, _, code in blocks(PAGE) if language == "python")
    names: dict[str, Any] = {}
    exec(rule_code, names)
    section = names["section"]
    assert isinstance(section, Section)
    (rule,) = section.rules
    page_samples = dict(vars(samples))
    exec(samples_code, page_samples)
    for broken in page_samples["BROKEN"][rule.id]:
        (problem,) = rule.problems(broken)
        assert problem.fix == rule.fix
    for good in [samples.LOOK, *page_samples["GOOD"][rule.id]]:
        assert list(rule.problems(good)) == []


def test_the_files_that_the_page_names_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = [
        "src/fanlight/rules",
        "src/fanlight/probe/pages/checks.js",
        "tests/rules/samples.py",
        "scripts/rules_page.py",
    ]
    for path in names:
        assert path in page
        assert (ROOT / path).exists()
