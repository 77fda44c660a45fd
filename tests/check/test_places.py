"""What the review finds is told at the line of the author's own file, and not of the bundled document."""

import json
import os
import sys
from pathlib import Path

import pytest

from fanlight.check import check
from fanlight.check.report import Report, as_json, as_sarif
from support.inspecting import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.process]

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
    """Run in the folder, with esbuild and its Node, by which both modules become one."""
    paths = [ROOT / "node_modules/.bin", Path(sys.executable).parent, os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, paths)))
    monkeypatch.chdir(folder)


_reports: dict[Path, Report] = {}


@pytest.fixture
async def report(folder: Path) -> Report:
    """What `check` finds there, checked once."""
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


async def test_each_finding_is_at_the_line_that_its_author_wrote(report: Report) -> None:
    found = [each for each in json.loads(as_json(report))["findings"] if each["line"] is not None]
    mine = [each for each in found if each["where"] != "ui://places/text"]
    assert {(each["rule"], each["file"], each["line"]) for each in mine} == EXPECTED
    (in_text,) = [each for each in found if each["where"] == "ui://places/text"]
    assert (in_text["rule"], in_text["file"], in_text["line"]) == ("REV-04", None, 3)


async def test_people_and_code_scanning_are_told_the_same(report: Report) -> None:
    said = str(report)
    assert "app/view/parts/two.js:3 (ui://places/view) [low]: evaluates text as code" in said
    assert "ui://places/text:3, app/view/index.html:6 (ui://places/view) [low]: has code in an attribute" in said
    places = set()
    for result in json.loads(as_sarif(report, "app/server.py"))["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        if "region" in place:
            places.add((result["ruleId"], place["artifactLocation"]["uri"], place["region"]["startLine"]))
    assert places == EXPECTED


async def test_a_line_that_moves_is_the_same_finding(report: Report) -> None:
    (finding,) = report.named("REV-03")
    assert "two.js" not in finding.key
    assert finding.key.startswith("REV-03 ")
