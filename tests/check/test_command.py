"""The command `fanlight check`: exit codes and output formats."""

import errno
import json
import logging
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from fanlight.check.finding import Finding
from fanlight.check.report import CheckedServer, Report, as_json, as_junit, as_sarif
from fanlight.cli import main
from fanlight.rules.rule import Problem
from fanlight.rules.table import BY_NAME, RULES

GOOD = '<!doctype html><html lang="en"><title>x</title><p>Hello</p></html>'
BAD = f"<p>{'AKIA'}ABCDEFGHIJKLMNOP"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "good.html").write_text(GOOD, encoding="utf-8")
    return folder


def check(*words: object) -> int:
    return main(["check", "--no-browser", "--quiet", *map(str, words)])


@pytest.mark.process
def test_exit_codes(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(saved) == 0
    assert "No violations of the standard" in capsys.readouterr().out
    (saved / "bad.html").write_text(BAD, encoding="utf-8")
    assert check(saved) == 1
    output = capsys.readouterr().out
    assert "RES-05   ui://saved/bad: does not begin with <!doctype html>" in output
    assert "Begin the document with <!doctype html>." in output
    assert "REV-09   bad.html:1 [high]: contains what looks like an AWS access key" in output
    assert "\x1b" not in output
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit(1)", encoding="utf-8")
    assert check(broken) == 3
    assert "exited with code 1" in capsys.readouterr().err


def test_calling_main_keeps_the_log_level_and_signal_handlers(saved: Path) -> None:
    before = logging.getLogger("fanlight").level, signal.getsignal(signal.SIGTERM)
    check(saved)
    assert (logging.getLogger("fanlight").level, signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.process
def test_a_missing_browser_is_one_line_on_stderr(
    saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FANLIGHT_BROWSER", "no-such-browser")
    assert main(["check", "--quiet", str(saved)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fanlight check: FANLIGHT_BROWSER is 'no-such-browser'")


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (["nothing.py"], "nothing.py does not exist"),
        ([], "Name what to check"),
        (["saved", "--only", "XYZ-01"], "There is no rule 'XYZ-01'"),
        (["saved", "--skip", "RES-08"], "--skip RES-08 has no reason"),
        (["saved", "--skip", "RES-08="], "--skip RES-08= has no reason"),
        (["saved", "--skip", "XYZ-01=no"], "There is no rule 'XYZ-01'"),
        (["https://127.0.0.1:9/mcp", "--header", "Authorization"], "--header is 'Authorization', expected NAME:VALUE"),
        (["server.json", "--server", "c"], "There is no server 'c'. There are: a, b."),
        (["saved", "--args", "tool"], "is not TOOL=JSON"),
        (["saved", "--write-baseline"], "needs a file"),
        (["saved", "--baseline", "none.json"], "cannot be read"),
    ],
)
def test_invalid_usage_is_exit_code_2(
    words: list[str], output: str, saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(saved.parent)
    entry = {"command": "python", "args": ["x.py"]}
    Path("server.json").write_text(json.dumps({"mcpServers": {"a": entry, "b": entry}}), encoding="utf-8")
    assert check(*words) == 2
    assert output in capsys.readouterr().err


def test_skipped_and_known_findings_do_not_count(saved: Path, tmp_path: Path) -> None:
    (saved / "bad.html").write_text(BAD, encoding="utf-8")
    known = tmp_path / "known.json"
    assert check(saved, "--only", "RES") == 1
    assert check(saved, "--only", "RES", "--skip", "RES-05=it is a fragment") == 0
    assert check(saved, "--only", "REV") == 0
    assert check(saved, "--only", "REV", "--strict") == 1
    assert check(saved, "--baseline", known, "--write-baseline") == 0
    assert check(saved, "--baseline", known, "--strict") == 0
    (saved / "new.html").write_text("<p>New", encoding="utf-8")
    assert check(saved, "--baseline", known) == 1


def test_a_skip_can_be_limited_to_a_file(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.html", "two.html"):
        (saved / name).write_text("<!doctype html><title>x</title><script>eval(words)</script>", encoding="utf-8")
    check(saved, "--only", "REV-03", "--skip", "REV-03:one.html=it is a demo", "--json")
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {each["where"]: each["skipped"] for each in findings} == {"one.html": "it is a demo", "two.html": None}


def test_findings_in_libraries_and_guesses_are_labelled_and_count_on_request(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = "/*! Boxes v1.2.3 */ " + ";".join(["top.location=a", *(f"a+={i}" for i in range(400))])
    guess = "out.innerHTML = render(result.structuredContent);"
    html = f"<!doctype html><title>x</title><script>{library}</script><script>{guess}</script>"
    (saved / "view.html").write_text(html, encoding="utf-8")
    assert check(saved, "--only", "REV", "--strict") == 0
    text = capsys.readouterr().out
    assert "view.html, in a bundled library (Boxes v1.2.3:1) [low]: accesses the pages around it" in text
    assert "REV-15" not in text
    assert check(saved, "--only", "REV", "--strict", "--libraries") == 1
    capsys.readouterr()
    check(saved, "--only", "REV", "--guesses")
    assert "REV-15   view.html:1 [low, guess]: inserts data of a tool as HTML" in capsys.readouterr().out


def test_json_junit_and_sarif_are_written(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saved / "bad.html").write_text(BAD, encoding="utf-8")
    junit, sarif = tmp_path / "junit.xml", tmp_path / "out.sarif"
    assert check(saved, "--json", "--junit", junit, "--sarif", sarif) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["conforms"] is False
    assert "RES-05" in {finding["rule"] for finding in report["findings"]}
    assert len(report["servers"][0]["views"]["bad.html"]["sha256"]) == 64
    suite = ET.parse(junit).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("failures") == "1"
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert failed.get("name", "").startswith("RES-05 ")
    places = {case.get("name", "")[:6]: (case.get("file"), case.get("line")) for case in suite}
    assert places["REV-09"] == ("bad.html", "1")
    results = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    (secret,) = [result for result in results if result["ruleId"] == "REV-09"]
    place = secret["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "bad.html"}, "region": {"startLine": 1}}
    assert secret["level"] == "error"


def test_equal_findings_share_a_line_of_text_that_counts_once() -> None:
    rule = BY_NAME["RES-05"]
    problems = [Problem(f"ui://x/{number}", "is empty.", "Fill it.") for number in range(3)]
    other = Problem("ui://x/0", "is full.", "Fill it.")
    findings = tuple(Finding(rule, "it", problem) for problem in (*problems, other))
    report = Report((CheckedServer("it", ("2025-11-25",)),), findings)
    output = str(report)
    assert "  RES-05   ui://x/0, ui://x/1, ui://x/2: is empty.\n           Fill it.\n" in output
    assert "  RES-05   ui://x/0: is full.\n" in output
    assert "(2, in 4 places)" in output
    assert "2 violations of the standard" in output
    assert len(json.loads(as_json(report))["findings"]) == 4
    many = tuple(Finding(rule, "it", Problem(f"v{number}", "is empty.", "Fill it.")) for number in range(14))
    assert "and 2 more: is empty." in str(Report(report.servers, many))


def test_sarif_only_names_files_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "server.py").touch()
    finding = Finding(BY_NAME["RES-05"], "it", Problem("ui://x/y", "is empty.", "Fill it.", line=4))
    report = Report((CheckedServer("it", ("2025-11-25",)),), (finding,))
    (result,) = json.loads(as_sarif(report, "app"))["runs"][0]["results"]
    place = result["locations"][0]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": "app/server.py"}}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "ui://x/y"}]


def test_strict_findings_are_failures_in_junit() -> None:
    rule = next(rule for rule in RULES if rule.strength == "implied" and rule.is_checked)
    report = Report((CheckedServer("it", ("2025-11-25",)),), (Finding(rule, "it", Problem("x", "is odd.", "Fix it.")),))
    assert 'failures="0"' in as_junit(report)
    assert 'failures="1"' in as_junit(report, strict=True)


@pytest.mark.parametrize(
    "words",
    [
        ["--junit", "/does/not/exist/x.xml"],
        ["--junit", "."],
        ["--sarif", "/"],
        ["--sarif", "folder/"],
        ["--sarif", "long/" + "x" * 300],
        ["--baseline", ".", "--write-baseline"],
    ],
)
def test_an_unwritable_output_file_is_reported_before_the_check(
    words: list[str], saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(saved.parent)
    (saved.parent / "long").mkdir()
    assert check(saved, *words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith(f"fanlight check: {words[1]} cannot be written: ")
    assert list((saved.parent / "long").iterdir()) == []


def test_a_failed_write_still_prints_the_report(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*given: object, **more: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    assert check(saved, "--junit", tmp_path / "x.xml") == 2
    output = capsys.readouterr()
    assert "No violations of the standard" in output.out
    assert output.err == f"fanlight check: {tmp_path / 'x.xml'} cannot be written: No space left on device.\n"


def test_skipped_findings_are_in_every_format_with_their_reason() -> None:
    rule = BY_NAME["RES-05"]
    finding = Finding(rule, "it", Problem("ui://x/y", "is empty.", "Fill it."), ("2025-11-25",), "we know")
    report = Report((CheckedServer("it", ("2025-11-25",)),), (finding,))
    assert report.conforms
    assert report.open == ()
    assert json.loads(as_json(report))["findings"][0]["skipped"] == "we know"
    assert '<skipped message="we know"' in as_junit(report)
    assert json.loads(as_sarif(report))["runs"][0]["results"][0]["suppressions"][0]["justification"] == "we know"


def test_list_includes_rules_that_are_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list"]) == 0
    output = capsys.readouterr().out
    assert all(f"  {rule.id:<9}" in output for rule in RULES)
    assert "checked by fanlight probe\n" in output
    assert "checked by fanlight probe, with your help" in output
    assert "not checked: It allows something, so nothing can break it." in output


@pytest.mark.process
def test_a_closed_stdout_is_exit_code_141_without_a_message() -> None:
    command = [sys.executable, "-m", "fanlight.cli", "check", "--list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 141


@pytest.mark.process
def test_help_imports_no_heavy_modules() -> None:
    code = "import sys; from fanlight.cli import main\ntry: main(['check', '--help'])\nexcept SystemExit: pass\n"
    code += "print([name for name in ('mcp', 'playwright', 'starlette', 'anyio') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.endswith("[]\n")


def test_colours_need_a_terminal_and_respect_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    from fanlight.check.report import uses_colour

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert uses_colour(Terminal())  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not uses_colour(Terminal())  # type: ignore[arg-type]


def test_the_text_lists_skipped_rules_with_their_reasons(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (saved / "bad.html").write_text(BAD, encoding="utf-8")
    check(saved, "--skip", "RES-08=either is fine", "--skip", "RES-01=not yet")
    output = capsys.readouterr().out
    assert "Skipped (2)\n  RES-01   matches no finding: not yet\n  RES-08   2 findings: either is fine\n" in output


def test_a_count_of_one_is_singular(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(saved, "--only", "RES-08", "--baseline", tmp_path / "known.json", "--write-baseline") == 0
    output = capsys.readouterr()
    assert output.out.endswith(" 1 rule checked.\n")
    assert output.err.startswith("1 finding is now in ")
