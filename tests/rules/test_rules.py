"""Every rule finds what breaks it and accepts what does not; and the table of rules is complete."""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from fanlight.check.finding import Finding
from fanlight.check.report import Report
from fanlight.check.run import apply_rules
from fanlight.protocol.errors import LocalError
from fanlight.rules.observation import Look, Response, ServerObservation, ToolCall, ViewObservation
from fanlight.rules.rule import MUST, SHOULD, Problem, Rule, Section, by_nobody
from fanlight.rules.table import BY_NAME, HOST_RULES, RULES
from rules.samples import BROKEN, GOOD, LOOK, POOR, SCENES, SEEN, SIZE, VIEW, hello, marked, plain, says, text, tool
from support.docs import ROOT

CHECKED = [rule for rule in RULES if rule.is_checked]
GOOD_FOR_ALL = {"look": LOOK, "server": SEEN, "document": VIEW.document, "view": VIEW}

# The statements of the standard, by the ids that the project gives them: 2026-01-26, and the draft after it.
STABLE = {
    **{"RES": 12, "CSP": 11, "DSC": 8, "VIS": 5, "SBX": 13, "INI": 6, "DIM": 3, "DSP": 8, "THM": 4, "LNK": 2, "MSG": 2},
    **{"MCX": 7, "TIN": 3, "TIP": 8, "TRS": 1, "TCX": 1, "TDN": 3, "SIZ": 1, "HCC": 2, "NEG": 6, "SEC": 4, "RSV": 1},
}
DRAFT = {"RES": 2, "CSP": 1, "SBX": 1, "STD": 1, "SMP": 3, "DL": 4, "APT": 10, "TDN": 5, "SEC": 10}
CASES = {"cap": 5, "res": 9, "tool": 7, "life": 7, "ctx": 6, "req": 4, "sbox": 3, "reg": 4}


# Samples


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_finds_what_breaks_it_and_accepts_what_does_not(rule: Rule) -> None:
    assert BROKEN.get(rule.id), "a rule needs a broken sample"
    for i, sample in enumerate(BROKEN[rule.id]):
        problems = list(rule.problems(sample))
        assert problems, f"broken sample {i}"
        for problem in problems:
            assert problem.where
            assert problem.message
            assert problem.fix.endswith("."), problem.fix
            assert (problem.severity is not None) is (rule.strength == "security")
    assert rule.subject is not None
    for i, sample in enumerate([GOOD_FOR_ALL[rule.subject], *GOOD.get(rule.id, [])]):
        assert list(rule.problems(sample)) == [], f"good sample {i}"


def test_every_sample_belongs_to_a_rule() -> None:
    assert BROKEN.keys() | GOOD.keys() <= {rule.id for rule in CHECKED}


def test_the_good_samples_together_break_no_rule() -> None:
    assert apply_rules(replace(SEEN, views=[VIEW])) == []


# The table


def test_every_statement_of_the_standard_is_in_the_table() -> None:
    stable = {f"{kind}-{number:02}" for kind, count in STABLE.items() for number in range(1, count + 1)}
    stable = stable - {"SBX-06"} | {f"SBX-06{part}" for part in "abcdef"}
    draft = {f"D-{kind}-{number:02}" for kind, count in DRAFT.items() for number in range(1, count + 1)}
    ours = re.compile(r"(?:LNT|QUA|REV|ADV)-\d\d")
    assert {rule.id for rule in RULES if not ours.fullmatch(rule.id)} == stable | draft


def test_every_case_of_the_older_test_list_is_an_alias() -> None:
    cases = {f"mcp-apps-{kind}-0{number}" for kind, count in CASES.items() for number in range(1, count + 1)}
    assert cases <= BY_NAME.keys()


def test_ids_aliases_and_sentences_are_unique() -> None:
    names = [name for rule in RULES for name in rule.names]
    assert len(names) == len(set(names))
    sentences = [rule.sentence for rule in RULES]
    assert len(sentences) == len(set(sentences))


def test_a_rule_is_either_checked_or_says_why_not() -> None:
    for rule in RULES:
        by_probe = rule.probe is not None and rule.probe.by != "nobody"
        assert (rule.is_checked or by_probe) == (rule.why is None), rule.id
        assert rule.is_checked == (rule.subject is not None), rule.id
        assert rule.section


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_sentence_stands_alone(rule: Rule) -> None:
    assert rule.sentence.endswith(".")
    assert rule.sentence[0].isupper() or rule.sentence[0] == "`"
    assert not re.match(r"(?:It|They|Its|Then|That|This|So|Also|There may)\b", rule.sentence), "who or what is meant?"


def test_every_function_has_a_name_that_says_what_it_checks() -> None:
    names = [rule.function.__name__ for rule in RULES if rule.function is not None]
    assert len(names) == len(set(names))
    assert not [name for name in names if re.search(r"_\d\d$", name)]


@pytest.mark.process
def test_the_table_needs_neither_check_nor_probe_nor_the_sdk() -> None:
    code = (
        "import sys, fanlight.rules.table\n"
        "heavy = ('fanlight.check', 'fanlight.probe', 'fanlight.testing', 'mcp', 'anyio', 'playwright')\n"
        "sys.exit(', '.join(name for name in heavy if name in sys.modules) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


@pytest.mark.process
def test_the_probe_does_not_need_check() -> None:
    code = "import sys, fanlight.probe.server\nsys.exit('check' if 'fanlight.check' in sys.modules else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""


def test_the_reference_page_has_the_table() -> None:
    from fanlight.check.report import as_markdown

    page = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->"
    table = page.partition(begin)[2].partition(end)[0]
    assert table == as_markdown(), "run: python scripts/rules_page.py"


# Declaring rules


def test_a_decorated_function_is_a_rule_with_its_fix() -> None:
    section = Section("Clocks")

    @section.rule("CLK-01", SHOULD, "A clock shows the time.", aliases=["time"], fix="Show the time.")
    def shows_the_time(look: Look) -> Iterator[Problem]:
        yield Problem("clock", "shows nothing.")
        yield Problem("clock", "shows the date.", "Show the time beside it.")

    section.host_rule("CLK-02", MUST, "The host winds the clock.", by_nobody("Nobody looks."))
    first, second = section.rules
    assert (first.id, first.binds, first.subject, first.section) == ("CLK-01", "server", "look", "Clocks")
    assert first.names == ("CLK-01", "time")
    assert [problem.fix for problem in first.problems(LOOK)] == ["Show the time.", "Show the time beside it."]
    assert (second.is_checked, second.why) == (False, "Nobody looks.")
    with pytest.raises(LocalError, match="does not check CLK-02"):
        list(second.problems(LOOK))


def test_a_function_without_a_known_parameter_is_rejected() -> None:
    with pytest.raises(LocalError, match="annotated with one of Look, ServerObservation, Document, ViewObservation"):

        @Section("Clocks").rule("CLK-01", MUST, "A clock shows the time.")
        def shows_the_time(look: int) -> Iterator[Problem]:
            yield Problem("clock", "shows nothing.")


def test_the_hosts_rules_are_those_that_the_probe_reports() -> None:
    assert len(HOST_RULES) == 83
    assert {rule.binds for rule in HOST_RULES} == {"host", "sandbox", "server"}
    assert [rule.id for rule in HOST_RULES if rule.binds == "server"] == ["DSC-07"]


# Judging


def test_a_problem_on_every_version_is_one_finding() -> None:
    newest = replace(LOOK, version="2026-07-28", missing_view=Response({"contents": []}))
    both = replace(SEEN, looks=[replace(newest, version="2025-11-25"), newest])
    (finding,) = apply_rules(both)
    assert (finding.rule.id, finding.versions) == ("LNT-05", ())
    one = replace(SEEN, looks=[replace(LOOK, version="2025-11-25"), newest])
    (finding,) = apply_rules(one)
    assert finding.versions == ("2026-07-28",)


def test_an_error_is_reported_once_with_all_its_scenes_and_the_same_key() -> None:
    keys = set()
    for number, scene, step in ((1, "plain", "later"), (22, "error", "error"), (333, "partial", "cancelled")):
        error = f"Error: {number} ticks at view.js:{number}"
        scenes = {**SCENES, scene: replace(SCENES[scene], errors=[(step, error)])}
        (finding,) = apply_rules(ServerObservation("clock", [], [ViewObservation(VIEW.document, scenes)]))
        keys.add(finding.key)
    assert keys == {"error clock ui://clock/view: Error: # ticks at view.js:#"}
    everywhere = {name: replace(scene, errors=[("start", "Error: 7")]) for name, scene in SCENES.items()}
    (finding,) = apply_rules(ServerObservation("clock", [], [ViewObservation(VIEW.document, everywhere)]))
    assert finding.rule.id == "QUA-02"
    assert finding.problem.message.endswith("Error: 7 (seen in plain, bare, odd, partial, error, ours)")


def test_an_error_is_reported_once_if_only_one_scene_knows_its_place() -> None:
    scenes = {name: replace(scene, errors=[("start", "Error: 7")]) for name, scene in SCENES.items()}
    scenes["ours"] = replace(scenes["ours"], places={"Error: 7": "clock.html:13"})
    (finding,) = apply_rules(ServerObservation("clock", [], [ViewObservation(VIEW.document, scenes)]))
    assert "Error: 7 (clock.html:13) (seen in plain," in finding.problem.message
    assert finding.problem.fix == "Look at clock.html:13."


def test_measured_values_are_not_part_of_a_findings_key() -> None:
    def key(rule: str, sample: Any) -> set[str]:
        return {Finding(BY_NAME[rule], "clock", problem).key for problem in BY_NAME[rule].problems(sample)}

    poor = [{"text": "12:01", "ratio": 1.6, "needed": 4.5}]
    assert key("QUA-05", marked("result", contrast=[POOR])) == key("QUA-05", marked("result", contrast=poor))
    late = [plain(messages=[hello()[0], says("ui/notifications/initialized", at=at), SIZE]) for at in (6.0, 7.0)]
    assert key("QUA-09", late[0]) == key("QUA-09", late[1]) != set()
    wide = [marked("result", scrollWidth=width, clientWidth=700) for width in (800, 900)]
    assert key("DIM-03", wide[0]) == key("DIM-03", wide[1]) != set()


# Messages


def test_a_tool_that_is_listed_twice_is_named_once() -> None:
    twice = replace(LOOK, tools=[tool(annotations=None, flat=None)] * 2)
    for rule in ("ADV-01", "ADV-06"):
        (problem,) = BY_NAME[rule].problems(twice)
        assert problem.message.startswith("get_time: ")


def failed_call(response: Response) -> ServerObservation:
    return replace(SEEN, looks=[replace(LOOK, calls={"get_time": ToolCall({"zone": "example"}, response)})])


def test_a_tool_that_returns_an_error_is_reported_with_its_arguments() -> None:
    failed = Response({"content": text("There is no\nzone"), "isError": True})
    (problem,) = BY_NAME["ADV-12"].problems(failed_call(failed))
    assert problem.where == "tool get_time"
    assert problem.message == (
        'returns an error for {"zone": "example"}: There is no zone. So its View was not shown with a real result.'
    )
    assert problem.fix == "Give it arguments that it accepts: --args 'get_time={...}'."
    calls = {**LOOK.calls, "get_date": ToolCall({}, failed)}
    both = replace(LOOK, tools=[tool(), tool("get_date")], calls=calls)
    (problem,) = BY_NAME["ADV-12"].problems(replace(SEEN, looks=[both]))
    assert (problem.where, problem.message.endswith("no zone.")) == ("tool get_date", True)


def test_an_exception_of_a_tool_comes_first_and_is_not_blamed_on_the_arguments() -> None:
    hidden = Response({"content": text("Error executing tool get_time"), "isError": True})
    (problem,) = BY_NAME["ADV-12"].problems(failed_call(hidden))
    assert problem.message.startswith('raises an exception if it is called with {"zone": "example"}')
    assert problem.fix.startswith("Fix the exception.")
    logged = replace(hidden, exception="TypeError: Object of type int64 is not JSON serializable")
    (problem,) = BY_NAME["ADV-12"].problems(failed_call(logged))
    assert problem.message.startswith("raises TypeError: Object of type int64 is not JSON serializable. ")
    assert problem.fix.startswith("Fix the exception.")
    advice = Finding(BY_NAME["ADV-12"], "clock", problem)
    violation = Finding(BY_NAME["RES-05"], "clock", Problem("ui://clock/view", "has no doctype.", "Add it."))
    lines = str(Report((), (violation, advice))).splitlines()
    assert lines.index("Exceptions of your tools (1)") < lines.index("Violations of the standard (1)")
    assert "Advice (1)" not in lines


def test_a_fix_says_what_to_write_in_fanlight() -> None:
    (problem,) = BY_NAME["RES-08"].problems(BROKEN["RES-08"][0])
    assert "View(..., prefers_border=True)" in problem.fix
    (problem,) = BY_NAME["ADV-06"].problems(BROKEN["ADV-06"][0])
    assert "annotations=ToolAnnotations(read_only_hint=True)" in problem.fix
    assert "mcp_types" in problem.fix
