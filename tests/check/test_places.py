"""Findings of the review have the line in the author's file, not in the bundled document."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from fanlight.check import check
from fanlight.check.report import Report, as_json, as_sarif
from support.inspecting import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.process]

SERVER = """
from pathlib import Path
from fanlight import Apps, View
from mcp.server import MCPServer

server = MCPServer("places")
apps = Apps(server)

@apps.tool(view=View("view"))
def show() -> str:
    return "Shown."

@apps.tool(view=View.html("<!doctype html><title>x</title>\\n<body>\\n<p onclick=''>x", "ui://places/text"))
def text() -> str:
    return "Shown."

server.run("stdio")
"""
FILES = {
    "index.html": """<!doctype html>
<title>x</title>
<link rel="stylesheet" href="look.css">
<script type="module" src="one.js"></script>
<body>
<p onclick="go()">x</p>
<script>
  const above = 1; parent.document.title;
</script>
<input type="password">
""",
    "look.css": "p {\n  color: red;\n}\n",
    "one.js": 'import { run } from "./parts/two.js";\n\nrun();\n',
    "parts/two.js": '// Runs.\nexport const run = () => {\n  eval("1");\n  fetch("https://api.example/x");\n};\n',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places")
    (folder / "app").mkdir()
    (folder / "app/server.py").write_text(SERVER, encoding="utf-8")
    for name, text in FILES.items():
        path = folder / "app/view" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the folder, with esbuild and Node on the path, so that the modules are bundled."""
    paths = [ROOT / "node_modules/.bin", Path(sys.executable).parent, os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, paths)))
    monkeypatch.chdir(folder)


_reports: dict[Path, Report] = {}


@pytest.fixture
async def report(folder: Path) -> Report:
    """The report of `check` on the folder, made once."""
    if folder not in _reports:
        _reports[folder] = await check("app/server.py", browser=False, only=["REV"])
    return _reports[folder]


EXPECTED = {
    ("REV-01", "app/view/parts/two.js", 4),
    ("REV-03", "app/view/parts/two.js", 3),
    ("REV-04", "app/view/index.html", 6),
    ("REV-07", "app/view/index.html", 10),
    ("REV-11", "app/view/index.html", 8),
}


async def test_findings_have_the_line_in_the_source_file(report: Report) -> None:
    found = [each for each in json.loads(as_json(report))["findings"] if each["line"] is not None]
    mine = [each for each in found if each["where"] != "ui://places/text"]
    assert {(each["rule"], each["file"], each["line"]) for each in mine} == EXPECTED
    (in_text,) = [each for each in found if each["where"] == "ui://places/text"]
    assert (in_text["rule"], in_text["file"], in_text["line"]) == ("REV-04", None, 3)


async def test_text_and_sarif_name_the_same_places(report: Report) -> None:
    output = str(report)
    assert "app/view/parts/two.js:3 (ui://places/view) [low]: evaluates text as code" in output
    assert "ui://places/text:3, app/view/index.html:6 (ui://places/view) [low]: has code in an attribute" in output
    (heading,) = re.findall(r"^Security review \((\d+), in (\d+) places\)$", output, re.MULTILINE)
    listed = output.partition("Security review")[2].partition("\n\n")[0]
    assert int(heading[0]) == len(re.findall(r"^  REV-", listed, re.MULTILINE)) < int(heading[1])
    places = set()
    for result in json.loads(as_sarif(report, "app/server.py"))["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        if "region" in place:
            places.add((result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]))
    assert places == EXPECTED


async def test_the_key_of_a_finding_does_not_depend_on_its_line(report: Report) -> None:
    (finding,) = report.named("REV-03")
    assert "two.js" not in finding.key
    assert finding.key.startswith("REV-03 ")
