"""The probe's server and its command."""

import json
from pathlib import Path

import pytest

from fanlight.cli import main
from fanlight.probe.server import probe_server
from probe.other_hosts import ids
from support.wire import NO_UI, UI, VERSIONS, in_memory, over_stdio

pytestmark = pytest.mark.anyio


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
def test_a_report_file_that_cannot_be_written_is_a_usage_error(
    report: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", "--report", report]) == 2
    assert f"{report} cannot be written: {why}" in capsys.readouterr().err


def test_an_invalid_port_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["probe", "--http", "--port", "99999"])
    assert "'99999' is not a port" in capsys.readouterr().err
