"""The probe in our host, in the published bridge, and in hosts that break rules."""

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, Page, Route, expect

from fanlight.cli import main
from fanlight.host import Host, Policy, Profile
from fanlight.probe.report import ReportError, rules_for_view, summarize, validate_report
from fanlight.probe.server import probe_server
from fanlight.rules.table import HOST_RULES
from probe.other_hosts import finished, ids, probe_frame, shown_by, until_report
from support.browser import until, view_frame
from support.program import program_of
from support.wire import NO_UI, UI, VERSIONS, in_memory, over_stdio

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "src" / "fanlight" / "probe" / "pages"

POLICY = {"tools": "allow", "messages": "allow", "permissions": ["clipboard-write"]}
STYLES = {"variables": {"--color-text-primary": "light-dark(#111, #eee)", "--font-sans": "sans-serif"}}


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.json"


def ours(report: Path, **options: Any) -> Host:
    host = Host({"probe": probe_server(report)}, policy=Policy(POLICY), context={"styles": STYLES}, **options)
    host.on_message(lambda conversation, role, content: None)
    return host


def rules_tested_by(tester: str) -> set[str]:
    return {rule.id for rule in HOST_RULES if rule.probe is not None and rule.probe.by == tester}


def failures(found: dict[str, Any]) -> dict[str, list[str]]:
    return {rule["id"]: rule["notes"] for rule in found["rules"] if rule["status"] == "fail"}


async def requests_to_nowhere(page: Page) -> list[str]:
    asked: list[str] = []

    async def nowhere(route: Route) -> None:
        asked.append(route.request.url)
        await route.abort()

    await page.route("https://*.invalid/**", nowhere)
    return asked


# Our host

DECLARED_ONLY = {"CSP-01", "CSP-09", "CSP-10", "CSP-11", "RES-11"}
BARE_ONLY = {"CSP-02", "SBX-06e"}
LATER = {"TCX-01", "TIP-01", "TIP-02"}
"""What takes a call that is cancelled, or one whose arguments are still being written."""
TESTED = rules_tested_by("view") - LATER - {"THM-04"}


@pytest.mark.parametrize(
    ("tool", "untested"), [("probe_host", BARE_ONLY), ("probe_host_bare", DECLARED_ONLY)], ids=["full", "bare"]
)
async def test_our_host_keeps_every_rule_that_a_view_can_see(
    tool: str, untested: set[str], browser: Browser, report: Path
) -> None:
    host = ours(report)
    with program_of(host) as program:
        async with program.shown(browser, "probe", tool, {"note": "Grüße"}) as (page, _):
            asked = await requests_to_nowhere(page)
            found = await finished(await view_frame(page), report)
            assert failures(found) == {}
            assert ids(found, "pass") == TESTED - untested
            # The network agrees with what the browser told the View.
            assert not any("undeclared" in url for url in asked)
            assert bool(asked) is (tool == "probe_host")
            assert found["host"]["info"]["name"] == "fanlight"
            assert "0 fail" in host.model_context("probe")[0]["content"][0]["text"]
            await program.inside(host.close_view(str(program.call.view)))
    closed = json.loads(report.read_text(encoding="utf-8"))
    assert ids(closed, "pass") - ids(found, "pass") == {"TDN-01", "TDN-03"}


async def test_what_our_host_is_told_to_leave_out_is_found(browser: Browser, report: Path) -> None:
    looser = Policy({**POLICY, "profile": "compat"})
    quieter = Profile(suppressed=["ui/notifications/host-context-changed"], extension=False)
    host = Host({"probe": probe_server(report)}, policy=looser, profile=quieter)
    with program_of(host) as program:
        async with program.shown(browser, "probe", "probe_host_bare", {}) as (page, _):
            found = await finished(await view_frame(page), report)
    assert set(failures(found)) == {"CSP-02", "SBX-06e", "DSP-08", "NEG-01", "NEG-02"}


async def test_our_host_streams_arguments_and_reports_a_cancelled_call(browser: Browser, report: Path) -> None:
    with program_of(ours(report)) as program:
        async with program.shown(browser, "probe", "probe_host", None) as (page, _):
            view = await view_frame(page)
            await until(view, "probe.connection.ready")
            call = program.call
            for piece in ('{"note": "a ', 'long note", ', '"seconds": 60'):
                program.soon(call.feed, piece)
                await anyio.sleep(0.1)
            await until(view, "probe.connection.notifications(PARTIAL).length > 0")
            async with anyio.create_task_group() as tasks:

                async def run() -> None:
                    with pytest.raises(Exception, match="changed my mind"):
                        await program.inside(call.run({"note": "a long note", "seconds": 60}))

                tasks.start_soon(run)
                await until(view, "probe.connection.notifications(INPUT).length > 0")
                await program.inside(call.cancel("changed my mind"))
            found = await finished(view, report)
    assert failures(found) == {}
    assert {"TIP-01", "TIP-02", "TIP-04", "TCX-01", "TIN-01", "TIN-02"} <= ids(found, "pass")


async def test_a_person_reads_votes_sends_and_closes(browser: Browser, report: Path) -> None:
    host = ours(report)
    said: list[str] = []
    host.on_message(lambda conversation, role, content: said.append(content[0]["text"]))
    with program_of(host) as program:
        async with program.shown(browser, "probe", "probe_host", {"fail": True}, height=6000) as (page, _):
            view = await view_frame(page)
            found = await finished(view, report)
            assert failures(found) == {}
            trs = next(rule for rule in found["rules"] if rule["id"] == "TRS-01")
            assert "An error arrives as a result." in trs["notes"]
            await expect(view.locator("#verdict")).to_have_text(f"All {found['counts']['pass']} tested rules pass.")
            await view.get_by_role("button", name=re.compile("^Needs you")).click()
            await expect(view.get_by_role("listitem")).to_have_count(found["counts"]["person"])
            await view.get_by_role("button", name="Send to the chat", exact=True).click()
            await until(view, 'probe.findings.notes("MSG-01").length')
            assert said == [summarize(found)]
            await view.get_by_role("button", name="Copy report").click()
            await expect(view.locator("#copied")).to_have_text("Copied.")
            await view.get_by_role("button", name="Pass: MSG-01").click()
            await view.get_by_role("button", name="Fail: RES-09").click()
            await until_report(report, lambda now: "RES-09" in ids(now, "fail") and "MSG-01" in ids(now, "pass"))
            await view.get_by_role("button", name="Close the View: D-TDN-03").click()
            await until_report(report, lambda now: {"D-TDN-03", "D-TDN-04", "TDN-01"} <= ids(now, "pass"))


# The published bridge


@pytest.mark.parametrize("package", ["ext-apps-1", "ext-apps-2"])
async def test_what_the_probe_finds_of_the_published_bridge(package: str, browser: Browser, report: Path) -> None:
    """The bridge passes every call on; which tools a View may call is left to the page around it."""
    async with shown_by(browser, report, "bridge.js", package=package) as page:
        found = await finished(await probe_frame(page), report)
        assert found["host"]["info"] == {"name": "AppBridge", "version": package}
        assert set(failures(found)) == {"VIS-03", "VIS-05", "D-STD-01"}
        unknown = {"DIM-02", "DSP-08", "HCC-01", "THM-01", "THM-02", "RES-11"}
        assert ids(found, "pass") == TESTED - BARE_ONLY - unknown - set(failures(found))
        await page.evaluate("closeView()")
    closed = json.loads(report.read_text(encoding="utf-8"))
    assert {"TDN-01", "TDN-03"} <= ids(closed, "pass")


# Hosts that break rules

CARELESS = {
    "both sizes": {"DIM-02"},
    "odd context": {"INI-02"},
    "odd variable": {"THM-01", "THM-02"},
    "calls all": {"VIS-03", "VIS-05"},
    "late ping": {"INI-06"},
    "no info": {"INI-03"},
    "talkative": {"SBX-12"},
    "opens all": {"LNK-02", "SEC-02"},
    "any mode": {"DSP-04", "DSP-06"},
    "silent mode": {"DSP-08"},
    "other arguments": {"TIN-01"},
    "odd partial": {"TIP-02"},
    "late partial": {"TIP-04"},
    "input twice": {"TIN-02"},
    "loud sandbox": {"SBX-08"},
    "stiff": {"DIM-01"},
    "knows all": {"SBX-12"},
    "twice": {"SBX-10"},
    "early": {"SBX-09"},
}
TRUSTING = {
    "no extension": {"NEG-01", "NEG-02"},
    "trusting": {"SEC-02", "SBX-10"},
    "mangling": {"SBX-07", "TRS-01"},
}
OPEN = {
    "bare frame": {"SBX-01", "SBX-02", "SEC-01", "CSP-01", "CSP-03", "CSP-06"}
    | {"SBX-06a", "SBX-06b", "SBX-06c", "SBX-06d"},
    "no mode": {"DSP-05"},
    "no meta": {"TRS-01"},
    "result first": {"TIN-03"},
}


@pytest.mark.parametrize("faults", [{}, CARELESS, TRUSTING, OPEN], ids=["none", "careless", "trusting", "open"])
async def test_each_fault_of_a_host_is_found_and_nothing_else(
    faults: dict[str, set[str]], browser: Browser, report: Path
) -> None:
    async with shown_by(browser, report, "scripted.js", faults=list(faults)) as page:
        found = await finished(await probe_frame(page), report)
    broken = failures(found)
    assert set(broken) == set().union(*faults.values()), broken


async def test_of_a_host_that_does_not_answer_only_the_frame_is_judged(browser: Browser, report: Path) -> None:
    async with shown_by(browser, report, "scripted.js", faults=["mute"]) as page:
        frame = await probe_frame(page)
        await until(frame, "document.body.dataset.state !== 'running'", 60)
        found = validate_report(await frame.evaluate("probe.report()"))
    assert set(failures(found)) == {"INI-02", "INI-03"}
    assert {"SBX-01", "SBX-02", "CSP-03"} <= ids(found, "pass")
    assert {"TIN-01", "SBX-12", "SEC-02"} <= ids(found, "untested")


# The table, the report and the server


def test_the_view_tests_exactly_the_rules_that_the_table_says() -> None:
    code = PAGES.joinpath("checks.js").read_text(encoding="utf-8")
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


def test_a_report_is_taken_as_data() -> None:
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


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_server_shows_its_tools_to_every_client(version: str) -> None:
    server = probe_server()
    async with in_memory(server, version, NO_UI) as client:
        tools = await client.tools()
        assert tools["probe_host"]["_meta"]["ui"]["resourceUri"] == "ui://fanlight-probe/view"
        assert tools["probe_nobody"]["_meta"]["ui"]["visibility"] == []
        assert tools["probe_report"]["annotations"]["readOnlyHint"] is True
        assert (await client.call("probe_results"))["content"][0]["text"] == "No View has reported yet."
        assert (await client.call("probe_report", found={"rules": 7}))["isError"] is True
        await client.call("probe_report", found={"rules": []})
        assert "0 rules pass" in (await client.call("probe_results"))["content"][0]["text"]


@pytest.mark.process
async def test_the_command_serves_over_stdio_and_writes_the_report(tmp_path: Path) -> None:
    script, report = tmp_path / "probe.py", tmp_path / "report.json"
    script.write_text(f"from fanlight.cli import main; main(['probe', '--report', {str(report)!r}])", encoding="utf-8")
    async with over_stdio(script, "2025-11-25", UI) as client:
        assert (await client.tools())["probe_report"]["annotations"]["readOnlyHint"] is False
        assert "Host probe" in (await client.read("ui://fanlight-probe/view"))["text"]
        await client.call("probe_report", found={"rules": [{"id": "TIN-01", "status": "pass"}]})
        assert ids(json.loads(report.read_text(encoding="utf-8")), "pass") == {"TIN-01"}


@pytest.mark.parametrize(
    ("report", "why"), [("none/report.json", "its folder does not exist"), (".", "it is a folder")]
)
def test_a_report_that_cannot_be_written_is_said_at_once(
    report: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "--report", report]) == 2
    assert f"{report} cannot be written: {why}" in capsys.readouterr().err


def test_a_port_that_is_none_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["probe", "--http", "--port", "99999"])
    assert "'99999' is no port" in capsys.readouterr().err
