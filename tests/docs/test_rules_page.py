"""The ids of rules lead somewhere: every one that the source names has an entry in docs/reference/rules.md."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from fanlight.rules.table import RULES
from support.docs import ROOT

PAGE = ROOT / "docs" / "reference" / "rules.md"
RULE_ID = re.compile(r"\b(?:D-)?[A-Z]{2,4}-\d\d[a-z]?\b")
"""Anything that looks like an id, so that a misspelled one is found too."""
SOURCES = sorted(
    path
    for folder in ("src", "examples", "bench", "scripts")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".css", ".html", ".js", ".py", ".ts"} and ".peers" not in path.parts
)


def entries(page: str) -> set[str]:
    """Return the ids that have an anchor of their own on a page, as in `#res-03`."""
    return {
        text for anchor, text in re.findall(r'<a id="([\w-]+)" href="#\1">([\w-]+)</a>', page) if text.lower() == anchor
    }


def without_entry(paths: Iterable[Path], page: str) -> dict[str, str]:
    """Return the ids in some files that have no entry, and where they are."""
    known = entries(page)
    return {
        found: path.name
        for path in paths
        for found in RULE_ID.findall(path.read_text(encoding="utf-8"))
        if found not in known
    }


def test_every_id_in_the_source_has_an_entry() -> None:
    assert len(SOURCES) > 200
    assert without_entry(SOURCES, PAGE.read_text(encoding="utf-8")) == {}


def test_every_rule_has_an_entry() -> None:
    known = entries(PAGE.read_text(encoding="utf-8"))
    assert {rule.id for rule in RULES} <= known


def test_an_id_without_an_entry_is_found(tmp_path: Path) -> None:
    source = tmp_path / "gate.py"
    source.write_text("# RES-03 and D-SEC-99: nothing is sent before\n", encoding="utf-8")
    assert without_entry([source], '<a id="res-03" href="#res-03">RES-03</a>') == {"D-SEC-99": "gate.py"}


def test_an_entry_needs_an_anchor_of_its_own_id() -> None:
    assert entries('| RES-03 | <a id="res-04" href="#res-04">RES-03</a> |') == set()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES])
def test_the_site_has_the_anchor(site: Path, rule: str) -> None:
    assert f'id="{rule.lower()}"' in (site / "reference" / "rules.html").read_text(encoding="utf-8")


def test_a_rule_that_a_docstring_names_is_a_link_on_the_site(site: Path) -> None:
    page = (site / "reference" / "host.html").read_text(encoding="utf-8")
    assert re.search(r'<a href="(?:\.\./reference/)?rules\.html#vis-02">VIS-02</a>', page)


def test_no_comment_speaks_of_a_checklist_that_nobody_can_read() -> None:
    assert [path.name for path in SOURCES if "checklist" in path.read_text(encoding="utf-8")] == []
