"""Every rule finds what breaks it and is silent on what does not; and the table is whole."""

import re
from dataclasses import replace
from typing import Any

import pytest

from check.samples import BROKEN, GOOD, LOOK, POOR, SCENES, SEEN, SIZE, VIEW, hello, marked, plain, says, text, tool
from fanlight.check.observation import Answer, Called, Seen, ViewSeen
from fanlight.check.rule import Finding, Rule
from fanlight.check.rules import BY_NAME, RULES
from fanlight.check.run import judged
from support.docs import ROOT

CHECKED = [rule for rule in RULES if rule.check is not None]
GOOD_FOR_ALL = {"look": LOOK, "server": SEEN, "document": VIEW.document, "view": VIEW}

# The statements of the standard, by the ids that the project gives them: 2026-01-26, and the draft after it.
STABLE = {
    **{"RES": 12, "CSP": 11, "DSC": 8, "VIS": 5, "SBX": 13, "INI": 6, "DIM": 3, "DSP": 8, "THM": 4, "LNK": 2, "MSG": 2},
    **{"MCX": 7, "TIN": 3, "TIP": 8, "TRS": 1, "TCX": 1, "TDN": 3, "SIZ": 1, "HCC": 2, "NEG": 6, "SEC": 4, "RSV": 1},
}
DRAFT = {"RES": 2, "CSP": 1, "SBX": 1, "STD": 1, "SMP": 3, "DL": 4, "APT": 10, "TDN": 5, "SEC": 10}
CASES = {"cap": 5, "res": 9, "tool": 7, "life": 7, "ctx": 6, "req": 4, "sbox": 3, "reg": 4}


def found(rule: Rule, sample: Any) -> list[Any]:
    assert rule.check is not None
    return list(rule.check(sample))


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_finds_what_breaks_it_and_is_silent_on_what_does_not(rule: Rule) -> None:
    assert BROKEN.get(rule.id), "a rule needs a broken sample"
    for i, sample in enumerate(BROKEN[rule.id]):
        problems = found(rule, sample)
        assert problems, f"broken sample {i}"
        for problem in problems:
            assert problem.where
            assert problem.message
            assert problem.fix.endswith("."), problem.fix
            assert (problem.severity is not None) is (rule.strength == "security")
    assert rule.subject is not None
    for i, sample in enumerate([GOOD_FOR_ALL[rule.subject], *GOOD.get(rule.id, [])]):
        assert found(rule, sample) == [], f"good sample {i}"


def test_no_sample_is_without_its_rule() -> None:
    assert BROKEN.keys() | GOOD.keys() <= {rule.id for rule in CHECKED}


def test_what_is_good_is_good_for_all_rules_together() -> None:
    assert judged(replace(SEEN, views=[VIEW])) == []


def test_every_statement_of_the_standard_is_in_the_table() -> None:
    stable = {f"{kind}-{number:02}" for kind, count in STABLE.items() for number in range(1, count + 1)}
    stable = stable - {"SBX-06"} | {f"SBX-06{part}" for part in "abcdef"}
    draft = {f"D-{kind}-{number:02}" for kind, count in DRAFT.items() for number in range(1, count + 1)}
    ours = re.compile(r"(?:LNT|QUA|REV|ADV)-\d\d")
    assert {rule.id for rule in RULES if not ours.fullmatch(rule.id)} == stable | draft


def test_every_case_of_the_specification_we_started_from_is_an_alias() -> None:
    cases = {f"mcp-apps-{kind}-0{number}" for kind, count in CASES.items() for number in range(1, count + 1)}
    assert cases <= BY_NAME.keys()


def test_a_name_means_one_rule() -> None:
    names = [name for rule in RULES for name in rule.names]
    assert len(names) == len(set(names))


def test_a_rule_is_either_checked_or_says_why_not() -> None:
    for rule in RULES:
        assert (rule.check is None) == (rule.why is not None) == (rule.subject is None), rule.id
        assert rule.section
        assert rule.sentence.endswith((".", ")."))


def test_what_is_so_on_every_version_is_told_once() -> None:
    newest = replace(LOOK, version="2026-07-28", missing=Answer({"contents": []}))
    both = replace(SEEN, looks=[replace(newest, version="2025-11-25"), newest])
    (finding,) = judged(both)
    assert (finding.rule.id, finding.versions) == ("LNT-05", ())
    one = replace(SEEN, looks=[replace(LOOK, version="2025-11-25"), newest])
    (finding,) = judged(one)
    assert finding.versions == ("2026-07-28",)


def test_an_error_is_told_once_with_all_its_scenes_and_is_the_same_wherever_it_comes() -> None:
    keys = set()
    for number, scene, step in ((1, "plain", "later"), (22, "error", "error"), (333, "partial", "cancelled")):
        text = f"Error: {number} ticks at view.js:{number}"
        scenes = {**SCENES, scene: replace(SCENES[scene], errors=[(step, text)])}
        (finding,) = judged(Seen("clock", [], [ViewSeen(VIEW.document, scenes)]))
        keys.add(finding.key)
    assert keys == {"error clock ui://clock/view: Error: # ticks at view.js:#"}
    everywhere = {name: replace(scene, errors=[("start", "Error: 7")]) for name, scene in SCENES.items()}
    (finding,) = judged(Seen("clock", [], [ViewSeen(VIEW.document, everywhere)]))
    assert finding.rule.id == "QUA-02"
    assert finding.problem.message.endswith("Error: 7 (seen in plain, bare, odd, partial, error, ours)")


def test_what_is_measured_is_not_what_names_a_finding() -> None:
    def key(rule: str, sample: Any) -> set[str]:
        return {Finding(BY_NAME[rule], "clock", problem).key for problem in found(BY_NAME[rule], sample)}

    poor = [{"text": "12:01", "ratio": 1.6, "needed": 4.5}]
    assert key("QUA-05", marked("result", contrast=[POOR])) == key("QUA-05", marked("result", contrast=poor))
    late = [plain(said=[hello()[0], says("ui/notifications/initialized", at=at), SIZE]) for at in (6.0, 7.0)]
    assert key("QUA-09", late[0]) == key("QUA-09", late[1]) != set()
    wide = [marked("result", scrollWidth=width, clientWidth=700) for width in (800, 900)]
    assert key("DIM-03", wide[0]) == key("DIM-03", wide[1]) != set()


def test_a_tool_that_is_listed_twice_is_named_once() -> None:
    twice = replace(LOOK, tools=[tool(annotations=None, flat=None)] * 2)
    for rule in ("ADV-01", "ADV-06"):
        (problem,) = found(BY_NAME[rule], twice)
        assert problem.message.startswith("get_time: ")


def test_a_tool_that_answers_with_an_error_is_told_with_what_it_was_called_with() -> None:
    failed = Called({"zone": "example"}, Answer({"content": text("There is no\nzone"), "isError": True}))
    (problem,) = found(BY_NAME["ADV-12"], replace(SEEN, looks=[replace(LOOK, calls={"get_time": failed})]))
    assert problem.where == "tool get_time"
    assert problem.message == (
        'answers {"zone": "example"} with an error: There is no zone. So its View was not seen with a real result.'
    )
    assert problem.fix == "Give it arguments that it can answer: --args 'get_time={...}'."
    both = replace(LOOK, tools=[tool(), tool("get_date")], calls={**LOOK.calls, "get_date": failed})
    (problem,) = found(BY_NAME["ADV-12"], replace(SEEN, looks=[both]))
    assert (problem.where, problem.message.endswith("no zone.")) == ("tool get_date", True)


def test_the_reference_page_has_the_table() -> None:
    from fanlight.check.report import as_markdown

    page = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->"
    table = page.partition(begin)[2].partition(end)[0]
    assert table == as_markdown(), "run: python scripts/rules.py"
