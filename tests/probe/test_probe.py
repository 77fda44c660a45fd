"""The probe in our host, in the published bridge, and in hosts that break rules."""

import json
import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Browser, Page, Route, expect

from fanlight.host import Host, Policy, Profile
from fanlight.probe.report import summarize, validate_report
from fanlight.probe.server import probe_server
from probe.other_hosts import finished, ids, probe_frame, rules_tested_by, shown_by, until_report
from support.browser import PATIENCE, until, view_frame
from support.calls import context_of
from support.program import program_of

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
    host.on_message(lambda message: None)
    return host


def failures(found: dict[str, Any]) -> dict[str, list[str]]:
    return {rule["id"]: rule["notes"] for rule in found["rules"] if rule["status"] == "fail"}


async def record_requests(page: Page) -> list[str]:
    requested: list[str] = []

    async def abort(route: Route) -> None:
        requested.append(route.request.url)
        await route.abort()

    await page.route("https://*.invalid/**", abort)
    return requested


# Our host

DECLARED_ONLY = {"CSP-01", "CSP-09", "CSP-10", "CSP-11", "RES-11"}
BARE_ONLY = {"CSP-02", "SBX-06e"}
LATER = {"TCX-01", "TIP-01", "TIP-02"}
"""Rules that need a cancelled call, or one with streamed arguments."""
TESTED = rules_tested_by("view") - LATER - {"THM-04"}


@pytest.mark.parametrize(
    ("tool", "untested"), [("probe_host", BARE_ONLY), ("probe_host_bare", DECLARED_ONLY)], ids=["full", "bare"]
)
async def test_our_host_passes_every_rule_that_a_view_can_test(
    tool: str, untested: set[str], browser: Browser, report: Path
) -> None:
    host = ours(report)
    with program_of(host) as program:
        async with program.shown(browser, "probe", tool, {"note": "Grüße"}) as (page, _):
            requested = await record_requests(page)
            found = await finished(await view_frame(page), report)
            assert failures(found) == {}
            assert ids(found, "pass") == TESTED - untested
            # The requests that leave the browser agree with the violations that the View saw.
            assert not any("undeclared" in url for url in requested)
            assert bool(requested) is (tool == "probe_host")
            assert found["host"]["info"]["name"] == "fanlight"
            assert "0 fail" in (await context_of(host, "probe"))[0]["content"][0]["text"]
            await program.inside(host.close_view(str(program.call.view)))
    closed = json.loads(report.read_text(encoding="utf-8"))
    assert ids(closed, "pass") - ids(found, "pass") == {"TDN-01", "TDN-03"}


async def test_what_our_host_is_configured_to_leave_out_is_found(browser: Browser, report: Path) -> None:
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


async def test_a_person_can_judge_rules_send_the_report_and_close_the_view(browser: Browser, report: Path) -> None:
    host = ours(report)
    messages: list[str] = []
    host.on_message(lambda message: messages.append(message.content[0]["text"]))
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
            assert messages == [summarize(found)]
            await view.get_by_role("button", name="Copy report").click()
            await expect(view.locator("#copied")).to_have_text("Copied.")
            await view.get_by_role("button", name="Pass: MSG-01").click()
            await view.get_by_role("button", name="Fail: RES-09").click()
            await until_report(report, lambda now: "RES-09" in ids(now, "fail") and "MSG-01" in ids(now, "pass"))
            await view.get_by_role("button", name="Close the View: D-TDN-03").click()
            await until_report(report, lambda now: {"D-TDN-03", "D-TDN-04", "TDN-01"} <= ids(now, "pass"))


# The published bridge


@pytest.mark.parametrize("package", ["ext-apps-1", "ext-apps-2"])
async def test_the_published_bridge_passes_all_rules_but_three(package: str, browser: Browser, report: Path) -> None:
    """The bridge forwards every call; the page around it has to decide which tools a View may call."""
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


async def test_a_host_that_does_not_respond_is_tested_only_for_its_frame(browser: Browser, report: Path) -> None:
    async with shown_by(browser, report, "scripted.js", faults=["mute"]) as page:
        frame = await probe_frame(page)
        await until(frame, "document.body.dataset.state !== 'running'", 2 * PATIENCE)
        found = validate_report(await frame.evaluate("probe.report()"))
    assert set(failures(found)) == {"INI-02", "INI-03"}
    assert {"SBX-01", "SBX-02", "CSP-03"} <= ids(found, "pass")
    assert {"TIN-01", "SBX-12", "SEC-02"} <= ids(found, "untested")
